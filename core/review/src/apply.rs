//! Brings approved changes into the original, so that a crash, a full disk or a late edit loses nothing.
//!
//! The promise, in the order in which it is kept: new bytes are written beside the original's files and hashed
//! against what was reviewed; a journal says what will move; each file then trades places with its replacement in one
//! step, and what comes out is looked at: when it is not what was reviewed, it goes straight back. Nothing is written
//! in place, nothing is reached through a link, and what the person had is kept for undo. One file that cannot be
//! applied does not stop the others; a full disk takes everything back.
//!
//! The caller holds the lock of the original: two sessions of a project never apply at once. How it is done is in
//! [`crate::moves`]; here it is decided what should be where.

mod choose;

use std::collections::BTreeMap;
use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;

use crate::Approval;
use crate::Faults;
use crate::HunkId;
use crate::Review;
use crate::TreeSources;
use crate::moves;
use crate::moves::Store;
use crate::source::Tree;

/// Brings what was approved into the original.
///
/// `review` is what [`crate::scan()`] found just before, `store` a folder of the session that only this crate uses.
///
/// # Errors
/// When nothing at all was done; see [`ApplyError`]. What became of each file is in [`Applied`].
pub fn apply(
    sources: &TreeSources<'_>,
    review: &Review,
    approval: &Approval,
    store: &AbsPath,
    faults: &dyn Faults,
) -> Result<Applied, ApplyError> {
    let (original, copy) = (
        Tree::open(sources.original.path())?,
        Tree::open(sources.copy)?,
    );
    let store = open_store(store)?;
    let trees = Trees {
        sources,
        original: &original,
        copy: &copy,
    };
    let (plan, mut files) = choose::plan(&trees, review, approval);
    if plan.units.is_empty() {
        return Ok(Applied {
            files: files.into_iter().collect(),
            record: None,
            without_exchange: false,
        });
    }
    let reports: Vec<Vec<ProjectPath>> =
        plan.units.iter().map(|unit| unit.reports.clone()).collect();
    let ended = moves::run(
        &original,
        sources.original.path(),
        &store,
        plan,
        (moves::Kind::Apply, faults),
    )?;
    files.extend(outcomes(&reports, ended.units));
    Ok(Applied {
        files: files.into_iter().collect(),
        record: ended.record,
        without_exchange: ended.without_exchange,
    })
}

/// What a plan of an apply is made from.
pub(crate) struct Trees<'a> {
    pub(crate) sources: &'a TreeSources<'a>,
    pub(crate) original: &'a Tree,
    pub(crate) copy: &'a Tree,
}

/// Opens the store, in which nothing may be in progress.
pub(crate) fn open_store(path: &AbsPath) -> Result<Store, ApplyError> {
    let fail = |source| ApplyError::Store {
        doing: "open",
        path: path.clone(),
        source,
    };
    let store = Store::open(path).map_err(fail)?;
    match store.journal().map_err(fail)? {
        Some(_) => Err(ApplyError::Unrecovered),
        None => Ok(store),
    }
}

/// The outcome of each path that is told.
pub(crate) fn outcomes(
    reports: &[Vec<ProjectPath>],
    units: Vec<Result<Vec<Lost>, Stopped>>,
) -> BTreeMap<ProjectPath, Outcome> {
    let mut told = BTreeMap::new();
    for (paths, result) in reports.iter().zip(units) {
        let Some((first, others)) = paths.split_first() else {
            continue;
        };
        for path in others {
            let outcome = match &result {
                Ok(lost) => Outcome::Applied { lost: lost.clone() },
                Err(_) => Outcome::Stopped(Stopped::Together {
                    other: first.clone(),
                }),
            };
            told.insert(path.clone(), outcome);
        }
        let outcome = match result {
            Ok(lost) => Outcome::Applied { lost },
            Err(stopped) => Outcome::Stopped(stopped),
        };
        told.insert(first.clone(), outcome);
    }
    told
}

