//! Takes an interrupted apply back.
//!
//! The rule, decided once: an apply counts when its record is in the store. One that was interrupted before that is
//! taken back as a whole, because nobody was told that it happened and the session still holds everything; one that
//! was interrupted after it is only tidied up. A path is touched only if it is exactly what the journal says the apply
//! put there; everything else is left and named, and what the apply had moved away from there is kept in the store.
//!
//! A recovery can itself be interrupted at any step and started again.

use std::io;
use std::os::fd::AsFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_folder_at;
use rustix::fs::AtFlags;
use rustix::fs::unlinkat;

use crate::ApplyError;
use crate::Faults;
use crate::FormatError;
use crate::RecordId;
use crate::Step;
use crate::moves::Back;
use crate::moves::Move;
use crate::moves::Record;
use crate::moves::Store;
use crate::moves::Trouble;
use crate::moves::Workplace;
use crate::moves::clear_staging;
use crate::moves::journal::Journal;
use crate::moves::observe::observe;
use crate::moves::slot_name;
use crate::source::Tree;

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

/// Why a recovery could not be done. It can be tried again; nothing is lost meanwhile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The original could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The journal cannot be understood.
    #[error("cannot read the journal {path}")]
    Journal {
        /// Where it is.
        path: AbsPath,
        /// What is wrong with it.
        #[source]
        source: FormatError,
    },
    /// The store or the working folder could not be used.
    #[error("cannot {doing} {path}")]
    Store {
        /// What was tried.
        doing: &'static str,
        /// Where.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something could not be moved back.
    #[error(transparent)]
    Apply(ApplyError),
}

/// Takes back, or tidies up after, an apply or undo of this store that was interrupted.
///
/// It must run before the next apply or undo in the same original, under the same lock.
///
/// # Errors
/// See [`RecoverError`].
pub fn recover(
    original: &ProjectRoot,
    store: &AbsPath,
    faults: &dyn Faults,
) -> Result<Recovered, RecoverError> {
    let root = original.path();
    let tree = Tree::open(root)?;
    let fail = |source| RecoverError::Store {
        doing: "read",
        path: store.clone(),
        source,
    };
    let store = Store::open(store).map_err(fail)?;
    let Some(text) = store.journal().map_err(fail)? else {
        return clear_left_over(&tree, root, &store).map(|()| Recovered::default());
    };
    let journal = Journal::parse(&text).map_err(|source| RecoverError::Journal {
        path: store.path.resolve("journal"),
        source,
    })?;
    let counts = counts(&store, journal.id)?;
    let found = if counts {
        Found::Untidy
    } else {
        Found::Unfinished
    };
    let mut recovered = Recovered {
        found,
        ..Recovered::default()
    };
    if let Some(place) = workplace(&tree, root, &store, &journal, faults)? {
        if counts {
            keep_displaced(&place, &journal.moves)?;
        } else {
            take_back(&place, &journal.moves, &mut recovered)?;
        }
        tidy_up(&place, counts)?;
    }
    at(faults, Step::RemoveJournal)?;
    store
        .remove_journal()
        .map_err(|source| RecoverError::Store {
            doing: "remove the journal in",
            path: store.path.clone(),
            source,
        })?;
    Ok(recovered)
}

/// Whether the record is there, and whole. One that was cut off when the power went was never answered for.
fn counts(store: &Store, id: RecordId) -> Result<bool, RecoverError> {
    let fail = |source| RecoverError::Store {
        doing: "read",
        path: store.path.clone(),
        source,
    };
    let Some(text) = store.record(id).map_err(fail)? else {
        return Ok(false);
    };
    match Record::parse(&text) {
        Ok(_) => Ok(true),
        Err(source @ FormatError::Version { .. }) => Err(RecoverError::Journal {
            path: store.record_path(id).resolve("record"),
            source,
        }),
        Err(_) => Ok(false),
    }
}

