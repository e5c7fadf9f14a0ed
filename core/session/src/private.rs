//! Folders and files that only their owner may touch, and writes that are whole or not there.

use std::fs;
use std::fs::DirBuilder;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;

use enclos_paths::AbsPath;

/// Makes `folder` and what is missing above it, mode 0700, and checks that an existing one is ours and closed.
///
/// # Errors
/// When it cannot be made, is a link, belongs to somebody else, or is open to others and cannot be closed.
pub(crate) fn folder(folder: &AbsPath, uid: u32) -> Result<(), PrivateError> {
    let fail = |source| PrivateError::Make {
        path: folder.clone(),
        source,
    };
    match DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        Ok(()) => {}
        Err(source) => return Err(fail(source)),
    }
    let found = fs::symlink_metadata(folder).map_err(fail)?;
    if !found.is_dir() {
        return Err(PrivateError::NotAFolder {
            path: folder.clone(),
        });
    }
    if found.uid() != uid {
        return Err(PrivateError::Foreign {
            path: folder.clone(),
            owner: found.uid(),
        });
    }
    if found.mode() & 0o077 != 0 {
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder, closed).map_err(fail)?;
    }
    Ok(())
}

/// How much a write must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Whole after a crash of ours; after a power cut perhaps the one before.
    Process,
    /// On disk before the call returns.
    Disk,
}

/// Replaces `path` by `bytes`, mode 0600: a reader sees the old file or the new one, never a part.
///
/// # Errors
/// When the folder cannot be written; the old file is untouched.
pub(crate) fn replace(
    path: &AbsPath,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), PrivateError> {
    let fail = |source| PrivateError::Write {
        path: path.clone(),
        source,
    };
    let Some(parent) = path.parent() else {
        return Err(fail(io::ErrorKind::InvalidInput.into()));
    };
    let mut name = path.name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let temp = parent.resolve(name);
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temp)?;
        file.write_all(bytes)?;
        if durability == Durability::Disk {
            file.sync_all()?;
        }
        fs::rename(&temp, path)?;
        if durability == Durability::Disk {
            fs::File::open(&parent)?.sync_all()?;
        }
        Ok(())
    })();
    written.map_err(|source| {
        // A file that was not renamed is of no use; if it cannot be removed either, the sweep of its folder will.
        let _ = fs::remove_file(&temp);
        fail(source)
    })
}

/// Why a private folder or file is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateError {
    /// The folder cannot be made or closed.
    #[error("{path} cannot be made a private folder")]
    Make {
        /// The folder.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something else is there.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// What is in the way.
        path: AbsPath,
    },
    /// It belongs to another user.
    #[error("{path} belongs to user {owner}, so it is not used")]
    Foreign {
        /// The folder.
        path: AbsPath,
        /// Whose it is.
        owner: u32,
    },
    /// A file could not be written.
    #[error("{path} cannot be written")]
    Write {
        /// The file.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_open_folder_is_closed_and_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path()).unwrap();
        let uid = fs::metadata(dir.path()).unwrap().uid();
        let open = root.child("open").unwrap();
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        folder(&open, uid).unwrap();
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o700);
        let link = root.child("link").unwrap();
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(
            matches!(folder(&link, uid), Err(PrivateError::NotAFolder { .. })),
            "a link may lead anywhere"
        );
        assert!(
            matches!(folder(&open, uid + 1), Err(PrivateError::Foreign { .. })),
            "somebody else's folder"
        );
    }

    #[test]
    fn a_failed_replace_leaves_the_old_file_and_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path()).unwrap();
        let file = root.child("record").unwrap();
        replace(&file, b"old", Durability::Disk).unwrap();
        let folder_in_the_way = root.child("other").unwrap();
        fs::create_dir(&folder_in_the_way).unwrap();
        assert!(
            replace(&folder_in_the_way, b"new", Durability::Process).is_err(),
            "a folder cannot be replaced by a file"
        );
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(
            fs::read_dir(&root).unwrap().count(),
            2,
            "no temporary file is left"
        );
    }
}
