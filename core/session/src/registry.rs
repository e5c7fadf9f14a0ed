//! The folder of all sessions: making, finding, sweeping.
//!
//! A session's folder appears under its name only with its record inside and its lock held, so nobody ever meets a
//! nameless or half-made one. What a crash left unfinished is recognised by its state and its free lock and removed.

use std::ffi::OsString;
use std::fs;
use std::io;

use enclos_paths::AbsPath;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use crate::Environment;
use crate::Record;
use crate::RecordError;
use crate::SessionId;
use crate::State;
use crate::lock::Lock;
use crate::lock::LockError;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;

/// All sessions of a person.
#[derive(Debug, Clone)]
pub struct Registry {
    root: AbsPath,
    uid: u32,
}

/// A session's folder and what its record says.
#[derive(Debug, Clone)]
pub struct Found {
    /// The folder.
    pub folder: AbsPath,
    /// The record.
    pub record: Record,
    /// Whether a process holds the session's lock.
    pub alive: bool,
}

impl Found {
    /// Whether the command was running when its supervisor went away.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        !self.alive && matches!(self.record.state, State::Running { .. } | State::Prepared)
    }
}

/// A session's folder with its lock held.
#[derive(Debug)]
pub struct Held {
    /// The folder.
    pub folder: AbsPath,
    /// The lock; dropped, others may go on with the session.
    pub lock: Lock,
}

impl Registry {
    /// Opens the person's sessions, making the folder when there is none.
    ///
    /// # Errors
    /// When the folder cannot be made private.
    pub fn open(environment: &Environment) -> Result<Self, RegistryError> {
        let root = environment.places.state.resolve("sessions");
        private::folder(&environment.places.state, environment.user.uid)?;
        private::folder(&root, environment.user.uid)?;
        Ok(Self {
            root,
            uid: environment.user.uid,
        })
    }

    /// Makes a session called `wanted`, or the first free number of `stem`.
    ///
    /// The record is made by `record`, which is told the name.
    ///
    /// # Errors
    /// [`RegistryError::Taken`] when `wanted` exists; otherwise why the folder could not be made.
    pub fn create(
        &self,
        stem: &str,
        wanted: Option<&SessionId>,
        record: impl Fn(&SessionId) -> Record,
    ) -> Result<(Held, Record), RegistryError> {
        let _one_at_a_time = Lock::wait(&self.root.resolve(REGISTRY_LOCK))?;
        for number in 1..=u32::MAX {
            let id = match wanted {
                Some(id) => id.clone(),
                None => format!("{stem}-{number}")
                    .parse()
                    .map_err(RegistryError::Name)?,
            };
            let folder = self.root.resolve(id.as_str());
            if folder.as_path().symlink_metadata().is_ok() {
                if wanted.is_some() {
                    return Err(RegistryError::Taken { id });
                }
                continue;
            }
            return self.create_at(&id, folder, record(&id));
        }
        Err(RegistryError::Full)
    }

    fn create_at(
        &self,
        id: &SessionId,
        folder: AbsPath,
        record: Record,
    ) -> Result<(Held, Record), RegistryError> {
        let nascent = self.root.resolve(format!("{NASCENT}{id}"));
        if nascent.as_path().exists() {
            // The registry's lock is held, so whoever began this is gone.
            fs::remove_dir_all(&nascent).map_err(|source| RegistryError::Folder {
                path: nascent.clone(),
                source,
            })?;
        }
        private::folder(&nascent, self.uid)?;
        let lock = Lock::try_take(&nascent.resolve(SESSION_LOCK))?;
        record.write(&nascent, Durability::Process)?;
        rename_new(&nascent, &folder)?;
        Ok((Held { folder, lock }, record))
    }

    /// The sessions, oldest first. Folders whose record cannot be read are returned apart, with the reason.
    ///
    /// # Errors
    /// When the folder of all sessions cannot be listed.
    pub fn list(&self) -> Result<(Vec<Found>, Vec<RecordError>), RegistryError> {
        let mut found = Vec::new();
        let mut unreadable = Vec::new();
        for name in self.names()? {
            match self.load(&name) {
                Ok(session) => found.push(session),
                Err(error) => unreadable.push(error),
            }
        }
        found.sort_by(|a, b| {
            (a.record.created, &a.record.id).cmp(&(b.record.created, &b.record.id))
        });
        Ok((found, unreadable))
    }

    /// The session called `text`, or the only one whose name starts with it.
    ///
    /// # Errors
    /// [`RegistryError::NoSuch`] with the names there are, [`RegistryError::Ambiguous`], or a record that is unreadable.
    pub fn find(&self, text: &str) -> Result<Found, RegistryError> {
        let names = self.names()?;
        if let Some(exact) = names.iter().find(|name| name.as_str() == text) {
            return Ok(self.load(exact)?);
        }
        let mut starting: Vec<SessionId> = names
            .iter()
            .filter(|name| name.as_str().starts_with(text))
            .cloned()
            .collect();
        match (starting.len(), starting.pop()) {
            (1, Some(only)) => Ok(self.load(&only)?),
            (0, _) => Err(RegistryError::NoSuch {
                text: text.to_owned(),
                known: names,
            }),
            (_, last) => {
                starting.extend(last);
                Err(RegistryError::Ambiguous {
                    text: text.to_owned(),
                    matching: starting,
                })
            }
        }
    }

