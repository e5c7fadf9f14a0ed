//! How the paths of one jail resolve, and which ports are taken when it starts.
//!
//! A rule of a profile is compared with the path the kernel has resolved, so a path through a link is a rule that never
//! matches: every path of a jail is resolved here. What is not there yet is resolved as far as it is. How it could
//! break: a folder that is exchanged for a link afterwards; so nobody may be running in the session's folders.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use enclos_paths::AbsPath;

use super::listening;
use crate::{Jail, Network};

/// What was found for a jail.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Each path that the jail names, resolved.
    pub real: BTreeMap<AbsPath, AbsPath>,
    /// The ports of loopback that are taken; empty when loopback is closed anyway.
    pub listening: BTreeSet<u16>,
}

/// Why a survey could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// A lent path cannot be resolved.
    #[error("cannot lend {path}")]
    Resolve {
        /// The lent path.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A path of the session cannot be resolved.
    #[error("cannot find {path}")]
    Own {
        /// The path.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not known which services of this Mac have to be closed.
    #[error(
        "cannot list what listens on this Mac; a session without its localhost (--no-local) needs no list"
    )]
    Listening(#[source] io::Error),
}

impl Survey {
    /// Looks at everything `jail` names.
    ///
    /// # Errors
    /// Names the first lent path that is not there, or says what cannot be found out.
    pub fn take(jail: &Jail) -> Result<Self, SurveyError> {
        let mut survey = Self::default();
        for lent in &jail.lent {
            let real = resolve(&lent.outside).map_err(|source| SurveyError::Resolve {
                path: lent.outside.clone(),
                source,
            })?;
            survey.real.insert(lent.outside.clone(), real);
            survey.add(&lent.inside)?;
        }
        for path in own(jail) {
            survey.add(path)?;
        }
        if jail.network != Network::NoLocal {
            survey.listening = listening::now().map_err(SurveyError::Listening)?;
        }
        Ok(survey)
    }

    fn add(&mut self, path: &AbsPath) -> Result<(), SurveyError> {
        if !self.real.contains_key(path) {
            let real = resolve_as_far(path).map_err(|source| SurveyError::Own {
                path: path.clone(),
                source,
            })?;
            self.real.insert(path.clone(), real);
        }
        Ok(())
    }
}

/// What a jail names besides what is lent.
fn own(jail: &Jail) -> impl Iterator<Item = &AbsPath> {
    let trees = jail
        .trees
        .iter()
        .flat_map(|tree| [&tree.inside, &tree.outside]);
    trees
        .chain([&jail.home, &jail.tmp])
        .chain(&jail.covered)
        .chain(&jail.sockets)
        .chain(&jail.protected)
}

/// Resolves a path whose last components need not be there.
fn resolve_as_far(path: &AbsPath) -> io::Result<AbsPath> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut at = path.clone();
    loop {
        match resolve(&at) {
            Ok(real) => {
                let whole: PathBuf = std::iter::once(real.as_path().as_os_str())
                    .chain(missing.iter().rev().map(OsString::as_os_str))
                    .collect();
                return absolute(&whole);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (at.parent(), at.name()) else {
                    return Err(error);
                };
                missing.push(name.to_owned());
                at = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The path with all links resolved and, where the file can be opened, as the file system spells it.
fn resolve(path: &AbsPath) -> io::Result<AbsPath> {
    let real = std::fs::canonicalize(path.as_path())?;
    absolute(&spelt(&real).unwrap_or(real))
}

fn absolute(path: &Path) -> io::Result<AbsPath> {
    AbsPath::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// `F_GETPATH`: a name on a file system that ignores case, as it was made.
#[cfg(target_os = "macos")]
fn spelt(path: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let spelt = rustix::fs::getpath(&file).ok()?;
    Some(OsString::from_vec(spelt.into_bytes()).into())
}

#[cfg(not(target_os = "macos"))]
fn spelt(_path: &Path) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_as_far_as_there_is_anything() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap()).unwrap();
        std::fs::create_dir(root.resolve("real")).unwrap();
        std::os::unix::fs::symlink("real", root.resolve("link")).unwrap();
        let far = |path: &str| resolve_as_far(&root.resolve(path)).unwrap();
        assert_eq!(far("link"), root.resolve("real"));
        assert_eq!(far("link/a/b"), root.resolve("real/a/b"));
        assert_eq!(far("none"), root.resolve("none"));
        std::fs::write(root.resolve("real/file"), "").unwrap();
        assert!(resolve_as_far(&root.resolve("real/file/x")).is_err());
    }
}
