//! Finds where each tool keeps its things, and where that is inside.
//!
//! A variable, a setting or a folder near the project may move a place, as they do for the tool itself; what they name
//! counts only when it is there and not too much of the machine. Which of its parts may be lent is asked later.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;

use super::carry;
use super::fence::Fenced;
use super::ground::{Ground, rebase, under};
use super::rows::{OutsideHome, Root, Tool};
use super::{LendNote, Os};

/// Where one root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Where it is outside, or would be.
    pub(super) outside: AbsPath,
    /// Where it is inside.
    pub(super) inside: AbsPath,
    pub(super) state: State,
    pub(super) chosen: Chosen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Found,
    Absent,
    /// It lies in the project, so it is in the copy.
    InProject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// A variable or setting names it.
    ByPerson,
    /// It is where the tool keeps it by itself.
    ByDefault,
}

/// Where all roots are, by id.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    by_id: BTreeMap<String, Place>,
    /// The names of the tools that are there.
    present: BTreeSet<String>,
}

impl Places {
    pub(super) fn of(ground: &Ground<'_>, notes: &mut Vec<LendNote>) -> Self {
        let mut places = Self::default();
        for tool in &ground.catalogue.tools {
            for root in &tool.roots {
                if let Some(place) = places.find(ground, (tool, root), notes) {
                    places.by_id.insert(root.id.clone(), place);
                }
            }
            if places.has(ground, tool) {
                places.present.insert(tool.name.clone());
            }
        }
        places
    }

    pub(super) fn get(&self, id: &str) -> Option<&Place> {
        self.by_id.get(id)
    }

    pub(super) fn found(&self, id: &str) -> Option<&Place> {
        self.get(id).filter(|place| place.state == State::Found)
    }

    /// The tools that are there.
    pub(super) fn present<'g>(&self, ground: &Ground<'g>) -> impl Iterator<Item = &'g Tool> {
        let tools = ground.catalogue.tools.iter();
        tools.filter(|tool| self.present.contains(&tool.name))
    }

    /// Whether the tool is there: it keeps something, or one of its programs is on the search path.
    fn has(&self, ground: &Ground<'_>, tool: &Tool) -> bool {
        let keeps = |root: &Root| {
            self.get(&root.id)
                .is_some_and(|place| place.state != State::Absent)
        };
        tool.roots.iter().any(keeps) || tool.programs.iter().any(|program| on_path(ground, program))
    }

    fn find(
        &self,
        ground: &Ground<'_>,
        row: (&Tool, &Root),
        notes: &mut Vec<LendNote>,
    ) -> Option<Place> {
        let (tool, root) = row;
        for path in self.by_person(ground, root) {
            match ground.probe.is_dir(&path).then(|| ground.too_wide(&path)) {
                Some(None) => return found(ground, root, path, Chosen::ByPerson),
                Some(Some(why)) => notes.push(LendNote::NotLent {
                    tool: tool.name.clone(),
                    path,
                    why,
                }),
                None => {}
            }
        }
        let candidates = root.candidates(ground.os());
        let usual: Vec<AbsPath> = candidates
            .iter()
            .filter_map(|text| ground.place(text, self))
            .collect();
        if let Some(path) = usual.iter().find(|path| ground.probe.is_dir(path)) {
            return found(ground, root, path.clone(), Chosen::ByDefault);
        }
        let outside = usual.into_iter().next()?;
        let inside = place_inside(ground, root, &outside)?;
        Some(Place {
            outside,
            inside,
            state: State::Absent,
            chosen: Chosen::ByDefault,
        })
    }

    /// The places that variables, settings and the project's surroundings name, strongest first.
    fn by_person(&self, ground: &Ground<'_>, root: &Root) -> Vec<AbsPath> {
        let vars = root
            .var
            .iter()
            .filter_map(|name| ground.var(name))
            .map(OsStr::as_bytes);
        let mut named: Vec<AbsPath> = vars
            .filter_map(|value| AbsPath::new(OsStr::from_bytes(value)).ok())
            .collect();
        if let Some(setting) = &root.setting {
            let file = ground
                .place(&setting.file, self)
                .and_then(|file| ground.probe.read_small_file(&file));
            let value = file.and_then(|text| carry::line(&text, &setting.key).map(<[u8]>::to_vec));
            named.extend(value.and_then(|value| written_path(ground, &value)));
        }
        if let Some(name) = &root.nearest {
            let near = ground
                .upwards()
                .skip(1)
                .filter_map(|folder| under(&folder, name));
            // In home the tool uses its usual place.
            let elsewhere = near.filter(|path| !path.is_within(&ground.outside.home));
            named.extend(elsewhere.filter(|path| ground.probe.is_dir(path)));
        }
        named
    }
}

fn found(ground: &Ground<'_>, root: &Root, outside: AbsPath, chosen: Chosen) -> Option<Place> {
    if let Some(inside) = rebase(&outside, &ground.outside.project, &ground.inside.project) {
        return Some(Place {
            outside,
            inside,
            state: State::InProject,
            chosen,
        });
    }
    let inside = place_inside(ground, root, &outside)?;
    Some(Place {
        outside,
        inside,
        state: State::Found,
        chosen,
    })
}

/// Where a root that lies at `outside` is inside. In home it keeps its place in home. Elsewhere it keeps its path where
/// that can be had, or comes to the default place in the private home.
fn place_inside(ground: &Ground<'_>, root: &Root, outside: &AbsPath) -> Option<AbsPath> {
    if let Some(inside) = rebase(outside, &ground.outside.home, &ground.inside.home) {
        return Some(inside);
    }
    if ground.os() == Os::Linux && root.outside_home == OutsideHome::Stays {
        return Some(outside.clone());
    }
    if root.cache.is_empty() && root.outside_home == OutsideHome::Stays {
        return ground
            .probe
            .resolve(outside)
            .or_else(|| Some(outside.clone()));
    }
    let default = root
        .candidates(ground.os())
        .iter()
        .find_map(|text| ground.default_below_home(text));
    match default {
        Some(below) => Some(ground.inside.home.join(&below)),
        None => under(
            &ground.inside.home,
            format!(".local/share/enclos-lent/{}", root.id),
        ),
    }
}

/// A path as settings files write it: absolute, or below home.
fn written_path(ground: &Ground<'_>, value: &[u8]) -> Option<AbsPath> {
    for home in [&b"~/"[..], b"${HOME}/", b"$HOME/"] {
        if let Some(below) = value.strip_prefix(home) {
            return under(&ground.outside.home, below);
        }
    }
    AbsPath::new(OsStr::from_bytes(value)).ok()
}

fn on_path(ground: &Ground<'_>, program: &str) -> bool {
    let folders = ground
        .outside
        .path
        .iter()
        .filter_map(|entry| AbsPath::new(entry).ok());
    folders
        .filter_map(|folder| under(&folder, program))
        .any(|file| ground.probe.kind(&file).is_some())
}

impl Place {
    /// Whether what a variable chose looks like the tool's: one of the markers is there, or none is asked for.
    pub(super) fn marked(&self, ground: &Ground<'_>, root: &Root) -> Result<(), Fenced> {
        if self.chosen == Chosen::ByDefault || root.marker.is_empty() {
            return Ok(());
        }
        let there = |name: &String| {
            under(&self.outside, name).is_some_and(|path| ground.probe.kind(&path).is_some())
        };
        if root.marker.iter().any(there) {
            Ok(())
        } else {
            Err(Fenced::Unmarked)
        }
    }
}
