//! Sorts what differs in the copy: what is looked at file by file, what is one line, what is only named.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use enclos_clone::Candidate;
use enclos_clone::Difference;
use enclos_clone::Kind;
use enclos_clone::Presence;
use enclos_paths::ProjectPath;

use crate::FolderChange;
use crate::GitChange;
use crate::Note;
use crate::NoteKind;
use crate::TreeSources;
use crate::held::fold;
use crate::held::git_place;
use crate::held::prefixes;
use crate::ignored::Grouping;
use crate::ignored::Shape;
use crate::ignored::Unreviewable;
use crate::moves::STAGING_PREFIX;

/// What a difference is, before any contents are read.
pub(super) enum Sort {
    File,
    Git(ProjectPath),
    Grouped(ProjectPath, Unreviewable),
    Noted(Note),
    /// It is said by what lies below.
    Implied,
}

/// What the copy's differences were sorted into.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    pub(super) files: Vec<&'a Candidate>,
    git: u64,
    git_places: BTreeSet<ProjectPath>,
    folders: BTreeMap<ProjectPath, FolderChange>,
    pub(super) notes: Vec<Note>,
}

impl<'a> Sorted<'a> {
    pub(super) fn new(
        sources: &TreeSources<'_>,
        candidates: &'a [Candidate],
        grouping: &mut Grouping<'_>,
    ) -> Self {
        let mut sorted = Self::default();
        for candidate in candidates {
            match sort(sources, candidates, candidate, grouping) {
                Sort::File => sorted.files.push(candidate),
                Sort::Git(place) => {
                    sorted.git += 1;
                    sorted.git_places.insert(place);
                }
                Sort::Grouped(path, why) => {
                    let empty = FolderChange {
                        path: path.clone(),
                        files: 0,
                        why,
                    };
                    sorted.folders.entry(path).or_insert(empty).files += 1;
                }
                Sort::Noted(note) if sorted.notes.last() == Some(&note) => {}
                Sort::Noted(note) => sorted.notes.push(note),
                Sort::Implied => {}
            }
        }
        sorted
    }

    pub(super) fn git(&mut self) -> Option<GitChange> {
        let places = std::mem::take(&mut self.git_places).into_iter().collect();
        (self.git > 0).then_some(GitChange {
            files: self.git,
            places,
        })
    }

    pub(super) fn folders(&mut self) -> Vec<FolderChange> {
        std::mem::take(&mut self.folders).into_values().collect()
    }
}

/// How many folders may lie in each other before what is in them is one line: every rule is asked for every folder on
/// the way, and an agent can make ten thousand. Deeper than anything people or their tools make.
const DEEPEST: usize = 200;

/// The folder at the limit, when `path` lies below it.
fn too_deep(path: &ProjectPath) -> Option<ProjectPath> {
    let (at, _) = path
        .as_bytes()
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .nth(DEEPEST)?;
    ProjectPath::new(&path.as_bytes()[..at]).ok()
}

pub(super) fn sort(
    sources: &TreeSources<'_>,
    all: &[Candidate],
    candidate: &Candidate,
    grouping: &mut Grouping<'_>,
) -> Sort {
    let path = &candidate.path;
    let note = |path: &ProjectPath, kind| {
        Sort::Noted(Note {
            path: path.clone(),
            kind,
        })
    };
    if let Some(folder) = too_deep(path) {
        return Sort::Grouped(folder, Unreviewable::TooDeep);
    }
    if let Some(place) = git_place(path) {
        return Sort::Git(place);
    }
    if let Some(place) = reserved(path) {
        return note(&place, NoteKind::Reserved);
    }
    let shape = shape(sources, candidate);
    if let Some(group) = grouping.group(path, shape) {
        return Sort::Grouped(group.path, group.why);
    }
    if let Some((place, kind)) = left_out(sources, path) {
        return note(&place, kind);
    }
    match (
        &candidate.difference,
        candidate.now.as_ref().map(|now| &now.kind),
    ) {
        (Difference::Closed, _) => note(path, NoteKind::UnreadableInCopy),
        (_, Some(Kind::Special)) => note(path, NoteKind::Special),
        (Difference::Added | Difference::Gone, _)
            if shape == Shape::Folder && any_below(all, path) =>
        {
            Sort::Implied
        }
        _ => Sort::File,
    }
}

fn shape(sources: &TreeSources<'_>, candidate: &Candidate) -> Shape {
    let before = candidate
        .before
        .and_then(|at| sources.baseline.entries.get(at))
        .map(|entry| &entry.kind);
    let kind = candidate.now.as_ref().map(|now| &now.kind).or(before);
    if kind == Some(&Kind::Folder) {
        Shape::Folder
    } else {
        Shape::Other
    }
}

/// The name of a working folder of ours that `path` is or lies in, in any spelling.
pub(crate) fn reserved(path: &ProjectPath) -> Option<ProjectPath> {
    let is_ours = |bytes: &[u8]| {
        fold::components(bytes)
            .iter()
            .any(|name| name.starts_with(STAGING_PREFIX))
    };
    if !is_ours(path.as_bytes()) {
        return None;
    }
    prefixes(path).find(|prefix| is_ours(prefix.name().as_encoded_bytes()))
}

/// The outermost path at or above `path` that was not copied at the start.
fn left_out(sources: &TreeSources<'_>, path: &ProjectPath) -> Option<(ProjectPath, NoteKind)> {
    prefixes(path).find_map(|prefix| {
        let kind = match sources.baseline.get(&prefix)?.presence {
            Presence::Copied(_) => return None,
            Presence::Overlaid | Presence::Skipped(_) => NoteKind::LeftOut,
        };
        Some((prefix, kind))
    })
}

fn any_below(all: &[Candidate], folder: &ProjectPath) -> bool {
    let mut start = folder.as_bytes().to_vec();
    start.push(b'/');
    let at = all.partition_point(|candidate| candidate.path.as_bytes() < &start[..]);
    all.get(at)
        .is_some_and(|candidate| candidate.path.as_bytes().starts_with(&start))
}