/// What was staged before there was a journal: nothing of the person's is in it.
fn clear_left_over(tree: &Tree, root: &AbsPath, store: &Store) -> Result<(), RecoverError> {
    let fail = |path: &AbsPath| {
        let path = path.clone();
        move |source| RecoverError::Store {
            doing: "clear",
            path,
            source,
        }
    };
    let next = store.next().map_err(fail(&store.path))?;
    clear_staging(tree, &store.staging_name(next)).map_err(fail(root))?;
    store.drop_kept(next).map_err(fail(&store.path))
}

/// The workplace of the interrupted run; none when its staging folder is gone, which it is only when all was done.
fn workplace<'a>(
    tree: &'a Tree,
    root: &'a AbsPath,
    store: &'a Store,
    journal: &Journal,
    faults: &'a dyn Faults,
) -> Result<Option<Workplace<'a>>, RecoverError> {
    let staging = match open_folder_at(tree.fd(), journal.staging.as_ref()) {
        Ok(staging) => staging,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(RecoverError::Store {
                doing: "open the working folder in",
                path: root.clone(),
                source,
            });
        }
    };
    Ok(Some(Workplace {
        original: tree,
        root,
        store,
        faults,
        id: journal.id,
        staging,
        staging_name: journal.staging.clone(),
        without_exchange: false.into(),
        staging_stays: false.into(),
    }))
}

fn take_back(
    place: &Workplace<'_>,
    moves: &[Move],
    recovered: &mut Recovered,
) -> Result<(), RecoverError> {
    for step in moves.iter().rev() {
        match place
            .take_back(step)
            .map_err(|trouble| RecoverError::Apply(trouble.into()))?
        {
            Back::Nothing => {}
            Back::Restored => recovered.taken_back.push(step.path.clone()),
            Back::Left(kept) => recovered.left.push(Left {
                path: step.path.clone(),
                kept,
            }),
        }
    }
    recovered.taken_back.sort();
    recovered.left.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// Moves what the apply displaced into its record, as the apply itself would have done.
fn keep_displaced(place: &Workplace<'_>, moves: &[Move]) -> Result<(), RecoverError> {
    let fail = |source| RecoverError::Store {
        doing: "keep what was there in",
        path: place.store.path.clone(),
        source,
    };
    at(place.faults, Step::KeepMove)?;
    let slots = match place.store.slots(place.id) {
        Ok(slots) => slots,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return place.keep_staging().map_err(fail),
        Err(e) => return Err(fail(e)),
    };
    // Copies were made before anything moved; what is here is the same unless someone wrote to it afterwards.
    for step in moves.iter().filter(|step| step.op.displaces()) {
        let slot = slot_name(step.slot);
        if !place.holds(&slot) || step.staged.is_some() && place.inode_of(&slot) == step.staged {
            continue;
        }
        let state = |folder| {
            observe(folder, &slot[..])
                .map(|seen| seen.and_then(|seen| seen.state))
                .map_err(fail)
        };
        if state(place.staging.as_fd())? == state(slots.as_fd())? {
            unlinkat(&place.staging, &slot[..], AtFlags::empty()).map_err(|e| fail(e.into()))?;
        } else {
            place.aside(&slot);
        }
    }
    Ok(())
}

fn tidy_up(place: &Workplace<'_>, counts: bool) -> Result<(), RecoverError> {
    let fail = |source| RecoverError::Store {
        doing: "clear",
        path: place.root.clone(),
        source,
    };
    if !counts {
        place.store.drop_kept(place.id).map_err(fail)?;
    }
    at(place.faults, Step::RemoveStaging)?;
    if place.staging_stays.get() {
        return Err(fail(io::ErrorKind::StorageFull.into()));
    }
    clear_staging(place.original, &place.staging_name).map_err(fail)
}

/// A fault during a recovery ends it, of whatever kind it is: it is tried again as a whole.
fn at(faults: &dyn Faults, step: Step) -> Result<(), RecoverError> {
    match faults.at(step, None) {
        Ok(()) => Ok(()),
        Err(_) => Err(RecoverError::Apply(Trouble::Crash.into())),
    }
}
