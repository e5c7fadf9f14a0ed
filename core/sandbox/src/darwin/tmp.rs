//! Lays the short name of a session's temporary folder, in a folder of the person's that nobody else can write.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};

use enclos_paths::AbsPath;

use super::plan::ShortTmp;

/// Lays the link, and beside it a file that no session may read, with which a profile is tried; gives that file.
///
/// # Errors
/// The path that is in the way, and what the kernel said.
pub(super) fn lay(tmp: &ShortTmp) -> Result<AbsPath, (AbsPath, io::Error)> {
    let Some(holder) = tmp.link.parent() else {
        return Err((tmp.link.clone(), ErrorKind::InvalidInput.into()));
    };
    private(&holder, tmp.uid).map_err(|error| (holder.clone(), error))?;
    link(tmp).map_err(|error| (tmp.link.clone(), error))?;
    let probe = holder.resolve(OsStr::new("closed"));
    match fs::write(&probe, "No session can read this.\n") {
        Ok(()) => Ok(probe),
        Err(error) => Err((probe, error)),
    }
}

/// A folder in `/tmp` that is there already may be anybody's.
fn private(holder: &AbsPath, uid: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(holder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(holder)?;
    if found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

fn link(tmp: &ShortTmp) -> io::Result<()> {
    match fs::read_link(&tmp.link) {
        Ok(target) if target == tmp.folder.as_path() => return Ok(()),
        Ok(_) => fs::remove_file(&tmp.link)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    symlink(tmp.folder.as_path(), &tmp.link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_laid_again_and_a_folder_of_others_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path()).unwrap();
        let uid = rustix::process::getuid().as_raw();
        let tmp = |folder: &str, uid| ShortTmp {
            link: root.resolve("holder/link"),
            folder: root.resolve(folder),
            uid,
        };
        for folder in ["a", "a", "b"] {
            let probe = lay(&tmp(folder, uid)).unwrap();
            assert!(fs::metadata(probe).unwrap().len() > 0);
            let led = fs::read_link(root.resolve("holder/link")).unwrap();
            assert_eq!(led, root.resolve(folder).as_path());
        }
        let (path, _) = lay(&tmp("a", uid + 1)).unwrap_err();
        assert_eq!(path, root.resolve("holder"));
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(root.resolve("holder"), open).unwrap();
        assert!(lay(&tmp("a", uid)).is_err(), "others may look into it");
    }
}
