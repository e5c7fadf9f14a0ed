//! Folders that git would take for a repository, whatever they are called.
//!
//! git uses a folder as a repository when it holds `HEAD`, `objects` and `refs`, or `HEAD` and `commondir` (which then
//! names where the other two are); see `is_git_directory` in its `setup.c`. A command run anywhere below then reads
//! the `config` in it, which can name programs.

use std::collections::HashMap;
use std::collections::HashSet;
use std::os::fd::OwnedFd;

use enclos_paths::ProjectPath;
use enclos_sys::open::open_folder;
use rustix::fs::Dir;

use super::fold;
use super::prefixes;
use crate::scan::crew;
use crate::source::Tree;

/// Remembers which folders of the copy have the shape of a repository.
pub(super) struct Shapes<'a> {
    copy: &'a Tree,
    /// The root is kept under no path.
    known: HashMap<Option<ProjectPath>, bool>,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(copy: &'a Tree) -> Self {
        let known = HashMap::new();
        Self { copy, known }
    }

    /// Looks at the folders that `paths` lie in, all at once.
    pub(super) fn learn<'p>(&mut self, paths: impl Iterator<Item = &'p ProjectPath>) {
        let folders: HashSet<_> = paths.flat_map(above).collect();
        let folders: Vec<_> = folders.into_iter().collect();
        let shapes = crew::each(&folders, |folder| has_shape(self.copy, folder.as_ref()));
        self.known.extend(folders.into_iter().zip(shapes));
    }

    /// Whether `path` lies in a folder of that shape.
    pub(super) fn any_above(&mut self, path: &ProjectPath) -> bool {
        above(path).any(|folder| self.is_one(folder))
    }

    fn is_one(&mut self, folder: Option<ProjectPath>) -> bool {
        let copy = self.copy;
        *self
            .known
            .entry(folder)
            .or_insert_with_key(|folder| has_shape(copy, folder.as_ref()))
    }
}

/// The folders that `path` lies in, the root first.
fn above(path: &ProjectPath) -> impl Iterator<Item = Option<ProjectPath>> {
    let folders = prefixes(path)
        .filter(move |prefix| prefix != path)
        .map(Some);
    [None].into_iter().chain(folders)
}

fn has_shape(copy: &Tree, folder: Option<&ProjectPath>) -> bool {
    let Some(fd) = opened(copy, folder) else {
        return false;
    };
    let Ok(entries) = Dir::read_from(fd) else {
        return false;
    };
    let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
    for entry in entries.flatten() {
        let name = fold::fold(entry.file_name().to_bytes());
        head |= fold::is(&name, "head");
        objects |= fold::is(&name, "objects");
        refs |= fold::is(&name, "refs");
        common |= fold::is(&name, "commondir");
    }
    head && (objects && refs || common)
}

fn opened(copy: &Tree, folder: Option<&ProjectPath>) -> Option<OwnedFd> {
    match folder {
        Some(folder) => open_folder(copy.fd(), folder).ok(),
        None => copy.fd().try_clone_to_owned().ok(),
    }
}
