//! What rust-analyzer runs as soon as it is there: build scripts and procedural macros.
//!
//! Manifests are searched for the two words that matter, not parsed: a comment that names them holds a file too many,
//! which is the safe side.

use std::collections::HashMap;

use enclos_paths::ProjectPath;

use super::prefixes;
use super::table;
use super::table::Row;
use crate::source::Tree;

/// No manifest is bigger.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// Remembers what the manifests of the copy say.
pub(super) struct Crates<'a> {
    copy: &'a Tree,
    /// By the folder of the manifest; the root is kept under no path.
    known: HashMap<Option<ProjectPath>, Option<Manifest>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Manifest {
    is_proc_macro: bool,
    /// What `build = "..."` names.
    build_scripts: Vec<Vec<u8>>,
}

impl<'a> Crates<'a> {
    pub(super) fn new(copy: &'a Tree) -> Self {
        let known = HashMap::new();
        Self { copy, known }
    }

    /// The row for `path`, if rust-analyzer would run it. `names` are its folded components.
    pub(super) fn runs(&mut self, path: &ProjectPath, names: &[String]) -> Option<&'static Row> {
        let name = names.last()?;
        if name == "build.rs" {
            return Some(&table::BUILD_SCRIPT);
        }
        let folders = prefixes(path).filter(|prefix| prefix != path).map(Some);
        let mut folders: Vec<_> = [None].into_iter().chain(folders).collect();
        while let Some(folder) = folders.pop() {
            let below = folder
                .as_ref()
                .map_or(0, |folder| folder.as_bytes().len() + 1);
            let Some(manifest) = self.manifest(folder) else {
                continue;
            };
            let inner = &path.as_bytes()[below..];
            if manifest.build_scripts.iter().any(|script| script == inner) {
                return Some(&table::BUILD_SCRIPT);
            }
            let matters = name.ends_with(".rs") || name == "cargo.toml";
            return (manifest.is_proc_macro && matters).then_some(&table::PROC_MACRO);
        }
        None
    }

    fn manifest(&mut self, folder: Option<ProjectPath>) -> Option<&Manifest> {
        let copy = self.copy;
        let read = |folder: &Option<ProjectPath>| {
            let path = match folder {
                Some(folder) => folder.join("Cargo.toml"),
                None => ProjectPath::new("Cargo.toml"),
            };
            let contents = copy.read(&path.ok()?, LARGEST_MANIFEST).ok()?;
            Some(parse(&contents.bytes))
        };
        self.known.entry(folder).or_insert_with_key(read).as_ref()
    }
}

fn parse(text: &[u8]) -> Manifest {
    let mut manifest = Manifest::default();
    for line in text.split(|&b| b == b'\n') {
        let Some(at) = line.iter().position(|&b| b == b'=') else {
            continue;
        };
        let (key, value) = (line[..at].trim_ascii(), line[at + 1..].trim_ascii());
        let key = key
            .rsplit(|&b| b == b'.')
            .next()
            .unwrap_or(key)
            .trim_ascii();
        match key {
            b"proc-macro" | b"proc_macro" => manifest.is_proc_macro |= value.starts_with(b"true"),
            b"build" => manifest.build_scripts.extend(quoted(value)),
            b"crate-type" | b"crate_type" => manifest.is_proc_macro |= holds(value, b"proc-macro"),
            _ => {}
        }
    }
    manifest
}

/// Every text in quotes: `build` can be one name or a list.
fn quoted(value: &[u8]) -> Vec<Vec<u8>> {
    let parts: Vec<_> = value.split(|&b| matches!(b, b'"' | b'\'')).collect();
    parts
        .iter()
        .skip(1)
        .step_by(2)
        .map(|part| part.strip_prefix(b"./").unwrap_or(part).to_vec())
        .collect()
}

fn holds(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_say_what_runs_early() {
        let manifest = parse(b"[package]\nbuild = \"./gen/make.rs\"\n[lib]\nproc-macro = true\n");
        assert_eq!(
            manifest,
            Manifest {
                is_proc_macro: true,
                build_scripts: vec![b"gen/make.rs".to_vec()],
            }
        );
        assert!(parse(b"lib.proc-macro = true").is_proc_macro, "dotted");
        assert!(
            parse(b"crate-type = [\"proc-macro\"]").is_proc_macro,
            "by type"
        );
        assert_eq!(
            parse(b"[package]\nbuild = false\nname = \"a\"\n"),
            Manifest::default()
        );
    }
}
