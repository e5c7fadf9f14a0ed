//! Removes folders of our own.

use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_sys::open::open_folder_at;
use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::unlinkat;
use rustix::io::Errno;

use crate::source::Tree;

/// Empties a folder that holds files, links and empty folders; anything deeper is not ours and stays.
pub(super) fn clear(folder: &OwnedFd) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            // Linux says the first for a folder, POSIX and macOS the second.
            Err(Errno::ISDIR | Errno::PERM) => unlinkat(folder, name, AtFlags::REMOVEDIR)?,
            result => result?,
        }
    }
    Ok(())
}

/// Removes the staging folder `name` of the original with what is left in it; it is no error when it is not there.
pub(crate) fn clear_staging(original: &Tree, name: &str) -> io::Result<()> {
    match open_folder_at(original.fd(), name.as_ref()) {
        Ok(folder) => clear(&folder)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    }
    Ok(unlinkat(original.fd().as_fd(), name, AtFlags::REMOVEDIR)?)
}
