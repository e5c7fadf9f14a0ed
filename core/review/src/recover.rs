//! Takes an interrupted apply back.
//!
//! The rule, decided once: an apply counts when its record is in the store. One that was interrupted before that is
//! taken back as a whole, because nobody was told that it happened and the session still holds everything; one that
//! was interrupted after it is only tidied up. A path is touched only if it is exactly what the journal says the apply
//! put there; everything else is left and named, and what the apply had moved away from there is kept in the store.

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

/// What a recovery found and did.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// What kind of interruption it was.
    pub found: Found,
    /// The paths that were put back as they were.
    pub taken_back: Vec<ProjectPath>,
    /// The paths that had moved on since and were left as they are.
    pub left: Vec<Left>,
}

/// What a recovery found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Found {
    /// Nothing was interrupted.
    #[default]
    Nothing,
    /// An apply was interrupted before it counted; it was taken back.
    Unfinished,
    /// An apply counted but was not tidied up; it was.
    Untidy,
}

/// A path that a recovery left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which.
    pub path: ProjectPath,
    /// Where the version from before the apply is kept, if the apply had moved one away.
    pub kept: Option<AbsPath>,
}
