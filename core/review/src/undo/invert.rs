//! Makes the plan that takes the moves of a record back.

use enclos_paths::ProjectPath;

use super::Edited;
use crate::FileKind;
use crate::FileState;
use crate::moves::Attributes;
use crate::moves::Kept;
use crate::moves::Move;
use crate::moves::Need;
use crate::moves::Op;
use crate::moves::Plan;
use crate::moves::Source;
use crate::moves::Task;
use crate::moves::Unit;
use crate::moves::observe::observe;
use crate::moves::slot_name;
use crate::source::Tree;

/// The inverse of `units`; `trees` are the original and the folder of what was displaced.
pub(super) fn plan<'a>(units: &[Kept], trees: (&'a Tree, &'a Tree), edited: Edited) -> Plan<'a> {
    let units = units.iter().map(|unit| {
        let moves = whole(&unit.moves);
        let tasks = moves
            .iter()
            .rev()
            .flat_map(|step| inverse(step, trees, edited))
            .collect();
        let need = if unit.reports.is_empty() {
            Need::May
        } else {
            Need::Must
        };
        Unit {
            reports: unit.reports.clone(),
            tasks,
            need,
        }
    });
    Plan {
        units: units.collect(),
    }
}

/// The moves with a new folder and the mode that it got afterwards as one.
fn whole(moves: &[Move]) -> Vec<Move> {
    let is_of = |made: &Move, step: &Move| {
        made.op == Op::MakeFolder && step.op == Op::SetMode && made.path == step.path
    };
    let mut whole: Vec<Move> = Vec::with_capacity(moves.len());
    for step in moves {
        match whole.iter_mut().find(|made| is_of(made, step)) {
            Some(made) => made.after.clone_from(&step.after),
            None => whole.push(step.clone()),
        }
    }
    whole
}

/// Nothing when the path is already what it would become.
fn inverse<'a>(
    step: &Move,
    (original, kept): (&'a Tree, &'a Tree),
    edited: Edited,
) -> Vec<Task<'a>> {
    let now = match edited {
        Edited::Leave => step.after.clone(),
        Edited::Replace => now(original, &step.path),
    };
    if edited == Edited::Replace && now == step.before {
        return Vec::new();
    }
    let mut back = Move::new(step.path.clone(), now, step.before.clone());
    // A replacement by the same contents brings back a file's other names, which a mode in place would not.
    if step.op == Op::Replace && back.op == Op::SetMode {
        back.op = Op::Replace;
    }
    if let (Op::MakeFolder, Some(after)) = (back.op, &back.after) {
        return Task::new_folder(back.path.clone(), after.mode);
    }
    let (source, attributes) = match &back.after {
        Some(FileState {
            kind: FileKind::File { .. },
            ..
        }) if back.op.stages() => {
            let Ok(path) = ProjectPath::new(slot_name(step.slot)) else {
                return Vec::new();
            };
            (
                Source::File {
                    tree: kept,
                    path: path.clone(),
                },
                Attributes::Of { tree: kept, path },
            )
        }
        _ => (Source::State, Attributes::Fresh),
    };
    vec![Task::new(back, source, attributes)]
}

/// What is at the path; nothing when it cannot be looked at, which the move itself will tell.
fn now(original: &Tree, path: &ProjectPath) -> Option<FileState> {
    let (folder, name) = enclos_sys::open::open_parent(original.fd(), path).ok()?;
    observe(std::os::fd::AsFd::as_fd(&folder), name)
        .ok()
        .flatten()?
        .state
}
