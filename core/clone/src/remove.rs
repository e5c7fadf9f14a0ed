//! Removing a copy, whatever an agent left in it.
//!
//! The promise: all of it goes and nothing else, in spite of folders without rights, flags that forbid changes, paths
//! longer than the kernel takes and any depth; no link is followed and no mount entered. A mount in it is an error,
//! for what is mounted is not ours. Nobody may be at work in the tree any more.

use std::ffi::CStr;
use std::ffi::CString;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;
use enclos_sys::immutable::clear_immutable;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_folder_at;
use enclos_sys::open::open_root;
use enclos_sys::open::reopen;
use enclos_sys::stat::Node;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::fchmod;
use rustix::fs::renameat;
use rustix::fs::unlinkat;
use rustix::io::Errno;

use crate::listing::Listing;
use crate::tree::io_error;

/// Removes the file or folder `path` with all that is in it; what is not there is as good as removed.
///
/// # Errors
/// What the kernel says about the first thing that cannot be removed.
pub fn remove_tree(path: &AbsPath) -> io::Result<()> {
    let (Some(holder), Some(name)) = (path.parent(), path.name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let holder = match open_root(&holder).map_err(io_error) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let name = CString::new(name.as_bytes())?;
    match stat_at(&holder, &*name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(stat) if stat.node == Node::Folder => {
            let top = enter(holder.as_fd(), &name)?;
            let mut remover = Remover {
                top: top.as_fd(),
                moved: 0,
            };
            remover.empty(top.as_fd(), 0)?;
            while remover.moved > 0 {
                // What was deep is now right below, and may be deep once more.
                remover.moved = 0;
                remover.empty(reopen(top.as_fd()).map_err(io_error)?.as_fd(), 0)?;
            }
            remove_folder(holder.as_fd(), &name)
        }
        Ok(_) => remove_file(holder.as_fd(), &name),
    }
}

/// Each level holds a descriptor open, and what is deeper is brought up first.
const DEEPEST: usize = 200;

struct Remover<'t> {
    top: BorrowedFd<'t>,
    /// How many folders were moved right below the top.
    moved: u64,
}

impl Remover<'_> {
    fn empty(&mut self, dir: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        let mut listing = Listing::default();
        listing.read(dir)?;
        for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            match stat_at(dir, name) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
                Ok(stat) if stat.node != Node::Folder => remove_file(dir, name)?,
                Ok(_) if depth < DEEPEST => {
                    let inner = enter(dir, name)?;
                    self.empty(inner.as_fd(), depth + 1)?;
                    remove_folder(dir, name)?;
                }
                Ok(_) => self.bring_up(dir, name)?,
            }
        }
        Ok(())
    }

    fn bring_up(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        // Moving a folder changes what it holds as `..`, which takes the right to write it.
        drop(enter(dir, name)?);
        loop {
            self.moved += 1;
            let new = format!(".enclos-deep-{}", self.moved);
            match stat_at(self.top, new.as_str()) {
                Ok(_) => {}
                Err(_) => return Ok(renameat(dir, name, self.top, new.as_str())?),
            }
        }
    }
}

/// Opens a folder and gives its owner, us, every right to it.
fn enter(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let opened = match open_folder_at(dir, OsStr::from_bytes(name.to_bytes())) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            let _ = clear_flags(dir, name);
            allow(dir, name)?;
            open_folder_at(dir, OsStr::from_bytes(name.to_bytes()))?
        }
        opened => opened?,
    };
    let stat = stat_fd(&opened)?;
    if stat.immutable {
        clear_immutable(&opened)?;
    }
    if stat.mode & 0o700 != 0o700 {
        fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

/// Gives us every right to a folder that cannot even be opened, without following a link.
#[cfg(target_os = "linux")]
fn allow(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::OFlags;

    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    // A mode cannot be set through such a descriptor itself before Linux 6.6.
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::RWXU)?)
}

#[cfg(not(target_os = "linux"))]
fn allow(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::chmodat(
        dir,
        name,
        Mode::RWXU,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn remove_file(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    remove(dir, name, AtFlags::empty())
}

fn remove_folder(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    remove(dir, name, AtFlags::REMOVEDIR)
}

fn remove(dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<()> {
    match unlinkat(dir, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::PERM) => {
            clear_flags(dir, name)?;
            Ok(unlinkat(dir, name, flags)?)
        }
        Err(errno) => Err(errno.into()),
    }
}

fn clear_flags(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    clear_immutable(open_file_at(dir, name)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn place() -> (tempfile::TempDir, AbsPath) {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(folder.path().join("copy")).unwrap();
        (folder, path)
    }

    #[test]
    fn everything_goes_and_nothing_behind_a_link() {
        let (folder, copy) = place();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "x").unwrap();
        fs::create_dir_all(copy.as_path().join("a/b")).unwrap();
        fs::write(copy.as_path().join("a/b/file"), "x").unwrap();
        symlink(&outside, copy.as_path().join("a/way")).unwrap();
        for closed in ["a/b", "a"] {
            fs::set_permissions(
                copy.as_path().join(closed),
                fs::Permissions::from_mode(0o000),
            )
            .unwrap();
        }
        remove_tree(&copy).unwrap();
        assert!(!copy.as_path().exists());
        assert!(outside.join("mine").exists());
        remove_tree(&copy).unwrap();
    }

    #[test]
    fn any_depth_goes_with_few_descriptors() {
        let (_folder, copy) = place();
        fs::create_dir(copy.as_path()).unwrap();
        let mut at = open_root(&copy).unwrap();
        for _ in 0..1500 {
            rustix::fs::mkdirat(&at, "deep", Mode::RWXU).unwrap();
            at = open_folder_at(at.as_fd(), OsStr::new("deep")).unwrap();
        }
        remove_tree(&copy).unwrap();
        assert!(!copy.as_path().exists());
    }

    #[test]
    fn a_file_or_link_goes_by_itself() {
        let (folder, copy) = place();
        fs::write(folder.path().join("mine"), "x").unwrap();
        symlink(folder.path().join("mine"), copy.as_path()).unwrap();
        remove_tree(&copy).unwrap();
        assert!(copy.as_path().symlink_metadata().is_err());
        assert!(folder.path().join("mine").exists());
    }
}
