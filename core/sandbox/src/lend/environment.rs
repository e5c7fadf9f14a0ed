//! The environment inside: an allow list, what is generated, and nothing else.
//!
//! Promise: a variable is there because a row names it; its value is ours, or the person's with every path in it
//! checked to lead somewhere inside and nothing in it that looks like a secret. What the person lends by name
//! (`--env`) is added by the caller afterwards.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;

use super::folders::Folders;
use super::ground::{Ground, under};
use super::places::Places;
use super::rows::SetRow;
use super::terminfo::Term;
use super::{LendNote, guard};

/// What the environment is decided from.
#[derive(Clone, Copy)]
pub(super) struct Environment<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) places: &'a Places,
    pub(super) folders: &'a Folders,
}

/// The person's shell where it can be reached inside, else the best one of the system.
pub(super) fn shell(ground: &Ground<'_>, folders: &Folders, notes: &mut Vec<LendNote>) -> AbsPath {
    let wanted = &ground.outside.shell;
    let file = ground.probe.is_file(wanted);
    if let Some(inside) = folders.reachable(ground, wanted).filter(|_| file) {
        return inside;
    }
    let shells = ground.catalogue.system.of(ground.os()).shells.iter();
    let shells: Vec<AbsPath> = shells
        .filter_map(|shell| AbsPath::new(shell).ok())
        .collect();
    let used = shells
        .iter()
        .find(|shell| ground.probe.is_file(shell))
        .or(shells.last())
        .unwrap_or(wanted)
        .clone();
    notes.push(LendNote::ShellReplaced {
        wanted: wanted.clone(),
        used: used.clone(),
    });
    used
}

impl Environment<'_> {
    /// The whole environment, sorted by name.
    pub(super) fn decide(
        &self,
        path: &[AbsPath],
        shell: &AbsPath,
        term: Term,
        notes: &mut Vec<LendNote>,
    ) -> Vec<(OsString, OsString)> {
        let rows = &self.ground.catalogue.environment;
        let mut env = BTreeMap::new();
        self.pass(&rows.pass, &mut env, notes);
        self.pass_prefixes(&rows.pass_prefix, &mut env, notes);
        self.pass_paths(&rows.pass_path, &mut env, notes);
        self.set(&rows.set, &mut env);
        for tool in self.places.present(self.ground) {
            self.pass(&tool.pass, &mut env, notes);
            self.pass_paths(&tool.pass_path, &mut env, notes);
            self.set(&tool.set, &mut env);
        }
        let inside = self.ground.inside;
        let own = [
            ("HOME", inside.home.as_path().into()),
            ("USER", inside.user.clone()),
            ("LOGNAME", inside.user.clone()),
            ("SHELL", shell.as_path().into()),
            ("PATH", super::join(path)),
        ];
        env.extend(own.map(|(name, value)| (OsString::from(name), value)));
        env.extend(term.term.map(|value| ("TERM".into(), value)));
        env.extend(
            term.terminfo
                .map(|value| ("TERMINFO".into(), value.as_path().into())),
        );
        env.into_iter().collect()
    }

    fn pass(
        &self,
        names: &[String],
        env: &mut BTreeMap<OsString, OsString>,
        notes: &mut Vec<LendNote>,
    ) {
        for name in names {
            if let Some(value) = self.ground.var(name) {
                admit(OsStr::new(name), value, env, notes);
            }
        }
    }

    fn pass_prefixes(
        &self,
        prefixes: &[String],
        env: &mut BTreeMap<OsString, OsString>,
        notes: &mut Vec<LendNote>,
    ) {
        for (name, value) in &self.ground.outside.vars {
            let listed = prefixes
                .iter()
                .any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()));
            if listed && !guard::names_a_secret(name.as_bytes()) {
                admit(name, value, env, notes);
            }
        }
    }

    fn pass_paths(
        &self,
        names: &[String],
        env: &mut BTreeMap<OsString, OsString>,
        notes: &mut Vec<LendNote>,
    ) {
        for name in names {
            let Some(value) = self.ground.var(name) else {
                continue;
            };
            let parts = value
                .as_bytes()
                .split(|&b| b == b':')
                .filter(|part| !part.is_empty());
            let kept: Vec<OsString> = parts
                .filter_map(|part| self.inside(OsStr::from_bytes(part)))
                .collect();
            if kept.is_empty() {
                notes.push(LendNote::LeadsNowhere { name: name.into() });
            } else {
                admit(OsStr::new(name), &kept.join(OsStr::new(":")), env, notes);
            }
        }
    }

    /// What a path in a value is inside. A mere name is looked up on the search path by whoever reads it.
    fn inside(&self, part: &OsStr) -> Option<OsString> {
        if !part.as_bytes().contains(&b'/') {
            return Some(part.to_owned());
        }
        let path = AbsPath::new(part).ok()?;
        if self.ground.is_value(&path) && self.ground.probe.exists(&path) {
            return Some(part.to_owned());
        }
        if self.ground.is_private(&path) {
            return None;
        }
        let inside = self.folders.reachable(self.ground, &path)?;
        Some(inside.as_path().into())
    }

    fn set(&self, rows: &[SetRow], env: &mut BTreeMap<OsString, OsString>) {
        for row in rows {
            let other_os = row.os.is_some_and(|os| os != self.ground.os());
            let not_found = row
                .when_found
                .as_ref()
                .is_some_and(|id| self.places.found(id).is_none());
            let in_project = row.unless_project.as_ref().is_some_and(|name| {
                under(&self.ground.outside.project, name)
                    .is_some_and(|file| self.ground.probe.kind(&file).is_some())
            });
            if other_os || not_found || in_project {
                continue;
            }
            if let Some(value) = self.ground.value(&row.value, self.places) {
                env.insert(row.name.as_str().into(), value);
            }
        }
    }
}

/// Lets one value in unless it looks like a secret. Longer ones than 4 KiB are no settings.
fn admit(
    name: &OsStr,
    value: &OsStr,
    env: &mut BTreeMap<OsString, OsString>,
    notes: &mut Vec<LendNote>,
) {
    if value.len() > 4096 || guard::holds_a_secret(value.as_bytes()) {
        notes.push(LendNote::LooksSecret {
            name: name.to_owned(),
        });
        return;
    }
    env.insert(name.to_owned(), value.to_owned());
}
