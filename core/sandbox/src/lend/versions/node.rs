//! nvm and fnm: versions of Node.js under aliases, and `.nvmrc` or `.node-version` in the project.

use enclos_paths::AbsPath;

use super::{Choice, Selection, newest, pick};
use crate::lend::ground::under;

impl Choice<'_> {
    /// nvm has no shims: in a shell its choice stands on the search path. It is made here for those who start Enclos
    /// from somewhere else.
    pub(super) fn nvm(&mut self) -> Selection {
        let installed = self.list("versions/node");
        let asked = self.nearest(&[".nvmrc"]);
        let chosen = asked.and_then(|(from, text)| {
            let wanted = first_word(&text)?;
            let found = self.nvm_alias(&installed, &wanted, 0);
            if found.is_none() && wanted != "system" {
                self.missing(&wanted, &from);
            }
            found
        });
        let chosen = chosen.or_else(|| self.nvm_alias(&installed, "default", 0));
        let folder = chosen.and_then(|name| self.at(&format!("versions/node/{name}/bin")));
        Selection {
            folders: folder.into_iter().collect(),
            programs: vec!["node".into()],
            ..Selection::default()
        }
    }

    /// Follows aliases: files with a version or another alias in `alias/`, as deep as people nest them.
    fn nvm_alias(&self, installed: &[String], wanted: &str, depth: u8) -> Option<String> {
        if depth > 8 {
            return None;
        }
        if let Some(version) = pick(installed, wanted) {
            return Some(version.to_owned());
        }
        if matches!(wanted, "node" | "stable") {
            return newest(installed.iter()).map(str::to_owned);
        }
        let file = under(&self.at("alias")?, wanted)?;
        let next = first_word(&self.read(&file)?)?;
        self.nvm_alias(installed, &next, depth + 1)
    }

    pub(super) fn fnm(&mut self) -> Selection {
        let installed = self.list("node-versions");
        let asked = self.nearest(&[".node-version", ".nvmrc"]);
        let chosen = asked.and_then(|(from, text)| {
            let wanted = first_word(&text)?;
            let found = pick(&installed, &wanted)
                .and_then(|name| self.at(&format!("node-versions/{name}/installation")));
            let found = found.or_else(|| self.fnm_alias(&wanted));
            if found.is_none() {
                self.missing(&wanted, &from);
            }
            found
        });
        let chosen = chosen.or_else(|| self.fnm_alias("default"));
        let folder = chosen.and_then(|version| under(&version, "bin"));
        Selection {
            folders: folder.into_iter().collect(),
            programs: vec!["node".into()],
            ..Selection::default()
        }
    }

    /// An alias is a link to an installation.
    fn fnm_alias(&self, name: &str) -> Option<AbsPath> {
        self.ground
            .probe
            .resolve(&under(&self.at("aliases")?, name)?)
    }
}

fn first_word(text: &str) -> Option<String> {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))?;
    line.split_whitespace().next().map(str::to_owned)
}
