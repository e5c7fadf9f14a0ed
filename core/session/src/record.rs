//! The record of a session: what it is, where its parts lie, how far it got.
//!
//! One JSON file, private to this module, replaced as a whole. It holds names and numbers, never contents of the
//! project. A file of an unknown version is refused in words instead of being guessed at.

use std::ffi::OsString;
use std::fs;
use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use serde::Deserialize;
use serde::Serialize;

use crate::SessionId;
use crate::lock::Lock;
use crate::lock::LockError;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// Its name.
    pub id: SessionId,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// The command and its arguments, as given.
    pub command: Vec<OsString>,
    /// The folder that holds the copy and everything else that lies on the project's file system.
    pub store: AbsPath,
    /// The copied folders, the project first.
    pub trees: Vec<TreeRecord>,
    /// The project's caches that it uses; a running session has them to itself.
    pub caches: Option<AbsPath>,
    /// What could not be enforced, in words, as it was said at the start.
    pub gaps: Vec<String>,
    /// What happens at the end when nobody is there to ask.
    pub on_exit: OnExit,
    /// How far it got.
    pub state: State,
    /// Applies so far, oldest first.
    pub applies: Vec<ApplyRecord>,
}

/// One copied folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// The folder it is a copy of.
    pub original: AbsPath,
    /// Where the copy lies.
    pub copy: AbsPath,
    /// What it is for.
    pub role: TreeRole,
    /// How it was copied, by the method's name.
    pub method: String,
    /// Folders of it that are overlaid instead of copied.
    #[serde(default)]
    pub overlaid: Vec<OverlaidRecord>,
}

/// An overlaid folder of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlaidRecord {
    /// The folder below the tree's root; none for the whole tree.
    pub path: Option<ProjectPath>,
    /// Where what the session wrote there lies.
    pub upper: AbsPath,
}

/// What a copied folder is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeRole {
    /// The project itself.
    Project,
    /// A sibling under the same review.
    With,
    /// A git folder outside the project that it needs; never reviewed, never applied.
    Git,
}

/// What happens at the end when nobody is there to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExit {
    /// Keep the copy for a review.
    #[default]
    Keep,
    /// Apply what is neither risky nor in conflict.
    Apply,
    /// Apply that and what starts by itself.
    ApplyAll,
    /// Discard the copy.
    Discard,
}

/// How far a session got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum State {
    /// The copy is being made; without a process that holds the lock it is swept.
    Preparing,
    /// The copy is whole, the command not yet started.
    Prepared,
    /// The command runs; without a process that holds the lock the session was interrupted.
    Running {
        /// Since when, in milliseconds since 1970.
        since: i64,
    },
    /// The command ended; the copy waits for a decision.
    Ended {
        /// How.
        exit: Exit,
        /// When, in milliseconds since 1970.
        at: i64,
    },
    /// The copy is in the trash.
    Discarded {
        /// When, in milliseconds since 1970.
        at: i64,
    },
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
    /// It was not found.
    NotFound,
    /// It is there but cannot be executed.
    NotExecutable,
    /// Enclos itself failed to start it.
    Failed,
}

impl Exit {
    /// The exit code of `enclos run`.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128u8.saturating_add(signal),
            Self::NotFound => 127,
            Self::NotExecutable => 126,
            Self::Failed => 125,
        }
    }
}

/// One apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyRecord {
    /// Its number within the session, from 1.
    pub number: u32,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// How many files it changed.
    pub files: u64,
    /// Whether it has been undone.
    pub undone: bool,
}

impl Record {
    /// The version this code writes and reads.
    const VERSION: u32 = 1;

    /// A new session that is about to be prepared.
    #[must_use]
    pub fn new(id: SessionId, created: i64, command: Vec<OsString>, store: AbsPath) -> Self {
        Self {
            version: Self::VERSION,
            id,
            created,
            command,
            store,
            trees: Vec::new(),
            caches: None,
            gaps: Vec::new(),
            on_exit: OnExit::Keep,
            state: State::Preparing,
            applies: Vec::new(),
        }
    }

    /// The project's own tree; none before the copy was begun.
    #[must_use]
    pub fn project(&self) -> Option<&TreeRecord> {
        self.trees
            .iter()
            .find(|tree| tree.role == TreeRole::Project)
    }

