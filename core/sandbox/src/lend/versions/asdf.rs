//! asdf: `.tool-versions` from the project upwards and in home, a folder per tool and version.

use std::collections::BTreeMap;

use enclos_paths::AbsPath;

use super::{Choice, Selection, pick};
use crate::lend::ground::under;

/// Where plugins put programs, below a version's folder.
const BINS: [&str; 4] = ["bin", "go/bin", "packages/bin", "shims"];

impl Choice<'_> {
    pub(super) fn asdf(&mut self) -> Selection {
        let home = self.ground.outside.home.clone();
        let files = self
            .ground
            .upwards()
            .chain([home])
            .filter_map(|folder| under(&folder, ".tool-versions"));
        let mut wanted: BTreeMap<String, (AbsPath, Vec<String>)> = BTreeMap::new();
        for file in files {
            let Some(text) = self.read(&file) else {
                continue;
            };
            for (tool, versions) in tool_versions(&text) {
                wanted
                    .entry(tool)
                    .or_insert_with(|| (file.clone(), versions));
            }
        }
        let mut folders = Vec::new();
        for (tool, (from, versions)) in &wanted {
            for version in versions.iter().filter(|version| *version != "system") {
                let bins = self.installed_bins(tool, version);
                if bins.is_empty() {
                    self.missing(&format!("{tool}@{version}"), from);
                }
                folders.extend(bins);
            }
        }
        Selection {
            shims: self.at("shims").into_iter().collect(),
            managers: self.at("bin").into_iter().collect(),
            folders,
            ..Selection::default()
        }
    }

    /// The folders with programs of one installed version, for asdf and mise alike.
    pub(super) fn installed_bins(&self, tool: &str, version: &str) -> Vec<AbsPath> {
        // A tool's name is one component: it comes from a file of the project.
        let Some(at) = self
            .at("installs")
            .and_then(|installs| installs.child(tool).ok())
        else {
            return Vec::new();
        };
        let names = self.ground.probe.list_dir(&at);
        let installed: Vec<String> = names
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .collect();
        let chosen = match version {
            "latest" => pick(&installed, version).or_else(|| super::newest(installed.iter())),
            other => pick(&installed, other),
        };
        let Some(folder) = chosen.and_then(|name| at.child(name).ok()) else {
            return Vec::new();
        };
        let bins = BINS.iter().filter_map(|bin| under(&folder, bin));
        let bins: Vec<AbsPath> = bins.filter(|bin| self.ground.probe.is_dir(bin)).collect();
        // Tools that are one downloaded program have no folder for it.
        if bins.is_empty() { vec![folder] } else { bins }
    }
}

/// Lines of a tool and its versions; `#` starts a comment.
pub(super) fn tool_versions(text: &str) -> Vec<(String, Vec<String>)> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let tool = words.next()?;
            Some((tool, words.collect()))
        })
        .collect()
}
