//! A place to stand for whoever wants to see an apply fail.
//!
//! Everything that writes calls [`Faults::at`] right before each step. The real one, [`NoFaults`], lets every step
//! pass. Tests stop the work there as a crash would, answer with an error of the disk, or change files behind the
//! work's back; so every promise about crashes and late edits is shown at every step, not at a few.

use std::io;

use enclos_paths::ProjectPath;

/// A step of an apply, a recovery or an undo, about to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// The staging folder is made in the original.
    MakeStaging,
    /// One file's new bytes are written into staging.
    Stage,
    /// What the person has is copied into the store, because it lies on another file system.
    KeepCopy,
    /// Everything staged is made durable.
    SyncStaged,
    /// The journal is written and made durable.
    WriteJournal,
    /// A staged file and the original's file trade places.
    Exchange,
    /// What came out of an exchange, or was moved away, is looked at.
    Verify,
    /// A staged file or folder goes to a name where nothing is.
    Put,
    /// The original's file moves into staging.
    Take,
    /// An empty folder is removed.
    RemoveFolder,
    /// Permission bits are set.
    SetMode,
    /// A step that turned out wrong is taken back.
    TakeBack,
    /// Everything moved is looked at a last time.
    LastLook,
    /// The moves are made durable.
    SyncMoves,
    /// The record that makes the apply count is written and made durable.
    Commit,
    /// What the person had moves from staging into the store.
    KeepMove,
    /// The staging folder is removed.
    RemoveStaging,
    /// The journal is removed.
    RemoveJournal,
}

/// Decides before each step whether it happens.
pub trait Faults {
    /// Called right before `step` on `path`, if the step is about one path.
    ///
    /// # Errors
    /// What should happen instead of the step.
    fn at(&self, step: Step, path: Option<&ProjectPath>) -> Result<(), Fault>;
}

/// What happens instead of a step.
#[derive(Debug)]
pub enum Fault {
    /// The work ends here, as if the process had been killed: nothing is cleaned up.
    Crash,
    /// The step fails as if the kernel had said so.
    Error(io::Error),
}

/// No faults: every step is taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn at(&self, _step: Step, _path: Option<&ProjectPath>) -> Result<(), Fault> {
        Ok(())
    }
}
