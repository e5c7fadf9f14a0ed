//! rbenv and its children (pyenv, nodenv, goenv, jEnv): `shims`, `versions`, a variable, a file, a global file.

use enclos_paths::AbsPath;
use serde::Deserialize;

use super::{Choice, Selection, pick};
use crate::lend::ground::under;

/// What differs between them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::lend) struct Row {
    /// The root's id.
    pub(super) root: String,
    /// The program that is chosen, to see whether it is on the search path.
    program: String,
    /// The variable that chooses for one shell.
    var: String,
    /// The file that chooses for a project.
    file: String,
    /// More folders of shims, below the root.
    #[serde(default)]
    also: Vec<String>,
}

impl Choice<'_> {
    pub(super) fn shims(&mut self, row: &Row) -> Selection {
        let mut folders = Vec::new();
        if let Some((from, wanted)) = self.wanted(row) {
            let installed = self.list("versions");
            for version in wanted
                .split(|c: char| c == ':' || c.is_whitespace())
                .filter(|v| !v.is_empty())
            {
                if version == "system" {
                    continue;
                }
                match pick(&installed, version).and_then(|name| self.bin(name)) {
                    Some(folder) => folders.push(folder),
                    None => self.missing(version, &from),
                }
            }
        }
        Selection {
            shims: ["shims"]
                .into_iter()
                .chain(row.also.iter().map(String::as_str))
                .filter_map(|s| self.at(s))
                .collect(),
            managers: ["bin", "libexec"]
                .into_iter()
                .filter_map(|folder| self.at(folder))
                .collect(),
            folders,
            programs: vec![row.program.clone()],
            before_system: Vec::new(),
        }
    }

    /// What is wanted and who says so: the variable, the nearest file, the global file.
    fn wanted(&self, row: &Row) -> Option<(AbsPath, String)> {
        if let Some(value) = self.ground.var(&row.var).and_then(|value| value.to_str()) {
            return Some((self.place.outside.clone(), value.to_owned()));
        }
        let global = || {
            let file = self.at("version")?;
            self.read(&file).map(|text| (file, text))
        };
        let (from, text) = self.nearest(&[&row.file]).or_else(global)?;
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        Some((
            from,
            lines
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join(":"),
        ))
    }

    fn bin(&self, version: &str) -> Option<AbsPath> {
        let folder = under(&self.at("versions")?, format!("{version}/bin"))?;
        self.ground.probe.is_dir(&folder).then_some(folder)
    }
}
