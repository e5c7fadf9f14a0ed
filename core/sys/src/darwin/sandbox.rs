//! Entering a sandbox of this process, for good.
//!
//! `sandbox_init_with_parameters` compiles a profile and applies it to the calling process and all its descendants;
//! nothing takes it back. It allocates and takes locks, so it is called in an executed program with one thread, never
//! between fork and exec. The header calls the family deprecated since 10.8; Chromium, Nix and Bazel rely on it, and
//! there is no replacement for arbitrary programs. The profile itself is not judged here.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::ptr;

unsafe extern "C" {
    /// libSystem, seen in Chromium's `sandbox/mac/seatbelt.cc`; `parameters` ends with a null pointer.
    fn sandbox_init_with_parameters(
        profile: *const c_char,
        flags: u64,
        parameters: *const *const c_char,
        errorbuf: *mut *mut c_char,
    ) -> c_int;
    /// Declared in `<sandbox.h>`.
    fn sandbox_free_error(errorbuf: *mut c_char);
    /// libSystem; with no operation it tells whether the process is in a sandbox at all.
    fn sandbox_check(pid: c_int, operation: *const c_char, filter: c_int, ...) -> c_int;
}

/// Why the sandbox was not entered. The process is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnterError {
    /// The process is in a sandbox already, and macOS has one a process.
    #[error(
        "this process is in a sandbox of macOS already, and a sandbox cannot be entered inside another"
    )]
    Nested {
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The profile was refused as a whole.
    #[error("macOS refuses the sandbox profile: {said}")]
    Rejected {
        /// What libsandbox says about it, on one line.
        said: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// Enters the sandbox that `profile` describes, with a value for each parameter.
///
/// # Errors
/// The process is in a sandbox already, or the profile is refused.
pub fn enter(profile: &CStr, params: &[(CString, CString)]) -> Result<(), EnterError> {
    let mut list: Vec<*const c_char> = params
        .iter()
        .flat_map(|(name, value)| [name.as_ptr(), value.as_ptr()])
        .collect();
    list.push(ptr::null());
    let mut error: *mut c_char = ptr::null_mut();
    // SAFETY: `profile` and every entry of `list` are C strings that outlive the call, `list` ends with null, and
    // `error` is a valid place for one pointer.
    let result =
        unsafe { sandbox_init_with_parameters(profile.as_ptr(), 0, list.as_ptr(), &raw mut error) };
    if result == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    let said = take_error(error);
    if source.raw_os_error() == Some(libc::EPERM) {
        return Err(EnterError::Nested { source });
    }
    Err(EnterError::Rejected { said, source })
}

/// Whether process `pid` is in a sandbox. A process that is gone is not.
#[must_use]
pub fn is_sandboxed(pid: i32) -> bool {
    // SAFETY: a null operation takes no further arguments; the call only reads the state of `pid`.
    unsafe { sandbox_check(pid, ptr::null(), 0) == 1 }
}

fn take_error(error: *mut c_char) -> String {
    if error.is_null() {
        return String::new();
    }
    // SAFETY: a non-null error of `sandbox_init_with_parameters` is a C string that is ours to free once.
    let text = unsafe { CStr::from_ptr(error) }
        .to_string_lossy()
        .replace(['\n', '\r'], " ");
    // SAFETY: as above; `error` is not used again.
    unsafe { sandbox_free_error(error) };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_not_in_a_sandbox() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(
            !is_sandboxed(own),
            "tests of the sandbox need to run outside one"
        );
        assert!(!is_sandboxed(i32::MAX));
    }

    #[test]
    fn a_profile_that_is_none_is_rejected_and_nothing_is_entered() {
        let error = enter(c"(version 1)(permit everything)", &[]).unwrap_err();
        assert!(matches!(error, EnterError::Rejected { .. }), "{error}");
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!is_sandboxed(own));
    }
}
