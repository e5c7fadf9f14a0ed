//! Moving names: the only four ways in which anything in the original is touched.
//!
//! Each takes open folders and single names, so no link is followed and nothing on the way can be swapped. A name is
//! never overwritten. What the kernel can do in one step it does in one step; where it cannot (NFS, FAT, FUSE), the
//! next best order is used and the caller is told.

use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

use rustix::fs::AtFlags;
use rustix::fs::RenameFlags;
use rustix::fs::linkat;
use rustix::fs::renameat;
use rustix::fs::renameat_with;
use rustix::fs::unlinkat;
use rustix::io::Errno;
use rustix::path::Arg;

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a, N> {
    pub(crate) folder: BorrowedFd<'a>,
    pub(crate) name: N,
}

impl<'a, N: Arg + Copy> At<'a, N> {
    pub(crate) fn new(folder: &'a impl AsFd, name: N) -> Self {
        Self {
            folder: folder.as_fd(),
            name,
        }
    }
}

/// Two names trade places in one step.
///
/// # Errors
/// What the kernel says; see [`is_unsupported`].
pub(crate) fn exchange(
    one: At<'_, impl Arg + Copy>,
    other: At<'_, impl Arg + Copy>,
) -> io::Result<()> {
    Ok(renameat_with(
        one.folder,
        one.name,
        other.folder,
        other.name,
        RenameFlags::EXCHANGE,
    )?)
}

/// `from` gets the name `to`, if nothing has it.
///
/// # Errors
/// `EEXIST` when something does.
pub(crate) fn rename_new(
    from: At<'_, impl Arg + Copy>,
    to: At<'_, impl Arg + Copy>,
) -> io::Result<()> {
    match renameat_with(
        from.folder,
        from.name,
        to.folder,
        to.name,
        RenameFlags::NOREPLACE,
    ) {
        Err(errno) if unsupported(errno) => link_new(from, to),
        result => Ok(result?),
    }
}

/// As [`rename_new`] where the kernel cannot promise it: a second name is made, which never overwrites, then the first
/// one goes. Folders have no second names; renaming one onto another works only if that is empty, which loses nothing.
fn link_new(from: At<'_, impl Arg + Copy>, to: At<'_, impl Arg + Copy>) -> io::Result<()> {
    match linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty()) {
        Ok(()) => Ok(unlinkat(from.folder, from.name, AtFlags::empty())?),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            // FAT, or a folder: nothing better is left than to look first.
            match enclos_sys::stat::stat_at(to.folder, to.name) {
                Ok(_) => Err(Errno::EXIST.into()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    Ok(renameat(from.folder, from.name, to.folder, to.name)?)
                }
                Err(e) => Err(e),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Whether the error means that the file system cannot do it at all.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(unsupported)
}

fn unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> (tempfile::TempDir, std::fs::File) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        fs::write(folder.path().join("b"), "b").unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        let open = fs::File::open(folder.path()).unwrap();
        (folder, open)
    }

    fn text(folder: &tempfile::TempDir, name: &str) -> Option<String> {
        fs::read_to_string(folder.path().join(name)).ok()
    }

    #[test]
    fn a_name_is_never_overwritten_in_either_way() {
        type Rename = fn(At<'_, &'static str>, At<'_, &'static str>) -> io::Result<()>;
        for (way, rename) in [
            ("renameat2", rename_new as Rename),
            ("link", link_new as Rename),
        ] {
            let (folder, open) = folder();
            for (from, to) in [("a", "b"), ("a", "d"), ("d", "a")] {
                let error = rename(At::new(&open, from), At::new(&open, to)).unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists,
                    "{way}: {from} to {to}"
                );
            }
            assert_eq!(
                (text(&folder, "a").as_deref(), text(&folder, "b").as_deref()),
                (Some("a"), Some("b")),
                "{way}"
            );
            rename(At::new(&open, "a"), At::new(&open, "new")).unwrap();
            rename(At::new(&open, "d"), At::new(&open, "new folder")).unwrap();
            assert_eq!(
                (text(&folder, "a"), text(&folder, "new").as_deref()),
                (None, Some("a")),
                "{way}"
            );
            assert!(
                folder.path().join("new folder").is_dir() && !folder.path().join("d").exists(),
                "{way}"
            );
        }
    }

    #[test]
    fn an_exchange_leaves_both() {
        let (folder, open) = folder();
        exchange(At::new(&open, "a"), At::new(&open, "b")).unwrap();
        assert_eq!(
            (text(&folder, "a").as_deref(), text(&folder, "b").as_deref()),
            (Some("b"), Some("a"))
        );
    }
}
