//! Filling a new file with the contents of an existing one.
//!
//! The promise: afterwards both read the same, holes stay holes, and the original is neither written nor has its
//! blocks moved. Whether the original changed meanwhile is the caller's question.

use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

use enclos_sys::stat::Stat;
use rustix::fs::SeekFrom;
use rustix::fs::ftruncate;
use rustix::fs::seek;
use rustix::io::Errno;
use rustix::io::pread;
use rustix::io::pwrite;

/// How files get their contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    /// Every byte is copied.
    Copy,
    /// Each file is cloned as a whole when it is made (macOS), and copied where that fails.
    Clone,
    /// Files of more than `above` bytes share their blocks with the original; smaller ones are copied.
    Share {
        /// Sharing costs about 10 us a file on XFS whatever its size, and reading a shared file is slower at first,
        /// so the smallest ones are cheaper to copy. On btrfs sharing always wins.
        above: u64,
        /// Files of moderate size that changed after this time (in nanoseconds) are copied: they may not be on the
        /// disk yet, and sharing would wait for that.
        written_by: i128,
    },
}

/// Up to this size a file that may not be on the disk yet is copied rather than shared.
const MODERATE: u64 = 1024 * 1024;

/// After so many nanoseconds the kernel has written what was changed (`dirty_expire_centisecs` and one round of
/// writing, by default).
const WRITTEN_AFTER: i128 = 35_000_000_000;

/// Which side a failure came from.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Reading the original.
    Read(Errno),
    /// Writing the copy.
    Write(Errno),
}

impl Failed {
    /// What the kernel said.
    pub(crate) fn errno(&self) -> Errno {
        match self {
            Self::Read(errno) | Self::Write(errno) => *errno,
        }
    }
}

impl Filling {
    /// The same at a time when the clock stands at `now`.
    pub(super) fn at(self, now: i128) -> Self {
        match self {
            Self::Share { above, .. } => Self::Share {
                above,
                written_by: now - WRITTEN_AFTER,
            },
            other => other,
        }
    }

    fn shares(self, stat: &Stat) -> bool {
        match self {
            Self::Copy | Self::Clone => false,
            Self::Share { above, written_by } => {
                stat.size > above && (stat.size > MODERATE || stat.ctime <= written_by)
            }
        }
    }
}

/// Fills the empty file `to` with what `from`, described by `stat`, holds.
pub(crate) fn fill(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    stat: &Stat,
    filling: Filling,
    buffer: &mut [u8],
) -> Result<(), Failed> {
    if stat.size == 0 {
        return Ok(());
    }
    if filling.shares(stat) && share(from, to)? {
        return Ok(());
    }
    let sparse = stat.blocks.saturating_mul(512) < stat.size && stat.size > 4096;
    if sparse && let Some(()) = copy_with_holes(from, to, stat.size, buffer)? {
        return Ok(());
    }
    copy(from, to, 0..stat.size, buffer)
}

/// Makes `to` share the blocks of `from`; false where these two files cannot.
#[cfg(target_os = "linux")]
fn share(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<bool, Failed> {
    match rustix::fs::ioctl_ficlone(to, from) {
        Ok(()) => Ok(true),
        // Single files may be unable: swap files, files without checksums on btrfs, files on another layer.
        Err(
            Errno::OPNOTSUPP
            | Errno::XDEV
            | Errno::INVAL
            | Errno::NOTTY
            | Errno::TXTBSY
            | Errno::NOSYS,
        ) => Ok(false),
        Err(errno) => Err(Failed::Write(errno)),
    }
}

#[cfg(not(target_os = "linux"))]
fn share(_from: BorrowedFd<'_>, _to: BorrowedFd<'_>) -> Result<bool, Failed> {
    Ok(false)
}

/// Copies the bytes in `range`, or fewer where the file ends before.
fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    range: std::ops::Range<u64>,
    buffer: &mut [u8],
) -> Result<(), Failed> {
    let mut at = range.start;
    while at < range.end {
        let want = usize::try_from(range.end - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let got = retry(|| pread(from, &mut buffer[..want], at)).map_err(Failed::Read)?;
        if got == 0 {
            break;
        }
        let mut done = 0;
        while done < got {
            done += retry(|| pwrite(to, &buffer[done..got], at + done as u64))
                .map_err(Failed::Write)?;
        }
        at += got as u64;
    }
    Ok(())
}

/// Copies only the parts that hold data; none where the file system does not tell them.
fn copy_with_holes(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    size: u64,
    buffer: &mut [u8],
) -> Result<Option<()>, Failed> {
    let mut at = 0;
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
            Err(errno) => return Err(Failed::Read(errno)),
        };
        let end = seek(from, SeekFrom::Hole(start))
            .map_err(Failed::Read)?
            .min(size);
        copy(from, to, start..end, buffer)?;
        at = end.max(start + 1);
    }
    ftruncate(to, size).map_err(Failed::Write)?;
    Ok(Some(()))
}

/// The hash of everything in the file.
pub(crate) fn hash(file: impl AsFd, buffer: &mut [u8]) -> Result<[u8; 32], Errno> {
    let mut hasher = blake3::Hasher::new();
    let mut at = 0;
    loop {
        let got = retry(|| pread(&file, &mut *buffer, at))?;
        if got == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&buffer[..got]);
        at += got as u64;
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    rustix::io::retry_on_intr(&mut call)
}
