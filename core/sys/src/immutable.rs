//! Flags that forbid everybody, their owner included, to change or delete a file.
//!
//! Linux has them by `chattr +i` and `+a`, macOS as `uchg` and `uappnd`; macOS clones carry them over. Whoever
//! discards a copy has to clear them first. The flags that only the super-user of macOS may clear (`schg`, `sappnd`)
//! are cleared where that is permitted.

#![allow(unsafe_code, reason = "fchflags is not in rustix")]

use std::io;
use std::os::fd::AsFd;

/// Clears the flags of an open file or folder that we own.
///
/// # Errors
/// What the kernel says; a file system without such flags is no error.
pub fn clear_immutable(file: impl AsFd) -> io::Result<()> {
    platform::clear(file)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::fs::IFlags;
    use rustix::fs::ioctl_getflags;
    use rustix::fs::ioctl_setflags;
    use rustix::io::Errno;

    pub(super) fn clear(file: impl AsFd) -> io::Result<()> {
        let flags = match ioctl_getflags(&file) {
            Ok(flags) => flags,
            Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let fixed = IFlags::IMMUTABLE | IFlags::APPEND;
        if flags.intersects(fixed) {
            ioctl_setflags(&file, flags - fixed)?;
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::os::fd::AsFd;
    use std::os::fd::AsRawFd;

    /// From `<sys/stat.h>` of macOS.
    const FIXED: u32 = 0x2 | 0x4 | 0x0002_0000 | 0x0004_0000;

    pub(super) fn clear(file: impl AsFd) -> io::Result<()> {
        let flags = rustix::fs::fstat(&file)?.st_flags;
        if flags & FIXED == 0 {
            return Ok(());
        }
        // SAFETY: the descriptor is open for the length of the call, which takes nothing else but a number.
        let result = unsafe { libc::fchflags(file.as_fd().as_raw_fd(), flags & !FIXED) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_flags_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("file")).unwrap();
        clear_immutable(&file).unwrap();
        clear_immutable(std::fs::File::open("/proc/self/status").unwrap_or(file)).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_flag_is_cleared_where_the_file_system_has_it() {
        use rustix::fs::IFlags;
        use rustix::fs::ioctl_getflags;
        use rustix::fs::ioctl_setflags;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        let Ok(flags) = ioctl_getflags(&file) else {
            return;
        };
        // Setting takes root, clearing does as well: an ordinary user never meets the flag on a copy of Linux.
        if ioctl_setflags(&file, flags | IFlags::IMMUTABLE).is_err() {
            return;
        }
        assert!(std::fs::remove_file(&path).is_err(), "the flag forbids it");
        clear_immutable(&file).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