    /// Takes the lock of a session for a decision.
    ///
    /// # Errors
    /// When another process holds it.
    pub fn hold(&self, id: &SessionId) -> Result<Held, RegistryError> {
        let folder = self.root.resolve(id.as_str());
        let lock = Lock::try_take(&folder.resolve(SESSION_LOCK))?;
        Ok(Held { folder, lock })
    }

    /// Gives the session that `held` and `record` belong to a folder of caches that no other living session uses: the
    /// first of `folders`.
    ///
    /// # Errors
    /// When the sessions cannot be listed or the record cannot be written.
    pub fn claim_caches(
        &self,
        held: &Held,
        record: &mut Record,
        folders: impl IntoIterator<Item = AbsPath>,
    ) -> Result<Option<AbsPath>, RegistryError> {
        let _one_at_a_time = Lock::wait(&self.root.resolve(REGISTRY_LOCK))?;
        let others = self.list()?.0;
        let used = |folder: &AbsPath| {
            others.iter().any(|other| {
                other.alive
                    && other.record.id != record.id
                    && other.record.caches.as_ref() == Some(folder)
            })
        };
        let free = folders.into_iter().find(|folder| !used(folder));
        record.caches.clone_from(&free);
        record.write(&held.folder, Durability::Process)?;
        Ok(free)
    }

    /// Removes what a crash left half-made: sessions that were still being prepared and whose process is gone.
    ///
    /// Returns the names of what was removed, for saying so.
    ///
    /// # Errors
    /// When the folder of all sessions cannot be listed. A session that cannot be removed is left for the next sweep.
    pub fn sweep(&self) -> Result<Vec<SessionId>, RegistryError> {
        let _one_at_a_time = Lock::wait(&self.root.resolve(REGISTRY_LOCK))?;
        let mut removed = Vec::new();
        for name in self.names()? {
            let Ok(session) = self.load(&name) else {
                continue;
            };
            if session.record.state != State::Preparing {
                continue;
            }
            let Ok(held) = self.hold(&name) else { continue };
            let gone = remove_tree(&session.record.store).and_then(|()| remove_tree(&held.folder));
            if gone.is_ok() {
                removed.push(name);
            }
        }
        Ok(removed)
    }

    fn load(&self, id: &SessionId) -> Result<Found, RecordError> {
        let folder = self.root.resolve(id.as_str());
        let alive = matches!(
            Lock::try_take(&folder.resolve(SESSION_LOCK)),
            Err(LockError::Held { .. })
        );
        let record = Record::read(&folder)?;
        Ok(Found {
            folder,
            record,
            alive,
        })
    }

    fn names(&self) -> Result<Vec<SessionId>, RegistryError> {
        let fail = |source| RegistryError::Folder {
            path: self.root.clone(),
            source,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(fail)? {
            let name: OsString = entry.map_err(fail)?.file_name();
            if let Some(id) = name.to_str().and_then(|text| text.parse().ok()) {
                names.push(id);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Removes a folder with everything in it, whatever an agent left there: folders without rights, chains of them that
/// are longer than any path. One that is not there is as good as removed.
///
/// # Errors
/// What could not be removed.
pub fn remove_tree(folder: &AbsPath) -> Result<(), io::Error> {
    enclos_clone::remove_tree(folder)
}

fn rename_new(from: &AbsPath, to: &AbsPath) -> Result<(), RegistryError> {
    match rustix::fs::renameat_with(
        rustix::fs::CWD,
        from.as_path(),
        rustix::fs::CWD,
        to.as_path(),
        RenameFlags::NOREPLACE,
    ) {
        Ok(()) => Ok(()),
        // Not every file system knows the flag; the registry's lock keeps the name free meanwhile.
        Err(Errno::INVAL) => fs::rename(from, to).map_err(|source| RegistryError::Folder {
            path: to.clone(),
            source,
        }),
        Err(source) => Err(RegistryError::Folder {
            path: to.clone(),
            source: source.into(),
        }),
    }
}

const REGISTRY_LOCK: &str = ".lock";
const SESSION_LOCK: &str = "lock";
const NASCENT: &str = ".new-";

/// What can go wrong with the folder of all sessions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is in use.
    #[error("there is already a session called {id}")]
    Taken {
        /// The name.
        id: SessionId,
    },
    /// No session has that name.
    #[error("there is no session called {}", enclos_paths::shown(.text.as_bytes()))]
    NoSuch {
        /// What was asked for.
        text: String,
        /// What there is.
        known: Vec<SessionId>,
    },
    /// Several sessions start like that.
    #[error("several sessions start with {}", enclos_paths::shown(.text.as_bytes()))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// Which they are.
        matching: Vec<SessionId>,
    },
    /// Every number is taken.
    #[error("every number of this project is taken")]
    Full,
    /// A name could not be made.
    #[error(transparent)]
    Name(crate::SessionIdError),
    /// A folder cannot be used.
    #[error("{path} cannot be used")]
    Folder {
        /// The folder.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A private folder is not to be had.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// A lock is held or cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A record is unreadable.
    #[error(transparent)]
    Record(#[from] RecordError),
}
