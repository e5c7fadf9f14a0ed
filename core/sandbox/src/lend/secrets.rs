//! Finds the files with secrets that lie in something lent, so that they are covered.
//!
//! The rows lend folders in which tools keep no secrets; this is for those who put them there all the same, and for
//! the few files (`etc/npmrc` of a Node.js) that belong into a lent folder. What a row does not name and what has no
//! usual name is not found here.

use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;

use super::folders::Folders;
use super::ground::{Ground, under};
use super::places::{Places, State};
use super::{Access, Lower};

/// The files that must read as empty inside, by their path inside.
pub(super) fn covered(ground: &Ground<'_>, places: &Places, folders: &Folders) -> Vec<AbsPath> {
    let mut found = Vec::new();
    for root in ground.catalogue.tools.iter().flat_map(|tool| &tool.roots) {
        if let Some(place) = places
            .get(&root.id)
            .filter(|place| place.state == State::Found)
        {
            for pattern in &root.secret {
                expand(ground, &place.outside, pattern, &mut found);
            }
        }
    }
    for path in &ground.catalogue.system.of(ground.os()).secret {
        found.extend(AbsPath::new(path).ok());
    }
    found.extend(by_name(ground, folders));
    let files = found.iter().filter(|path| ground.probe.is_file(path));
    let mut inside: Vec<AbsPath> = files
        .flat_map(|path| visible(ground, path, folders))
        .collect();
    inside.sort();
    inside.dedup();
    inside
}

/// Every path at which the file `path` can be read inside. Covering goes by the file itself, so that a link to it
/// leads to the cover.
fn visible(ground: &Ground<'_>, path: &AbsPath, folders: &Folders) -> Vec<AbsPath> {
    let Some(real) = ground.probe.resolve(path) else {
        return Vec::new();
    };
    let lent = folders.iter().filter(|folder| {
        !matches!(
            folder.access,
            Access::Cache {
                lower: Lower::Absent,
                ..
            }
        )
    });
    let mut at: Vec<AbsPath> = lent
        .filter_map(|folder| super::ground::rebase(&real, &folder.outside, &folder.inside))
        .collect();
    if ground.is_system(&real) {
        at.push(real);
    }
    at
}

fn expand(ground: &Ground<'_>, root: &AbsPath, pattern: &str, found: &mut Vec<AbsPath>) {
    let mut at = vec![root.clone()];
    for part in pattern.split('/') {
        let step = |folder: &AbsPath| -> Vec<AbsPath> {
            let names = ground.matching(folder, part);
            names
                .iter()
                .filter_map(|name| under(folder, name.as_bytes()))
                .collect()
        };
        at = at.iter().flat_map(step).collect();
    }
    found.extend(at);
}

fn by_name(ground: &Ground<'_>, folders: &Folders) -> Vec<AbsPath> {
    let names = &ground.catalogue.never.name;
    let mut found = Vec::new();
    for folder in folders.iter() {
        if matches!(
            folder.access,
            Access::Cache {
                lower: Lower::Absent,
                ..
            }
        ) {
            continue;
        }
        let listed = ground.probe.list_dir(&folder.outside);
        let secret = listed.iter().filter(|name| {
            names
                .iter()
                .any(|secret| secret.as_bytes() == name.as_bytes())
        });
        found.extend(secret.filter_map(|name| folder.outside.child(name).ok()));
    }
    found
}
