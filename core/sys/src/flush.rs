//! Getting what was written onto the disk: early, in a batch, or at once.
//!
//! [`start`] hands a file's bytes to the disk without waiting, so that many files are on their way at the same time;
//! [`wait`] waits for those bytes. Neither makes names, sizes or allocations durable by itself: a file system that
//! keeps a log (ext4, XFS) writes those for all files with the next [`through`] of any one of them, on any other each
//! file needs its own. See sync_file_range(2), which warns about exactly this.

#![allow(unsafe_code, reason = "sync_file_range is not in rustix")]

use std::io;
use std::os::fd::AsFd;

pub use self::platform::start;
pub use self::platform::through;
pub use self::platform::wait;

/// Hands all of a file or folder over to the disk. On macOS the disk may still keep it in its own cache: after a batch
/// of these one [`through`] of anything empties that for all.
///
/// # Errors
/// What the kernel says; what was written may then be lost.
pub fn hand_over(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(file)?)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::os::fd::AsRawFd;

    use super::AsFd;
    use super::io;

    /// Starts writing the file's bytes to the disk and returns.
    ///
    /// # Errors
    /// What the kernel says, such as an earlier failure to write.
    pub fn start(file: impl AsFd) -> io::Result<()> {
        range(file, libc::SYNC_FILE_RANGE_WRITE)
    }

    /// Waits until the file's bytes are written; names and sizes are not meant.
    ///
    /// # Errors
    /// What the kernel says; the bytes may then be lost.
    pub fn wait(file: impl AsFd) -> io::Result<()> {
        let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        range(file, all)
    }

    /// Makes the file or folder durable, through the disk's own cache.
    ///
    /// # Errors
    /// What the kernel says; what was written may then be lost.
    pub fn through(file: impl AsFd) -> io::Result<()> {
        Ok(rustix::fs::fsync(file)?)
    }

    fn range(file: impl AsFd, flags: libc::c_uint) -> io::Result<()> {
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: the call reads and writes no memory of ours, and the descriptor is borrowed for its duration. An
        // offset and a length of 0 mean the whole file.
        match unsafe { libc::sync_file_range(fd, 0, 0, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::AsFd;
    use super::io;

    /// Starts writing the file's bytes to the disk and returns; here it does nothing.
    ///
    /// # Errors
    /// None.
    pub fn start(_file: impl AsFd) -> io::Result<()> {
        Ok(())
    }

    /// Waits until the file's bytes are written; names and sizes are not meant.
    ///
    /// # Errors
    /// What the kernel says; the bytes may then be lost.
    pub fn wait(file: impl AsFd) -> io::Result<()> {
        Ok(rustix::fs::fsync(file)?)
    }

    /// Makes the file or folder durable, through the disk's own cache.
    ///
    /// `fsync` alone leaves the bytes in the disk's cache on macOS; see fsync(2) there. Some file systems know only
    /// that.
    ///
    /// # Errors
    /// What the kernel says; what was written may then be lost.
    pub fn through(file: impl AsFd) -> io::Result<()> {
        match rustix::fs::fcntl_fullfsync(&file) {
            Ok(()) => Ok(()),
            Err(_) => Ok(rustix::fs::fsync(file)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_and_a_folder_can_be_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(folder.path().join("a")).unwrap();
        file.write_all(b"text").unwrap();
        start(&file).unwrap();
        wait(&file).unwrap();
        hand_over(&file).unwrap();
        through(&file).unwrap();
        through(std::fs::File::open(folder.path()).unwrap()).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_flushed_says_so() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(start(&reader).is_err(), "a pipe has no place on a disk");
    }
}
