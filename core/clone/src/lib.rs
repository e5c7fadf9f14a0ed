//! Copy-on-write copies of a folder, what they looked like at the start, and the contents to compare with.
//!
//! A clone is the folder as it was: bytes, modes, times, links, extended attributes. The [`Baseline`] records the
//! identity of every entry on both sides, so a later look finds what changed in the copy and in the original without
//! reading contents. Cloning never writes to the original and never leaves a half-made clone that looks whole.
//!
//! [`clone()`] makes a copy: `choose` decides how (`reflink`, `clonefile`, `hybrid`, `overlay`, or copying), `tree`
//! carries it out. [`changes()`] finds what changed since, [`overlay_changes()`] the same in an overlay's upper layer.
//! [`BaseStore`] keeps what files held at the start. [`refuse()`] says what is never cloned, [`rewrite_copy()`] turns
//! the project's path in a copy that lies elsewhere, [`remove_tree()`] removes a copy.

mod base;
mod baseline;
mod changes;
mod choose;
mod clone;
mod clonefile;
mod hybrid;
mod ignored;
mod listing;
mod measure;
mod method;
mod outward;
mod overlay;
mod place;
mod queue;
mod reflink;
mod refuse;
mod remove;
mod request;
mod rewrite;
mod settle;
mod tracked;
mod tree;
mod trust;

pub use base::{
    Absence, BaseContent, BaseError, BaseStore, Ended, Keeping, Recorded, is_unchanged,
};
pub use baseline::{Baseline, BaselineError, Entry, Identity, Kind, Presence, Skipped};
pub use changes::{Candidate, Difference, Now, ScanError, Side, changes};
pub use clone::clone;
pub use clonefile::clone_whole;
pub use method::{FallBack, Method, MethodUsed, UnknownMethod};
pub use overlay::{LayerChange, LayerChanges, LayerEntry, overlay_changes};
pub use refuse::{Refusal, refuse};
pub use remove::remove_tree;
pub use request::{
    About, CloneError, CloneRequest, Cloned, Decision, LeaveOut, Note, Overlaid, Progress, Quiet,
};
pub use rewrite::{
    RewriteError, Rewritten, bears_paths, leads_to_git, rewrite, rewrite_copy, rewrite_link,
};
