//! Makes a plan of an approval: what should be where, and where it comes from.
//!
//! The promise: what is planned is what was shown. An approval whose seal does not fit the review is refused, and what
//! is merged is made from exactly the three texts that the review compared; each is hashed again when it is read.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::Read;

use enclos_paths::ProjectPath;
use enclos_sys::stat::Node;

use super::Outcome;
use super::Stopped;
use super::Trees;
use crate::Approval;
use crate::Approved;
use crate::ChangeKind;
use crate::Choice;
use crate::Content;
use crate::ContentHash;
use crate::FileChange;
use crate::FileKind;
use crate::FileState;
use crate::HunkId;
use crate::Review;
use crate::Standing;
use crate::held::git_place;
use crate::held::prefixes;
use crate::hunks::with_chosen;
use crate::merge::Merged;
use crate::merge::merge;
use crate::moves::Attributes;
use crate::moves::Move;
use crate::moves::Need;
use crate::moves::Op;
use crate::moves::Plan;
use crate::moves::Source;
use crate::moves::Task;
use crate::moves::Unit;
use crate::scan::TEXT_LIMIT;
use crate::scan::sort::reserved;
use crate::source::Tree;

/// The plan of what can be done, and the outcome of what cannot.
pub(super) fn plan<'a>(
    trees: &'a Trees<'a>,
    review: &'a Review,
    approval: &'a Approval,
) -> (Plan<'a>, BTreeMap<ProjectPath, Outcome>) {
    let mut chooser = Chooser {
        trees,
        plan: Plan::default(),
        told: BTreeMap::new(),
        folders: BTreeSet::new(),
    };
    let mut grouped = BTreeSet::new();
    for (path, approved) in &approval.files {
        if grouped.contains(path) {
            continue;
        }
        let unit = agreed(review, approval, path, approved).and_then(|files| {
            grouped.extend(files.iter().map(|file| file.path.clone()));
            chooser.unit(&files, &approved.choice)
        });
        match unit {
            Ok(unit) if unit.tasks.is_empty() => {
                for path in unit.reports {
                    chooser
                        .told
                        .insert(path, Outcome::Applied { lost: Vec::new() });
                }
            }
            Ok(unit) => chooser.plan.units.push(unit),
            Err(stopped) => {
                chooser.told.insert(path.clone(), Outcome::Stopped(stopped));
            }
        }
    }
    chooser.add_folders();
    (chooser.plan, chooser.told)
}

/// The changes that are decided with the one at `path`: it alone, or all names of one file.
fn agreed<'a>(
    review: &'a Review,
    approval: &Approval,
    path: &ProjectPath,
    approved: &Approved,
) -> Result<Vec<&'a FileChange>, Stopped> {
    let file = review.file(path).ok_or(Stopped::NotInReview)?;
    // No review has such a file; it is cheap to be sure where it would matter most.
    if git_place(path).is_some() || reserved(path).is_some() {
        return Err(Stopped::NotInReview);
    }
    if file.seal() != approved.seal {
        return Err(Stopped::NotAsApproved);
    }
    let mut files = vec![file];
    for other in file.hard_linked.iter().flat_map(|linked| &linked.group) {
        let apart = || Stopped::HardLinkGroup {
            other: other.clone(),
        };
        let theirs = approval.files.get(other).ok_or_else(apart)?;
        let change = review.file(other).ok_or_else(apart)?;
        let is_same_choice = match (&theirs.choice, &approved.choice) {
            // A hunk's id tells the path as well, so its place in the file is compared.
            (Choice::Hunks(theirs), Choice::Hunks(ours)) => {
                places(change, theirs) == places(file, ours)
            }
            (theirs, ours) => theirs == ours,
        };
        if !is_same_choice || change.seal() != theirs.seal {
            return Err(apart());
        }
        files.push(change);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn places(file: &FileChange, ids: &BTreeSet<HunkId>) -> Vec<usize> {
    let hunks = file.content.hunks().iter().enumerate();
    hunks
        .filter(|(_, hunk)| ids.contains(&hunk.id))
        .map(|(at, _)| at)
        .collect()
}

struct Chooser<'a> {
    trees: &'a Trees<'a>,
    plan: Plan<'a>,
    told: BTreeMap<ProjectPath, Outcome>,
    /// Folders that a deletion may have left empty and that the copy does not have any more.
    folders: BTreeSet<ProjectPath>,
}

