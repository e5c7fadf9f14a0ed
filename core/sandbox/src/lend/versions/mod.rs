//! Resolves what version managers would choose to absolute folders.
//!
//! Managers work by shims or shell functions that run the manager, read its settings and write its locks; none of
//! that is lent. Their choice is made here as they document it, once, outside, and the chosen folders stand on the
//! search path instead. Version names come from files of the project too, so a name is only ever compared with the
//! names of what is installed: it cannot lead to another place.

mod asdf;
mod mise;
mod node;
mod shims;
mod volta;

use std::cmp::Ordering;
use std::ffi::OsString;

use enclos_paths::AbsPath;
use serde::Deserialize;

use super::LendNote;
use super::ground::{Ground, under};
use super::places::{Place, Places};
use super::rows::Tool;

/// How a manager works; the `[versions]` of a row.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "style", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Manager {
    /// rbenv and its children: a folder of shims, a variable, a file in the project, a global file.
    Shims(shims::Row),
    /// A shell function with aliases.
    Nvm {
        /// The root's id.
        root: String,
    },
    /// A link per shell, and aliases that are links.
    Fnm {
        /// The root's id.
        root: String,
    },
    /// Shims, pins in `package.json`, a platform file.
    Volta {
        /// The root's id.
        root: String,
    },
    /// Shims, `.tool-versions`.
    Asdf {
        /// The root's id.
        root: String,
    },
    /// Shims, `mise.toml`, `.tool-versions`.
    Mise {
        /// The root's id.
        root: String,
    },
    /// No manager: folders of the root that stand before the system's own.
    BeforeSystem {
        /// The root's id.
        root: String,
        /// The folders, below the root.
        bin: Vec<String>,
    },
}

impl Manager {
    pub(super) fn root(&self) -> &str {
        match self {
            Self::Shims(row) => &row.root,
            Self::Nvm { root }
            | Self::Fnm { root }
            | Self::Volta { root }
            | Self::Asdf { root }
            | Self::Mise { root }
            | Self::BeforeSystem { root, .. } => root,
        }
    }
}

/// What one manager chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Search path entries that the chosen folders replace.
    pub(super) shims: Vec<AbsPath>,
    /// Search path entries of the manager itself, which is not lent.
    pub(super) managers: Vec<AbsPath>,
    /// The chosen folders, best first.
    pub(super) folders: Vec<AbsPath>,
    /// When none of these is on the search path, the chosen folders are put there although no shim is.
    pub(super) programs: Vec<String>,
    /// Folders that stand before the first of the system's.
    pub(super) before_system: Vec<AbsPath>,
}

/// What every manager that is there chose.
pub(super) fn select(
    ground: &Ground<'_>,
    places: &Places,
    notes: &mut Vec<LendNote>,
) -> Vec<Selection> {
    let mut selections = Vec::new();
    for tool in &ground.catalogue.tools {
        let Some(manager) = &tool.versions else {
            continue;
        };
        let Some(place) = places.found(manager.root()) else {
            continue;
        };
        let mut choice = Choice {
            ground,
            place,
            tool,
            notes: &mut *notes,
        };
        selections.push(choice.of(manager));
    }
    selections
}

/// One manager at work.
struct Choice<'a> {
    ground: &'a Ground<'a>,
    place: &'a Place,
    tool: &'a Tool,
    notes: &'a mut Vec<LendNote>,
}

