//! What changed, hunk by hunk, and how it comes back: scan, merge, approve, apply, undo.
//!
//! `scan` compares a frozen copy with the original and with what both looked like at the start. The person's
//! choice is an [`Approval`], tied to exactly the bytes that were shown. `apply` brings it into the original
//! through a journal; `recover` takes an interrupted one back; `undo` restores what was there before:
//!
//! ```text
//! scan(&TreeSources, &ScanOptions) -> Result<Review, ScanError>
//! apply(&TreeSources, &Review, &Approval, store: &AbsPath, &dyn Faults) -> Result<Applied, ApplyError>
//! recover(&ProjectRoot, store: &AbsPath, &dyn Faults) -> Result<Recovered, RecoverError>
//! undo(&ProjectRoot, store: &AbsPath, &UndoRequest, &dyn Faults) -> Result<Undone, UndoError>
//! ```

mod apply;
mod approval;
mod change;
mod diff;
mod fault;
mod held;
mod hunk;
mod hunks;
mod ignored;
mod merge;
mod moves;
mod recover;
pub mod scan;
mod source;
mod text;
mod undo;

pub use apply::{Applied, ApplyError, Lost, Outcome, RecordId, Stopped, apply};
pub use approval::{Approval, Approved, Choice, Seal};
pub use change::{
    ChangeKind, Conflict, Content, ContentHash, FileChange, FileKind, FileState, FolderChange,
    GitChange, HardLinked, Lines, Meeting, Note, NoteKind, Region, Review, Standing,
};
pub use fault::{Fault, Faults, NoFaults, Step};
pub use held::Held;
pub use hunk::{CONTEXT, Hunk, HunkId, HunkIdError, Line, LineKind};
pub use ignored::Unreviewable;
pub use moves::FormatError;
pub use recover::{Found, Left, RecoverError, Recovered, recover};
pub use scan::{RustAnalyzer, ScanError, ScanOptions, scan};
pub use source::{Base, NoBase, TreeSources};
pub use undo::{Edited, UndoError, UndoRequest, Undone, Which, undo};