impl<'a> Chooser<'a> {
    fn unit(&mut self, files: &[&'a FileChange], choice: &'a Choice) -> Result<Unit<'a>, Stopped> {
        let Some((first, twins)) = files.split_first() else {
            return Err(Stopped::NotInReview);
        };
        let mut tasks = self.tasks(first, choice)?;
        for twin in twins {
            let mut step = Move::new(twin.path.clone(), twin.before.clone(), twin.after.clone());
            step.op = Op::Replace;
            tasks.push(Task::new(step, Source::Twin(0), Attributes::Fresh).seen(twin.seen));
        }
        Ok(Unit {
            reports: files.iter().map(|file| file.path.clone()).collect(),
            tasks,
            need: Need::Must,
        })
    }

    fn tasks(
        &mut self,
        file: &'a FileChange,
        choice: &'a Choice,
    ) -> Result<Vec<Task<'a>>, Stopped> {
        match choice {
            Choice::Whole if file.conflict().is_some() => Err(Stopped::Conflict),
            Choice::Whole | Choice::Overwrite => Ok(self.whole(file)),
            Choice::Hunks(ids) => self.some(file, ids),
        }
    }

    /// All of a change.
    fn whole(&mut self, file: &'a FileChange) -> Vec<Task<'a>> {
        let (path, before, after) = (&file.path, &file.before, &file.after);
        if let ChangeKind::Renamed { from } = &file.kind {
            self.emptied(from);
            let taken = Task::bare(Move::new(from.clone(), before.clone(), None)).seen(file.seen);
            let put = Move::new(path.clone(), None, after.clone());
            return vec![taken, Task::new(put, self.copied(path), self.like(from))];
        }
        let is_folder = |state: &Option<FileState>| {
            state
                .as_ref()
                .is_some_and(|state| state.kind == FileKind::Folder)
        };
        if before.is_some() && after.is_some() && is_folder(before) != is_folder(after) {
            let gone = Task::bare(Move::new(path.clone(), before.clone(), None)).seen(file.seen);
            let mut tasks = vec![gone];
            tasks.extend(self.arriving(path, after.clone()));
            return tasks;
        }
        match (before, after) {
            (_, None) => {
                self.emptied(path);
                vec![Task::bare(Move::new(path.clone(), before.clone(), None)).seen(file.seen)]
            }
            (None, Some(_)) => self.arriving(path, after.clone()),
            (Some(before), Some(after)) => self.changed(file, before, after),
        }
    }

    fn arriving(&self, path: &'a ProjectPath, after: Option<FileState>) -> Vec<Task<'a>> {
        let source = match &after {
            Some(FileState {
                kind: FileKind::Folder,
                mode,
            }) => return Task::new_folder(path.clone(), *mode),
            Some(FileState {
                kind: FileKind::File { .. },
                ..
            }) => self.copied(path),
            _ => Source::State,
        };
        vec![Task::new(
            Move::new(path.clone(), None, after),
            source,
            Attributes::Fresh,
        )]
    }

    /// A file, link or folder that stays one.
    fn changed(
        &self,
        file: &'a FileChange,
        before: &FileState,
        after: &FileState,
    ) -> Vec<Task<'a>> {
        let path = &file.path;
        let merged = match (&file.standing, &file.base) {
            (Standing::Merges, Some(base)) if base.kind == after.kind => Some(Source::File {
                tree: self.trees.original,
                path: path.clone(),
            }),
            (Standing::Merges, Some(base)) => Some(self.merged(file, base)),
            _ => None,
        };
        let kind = match &merged {
            // The agent changed the mode alone: the person's contents stay.
            Some(Source::File { .. }) => before.kind.clone(),
            _ => after.kind.clone(),
        };
        let mut step = Move::new(
            path.clone(),
            Some(before.clone()),
            Some(FileState {
                kind,
                mode: after.mode,
            }),
        );
        let is_mode_only = step.op == Op::SetMode && !matches!(merged, Some(Source::Made(_)));
        if is_mode_only && (file.hard_linked.is_none() || after.kind == FileKind::Folder) {
            return if before.mode == after.mode {
                Vec::new()
            } else {
                vec![Task::bare(step).seen(file.seen)]
            };
        }
        step.op = Op::Replace;
        let source = match merged {
            Some(source) => source,
            None if matches!(after.kind, FileKind::Link { .. }) => Source::State,
            // With further names not even a mode is changed in place.
            None if is_mode_only => Source::File {
                tree: self.trees.original,
                path: path.clone(),
            },
            None => self.copied(path),
        };
        vec![Task::new(step, source, self.like(path)).seen(file.seen)]
    }

    /// Both edits of a text in one.
    fn merged(&self, file: &'a FileChange, base: &'a FileState) -> Source<'a> {
        let trees = self.trees;
        Source::Made(Box::new(move || {
            let (base, ours, theirs) = texts(trees, file, base)?;
            clean(merge(&base, &ours, &theirs))
        }))
    }

    /// Some hunks of a text.
    fn some(
        &mut self,
        file: &'a FileChange,
        ids: &'a BTreeSet<HunkId>,
    ) -> Result<Vec<Task<'a>>, Stopped> {
        let hunks = file.content.hunks();
        // Of hunks that the review left for later, the ids are found out when the text is made.
        let is_later =
            file.content == Content::Later && file.before.is_some() && file.after.is_some();
        if ids.is_empty() || hunks.is_empty() && !is_later {
            return Err(Stopped::NoHunks);
        }
        if let Some(&id) = ids
            .iter()
            .find(|id| !is_later && !hunks.iter().any(|hunk| hunk.id == **id))
        {
            return Err(Stopped::NoSuchHunk { id });
        }
        let (Some(before), Some(_)) = (&file.before, &file.after) else {
            // What is new or gone has one hunk, which is all of it.
            return if file.conflict().is_some() {
                Err(Stopped::Conflict)
            } else {
                Ok(self.whole(file))
            };
        };
        if !matches!(before.kind, FileKind::File { .. }) {
            return Err(Stopped::NoHunks);
        }
        let path = match &file.kind {
            ChangeKind::Renamed { from } => from,
            _ => &file.path,
        };
        let trees = self.trees;
        let base = file.base.as_ref().unwrap_or(before);
        let make = move || {
            let (base, ours, theirs) = texts(trees, file, base)?;
            let chosen = with_chosen(&file.path, &base, &theirs, ids)
                .map_err(|id| Stopped::NoSuchHunk { id })?;
            clean(merge(&base, &ours, &chosen))
        };
        let mut step = Move::new(path.clone(), Some(before.clone()), Some(before.clone()));
        step.op = Op::Replace;
        Ok(vec![
            Task::new(step, Source::Made(Box::new(make)), self.like(path)).seen(file.seen),
        ])
    }

    fn copied(&self, path: &ProjectPath) -> Source<'a> {
        Source::File {
            tree: self.trees.copy,
            path: path.clone(),
        }
    }

    fn like(&self, path: &ProjectPath) -> Attributes<'a> {
        Attributes::Of {
            tree: self.trees.original,
            path: path.clone(),
        }
    }

    /// Remembers the folders above a path that goes, as far as the copy does not have them any more.
    fn emptied(&mut self, path: &ProjectPath) {
        let mut above = path.parent();
        while let Some(folder) = above {
            if !matches!(self.trees.copy.stat(&folder), Ok(None)) {
                return;
            }
            above = folder.parent();
            self.folders.insert(folder);
        }
    }

    /// Adds the folders that new files need, and those that deletions may leave empty.
    fn add_folders(&mut self) {
        let steps = || {
            self.plan
                .units
                .iter()
                .flat_map(|unit| &unit.tasks)
                .map(|task| &task.step)
        };
        let arriving: BTreeSet<ProjectPath> = steps()
            .filter(|step| step.after.is_some())
            .map(|step| step.path.clone())
            .collect();
        let leaving: BTreeSet<ProjectPath> = steps()
            .filter(|step| step.after.is_none())
            .map(|step| step.path.clone())
            .collect();
        let mut needed = BTreeSet::new();
        for path in &arriving {
            needed.extend(
                prefixes(path).filter(|folder| folder != path && !arriving.contains(folder)),
            );
        }
        for folder in needed {
            // Something else than a folder there is told by the file that cannot be put.
            if self.trees.original.stat(&folder).ok().flatten().is_none() {
                let mode = self
                    .trees
                    .copy
                    .stat(&folder)
                    .ok()
                    .flatten()
                    .map_or(0o755, |stat| stat.mode & 0o777);
                self.plan
                    .units
                    .extend(Task::new_folder(folder, mode).into_iter().map(Unit::may));
            }
        }
        for folder in std::mem::take(&mut self.folders) {
            let stat = self.trees.original.stat(&folder).ok().flatten();
            if let Some(stat) =
                stat.filter(|stat| stat.node == Node::Folder && !leaving.contains(&folder))
            {
                let before = FileState {
                    kind: FileKind::Folder,
                    mode: stat.mode,
                };
                self.plan
                    .units
                    .push(Unit::may(Task::bare(Move::new(folder, Some(before), None))));
            }
        }
    }
}

