//! Where the copies lie: on the project's own file system where that is possible, so that blocks can be shared.
//!
//! A store is a folder of ours, 0700, kept out of backups and search by its name and a cache tag. Each session has one
//! folder in it, with the copies, the private home and temporary files. Discarded ones move into its trash at once
//! and are deleted later.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

use enclos_paths::AbsPath;

use crate::Environment;
use crate::private;
use crate::private::PrivateError;
use crate::registry::Registry;

/// A store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    root: AbsPath,
}

impl Store {
    /// The store for a project at `project`: the home's own when that is the same file system, else one in the
    /// topmost folder of the project's file system that we may write, else the home's own all the same.
    ///
    /// # Errors
    /// When no store can be made.
    pub fn choose(environment: &Environment, project: &AbsPath) -> Result<Self, PrivateError> {
        let uid = environment.user.uid;
        private::folder(&environment.places.copies, uid)?;
        let own = Self {
            root: environment.places.copies.clone(),
        };
        let device = |path: &AbsPath| fs::metadata(path).map(|found| found.dev()).ok();
        let wanted = device(project);
        if wanted.is_none() || device(&own.root) == wanted {
            return own.tagged();
        }
        let mut best = None;
        let mut at = project.parent();
        while let Some(folder) = at.filter(|folder| device(folder) == wanted) {
            if rustix::fs::access(folder.as_path(), rustix::fs::Access::WRITE_OK).is_ok() {
                best = Some(folder.clone());
            }
            at = folder.parent();
        }
        let there = best.map(|folder| folder.resolve(format!("{AWAY}{uid}.noindex")));
        match there.filter(|root| private::folder(root, uid).is_ok()) {
            Some(root) => Self { root }.tagged(),
            None => own.tagged(),
        }
    }

