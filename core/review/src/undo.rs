//! Puts back what an apply displaced.
//!
//! The promise: a path is restored only where it still is what the apply wrote; where the person edited since, it is
//! named and left, unless they say otherwise, and then their version is kept in turn. An undo goes through the same
//! journal as an apply and can itself be undone.

use enclos_paths::ProjectPath;

use crate::ApplyError;
use crate::Outcome;
use crate::RecordId;

/// What to undo, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRequest {
    /// Which apply.
    pub which: Which,
    /// These paths and what lies below them; everything when empty.
    pub paths: Vec<ProjectPath>,
    /// What happens to files that were edited since.
    pub edited: Edited,
}

/// Which apply to undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The last one of which something is left to undo.
    Last,
    /// This one.
    Record(RecordId),
}

/// What happens to a file that is not what the apply wrote any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// It is left and named.
    Leave,
    /// The old version comes back all the same; the edited one is kept under the undo's own record.
    Replace,
}

/// What an undo did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undone {
    /// Which apply was undone.
    pub of: RecordId,
    /// The number under which this undo can itself be undone; none when nothing was written.
    pub record: Option<RecordId>,
    /// What became of each path, sorted by path.
    pub files: Vec<(ProjectPath, Outcome)>,
}

/// Why an undo did nothing at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no apply to undo.
    #[error("there is nothing to undo")]
    Nothing,
    /// There is no such record.
    #[error("there is no apply number {}", .0.0)]
    NoSuchRecord(RecordId),
    /// Writing failed as a whole.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}
