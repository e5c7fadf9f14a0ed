//! A user namespace and a mount namespace of the calling process's own.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;

/// Moves the calling process into a new user namespace and a new mount namespace, where it has every capability but
/// is nobody until its ids are mapped.
///
/// # Errors
/// `EPERM` when user namespaces are forbidden, `ENOSPC` when there are too many, `EINVAL` when the process has threads.
pub fn enter_user_and_mount() -> io::Result<()> {
    // SAFETY: these two flags leave memory and descriptors as they are.
    let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
