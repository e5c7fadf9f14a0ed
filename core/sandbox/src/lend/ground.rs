//! What every decision of lending stands on, and the place names that rows are written in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use enclos_paths::{AbsPath, ProjectPath};

use super::places::Places;
use super::{Catalogue, Inside, Os, Outside, Probe};

/// The arguments of [`super::find`], together, and the rows for every machine as paths of this one.
pub(super) struct Ground<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) outside: &'a Outside,
    pub(super) inside: &'a Inside,
    pub(super) probe: &'a dyn Probe,
    /// Folders that every session has read-only.
    system: Vec<AbsPath>,
    /// Parts of the generated `/etc` that a value may name.
    values: Vec<AbsPath>,
    /// Folders and files that are never lent, as they are named and as they resolve.
    pub(super) never: Vec<AbsPath>,
    /// What the caller protects, likewise.
    pub(super) protected: Vec<AbsPath>,
    /// Folders that are others inside.
    pub(super) replaced: Vec<AbsPath>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        outside: &'a Outside,
        inside: &'a Inside,
        probe: &'a dyn Probe,
    ) -> Self {
        let rows = catalogue.system.of(outside.os);
        let place = |text: &String| match text.strip_prefix("~/") {
            Some(below) => under(&outside.home, below),
            None => AbsPath::new(text).ok(),
        };
        let paths = |texts: &[String]| texts.iter().filter_map(place).collect();
        let never = catalogue
            .never
            .place
            .iter()
            .filter_map(|row| place(&row.path));
        let never = with_targets(probe, never);
        let protected = with_targets(probe, outside.protected.iter().cloned());
        let replaced = paths(&catalogue.never.replaced);
        let (system, values) = (paths(&rows.folders), paths(&rows.values));
        Self {
            catalogue,
            outside,
            inside,
            probe,
            system,
            values,
            never,
            protected,
            replaced,
        }
    }

    pub(super) fn os(&self) -> Os {
        self.outside.os
    }

    /// The value of a variable outside; an empty one counts as unset, as it does for the tools.
    pub(super) fn var(&self, name: &str) -> Option<&OsStr> {
        self.outside
            .vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// A base folder outside: the variable of the XDG specification where it is an absolute path, else its default.
    pub(super) fn base(&self, name: &str) -> Option<AbsPath> {
        let (var, default) = match name {
            "home" => return Some(self.outside.home.clone()),
            "project" => return Some(self.outside.project.clone()),
            "cache" => ("XDG_CACHE_HOME", ".cache"),
            "config" => ("XDG_CONFIG_HOME", ".config"),
            "data" => ("XDG_DATA_HOME", ".local/share"),
            "state" => ("XDG_STATE_HOME", ".local/state"),
            _ => return None,
        };
        let set = self.var(var).and_then(|value| AbsPath::new(value).ok());
        set.or_else(|| under(&self.outside.home, default))
    }

    /// A place as rows write it (`~/x`, `/x`, `{base-or-root}/x`), outside.
    pub(super) fn place(&self, text: &str, places: &Places) -> Option<AbsPath> {
        if let Some(rest) = text.strip_prefix("~/") {
            return under(&self.outside.home, rest);
        }
        if let Some(rest) = text.strip_prefix('{') {
            let (id, below) = rest.split_once('}')?;
            let root = places
                .get(id)
                .map(|place| place.outside.clone())
                .or_else(|| self.base(id))?;
            return under(&root, below.trim_start_matches('/'));
        }
        AbsPath::new(text).ok()
    }

    /// Where a row's place is below home when nothing moved it: `{cache}/x` is `.cache/x`.
    pub(super) fn default_below_home(&self, text: &str) -> Option<ProjectPath> {
        let below = match text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((id, below)) => {
                let base = match id {
                    "cache" => ".cache".to_owned(),
                    "config" => ".config".to_owned(),
                    "data" => ".local/share".to_owned(),
                    "state" => ".local/state".to_owned(),
                    root => {
                        let mut roots = self.catalogue.tools.iter().flat_map(|tool| &tool.roots);
                        let root = roots.find(|candidate| candidate.id == root)?;
                        self.default_below_home(root.candidates(self.os()).first()?)?
                            .to_string()
                    }
                };
                format!("{base}{below}")
            }
            None => text.strip_prefix("~/")?.to_owned(),
        };
        ProjectPath::new(below).ok()
    }

    /// A value as rows write it, with every `{id}` replaced by that place inside.
    pub(super) fn value(&self, text: &str, places: &Places) -> Option<OsString> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.extend_from_slice(before.as_bytes());
            let (id, tail) = after.split_once('}')?;
            match id {
                "session" => out.extend_from_slice(self.inside.session.as_bytes()),
                "home" => out.extend_from_slice(self.inside.home.as_bytes()),
                "project" => out.extend_from_slice(self.inside.project.as_bytes()),
                "tmp" => out.extend_from_slice(self.inside.tmp.as_bytes()),
                root => out.extend_from_slice(places.get(root)?.inside.as_bytes()),
            }
            rest = tail;
        }
        out.extend_from_slice(rest.as_bytes());
        Some(OsString::from_vec(out))
    }

    /// Whether the system's own folders, which every session has, hold `path`.
    pub(super) fn is_system(&self, path: &AbsPath) -> bool {
        self.system.iter().any(|folder| path.is_within(folder))
    }

    /// Whether `path` is a part of the generated `/etc` that a value may name.
    pub(super) fn is_value(&self, path: &AbsPath) -> bool {
        self.values.iter().any(|folder| path.is_within(folder))
    }

    /// The folders that hold the project, from the project itself upwards.
    pub(super) fn upwards(&self) -> impl Iterator<Item = AbsPath> {
        std::iter::successors(Some(self.outside.project.clone()), AbsPath::parent)
    }

    /// The names in `folder` that match `pattern`, where `*` stands for any part.
    pub(super) fn matching(&self, folder: &AbsPath, pattern: &str) -> Vec<OsString> {
        if !pattern.contains('*') {
            return vec![pattern.into()];
        }
        let names = self.probe.list_dir(folder);
        names
            .into_iter()
            .filter(|name| matches_name(pattern, name.as_bytes()))
            .collect()
    }
}

