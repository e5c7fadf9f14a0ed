//! Which files of the original are one and the same, so that their copies are as well.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use enclos_paths::ProjectPath;
use enclos_sys::stat::Stat;

/// A file of the original that has several names.
pub(crate) type Inode = (u64, u64);

/// The first name of every such file, kept in parts so that workers seldom wait for each other: in a store of
/// packages nearly every file has several names.
pub(crate) struct Links {
    parts: Vec<Mutex<HashMap<Inode, ProjectPath>>>,
}

/// What to do with a name of a file that has several.
pub(crate) enum Name<T> {
    /// It is the first one: this was made for it.
    First(T),
    /// Its copy exists under this path already.
    Again(ProjectPath),
}

impl Links {
    const PARTS: usize = 64;

    pub(crate) fn new() -> Self {
        Self {
            parts: (0..Self::PARTS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Answers for the file `stat` at `path`. For its first name `make` makes the copy's file, before anybody else
    /// can see the name here and link to it.
    pub(crate) fn enter<T, E>(
        &self,
        stat: &Stat,
        path: &ProjectPath,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Name<T>, E> {
        let part = &self.parts[usize::try_from(stat.ino).unwrap_or(0) % Self::PARTS];
        let mut names = part.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = names.get(&(stat.dev, stat.ino)) {
            return Ok(Name::Again(first.clone()));
        }
        let made = make()?;
        names.insert((stat.dev, stat.ino), path.clone());
        Ok(Name::First(made))
    }
}
