//! Opening beneath a folder by `openat2`, which no concurrent rename can lead astray.

use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::ResolveFlags;
use rustix::io::Errno;

use super::steps;

/// Set once the kernel (before 5.6) or a container's filter has said that the call does not exist.
static MISSING: AtomicBool = AtomicBool::new(false);

/// The kernel takes at most `PATH_MAX` bytes with the closing NUL in one call.
const LONGEST: usize = 4095;

/// `openat2` answers `EAGAIN` while the tree is being renamed; it is asked again this often.
const ATTEMPTS: u32 = 64;

pub(super) fn open_beneath(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    if MISSING.load(Ordering::Relaxed) {
        return steps::open_beneath(root, path, flags);
    }
    match in_pieces(root, path, flags) {
        Err(Errno::NOSYS | Errno::PERM) if !available(root) => {
            MISSING.store(true, Ordering::Relaxed);
            steps::open_beneath(root, path, flags)
        }
        result => result,
    }
}

/// A filter may answer `EPERM` for the call itself, which must be told from `EPERM` for the file.
fn available(root: BorrowedFd<'_>) -> bool {
    open(root, b".", OFlags::PATH | OFlags::CLOEXEC).is_ok()
}

fn in_pieces(root: BorrowedFd<'_>, mut path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut held: Option<OwnedFd> = None;
    while path.len() > LONGEST {
        let at = path[..=LONGEST]
            .iter()
            .rposition(|&b| b == b'/')
            .ok_or(Errno::NAMETOOLONG)?;
        let from = held.as_ref().map_or(root, AsFd::as_fd);
        held = Some(open(
            from,
            &path[..at],
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        )?);
        path = &path[at + 1..];
    }
    open(held.as_ref().map_or(root, AsFd::as_fd), path, flags)
}

fn open(from: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    for _ in 1..ATTEMPTS {
        match rustix::fs::openat2(from, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    rustix::fs::openat2(from, path, flags, Mode::empty(), resolve)
}
