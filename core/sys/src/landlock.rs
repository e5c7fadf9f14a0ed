//! Landlock: rights on files that a process gives up for good (Linux 5.13 and newer).
//!
//! The three system calls and nothing more; which rights mean what in which ABI version, and what is granted, is
//! decided by the caller. Structures as in the kernel's `uapi/linux/landlock.h`; a kernel that knows fewer fields takes
//! the longer structure as long as what it does not know is zero.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::fd::FromRawFd;
use std::os::fd::OwnedFd;

/// The ABI version of this kernel; 0 when it has no Landlock or was booted without it.
#[must_use]
pub fn abi() -> u32 {
    // SAFETY: with a null attribute, size 0 and this flag the call only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// A set of rules that is being made.
#[derive(Debug)]
pub struct Ruleset(OwnedFd);

impl Ruleset {
    /// Starts a set that takes away the file rights `handled` and confines what `scoped` says (ABI 6; 0 before).
    ///
    /// # Errors
    /// `EINVAL` when the kernel does not know one of the rights.
    pub fn new(handled: u64, scoped: u64) -> io::Result<Self> {
        let attr = RulesetAttr {
            handled_access_fs: handled,
            handled_access_net: 0,
            scoped,
        };
        // SAFETY: `attr` is a live structure of the given size; the kernel only reads it.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attr,
                size_of::<RulesetAttr>(),
                0_u32,
            )
        };
        let fd = i32::try_from(fd)
            .ok()
            .filter(|fd| *fd >= 0)
            .ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel just made this descriptor for us (it is close-on-exec) and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Gives `rights` back at and below `path`, which may be opened with `O_PATH`.
    ///
    /// # Errors
    /// `EINVAL` when `rights` are not all handled, or when the path is not a folder and a right is for folders only.
    pub fn allow(&mut self, path: impl AsFd, rights: u64) -> io::Result<()> {
        let attr = PathBeneathAttr {
            allowed_access: rights,
            parent_fd: path.as_fd().as_raw_fd(),
        };
        // SAFETY: `attr` is a live structure of the type that rule type 1 (path beneath) takes; it is only read.
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                PATH_BENEATH,
                &raw const attr,
                0_u32,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Confines the calling thread and all its later children. Needs `no_new_privs`.
    ///
    /// # Errors
    /// `EPERM` without `no_new_privs`, `E2BIG` after 16 layers.
    pub fn restrict_self(self) -> io::Result<()> {
        // SAFETY: plain numbers; the descriptor is ours and open.
        let result =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0_u32) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

const VERSION: u32 = 1;
const PATH_BENEATH: u32 = 1;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_right_is_refused() {
        assert!(abi() >= 1, "this test needs a kernel with Landlock");
        let error = Ruleset::new(1 << 63, 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn rules_take_only_handled_rights() {
        assert!(abi() >= 1, "this test needs a kernel with Landlock");
        let dir = tempfile::tempdir().unwrap();
        let folder = std::fs::File::open(dir.path()).unwrap();
        let read_file = 1 << 2;
        let read_dir = 1 << 3;
        let mut rules = Ruleset::new(read_file, 0).unwrap();
        rules.allow(&folder, read_file).unwrap();
        let error = rules.allow(&folder, read_dir).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