impl Choice<'_> {
    fn of(&mut self, manager: &Manager) -> Selection {
        match manager {
            Manager::Shims(row) => self.shims(row),
            Manager::Nvm { .. } => self.nvm(),
            Manager::Fnm { .. } => self.fnm(),
            Manager::Volta { .. } => self.volta(),
            Manager::Asdf { .. } => self.asdf(),
            Manager::Mise { .. } => self.mise(),
            Manager::BeforeSystem { bin, .. } => Selection {
                before_system: bin.iter().filter_map(|bin| self.at(bin)).collect(),
                ..Selection::default()
            },
        }
    }

    /// A path below the manager's root.
    fn at(&self, below: &str) -> Option<AbsPath> {
        under(&self.place.outside, below)
    }

    fn list(&self, below: &str) -> Vec<String> {
        let names = self
            .at(below)
            .map(|folder| self.ground.probe.list_dir(&folder))
            .unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| OsString::into_string(name).ok())
            .collect()
    }

    fn read(&self, path: &AbsPath) -> Option<String> {
        String::from_utf8(self.ground.probe.read_small_file(path)?).ok()
    }

    /// The first file of one of these names, from the project upwards, and what is in it.
    fn nearest(&self, names: &[&str]) -> Option<(AbsPath, String)> {
        let files = self
            .ground
            .upwards()
            .flat_map(|folder| names.iter().filter_map(move |name| under(&folder, name)));
        files
            .filter_map(|file| self.read(&file).map(|text| (file, text)))
            .next()
    }

    /// Says that a wanted version is not there, if its name can be shown.
    fn missing(&mut self, wanted: &str, from: &AbsPath) {
        let plain = |b: u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'*' | b'/' | b'@')
        };
        if wanted.len() <= 64 && !wanted.is_empty() && wanted.bytes().all(plain) {
            self.notes.push(LendNote::VersionMissing {
                tool: self.tool.name.clone(),
                wanted: wanted.to_owned(),
                from: from.clone(),
            });
        }
    }
}

/// The installed version that `wanted` names: itself, with or without a leading `v`, or the newest that it is the
/// beginning of (`3.12` is `3.12.7`).
fn pick<'i>(installed: &'i [String], wanted: &str) -> Option<&'i str> {
    let bare = |name: &str| name.strip_prefix('v').unwrap_or(name).to_owned();
    let wanted_bare = bare(wanted);
    let exact = installed
        .iter()
        .find(|name| *name == wanted)
        .or_else(|| installed.iter().find(|name| bare(name) == wanted_bare));
    if let Some(name) = exact {
        return Some(name);
    }
    let numeric =
        !wanted_bare.is_empty() && wanted_bare.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let beginning = format!("{}.", wanted_bare.trim_end_matches('.'));
    newest(
        installed
            .iter()
            .filter(|name| numeric && bare(name).starts_with(&beginning)),
    )
}

/// The newest of versions, by their numbers; a pre-release is older than its release.
fn newest<'i>(versions: impl Iterator<Item = &'i String>) -> Option<&'i str> {
    versions.map(String::as_str).max_by(|a, b| compare(a, b))
}

fn compare(a: &str, b: &str) -> Ordering {
    let numbers = |name: &str| -> Vec<u64> {
        let parts = name
            .split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty());
        parts.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
    };
    let release = |name: &str| {
        !name
            .trim_start_matches('v')
            .bytes()
            .any(|b| b.is_ascii_alphabetic())
    };
    release(a)
        .cmp(&release(b))
        .then_with(|| numbers(a).cmp(&numbers(b)))
        .then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_beginning_picks_the_newest() {
        let all = installed(&[
            "3.12.1",
            "3.12.10",
            "3.12.9",
            "3.1.4",
            "3.13.0rc1",
            "pypy3.10",
        ]);
        assert_eq!(pick(&all, "3.12"), Some("3.12.10"));
        assert_eq!(
            pick(&all, "3"),
            Some("3.12.10"),
            "releases before candidates"
        );
        assert_eq!(
            pick(&all, "3.1"),
            Some("3.1.4"),
            "whole numbers are compared"
        );
        assert_eq!(pick(&all, "pypy3.10"), Some("pypy3.10"));
        assert_eq!(pick(&all, "2"), None);
    }

    #[test]
    fn a_leading_v_may_be_there_or_not() {
        let all = installed(&["v18.19.0", "v20.11.1"]);
        assert_eq!(pick(&all, "20.11.1"), Some("v20.11.1"));
        assert_eq!(pick(&all, "v18"), Some("v18.19.0"));
    }

    #[test]
    fn a_name_that_is_no_version_picks_nothing() {
        let all = installed(&["v18.19.0"]);
        for bad in ["", "../../.ssh", "/", ".", "..", "v", "$(x)"] {
            assert_eq!(pick(&all, bad), None, "{bad:?}");
        }
    }
}
