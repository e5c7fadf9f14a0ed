//! Locks between processes: one per session, one per original.
//!
//! They are `flock`s, which the kernel drops with the last descriptor: a crash never leaves one behind. A descriptor
//! that is handed to the supervisor keeps the lock without a moment in which nobody holds it.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use enclos_paths::AbsPath;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// A held lock; dropped, it is free.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock at `path` if nobody holds it.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process does; otherwise why the lock file could not be used.
    pub fn try_take(path: &AbsPath) -> Result<Self, LockError> {
        let file = open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::WOULDBLOCK) => Err(LockError::Held { path: path.clone() }),
            Err(source) => Err(LockError::File {
                path: path.clone(),
                source: source.into(),
            }),
        }
    }

    /// Waits until the lock at `path` is free and takes it.
    ///
    /// # Errors
    /// Why the lock file could not be used.
    pub fn wait(path: &AbsPath) -> Result<Self, LockError> {
        let file = open(path)?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::INTR) => {}
                Err(source) => {
                    return Err(LockError::File {
                        path: path.clone(),
                        source: source.into(),
                    });
                }
            }
        }
    }

    /// Takes over a descriptor on which this lock is already held.
    #[must_use]
    pub fn inherited(file: File) -> Self {
        Self(file)
    }

    /// The descriptor, for handing the lock to a child.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.0
    }
}

fn open(path: &AbsPath) -> Result<File, LockError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| LockError::File {
            path: path.clone(),
            source,
        })
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds it.
    #[error("{path} is locked by another process")]
    Held {
        /// The lock file.
        path: AbsPath,
    },
    /// The lock file cannot be used.
    #[error("the lock file {path} cannot be used")]
    File {
        /// The lock file.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_refused_and_a_dropped_one_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = AbsPath::new(dir.path()).unwrap().child("lock").unwrap();
        let held = Lock::try_take(&path).unwrap();
        assert!(
            matches!(Lock::try_take(&path), Err(LockError::Held { .. })),
            "held once is held"
        );
        drop(held);
        Lock::try_take(&path).unwrap();
    }

    #[test]
    fn a_handed_over_lock_stays_held_when_the_giver_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = AbsPath::new(dir.path()).unwrap().child("lock").unwrap();
        let held = Lock::try_take(&path).unwrap();
        let taken = Lock::inherited(held.file().try_clone().unwrap());
        drop(held);
        assert!(
            matches!(Lock::try_take(&path), Err(LockError::Held { .. })),
            "the taker still holds it"
        );
        drop(taken);
    }
}