/// `paths`, and after each the one that it resolves to, if that is another.
fn with_targets(probe: &dyn Probe, paths: impl Iterator<Item = AbsPath>) -> Vec<AbsPath> {
    let mut all = Vec::new();
    for path in paths {
        // Asking what is not there costs one question instead of one per component.
        let real = probe.kind(&path).and_then(|_| probe.resolve(&path));
        let real = real.filter(|real| *real != path);
        all.push(path);
        all.extend(real);
    }
    all
}

/// `below` under `root`; `.` and nothing are `root` itself. None when `below` would lead elsewhere.
pub(super) fn under(root: &AbsPath, below: impl AsRef<[u8]>) -> Option<AbsPath> {
    let below = below.as_ref();
    if below.is_empty() || below == b"." {
        return Some(root.clone());
    }
    ProjectPath::new(below).ok().map(|below| root.join(&below))
}

/// `path`, which lies in `from`, at the same place in `to`.
pub(super) fn rebase(path: &AbsPath, from: &AbsPath, to: &AbsPath) -> Option<AbsPath> {
    if path == from {
        return Some(to.clone());
    }
    path.below(from).map(|below| to.join(&below))
}

/// Whether `name` is `pattern`, whose first `*` stands for any bytes.
pub(super) fn matches_name(pattern: &str, name: &[u8]) -> bool {
    match pattern.split_once('*') {
        None => pattern.as_bytes() == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len()
                && name.starts_with(start.as_bytes())
                && name.ends_with(end.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part_of_one_name() {
        assert!(matches_name("go*", b"go1.22"));
        assert!(matches_name("@*:registry", b"@scope:registry"));
        assert!(matches_name("*", b""));
        assert!(!matches_name("a*a", b"a"), "the ends do not overlap");
        assert!(!matches_name("registry", b"registry2"));
    }

    #[test]
    fn under_never_leads_away() {
        let root = AbsPath::new("/r").unwrap();
        assert_eq!(under(&root, "."), Some(root.clone()));
        assert_eq!(under(&root, "a/b").unwrap().to_string(), "/r/a/b");
        for bad in ["..", "../x", "/etc", "a/../../x", "a//b"] {
            assert_eq!(under(&root, bad), None, "{bad}");
        }
    }
}