    /// The store that `session`, a session's folder, lies in.
    #[must_use]
    pub fn of(session: &AbsPath) -> Option<Self> {
        session.parent().map(|root| Self { root })
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &AbsPath {
        &self.root
    }

    /// Makes a folder for a session, called `stem` or, when that is taken, `stem-2` and on: the first session of a
    /// project has a stable path, which matters where the copy's path shows inside (macOS).
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn allocate(&self, stem: &str) -> io::Result<AbsPath> {
        for number in 1..u32::MAX {
            let name = if number == 1 {
                stem.to_owned()
            } else {
                format!("{stem}-{number}")
            };
            let folder = self.root.resolve(name);
            match fs::DirBuilder::new().create(&folder) {
                Ok(()) => {
                    fs::set_permissions(
                        &folder,
                        std::os::unix::fs::PermissionsExt::from_mode(0o700),
                    )?;
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::QuotaExceeded.into())
    }

    /// Moves a session's folder into the trash and says where it is now. Takes no time that depends on its size.
    ///
    /// # Errors
    /// When it cannot be moved; it is where it was.
    pub fn discard(&self, session: &AbsPath, name: &str) -> io::Result<AbsPath> {
        let trash = self.root.resolve(TRASH);
        fs::create_dir_all(&trash)?;
        for number in 1..u32::MAX {
            let to = trash.resolve(format!("{name}.{number}"));
            if to.as_path().symlink_metadata().is_ok() {
                continue;
            }
            fs::rename(session, &to)?;
            return Ok(to);
        }
        Err(io::ErrorKind::QuotaExceeded.into())
    }

    /// Every session's folder in the store, trash and caches aside.
    ///
    /// # Errors
    /// When the store cannot be listed.
    pub fn sessions(&self) -> io::Result<Vec<AbsPath>> {
        list(&self.root)
    }

    /// What lies in the trash.
    ///
    /// # Errors
    /// When the trash cannot be listed.
    pub fn trash(&self) -> io::Result<Vec<AbsPath>> {
        match list(&self.root.resolve(TRASH)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        }
    }

    /// Deletes what lies in the store and belongs to no session that still counts: leftovers of crashes, and copies in
    /// the trash that no record names. Says how many.
    ///
    /// # Errors
    /// When the store or the sessions cannot be listed.
    pub fn empty_orphans(&self, registry: &Registry, age: Duration) -> io::Result<u64> {
        let (found, unreadable) = registry.list().map_err(io::Error::other)?;
        if !unreadable.is_empty() {
            // A record that cannot be read may name any of these folders.
            return Ok(0);
        }
        let mut deleted = 0;
        for folder in self.sessions()?.into_iter().chain(self.trash()?) {
            let is_old = fs::symlink_metadata(&folder)
                .and_then(|made| made.modified())
                .is_ok_and(|made| {
                    made.elapsed()
                        .is_ok_and(|since| since >= age.max(UNFINISHED))
                });
            let is_named = found.iter().any(|session| session.record.store == folder);
            if is_old && !is_named && crate::registry::remove_tree(&folder).is_ok() {
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    fn tagged(self) -> Result<Self, PrivateError> {
        let tag = self.root.resolve("CACHEDIR.TAG");
        if !tag.as_path().exists() {
            private::replace(&tag, CACHE_TAG, private::Durability::Process)?;
        }
        Ok(self)
    }
}

fn list(folder: &AbsPath) -> io::Result<Vec<AbsPath>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let hidden =
            name.as_encoded_bytes().first() == Some(&b'.') || name == OsStr::new("CACHEDIR.TAG");
        if !hidden && entry.file_type()?.is_dir() {
            found.push(folder.resolve(name));
        }
    }
    found.sort();
    Ok(found)
}

/// Deletes a folder of the trash in a process of its own, so that nobody waits for it.
///
/// # Errors
/// When the process cannot be started; the folder stays in the trash.
pub fn delete_later(environment: &Environment, trash: &AbsPath) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&environment.executable);
    command.arg(DELETE).arg(trash).env_clear().current_dir("/");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(())
}

/// What `enclos delete-trash FOLDER` does, at the lowest priority.
///
/// # Errors
/// When `folder` does not lie in a trash, or cannot be deleted.
pub fn delete_trash(folder: &AbsPath) -> io::Result<()> {
    let in_trash = folder
        .parent()
        .is_some_and(|parent| parent.name() == Some(OsStr::new(TRASH)));
    if !in_trash {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Deleting late costs nobody anything; a priority that cannot be lowered is no reason not to.
    let _ = rustix::process::nice(19);
    crate::registry::remove_tree(folder)
}

/// The hidden subcommand by which our executable deletes a folder of the trash.
pub const DELETE: &str = "delete-trash";

/// A folder that no record names but that is younger than this may belong to a session that is being made.
const UNFINISHED: Duration = Duration::from_secs(60 * 60);

const AWAY: &str = ".enclos-";
const TRASH: &str = ".trash";

/// The signature by which backup programs know what they need not keep (the Cache Directory Tagging Specification).
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# Copies that Enclos made. The originals are elsewhere.\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path()).unwrap();
        (dir, Store { root })
    }

    #[test]
    fn the_first_session_of_a_project_has_the_stable_path() {
        let (_dir, store) = store();
        let first = store.allocate("web").unwrap();
        assert_eq!(first, store.root().resolve("web"));
        assert_eq!(
            store.allocate("web").unwrap(),
            store.root().resolve("web-2")
        );
        fs::remove_dir(&first).unwrap();
        assert_eq!(store.allocate("web").unwrap(), first);
    }

    #[test]
    fn the_trash_is_no_session_and_takes_the_same_name_twice() {
        let (_dir, store) = store();
        for _ in 0..2 {
            let session = store.allocate("web").unwrap();
            store.discard(&session, "web-1").unwrap();
        }
        assert_eq!(store.sessions().unwrap(), []);
        assert_eq!(store.trash().unwrap().len(), 2);
    }
}
