//! Volta: pins in `package.json`, else the person's platform file; each tool in a folder of its own.

use enclos_paths::AbsPath;
use serde_json::Value;

use super::{Choice, Selection, pick};

/// The tools Volta manages; package managers come before Node.js, which brings an npm of its own.
const TOOLS: [&str; 4] = ["pnpm", "yarn", "npm", "node"];

impl Choice<'_> {
    pub(super) fn volta(&mut self) -> Selection {
        let pins = self
            .nearest(&["package.json"])
            .map(|(file, text)| (file, parse(&text)));
        let platform = self.at("tools/user/platform.json").and_then(|file| {
            let text = self.read(&file)?;
            Some((file, parse(&text)))
        });
        let mut folders = Vec::new();
        for tool in TOOLS {
            let pinned = pins
                .as_ref()
                .and_then(|(file, json)| Some((file, json.get("volta")?.get(tool)?.as_str()?)));
            let usual = platform
                .as_ref()
                .and_then(|(file, json)| Some((file, usual_version(json, tool)?)));
            let Some((from, wanted)) = pinned.or(usual) else {
                continue;
            };
            match self.volta_bin(tool, wanted) {
                Some(folder) => folders.push(folder),
                None => self.missing(&format!("{tool}@{wanted}"), from),
            }
        }
        folders.extend(self.volta_packages());
        Selection {
            shims: self.at("bin").into_iter().collect(),
            folders,
            programs: vec!["node".into()],
            ..Selection::default()
        }
    }

    fn volta_bin(&self, tool: &str, wanted: &str) -> Option<AbsPath> {
        let installed = self.list(&format!("tools/image/{tool}"));
        let version = pick(&installed, wanted)?;
        self.at(&format!("tools/image/{tool}/{version}/bin"))
    }

    /// Programs that were installed with `volta install PACKAGE`.
    fn volta_packages(&self) -> Vec<AbsPath> {
        let mut found = Vec::new();
        for name in self.list("tools/image/packages") {
            let at = format!("tools/image/packages/{name}");
            // `@scope/name` is one folder deeper.
            let inner = if name.starts_with('@') {
                self.list(&at)
            } else {
                Vec::new()
            };
            let all = if inner.is_empty() {
                vec![at]
            } else {
                inner.iter().map(|i| format!("{at}/{i}")).collect()
            };
            found.extend(
                all.iter()
                    .filter_map(|package| self.at(&format!("{package}/bin"))),
            );
        }
        found.retain(|folder| self.ground.probe.is_dir(folder));
        found
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn usual_version<'j>(platform: &'j Value, tool: &str) -> Option<&'j str> {
    match tool {
        "node" => platform.get("node")?.get("runtime")?.as_str(),
        "npm" => platform.get("node")?.get("npm")?.as_str(),
        other => platform.get(other)?.as_str(),
    }
}
