//! The text files of the repository, read once for all rules.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::tidy::Violation;
use crate::tidy::mask::Masked;

/// A text file and, for Rust, what is code in it.
pub(super) struct Source {
    /// Seen from the root of the repository, with slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// Present for Rust only.
    pub(super) rust: Option<Masked>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let rust = path.ends_with(".rs").then(|| Masked::new(text));
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            rust,
        }
    }

    /// The file's own name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the file lies in a folder called `name`, at any depth.
    pub(super) fn is_below(&self, name: &str) -> bool {
        self.path
            .split('/')
            .rev()
            .skip(1)
            .any(|folder| folder == name)
    }

    /// Whether nothing in the file is shipped: tests, benches, examples, build scripts, and the two crates for them.
    pub(super) fn is_for_developers(&self) -> bool {
        ["tests", "benches", "examples", "testkit", "xtask"]
            .iter()
            .any(|folder| self.is_below(folder))
            || ["build.rs", "tests.rs"].contains(&self.name())
    }

    /// Whether the file is the outermost one of a program.
    pub(super) fn is_main(&self) -> bool {
        self.name() == "main.rs" || self.path.contains("/src/bin/")
    }

    pub(super) fn violation(&self, line: usize, message: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            message: message.into(),
        }
    }
}

/// Every text file below `root` that people write.
///
/// # Errors
/// A folder or file cannot be read.
pub(super) fn all(root: &Path) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    collect(root, "", &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

/// Build outputs, what git keeps for itself, and bytes that tests read.
const NOT_OURS: [&str; 5] = [
    ".git",
    "target",
    "node_modules",
    "fixtures",
    "proptest-regressions",
];

fn collect(folder: &Path, prefix: &str, sources: &mut Vec<Source>) -> Result<(), Failure> {
    let failed = |source| Failure::File {
        path: folder.into(),
        source,
    };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(failed)?;
        let path = format!("{prefix}{name}");
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), sources)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).map_err(|source| Failure::File {
                path: entry.path(),
                source,
            })?;
            if let Some(text) = String::from_utf8(bytes)
                .ok()
                .filter(|text| !text.contains('\0'))
            {
                sources.push(Source::new(&path, &text));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_the_rest_left_out() {
        let root = tempfile::tempdir().unwrap();
        for folder in [".git", "core/a/src", "target", ".ci"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in [".git/config", "core/a/src/lib.rs", "target/x.rs", ".ci/run"] {
            fs::write(root.path().join(file), "text\n").unwrap();
        }
        fs::write(root.path().join("core/image"), b"\x89PNG\0").unwrap();
        let paths: Vec<_> = all(root.path())
            .unwrap()
            .into_iter()
            .map(|source| source.path)
            .collect();
        assert_eq!(paths, [".ci/run", "core/a/src/lib.rs"]);
    }

    #[test]
    fn folders_count_by_their_whole_name() {
        let source = Source::new("core/xtask/src/main.rs", "");
        assert!(
            source.is_below("xtask") && source.is_for_developers(),
            "in xtask"
        );
        assert!(
            !source.is_below("task") && !source.is_below("main.rs"),
            "neither part of a name nor the file"
        );
    }
}
