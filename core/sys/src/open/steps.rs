//! Opening beneath a folder one component at a time, where the kernel has no call for the whole path.
//!
//! Each component is opened in the folder opened before it, without following a link, so a swap in between can make
//! the call fail or reach something else below the root, never something outside.

use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::openat;
use rustix::io::Errno;

use crate::stat::Stat;
use crate::stat::stat_fd;

pub(super) fn open_beneath(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let start = stat(root)?;
    let mut held: Option<OwnedFd> = None;
    let mut rest = path.split(|&b| b == b'/').peekable();
    while let Some(name) = rest.next() {
        let last = rest.peek().is_none();
        let flags = if last { flags } else { ON_THE_WAY };
        let from = held.as_ref().map_or(root, AsFd::as_fd);
        let next = openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|e| said(e, from, name))?;
        if is_mount(&stat(next.as_fd())?, &start) {
            return Err(Errno::XDEV);
        }
        held = Some(next);
    }
    held.ok_or(Errno::INVAL)
}

#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

fn stat(fd: BorrowedFd<'_>) -> Result<Stat, Errno> {
    stat_fd(fd).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}

/// Linux names mount points itself; comparing devices would be wrong there, because files of an overlay report the
/// devices of their layers.
pub(super) fn is_mount(found: &Stat, folder: &Stat) -> bool {
    if cfg!(target_os = "linux") {
        found.mount_root
    } else {
        found.dev != folder.dev
    }
}

/// With `O_DIRECTORY` a link is reported as `ENOTDIR`; it is told apart so that both ways give the same answer.
fn said(errno: Errno, from: BorrowedFd<'_>, name: &[u8]) -> Errno {
    if errno == Errno::NOTDIR && rustix::fs::readlinkat(from, name, Vec::new()).is_ok() {
        Errno::LOOP
    } else {
        errno
    }
}
