//! The machine under apply, undo and recovery: a list of moves, done so that none of them can lose anything.
//!
//! A plan is made of units: what a person decided as one thing. A unit is made of moves: one name, what is there
//! before, what is there after. The machine writes all new contents into a staging folder inside the original, makes
//! them durable, writes a journal, and then moves names only: a replacement trades places with what it replaces, a new
//! file goes only to a name where nothing is, a deleted one moves into staging. After each move it looks at what it
//! moved away; when that is not what the plan expects, someone changed it meanwhile, and it goes straight back. When a
//! move of a unit fails, the unit's other moves are taken back too.
//!
//! It decides nothing: what should be where is the plan's business.

mod attributes;
mod clear;
mod durable;
pub(crate) mod journal;
mod lines;
pub(crate) mod names;
pub(crate) mod observe;
mod perform;
mod plan;
pub(crate) mod record;
mod run;
mod stage;
mod store;
mod takeback;

pub(crate) use self::clear::clear_staging;
pub use self::lines::FormatError;
pub(crate) use self::plan::{Attributes, Inode, Move, Need, Op, Plan, Source, Task, Unit};
pub(crate) use self::record::{Kept, Kind, Record};
pub(crate) use self::run::run;
pub(crate) use self::store::Store;
pub(crate) use self::takeback::{Back, Workplace, slot_name};

/// What the name of the folder in the original that moves go through starts with. It is gone when they are done.
pub(crate) const STAGING_PREFIX: &str = ".enclos-staging-";

use std::io;

use enclos_paths::AbsPath;

use crate::ApplyError;
use crate::Fault;
use crate::Stopped;

/// Why a step did not happen.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A test asked for a crash: nothing more happens, nothing is cleaned up.
    Crash,
    /// The disk is full: everything is taken back.
    Full { at: AbsPath, source: io::Error },
    /// The store cannot be used: everything is taken back.
    Store {
        doing: &'static str,
        path: AbsPath,
        source: io::Error,
    },
    /// This unit stops, the others go on.
    Unit(Stopped),
    /// Everything had to be taken back, and something could not be. The journal stays for the next recovery.
    NotTakenBack(Stopped),
}

impl Trouble {
    /// The trouble that `source` means for one unit, or for all if the disk at `at` is full.
    pub(crate) fn of(doing: &'static str, at: &AbsPath, source: io::Error) -> Self {
        if is_full(&source) {
            Self::Full {
                at: at.clone(),
                source,
            }
        } else {
            Self::Unit(Stopped::System { doing, source })
        }
    }

    /// The trouble that `source` means where the whole depends on it.
    pub(crate) fn for_all(doing: &'static str, path: &AbsPath, source: io::Error) -> Self {
        if is_full(&source) {
            Self::Full {
                at: path.clone(),
                source,
            }
        } else {
            let path = path.clone();
            Self::Store {
                doing,
                path,
                source,
            }
        }
    }
}

impl From<Stopped> for Trouble {
    fn from(stopped: Stopped) -> Self {
        Self::Unit(stopped)
    }
}

impl From<Trouble> for ApplyError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Crash => Self::Crashed,
            Trouble::Full { at, source } => Self::NoSpace { at, source },
            Trouble::Store {
                doing,
                path,
                source,
            } => Self::Store {
                doing,
                path,
                source,
            },
            Trouble::Unit(source) => Self::TakenBack { source },
            Trouble::NotTakenBack(source) => Self::NotTakenBack { source },
        }
    }
}

/// What a fault asks for: a crash, or an error that is handled as the system's own.
pub(crate) fn injected(fault: Result<(), Fault>) -> Result<io::Result<()>, Trouble> {
    match fault {
        Ok(()) => Ok(Ok(())),
        Err(Fault::Error(error)) => Ok(Err(error)),
        Err(Fault::Crash) => Err(Trouble::Crash),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
