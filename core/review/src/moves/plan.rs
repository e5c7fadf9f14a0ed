//! What should be where, as data.

use std::fmt;

use enclos_clone::Identity;
use enclos_paths::ProjectPath;

use crate::FileKind;
use crate::FileState;
use crate::Lost;
use crate::Stopped;
use crate::source::Tree;

/// Units in any order; the machine does the moves of all of them in the order that works.
#[derive(Debug, Default)]
pub(crate) struct Plan<'a> {
    pub(crate) units: Vec<Unit<'a>>,
}

/// What succeeds or fails as one.
#[derive(Debug)]
pub(crate) struct Unit<'a> {
    /// The paths that an outcome is told for; none for folders that are made or removed on the way.
    pub(crate) reports: Vec<ProjectPath>,
    pub(crate) tasks: Vec<Task<'a>>,
    pub(crate) need: Need,
}

/// What happens when a unit cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is told.
    Must,
    /// Nothing: it was only tidy.
    May,
}

/// One move with what it takes to do it.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) step: Move,
    pub(crate) source: Source<'a>,
    pub(crate) attributes: Attributes<'a>,
    /// The identity that the state before had when its contents were last read, to spare reading them again.
    pub(crate) seen: Option<Identity>,
    /// What of the attributes could not be carried over.
    pub(crate) lost: Vec<Lost>,
}

/// One name, what is there before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) path: ProjectPath,
    pub(crate) op: Op,
    pub(crate) before: Option<FileState>,
    pub(crate) after: Option<FileState>,
    /// The name in the staging folder: of what is new before the move, of what was there after it.
    pub(crate) slot: u32,
    /// The inode of what was staged; how the machine knows its own.
    pub(crate) staged: Option<Inode>,
}

/// The inode number. The device is left out: everything lies on the one of the original, whose number may be another one
/// after a restart (on btrfs it always is).
pub(crate) type Inode = u64;

/// How a move is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// What is staged trades places with what is there.
    Replace,
    /// What is staged goes to a name where nothing is.
    Put,
    /// What is there moves into staging.
    Take,
    /// As [`Op::Put`], for a folder.
    MakeFolder,
    /// An empty folder goes.
    RemoveFolder,
    /// Permission bits change in place.
    SetMode,
}

/// Where new contents come from.
pub(crate) enum Source<'a> {
    /// There are none, or the state after says it all (folders, links).
    State,
    /// A file in another tree, whole; its hash must be that of the state after.
    File { tree: &'a Tree, path: ProjectPath },
    /// Bytes made when they are needed. The state after takes their size and hash.
    Made(Box<dyn Fn() -> Result<Vec<u8>, Stopped> + Sync + 'a>),
    /// The same file as another task of the unit, whose path sorts before this one (a hard link).
    Twin(usize),
}

/// Where owner, group, access lists and extended attributes come from.
#[derive(Debug)]
pub(crate) enum Attributes<'a> {
    /// From the file at this path in this tree.
    Of { tree: &'a Tree, path: ProjectPath },
    /// As if it had been made in the folder that it goes into.
    Fresh,
}

impl Move {
    /// The move that brings `path` from one state to the other. A kind that changes from or to a folder takes two.
    pub(crate) fn new(
        path: ProjectPath,
        before: Option<FileState>,
        after: Option<FileState>,
    ) -> Self {
        let is_folder = |state: &FileState| state.kind == FileKind::Folder;
        let op = match (&before, &after) {
            (Some(before), Some(after))
                if before.kind == after.kind && !matches!(after.kind, FileKind::Link { .. }) =>
            {
                Op::SetMode
            }
            (Some(_), Some(_)) => Op::Replace,
            (None, Some(after)) if is_folder(after) => Op::MakeFolder,
            (None, _) => Op::Put,
            (Some(before), None) if is_folder(before) => Op::RemoveFolder,
            (Some(_), None) => Op::Take,
        };
        Self {
            path,
            op,
            before,
            after,
            slot: 0,
            staged: None,
        }
    }
}

impl<'a> Task<'a> {
    pub(crate) fn new(step: Move, source: Source<'a>, attributes: Attributes<'a>) -> Self {
        Self {
            step,
            source,
            attributes,
            seen: None,
            lost: Vec::new(),
        }
    }

    /// A move that needs no contents.
    pub(crate) fn bare(step: Move) -> Self {
        Self::new(step, Source::State, Attributes::Fresh)
    }

    /// A folder that is writable for its owner until everything is in it: a folder that is not cannot even be moved to
    /// its place.
    pub(crate) fn new_folder(path: ProjectPath, mode: u32) -> Vec<Self> {
        let state = |mode| {
            Some(FileState {
                kind: FileKind::Folder,
                mode,
            })
        };
        let open = mode | 0o700;
        let mut tasks = vec![Self::bare(Move::new(path.clone(), None, state(open)))];
        if open != mode {
            tasks.push(Self::bare(Move::new(path, state(open), state(mode))));
        }
        tasks
    }

    pub(crate) fn seen(mut self, identity: Option<Identity>) -> Self {
        self.seen = identity;
        self
    }
}

impl<'a> Unit<'a> {
    /// A folder made or removed on the way.
    pub(crate) fn may(task: Task<'a>) -> Self {
        Self {
            reports: Vec::new(),
            tasks: vec![task],
            need: Need::May,
        }
    }
}

impl Op {
    /// Whether something is staged for it.
    pub(crate) fn stages(self) -> bool {
        matches!(self, Self::Replace | Self::Put | Self::MakeFolder)
    }

    /// Whether it moves something of the person's away.
    pub(crate) fn displaces(self) -> bool {
        matches!(self, Self::Replace | Self::Take)
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State => f.write_str("State"),
            Self::File { path, .. } => write!(f, "File({path})"),
            Self::Made(_) => f.write_str("Made"),
            Self::Twin(task) => write!(f, "Twin({task})"),
        }
    }
}