    /// Writes the record into the session's folder.
    ///
    /// # Errors
    /// When the file cannot be replaced; the old one is untouched.
    pub fn write(&self, folder: &AbsPath, durability: Durability) -> Result<(), RecordError> {
        let text = serde_json::to_vec_pretty(self).map_err(RecordError::Encode)?;
        private::replace(&folder.resolve(FILE), &text, durability)?;
        Ok(())
    }

    /// Changes the record of the session in `folder`: read, changed and written with nobody in between, so that a
    /// supervisor and a decision do not undo each other's changes.
    ///
    /// # Errors
    /// When it cannot be read or replaced; the old one is untouched then.
    pub fn update(
        folder: &AbsPath,
        durability: Durability,
        change: impl FnOnce(&mut Self),
    ) -> Result<Self, RecordError> {
        let _alone = Lock::wait(&folder.resolve(LOCK))?;
        let mut record = Self::read(folder)?;
        change(&mut record);
        record.write(folder, durability)?;
        Ok(record)
    }

    /// Makes the record in `folder`, as it is now, survive a power cut; for whoever changed it without waiting.
    ///
    /// # Errors
    /// When it is not there any more, or the disk refuses.
    pub(crate) fn flush(folder: &AbsPath) -> io::Result<()> {
        fs::File::open(folder.resolve(FILE))?.sync_all()?;
        fs::File::open(folder)?.sync_all()
    }

    /// Reads the record of the session in `folder`.
    ///
    /// # Errors
    /// When it is not there, damaged, or of a version this code does not know.
    pub fn read(folder: &AbsPath) -> Result<Self, RecordError> {
        let path = folder.resolve(FILE);
        let text = fs::read(&path).map_err(|source| RecordError::Read {
            path: path.clone(),
            source,
        })?;
        let Version { version } =
            serde_json::from_slice(&text).map_err(|source| RecordError::Damaged {
                path: path.clone(),
                source,
            })?;
        if version != Self::VERSION {
            return Err(RecordError::Version { path, version });
        }
        serde_json::from_slice(&text).map_err(|source| RecordError::Damaged { path, source })
    }
}

const FILE: &str = "session.json";
const LOCK: &str = "session.lock";

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no record.
    #[error("{path} is damaged; the session's copy is untouched")]
    Damaged {
        /// The file.
        path: AbsPath,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of Enclos wrote it.
    #[error(
        "{path} has version {version}, which this version of Enclos does not know; the session's copy is untouched"
    )]
    Version {
        /// The file.
        path: AbsPath,
        /// What it says.
        version: u32,
    },
    /// It cannot be put into bytes.
    #[error("the session's record cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] PrivateError),
    /// It cannot be locked for a change.
    #[error(transparent)]
    Lock(#[from] LockError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let store = AbsPath::new("/store/web-1").unwrap();
        let mut record = Record::new(
            "web-1".parse().unwrap(),
            1,
            vec!["true".into()],
            store.clone(),
        );
        record.trees.push(TreeRecord {
            original: AbsPath::new("/p").unwrap(),
            copy: store.resolve("tree"),
            role: TreeRole::Project,
            method: "copy".to_owned(),
            overlaid: Vec::new(),
        });
        record.state = State::Ended {
            exit: Exit::Signal(9),
            at: 5,
        };
        record
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = AbsPath::new(dir.path()).unwrap();
        record().write(&folder, Durability::Process).unwrap();
        assert_eq!(Record::read(&folder).unwrap(), record());
    }

    #[test]
    fn an_unknown_version_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let folder = AbsPath::new(dir.path()).unwrap();
        fs::write(
            folder.resolve(FILE),
            "{\"version\": 99, \"whatever\": true}",
        )
        .unwrap();
        let error = Record::read(&folder).unwrap_err().to_string();
        assert!(error.contains("has version 99"), "{error}");
    }

    #[test]
    fn exit_codes_are_the_shells() {
        assert_eq!(Exit::Signal(15).code(), 143);
        assert_eq!(Exit::NotFound.code(), 127);
        assert_eq!(Exit::NotExecutable.code(), 126);
        assert_eq!(Exit::Code(3).code(), 3);
    }
}
