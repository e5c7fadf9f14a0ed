//! Puts back what an apply displaced.
//!
//! The promise: a path is restored only where it still is what the apply wrote; where the person edited since, it is
//! named and left, unless they say otherwise, and then their version is kept in turn. An undo goes through the same
//! journal as an apply and can itself be undone.

mod invert;

use std::collections::BTreeSet;
use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;

use crate::ApplyError;
use crate::Faults;
use crate::FormatError;
use crate::Outcome;
use crate::RecordId;
use crate::apply::open_store;
use crate::apply::outcomes;
use crate::moves;
use crate::moves::Kind;
use crate::moves::Record;
use crate::moves::Store;
use crate::source::Tree;

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
    /// There is nothing left to undo.
    #[error("there is nothing to undo")]
    Nothing,
    /// There is no such record.
    #[error("there is no apply number {}", .0.0)]
    NoSuchRecord(RecordId),
    /// A record cannot be understood.
    #[error("cannot read the record of apply number {}", .id.0)]
    Record {
        /// Which.
        id: RecordId,
        /// What is wrong with it.
        #[source]
        source: FormatError,
    },
    /// Writing failed as a whole.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Undoes an apply of this store, or some paths of it.
///
/// # Errors
/// When nothing at all was done. What became of each file is in [`Undone`].
pub fn undo(
    original: &ProjectRoot,
    store: &AbsPath,
    request: &UndoRequest,
    faults: &dyn Faults,
) -> Result<Undone, UndoError> {
    let root = original.path();
    let tree = Tree::open(root).map_err(ApplyError::from)?;
    let store = open_store(store)?;
    let records = Records::read(&store)?;
    let (of, record) = records.pick(request.which)?;
    let mut units = records.left(of, record);
    if !request.paths.is_empty() {
        let asked = |path: &ProjectPath| request.paths.iter().any(|asked| path.is_within(asked));
        // Folders made on the way go with what they were made for.
        let on_the_way = |path: &ProjectPath| {
            asked(path) || request.paths.iter().any(|asked| asked.is_within(path))
        };
        units.retain(|unit| match unit.reports.is_empty() {
            true => unit.moves.iter().any(|step| on_the_way(&step.path)),
            false => unit.reports.iter().any(asked),
        });
    }
    if units.iter().all(|unit| unit.reports.is_empty()) {
        return Err(UndoError::Nothing);
    }
    let kept = Tree::open(&store.slots_path(of)).map_err(ApplyError::from)?;
    let plan = invert::plan(&units, (&tree, &kept), request.edited);
    let reports: Vec<_> = plan.units.iter().map(|unit| unit.reports.clone()).collect();
    let ended = moves::run(&tree, root, &store, plan, (Kind::Undo(of), faults))
        .map_err(ApplyError::from)?;
    let files = outcomes(&reports, ended.units).into_iter().collect();
    Ok(Undone {
        of,
        record: ended.record,
        files,
    })
}

/// All that was applied and undone, in order.
struct Records(Vec<(RecordId, Record)>);

impl Records {
    fn read(store: &Store) -> Result<Self, UndoError> {
        let fail = |source: io::Error| ApplyError::Store {
            doing: "read",
            path: store.path.clone(),
            source,
        };
        let mut records = Vec::new();
        for id in store.records().map_err(fail)? {
            if let Some(text) = store.record(id).map_err(fail)? {
                let record =
                    Record::parse(&text).map_err(|source| UndoError::Record { id, source })?;
                records.push((id, record));
            }
        }
        Ok(Self(records))
    }

    fn pick(&self, which: Which) -> Result<(RecordId, &Record), UndoError> {
        let found = match which {
            Which::Record(id) => {
                return self
                    .0
                    .iter()
                    .find(|(other, _)| *other == id)
                    .map(|(id, record)| (*id, record))
                    .ok_or(UndoError::NoSuchRecord(id));
            }
            Which::Last => self.0.iter().rev().find(|(id, record)| {
                record.kind == Kind::Apply
                    && self
                        .left(*id, record)
                        .iter()
                        .any(|unit| !unit.reports.is_empty())
            }),
        };
        found
            .map(|(id, record)| (*id, record))
            .ok_or(UndoError::Nothing)
    }

    /// The units of a record that were not undone since. An undo that was itself undone does not count.
    fn left(&self, id: RecordId, record: &Record) -> Vec<moves::Kept> {
        let mut undone: BTreeSet<&ProjectPath> = BTreeSet::new();
        for (later, other) in &self.0 {
            if other.kind == Kind::Undo(id) {
                let standing = self.left(*later, other);
                let reports = other.units.iter().flat_map(|unit| &unit.reports);
                undone.extend(
                    reports.filter(|path| standing.iter().any(|unit| unit.reports.contains(path))),
                );
            }
        }
        let is_left = |unit: &&moves::Kept| !unit.reports.iter().any(|path| undone.contains(path));
        record.units.iter().filter(is_left).cloned().collect()
    }
}