/// What an apply did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Applied {
    /// What became of each approved path, sorted by path.
    pub files: Vec<(ProjectPath, Outcome)>,
    /// The number under which it can be undone; none when nothing was written.
    pub record: Option<RecordId>,
    /// Set when the file system cannot exchange two names in one step, so that for a moment a path was not there.
    pub without_exchange: bool,
}

/// The number of a kept apply or undo in its store, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

/// What became of one approved path.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It was written.
    Applied {
        /// What of the old file's attributes could not be carried over.
        lost: Vec<Lost>,
    },
    /// It was left as it was.
    Stopped(Stopped),
}

/// An attribute that the new file does not have although the old one had it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The owner: giving files away needs root.
    Owner {
        /// Whose it was.
        uid: u32,
    },
    /// The group: the caller is not a member.
    Group {
        /// Which it was.
        gid: u32,
    },
    /// An extended attribute or access list.
    Attribute {
        /// Its name.
        name: String,
    },
}

/// Why a path was left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// The review has no such change.
    #[error("the review has no change there")]
    NotInReview,
    /// The approval is of something else than the review shows now.
    #[error("it is not what was approved any more")]
    NotAsApproved,
    /// The original changed after the review.
    #[error("it was changed in the original after the review")]
    ChangedMeanwhile,
    /// The original changed again while it was taken back; the version before is in the store under this name.
    #[error(
        "it was changed in the original several times meanwhile; an earlier version is kept as {kept}"
    )]
    ChangedTwice {
        /// Where the earlier version is.
        kept: AbsPath,
    },
    /// The copy changed after the review.
    #[error("it was changed in the copy after the review")]
    CopyChanged,
    /// The person changed the same, and the choice was not to overwrite.
    #[error("it was also changed in the original")]
    Conflict,
    /// The review has no such hunk in this file.
    #[error("there is no hunk {id} in it")]
    NoSuchHunk {
        /// The hunk.
        id: HunkId,
    },
    /// Hunks were chosen of something that has none.
    #[error("it has no hunks to choose from")]
    NoHunks,
    /// Names of one file (hard links) go together, and these were not approved alike.
    #[error("it is one file with {other}, which was not approved the same way")]
    HardLinkGroup {
        /// One of the others.
        other: ProjectPath,
    },
    /// The folder it goes into is not there, or something that is not a folder is.
    #[error("the folder it goes into is not there")]
    NoFolder,
    /// It lies behind a symbolic link or a mount.
    #[error("it lies behind a link or a mount")]
    Behind,
    /// A folder that should go or be replaced still holds something.
    #[error("the folder is not empty")]
    NotEmpty,
    /// Another path that belongs to the same change could not be written.
    #[error("{other}, which belongs to the same change, could not be applied")]
    Together {
        /// That path.
        other: ProjectPath,
    },
    /// The system refused.
    #[error("the system refused to {doing}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

/// Why an apply did nothing at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The original or the copy could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The disk is full; everything is as it was.
    #[error("not enough space at {at}; nothing was changed")]
    NoSpace {
        /// Where space ran out.
        at: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// An apply that was interrupted must be taken care of first.
    #[error("an earlier apply was interrupted; it must be recovered first")]
    Unrecovered,
    /// The store or the staging folder could not be written; everything is as it was.
    #[error("cannot {doing} {path}; nothing was changed")]
    Store {
        /// What was tried.
        doing: &'static str,
        /// Where.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something could not be put back at first, so all of it was taken back; everything is as it was.
    #[error("it could not be done; nothing was changed")]
    TakenBack {
        /// Why not.
        #[source]
        source: Stopped,
    },
    /// Everything had to be taken back, and something could not be. The next recovery tries again.
    #[error("not everything could be put back yet; it is tried again before the next apply")]
    NotTakenBack {
        /// Why not.
        #[source]
        source: Stopped,
    },
    /// A fault that a test asked for.
    #[error("stopped as asked at a step")]
    Crashed,
}
