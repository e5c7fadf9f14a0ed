//! The calls.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_sys::immutable::clear_immutable;
use enclos_sys::open::open_root;
use enclos_sys::stat::stat_fd;
use rustix::fs::CloneFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::fchmod;
use rustix::fs::fclonefileat;
use rustix::fs::fstatfs;
use rustix::fs::openat;
use rustix::io::Errno;

use super::Whole;
use crate::method::FallBack;
use crate::tree::io_error;

const FLAGS: CloneFlags = CloneFlags::NOFOLLOW.union(CloneFlags::NOOWNERCOPY);

/// Whether `source` and `holder` lie on one volume that clones, or why a clone has to be a copy.
pub(crate) fn available(source: &AbsPath, holder: &AbsPath) -> Result<(), FallBack> {
    let look = |path: &AbsPath| {
        let fd = open_root(path).ok()?;
        let name = fstatfs(&fd).ok()?.f_fstypename;
        let is_apfs = name
            .iter()
            .map(|&c| c.cast_unsigned())
            .take(5)
            .eq(*b"apfs\0");
        Some((stat_fd(&fd).ok()?.dev, is_apfs))
    };
    match (look(source), look(holder)) {
        (Some((_, false)), _) | (_, Some((_, false))) => Err(FallBack::NoSharing),
        (Some((a, _)), Some((b, _))) if a != b => Err(FallBack::OtherFileSystem),
        // What cannot be looked at is an error soon enough.
        _ => Ok(()),
    }
}

/// Clones the folder `source` to `destination`, which does not exist.
pub(crate) fn clone_folder(source: &AbsPath, destination: &AbsPath) -> io::Result<Whole> {
    let from = open_root(source).map_err(io_error)?;
    let holder = destination.parent().ok_or(io::ErrorKind::AlreadyExists)?;
    let holder = open_root(&holder).map_err(io_error)?;
    match fclonefileat(
        &from,
        &holder,
        destination.name().unwrap_or_default(),
        FLAGS,
    ) {
        Ok(()) => Ok(Whole::Cloned),
        // Another volume or none that clones; a file in the cloud; a mount or a special file in the tree; one that
        // may not be read, which the walk then names.
        Err(
            Errno::XDEV
            | Errno::NOTSUP
            | Errno::DEADLK
            | Errno::INVAL
            | Errno::ACCESS
            | Errno::PERM,
        ) => Ok(Whole::NotInOne),
        Err(errno) => Err(errno.into()),
    }
}

/// Clones the open file `from` to `name` in the folder `to`, and opens it; none where files cannot be cloned.
pub(crate) fn clone_file_at(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &CStr,
) -> Result<Option<OwnedFd>, Errno> {
    match fclonefileat(from, to, name, FLAGS) {
        Ok(()) => {}
        Err(Errno::XDEV | Errno::NOTSUP) => return Ok(None),
        Err(errno) => return Err(errno),
    }
    // The clone has the mode and the flags of the original, which may forbid its owner to write; the mode is set to
    // the right one when the file is finished.
    let opened = openat(
        to,
        name,
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    clear_immutable(opened.as_fd()).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    fchmod(&opened, Mode::RUSR | Mode::WUSR)?;
    openat(
        to,
        name,
        OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map(Some)
}
