//! What a person was last shown of a session's changes.
//!
//! An apply may come minutes after the look, and the agent may work on meanwhile, or notice that it is being looked at
//! and put something else there. So what a look showed is remembered by its seal (both sides of each file), and an
//! apply of a file by name takes exactly that or nothing. The file is private to this module.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_review::Approval;
use enclos_review::Choice;
use enclos_review::Seal;
use serde::Deserialize;
use serde::Serialize;

use crate::look::Look;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;

/// What was shown of one session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown(BTreeMap<(AbsPath, ProjectPath), Seal>);

#[derive(Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    files: Vec<(AbsPath, ProjectPath, [u8; 32])>,
}

const VERSION: u32 = 1;
const FILE: &str = "shown.json";

impl Shown {
    /// Reads what was shown of the session in `folder`. What cannot be read was not shown: an apply then asks to look
    /// again, which is the safe answer.
    #[must_use]
    pub fn read(folder: &AbsPath) -> Self {
        let text = fs::read(folder.resolve(FILE)).unwrap_or_default();
        let files = match serde_json::from_slice::<OnDisk>(&text) {
            Ok(found) if found.version == VERSION => found.files,
            _ => Vec::new(),
        };
        Self(
            files
                .into_iter()
                .map(|(root, path, seal)| ((root, path), Seal(seal)))
                .collect(),
        )
    }

    /// Adds what `look` shows of the files that `is_shown`.
    pub fn add(&mut self, look: &Look, is_shown: impl Fn(&AbsPath, &ProjectPath) -> bool) {
        for tree in &look.trees {
            let root = &tree.tree.original;
            for file in tree
                .review
                .files
                .iter()
                .filter(|file| is_shown(root, &file.path))
            {
                self.0
                    .insert((root.clone(), file.path.clone()), file.seal());
            }
        }
    }

    /// Writes it for the session in `folder`.
    ///
    /// # Errors
    /// When the file cannot be replaced.
    pub fn write(&self, folder: &AbsPath) -> Result<(), PrivateError> {
        let files = self
            .0
            .iter()
            .map(|((root, path), seal)| (root.clone(), path.clone(), seal.0))
            .collect();
        let text = serde_json::to_vec(&OnDisk {
            version: VERSION,
            files,
        })
        .map_err(|error| PrivateError::Write {
            path: folder.resolve(FILE),
            source: io::Error::other(error),
        })?;
        private::replace(&folder.resolve(FILE), &text, Durability::Process)
    }

    /// Ties an approval of whole files below `root` to what was shown of them. A file that was not shown keeps the seal
    /// of now, unless the session `is_alive`: then nobody can have seen what it is now, and it is not applied.
    pub(crate) fn bind(&self, root: &AbsPath, approval: &mut Approval, is_alive: bool) {
        for (path, approved) in &mut approval.files {
            // A hunk's name says what is in it.
            if matches!(approved.choice, Choice::Hunks(_)) {
                continue;
            }
            match self.0.get(&(root.clone(), path.clone())) {
                Some(seal) => approved.seal = *seal,
                None if is_alive => approved.seal = Seal([0; 32]),
                None => {}
            }
        }
    }
}
