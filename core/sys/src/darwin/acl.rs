//! Access control lists, which macOS keeps apart from extended attributes.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::fd::AsFd;

use rustix::fs::CopyfileFlags;
use rustix::fs::copyfile_state_alloc;
use rustix::fs::copyfile_state_free;
use rustix::fs::fcopyfile;

/// Gives `to` the access control list of `from`, if it has one; see copyfile(3).
///
/// # Errors
/// What the system says, such as on a file system without such lists.
pub fn copy(from: impl AsFd, to: impl AsFd) -> io::Result<()> {
    let state = copyfile_state_alloc()?;
    // SAFETY: the state was allocated just above and is freed below, and the descriptors are borrowed for the call.
    let copied = unsafe { fcopyfile(from, to, state, CopyfileFlags::ACL) };
    // SAFETY: it was allocated above, and nothing uses it afterwards.
    let freed = unsafe { copyfile_state_free(state) };
    Ok(copied.and(freed)?)
}
