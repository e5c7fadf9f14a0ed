//! The search path inside: the person's, without what is not there.
//!
//! Promise: every entry is an absolute folder that exists inside, so no program is found there that was not lent, and
//! nothing in a folder that others can write to shadows a tool. Shims of version managers are replaced by the folders
//! of the versions that they would choose, because they run the manager, which is not lent.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use enclos_paths::AbsPath;

use super::LendNote;
use super::folders::{Folders, Reason};
use super::ground::{Ground, under};
use super::note::LeftOut;
use super::places::Places;
use super::versions::{self, Selection};

/// Decides the search path, and lends the packages that it names.
pub(super) fn decide(
    ground: &Ground<'_>,
    places: &Places,
    folders: &mut Folders,
    notes: &mut Vec<LendNote>,
) -> Vec<AbsPath> {
    let selections = versions::select(ground, places, notes);
    let mut path = Entries::default();
    for entry in &ground.outside.path {
        if entry.is_empty() {
            // Empty means the current folder.
            notes.push(LendNote::PathLeftOut {
                entry: entry.clone(),
                why: LeftOut::Relative,
            });
            continue;
        }
        match judge(ground, entry.as_os_str().as_ref(), &selections, folders) {
            Judged::Kept(inside) => path.push(ground, inside, &selections, folders),
            Judged::Replaced(dirs) => dirs
                .iter()
                .for_each(|dir| path.push_reachable(ground, dir, folders)),
            Judged::Absent => {}
            Judged::LeftOut(why) => notes.push(LendNote::PathLeftOut {
                entry: entry.clone(),
                why,
            }),
        }
    }
    path.complete(ground, &selections, folders);
    path.entries
}

enum Judged {
    Kept(AbsPath),
    Replaced(Vec<AbsPath>),
    Absent,
    LeftOut(LeftOut),
}

fn judge(
    ground: &Ground<'_>,
    entry: &Path,
    selections: &[Selection],
    folders: &mut Folders,
) -> Judged {
    let bytes = entry.as_os_str().as_bytes();
    if bytes.iter().any(|b| matches!(b, 0 | b'\n' | b':')) {
        return Judged::LeftOut(LeftOut::Malformed);
    }
    let Some(path) = absolute(entry) else {
        return Judged::LeftOut(LeftOut::Relative);
    };
    let Some(real) = ground.probe.resolve(&path) else {
        return Judged::Absent;
    };
    if !path.is_within(&ground.outside.project) && !ground.probe.is_dir(&real) {
        return Judged::Absent;
    }
    if let Some(selection) = selections
        .iter()
        .find(|s| s.shims.iter().any(|shim| *shim == path || *shim == real))
    {
        return Judged::Replaced(selection.folders.clone());
    }
    if selections.iter().any(|s| {
        s.managers
            .iter()
            .any(|folder| *folder == path || *folder == real)
    }) {
        return Judged::Absent;
    }
    if ground.is_private(&path) || ground.is_private(&real) {
        return Judged::LeftOut(LeftOut::Private);
    }
    if let Some(inside) = folders.reachable(ground, &path) {
        return Judged::Kept(inside);
    }
    if let Some(inside) = lend_package(ground, &path, folders) {
        return Judged::Kept(inside);
    }
    let why = if ground.is_replaced(&path) {
        LeftOut::Replaced
    } else {
        LeftOut::Unknown
    };
    Judged::LeftOut(why)
}

/// An entry as an absolute path; `..` is taken lexically, because what results must be lent in any case.
fn absolute(entry: &Path) -> Option<AbsPath> {
    let root = AbsPath::new("/").ok()?;
    entry.is_absolute().then(|| root.resolve(entry))
}

/// `/opt/NAME/...` on the search path lends `/opt/NAME`: by the hierarchy standard it is one package, and its programs
/// need what lies beside them.
fn lend_package(ground: &Ground<'_>, path: &AbsPath, folders: &mut Folders) -> Option<AbsPath> {
    let packages = &ground.catalogue.system.of(ground.os()).packages;
    let mut shelves = packages.iter().filter_map(|shelf| AbsPath::new(shelf).ok());
    let shelf = shelves.find(|shelf| path.is_within(shelf))?;
    let below = path.below(&shelf)?;
    let package = under(&shelf, below.components().next()?.as_bytes())?;
    let reason = Reason {
        tool: "opt",
        why: "A package that stands on the search path.",
    };
    folders
        .lend_read_only(ground, &package, &package, reason)
        .ok()??;
    folders.reachable(ground, path)
}

/// The entries so far, without doubles.
#[derive(Default)]
struct Entries {
    entries: Vec<AbsPath>,
    seen: BTreeSet<AbsPath>,
}

impl Entries {
    fn push(
        &mut self,
        ground: &Ground<'_>,
        inside: AbsPath,
        selections: &[Selection],
        folders: &Folders,
    ) {
        if ground.is_system(&inside) {
            for dir in selections.iter().flat_map(|s| &s.before_system) {
                self.push_reachable(ground, dir, folders);
            }
        }
        if self.seen.insert(inside.clone()) {
            self.entries.push(inside);
        }
    }

    fn push_reachable(&mut self, ground: &Ground<'_>, outside: &AbsPath, folders: &Folders) {
        if let Some(inside) = folders.reachable(ground, outside)
            && self.seen.insert(inside.clone())
        {
            self.entries.push(inside);
        }
    }

    /// Adds the chosen versions of what is not on the path yet, and the system's folders when none is.
    fn complete(&mut self, ground: &Ground<'_>, selections: &[Selection], folders: &Folders) {
        for selection in selections {
            let missing = |program: &String| !self.has(ground, program);
            if !selection.programs.is_empty() && selection.programs.iter().all(missing) {
                let before = std::mem::take(&mut self.entries);
                for dir in &selection.folders {
                    self.push_reachable(ground, dir, folders);
                }
                self.entries.extend(before);
            }
        }
        if !self.entries.iter().any(|entry| ground.is_system(entry)) {
            for folder in &ground.catalogue.system.of(ground.os()).path {
                if let Ok(folder) = AbsPath::new(folder) {
                    self.push(ground, folder, selections, folders);
                }
            }
        }
    }

    /// Whether `program` is in an entry that has the same path outside.
    fn has(&self, ground: &Ground<'_>, program: &str) -> bool {
        let mut files = self
            .entries
            .iter()
            .filter_map(|entry| under(entry, program));
        files.any(|file| ground.probe.is_file(&file))
    }
}