/// The texts at the start, of the person and of the agent.
type Three = (Vec<u8>, Vec<u8>, Vec<u8>);

/// The three texts that the review compared.
fn texts(trees: &Trees<'_>, file: &FileChange, base: &FileState) -> Result<Three, Stopped> {
    let from = match &file.kind {
        ChangeKind::Renamed { from } => from,
        _ => &file.path,
    };
    let ours = read(trees.original, from, file.before.as_ref()).ok_or(Stopped::ChangedMeanwhile)?;
    let theirs = read(trees.copy, &file.path, file.after.as_ref()).ok_or(Stopped::CopyChanged)?;
    if file
        .before
        .as_ref()
        .is_some_and(|before| before.kind == base.kind)
    {
        return Ok((ours.clone(), ours, theirs));
    }
    let entry = trees
        .sources
        .baseline
        .get(from)
        .ok_or(Stopped::NotAsApproved)?;
    let start = trees
        .sources
        .base
        .content(entry, TEXT_LIMIT)
        .map_err(|_| Stopped::NotAsApproved)?;
    if is(base, &start) {
        Ok((start, ours, theirs))
    } else {
        Err(Stopped::NotAsApproved)
    }
}

/// The bytes of a file, if they are those of `state`.
fn read(tree: &Tree, path: &ProjectPath, state: Option<&FileState>) -> Option<Vec<u8>> {
    let mut file = enclos_sys::open::open_regular(tree.fd(), path).ok()?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take(TEXT_LIMIT + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    is(state?, &bytes).then_some(bytes)
}

fn is(state: &FileState, bytes: &[u8]) -> bool {
    matches!(state.kind, FileKind::File { size, hash } if size == bytes.len() as u64 && hash == ContentHash::of(bytes))
}

fn clean(merged: Merged) -> Result<Vec<u8>, Stopped> {
    match merged {
        Merged::Clean(text) => Ok(text),
        Merged::Conflict(_) => Err(Stopped::Conflict),
    }
}
