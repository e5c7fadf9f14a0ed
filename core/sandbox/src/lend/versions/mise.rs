//! mise: `mise.toml` and its other names, `.tool-versions`, and the person's own settings.

use std::collections::BTreeMap;

use enclos_paths::AbsPath;
use toml::{Table, Value};

use super::asdf::tool_versions;
use super::{Choice, Selection};
use crate::lend::ground::under;

/// Names of its settings in a folder, strongest first.
const FILES: [&str; 6] = [
    "mise.local.toml",
    ".mise.local.toml",
    "mise.toml",
    ".mise.toml",
    ".config/mise.toml",
    ".config/mise/config.toml",
];

impl Choice<'_> {
    pub(super) fn mise(&mut self) -> Selection {
        let mut wanted: BTreeMap<String, (AbsPath, Vec<String>)> = BTreeMap::new();
        for file in self.mise_files() {
            let Some(text) = self.read(&file) else {
                continue;
            };
            let is_toml = file.as_bytes().ends_with(b".toml");
            for (tool, versions) in if is_toml {
                tools(&text)
            } else {
                tool_versions(&text)
            } {
                wanted
                    .entry(folder_name(&tool))
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
            folders,
            ..Selection::default()
        }
    }

    fn mise_files(&self) -> Vec<AbsPath> {
        let names = || FILES.iter().copied().chain([".tool-versions"]);
        let mut files: Vec<AbsPath> = self
            .ground
            .upwards()
            .flat_map(|folder| names().filter_map(move |name| under(&folder, name)))
            .collect();
        files.extend(
            self.ground
                .base("config")
                .and_then(|config| under(&config, "mise/config.toml")),
        );
        files.extend(under(&self.ground.outside.home, ".tool-versions"));
        files
    }
}

/// `[tools]`: `node = "20"`, `node = ["20", "18"]` or `node = { version = "20" }`.
fn tools(text: &str) -> Vec<(String, Vec<String>)> {
    let all: Table = text.parse().unwrap_or_default();
    let Some(Value::Table(tools)) = all.get("tools") else {
        return Vec::new();
    };
    let version = |value: &Value| match value {
        Value::String(version) => Some(version.clone()),
        Value::Table(table) => table
            .get("version")
            .and_then(Value::as_str)
            .map(str::to_owned),
        _ => None,
    };
    let versions = |value: &Value| match value {
        Value::Array(all) => all.iter().filter_map(version).collect(),
        one => version(one).into_iter().collect(),
    };
    tools
        .iter()
        .map(|(tool, value)| (tool.clone(), versions(value)))
        .collect()
}

/// The folder of a tool with its backend: `npm:@scope/x` is `npm-scope-x`; aliases are those of its core tools.
fn folder_name(tool: &str) -> String {
    let name = match tool {
        "nodejs" => "node",
        "golang" => "go",
        other => other,
    };
    name.replace([':', '/'], "-").replace('@', "")
}
