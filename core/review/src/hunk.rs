//! One contiguous change of lines, with a name that stays.
//!
//! The promise: a hunk's id depends on the path, the lines it removes and adds, and how many equal ones stand before
//! it in the file; so it stays the same when other hunks change, are applied or go away. It could only break for
//! hunks that are equal to each other, and an approval is tied to both sides of the file besides.
//!
//! Lines are kept byte for byte: a carriage return is part of its line, a missing last newline is said, bytes that are
//! not UTF-8 stay what they are.

use std::fmt;

use enclos_paths::ProjectPath;

use crate::Lines;

/// One contiguous run of removed and added lines with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk {
    /// What it is called.
    pub id: HunkId,
    /// The removed lines, in the text before. When nothing is removed, `start` is where the added lines go.
    pub old: Lines,
    /// The added lines, in the text after.
    pub new: Lines,
    /// The lines in order: context, removed, added, context. Context is at most [`CONTEXT`] lines on either side and
    /// may overlap with that of the neighbours.
    pub lines: Vec<Line>,
    /// The nearest line before it that starts a function, section or the like.
    pub heading: Option<Box<[u8]>>,
}

/// How many lines of context a hunk carries on either side.
pub const CONTEXT: u32 = 3;

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Whether it stays, goes or comes.
    pub kind: LineKind,
    /// Its bytes without the newline; a carriage return before it is kept.
    pub bytes: Box<[u8]>,
    /// Whether a newline ends it; only a file's last line can be without.
    pub newline_at_end: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It stays.
    Context,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

/// The name of a hunk: ten characters of `0-9a-z` without `i`, `l`, `o`, `u`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HunkId([u8; HunkId::LENGTH]);

impl HunkId {
    const LENGTH: usize = 10;
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// Reads an id as a person typed it; capitals are taken too.
    ///
    /// # Errors
    /// When it has another length or other characters.
    pub fn parse(text: &str) -> Result<Self, HunkIdError> {
        let lower = text.to_ascii_lowercase();
        let id = <[u8; Self::LENGTH]>::try_from(lower.as_bytes())
            .map_err(|_| HunkIdError { text: text.into() })?;
        match id.iter().all(|c| Self::ALPHABET.contains(c)) {
            true => Ok(Self(id)),
            false => Err(HunkIdError { text: text.into() }),
        }
    }

    /// The id of the `occurrence`-th hunk of `path` that removes and adds these lines.
    pub(crate) fn of(
        path: &ProjectPath,
        removed: &[&[u8]],
        added: &[&[u8]],
        occurrence: u32,
    ) -> Self {
        let mut hash = blake3::Hasher::new_derive_key("enclos hunk id 1");
        let mut field = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        field(path.as_bytes());
        for side in [removed, added] {
            field(&(side.len() as u64).to_le_bytes());
            side.iter().for_each(|line| field(line));
        }
        field(&occurrence.to_le_bytes());
        let digest = hash.finalize();
        Self(std::array::from_fn(|at| {
            Self::ALPHABET[usize::from(digest.as_bytes()[at] & 31)]
        }))
    }
}

/// Why a text is no [`HunkId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a hunk's id: ten letters or digits", enclos_paths::shown(.text.as_bytes()))]
pub struct HunkIdError {
    /// What was given.
    pub text: String,
}

impl fmt::Display for HunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|&c| fmt::Write::write_char(f, char::from(c)))
    }
}

impl fmt::Debug for HunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HunkId({self})")
    }
}
