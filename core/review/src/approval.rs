//! What a person approved, tied to what they were shown.
//!
//! The promise: an approval is good for exactly the bytes that were reviewed. It names a seal over both sides of each
//! file; when either side moved since, the seal no longer fits and that file is not written.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;

use enclos_paths::ProjectPath;

use crate::ChangeKind;
use crate::FileChange;
use crate::FileKind;
use crate::FileState;
use crate::HunkId;
use crate::Review;

/// The files a person approved, and how much of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approval {
    /// What was approved, by path.
    pub files: BTreeMap<ProjectPath, Approved>,
}

/// The approval of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// How much of it.
    pub choice: Choice,
    /// What was shown.
    pub seal: Seal,
}

/// How much of a change is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// All of it, merged with what the person did elsewhere in the same file. A conflict is refused.
    Whole,
    /// These hunks of a text, and nothing else: no mode, no move.
    Hunks(BTreeSet<HunkId>),
    /// The copy's version, even where the person changed the same; theirs is kept for undo.
    Overwrite,
}

impl Approval {
    /// Everything that needs no second look: neither in conflict nor held because it would start by itself.
    #[must_use]
    pub fn without_risks(review: &Review) -> Self {
        Self::where_(review, |file| {
            file.conflict().is_none() && file.held.is_none()
        })
    }

    /// Everything that is not in conflict, also what would start by itself.
    #[must_use]
    pub fn with_risks(review: &Review) -> Self {
        Self::where_(review, |file| file.conflict().is_none())
    }

    /// Adds `choice` for `file` as it was shown.
    pub fn add(&mut self, file: &FileChange, choice: Choice) {
        let seal = file.seal();
        self.files
            .insert(file.path.clone(), Approved { choice, seal });
    }

    fn where_(review: &Review, wanted: impl Fn(&FileChange) -> bool) -> Self {
        let mut approval = Self::default();
        for file in review.files.iter().filter(|file| wanted(file)) {
            approval.add(file, Choice::Whole);
        }
        approval
    }
}

/// A fingerprint of both sides of a change as it was shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seal(pub [u8; 32]);

impl FileChange {
    /// The fingerprint of what this change shows: both states, the move, and the state at the start.
    #[must_use]
    pub fn seal(&self) -> Seal {
        let mut hash = blake3::Hasher::new_derive_key("enclos review seal 1");
        field(&mut hash, self.path.as_bytes());
        if let ChangeKind::Renamed { from } = &self.kind {
            field(&mut hash, from.as_bytes());
        }
        for state in [&self.before, &self.after, &self.base] {
            state_into(&mut hash, state.as_ref());
        }
        Seal(*hash.finalize().as_bytes())
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.0).to_hex().fmt(f)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({self})")
    }
}

fn state_into(hash: &mut blake3::Hasher, state: Option<&FileState>) {
    let Some(FileState { kind, mode }) = state else {
        field(hash, b"absent");
        return;
    };
    match kind {
        FileKind::File {
            size,
            hash: content,
        } => {
            field(hash, b"file");
            field(hash, &size.to_le_bytes());
            field(hash, &content.0);
        }
        FileKind::Folder => field(hash, b"folder"),
        FileKind::Link { target } => {
            field(hash, b"link");
            field(hash, target.as_os_str().as_encoded_bytes());
        }
    }
    field(hash, &mode.to_le_bytes());
}

/// Each field carries its length, so that no two lists of fields give the same bytes.
fn field(hash: &mut blake3::Hasher, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}
