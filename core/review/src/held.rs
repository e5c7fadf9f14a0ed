//! What would start by itself on the person's machine once it is in the original.
//!
//! The promise: a change under a name that some program takes as an order is never applied unasked, in whatever way
//! the name is written and however deep it lies. The names are data ([`table`]); besides them, a folder that has the
//! shape of a git repository, the folders that this repository takes hooks from, and what rust-analyzer runs.
//!
//! It could break by a program that nobody has put into the table yet. Not here: what runs only when it is used, such
//! as a Makefile.

mod cargo;
pub(crate) mod fold;
pub(crate) mod hooks;
mod repository;
mod table;

use enclos_paths::ProjectPath;

use self::table::Row;
use self::table::TABLE;
use crate::FileKind;
use crate::FileState;
use crate::RustAnalyzer;
use crate::source::Tree;

/// A change that would start by itself: what, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// What would run.
    pub what: &'static str,
    /// When it would.
    pub when: &'static str,
    /// Where that is documented.
    pub source: &'static str,
}

/// Judges the changes of one review.
pub(crate) struct Guard<'a> {
    patterns: Vec<Pattern>,
    repositories: repository::Shapes<'a>,
    crates: Option<cargo::Crates<'a>>,
    hook_folders: Vec<Vec<String>>,
}

impl<'a> Guard<'a> {
    /// `hook_folders` are paths that git takes hooks from besides `.git/hooks`.
    pub(crate) fn new(
        copy: &'a Tree,
        hook_folders: &[ProjectPath],
        rust_analyzer: RustAnalyzer,
    ) -> Self {
        Self {
            patterns: TABLE.iter().map(Pattern::new).collect(),
            repositories: repository::Shapes::new(copy),
            crates: (rust_analyzer == RustAnalyzer::Reads).then(|| cargo::Crates::new(copy)),
            hook_folders: hook_folders
                .iter()
                .map(|folder| fold::components(folder.as_bytes()))
                .collect(),
        }
    }

    /// Looks ahead at what has to be known about `paths`, with all threads.
    pub(crate) fn learn<'p>(&mut self, paths: impl Iterator<Item = &'p ProjectPath>) {
        self.repositories.learn(paths);
    }

    /// Whether `after` at `path` would start by itself.
    pub(crate) fn held(&mut self, path: &ProjectPath, after: &FileState) -> Option<Held> {
        let names = fold::components(path.as_bytes());
        let is_link = matches!(after.kind, FileKind::Link { .. });
        if let Some(pattern) = self
            .patterns
            .iter()
            .find(|pattern| pattern.fits(&names, is_link))
        {
            return Some(pattern.row.into());
        }
        if self
            .hook_folders
            .iter()
            .any(|folder| names.starts_with(folder) || is_link && folder.starts_with(&names))
        {
            return Some((&table::HOOK_FOLDER).into());
        }
        if self.repositories.any_above(path) {
            return Some((&table::GIT_FOLDER).into());
        }
        self.crates.as_mut()?.runs(path, &names).map(Held::from)
    }
}

impl From<&Row> for Held {
    fn from(row: &Row) -> Self {
        Self {
            what: row.what,
            when: row.when,
            source: row.source,
        }
    }
}

/// The `.git` that `path` is or lies in, if there is one.
pub(crate) fn git_place(path: &ProjectPath) -> Option<ProjectPath> {
    let is_git = |bytes: &[u8]| {
        fold::components(bytes)
            .iter()
            .any(|part| fold::is(part, ".git"))
    };
    // Most paths have none, which one look at the whole tells.
    if !is_git(path.as_bytes()) {
        return None;
    }
    prefixes(path).find(|prefix| is_git(prefix.name().as_encoded_bytes()))
}

/// `path`'s folders from the outermost in, and `path` itself last.
pub(crate) fn prefixes(path: &ProjectPath) -> impl Iterator<Item = ProjectPath> {
    let bytes = path.as_bytes();
    let ends = bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'/')
        .map(|(at, _)| at)
        .chain([bytes.len()]);
    ends.filter_map(|end| ProjectPath::new(&bytes[..end]).ok())
}

/// A row of the table, taken apart.
struct Pattern {
    row: &'static Row,
    wanted: Vec<&'static str>,
    is_whole_folder: bool,
}

impl Pattern {
    fn new(row: &'static Row) -> Self {
        let wanted = row
            .pattern
            .split('/')
            .filter(|name| !name.is_empty())
            .collect();
        let is_whole_folder = row.pattern.ends_with('/');
        Self {
            row,
            wanted,
            is_whole_folder,
        }
    }

    /// Whether the folded `names` of a path fit.
    ///
    /// A link that has the name of one of the pattern's folders fits as well: what it leads to would be found under the
    /// pattern's name.
    fn fits(&self, names: &[String], is_link: bool) -> bool {
        let fits = |names: &[String], wanted: &[&str]| {
            names
                .iter()
                .zip(wanted)
                .all(|(name, wanted)| is_one(name, wanted))
        };
        let ends_with = |wanted: &[&str]| {
            names.len() >= wanted.len() && fits(&names[names.len() - wanted.len()..], wanted)
        };
        if self.is_whole_folder {
            return names
                .windows(self.wanted.len())
                .any(|part| fits(part, &self.wanted));
        }
        ends_with(&self.wanted)
            || is_link && (1..self.wanted.len()).any(|count| ends_with(&self.wanted[..count]))
    }
}

fn is_one(name: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => fold::is(name, wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_for(path: &str, is_link: bool) -> Option<&'static str> {
        let names = fold::components(path.as_bytes());
        TABLE
            .iter()
            .find(|row| Pattern::new(row).fits(&names, is_link))
            .map(|row| row.pattern)
    }

    #[test]
    fn the_names_that_start_by_themselves_are_held_at_every_depth() {
        for (path, pattern) in [
            (".enclos.toml", ".enclos.toml"),
            ("a/b/.envrc", ".envrc"),
            (".HUSKY/_/pre-commit", ".husky/"),
            ("pkg/.idea/runConfigurations/x.xml", ".idea/"),
            (".vscode/settings.json", ".vscode/settings.json"),
            (".VSCode/Launch.JSON", ".vscode/launch.json"),
            (".devcontainer/Dockerfile", ".devcontainer/"),
            (".zed/tasks.json", ".zed/"),
            (".nvim.lua", ".nvim.lua"),
            (".exrc", ".exrc"),
            (".dir-locals.el", ".dir-locals.el"),
            (".gdbinit", ".gdbinit"),
            ("mise.toml", "mise.toml"),
            (".tool-versions", ".tool-versions"),
            (".cursor/mcp.json", ".cursor/"),
            (".codex/config.toml", ".codex/"),
            (".gemini/settings.json", ".gemini/"),
            ("x/.cargo/config.toml", ".cargo/config.toml"),
            ("rust-toolchain.toml", "rust-toolchain.toml"),
            (".yarnrc.yml", ".yarnrc.yml"),
            (".pnpmfile.cjs", ".pnpmfile.cjs"),
            (".npmrc", ".npmrc"),
            ("bunfig.toml", "bunfig.toml"),
            ("tests/conftest.py", "conftest.py"),
            (".venv/lib/x.pth", "*.pth"),
            ("sitecustomize.py", "sitecustomize.py"),
        ] {
            assert_eq!(row_for(path, false), Some(pattern), "{path}");
        }
    }

    #[test]
    fn ordinary_names_are_not_held() {
        for path in [
            "src/main.rs",
            "vscode/tasks.json",
            "tasks.json",
            ".vscode/notes.md",
            "husky/a",
            "cargo/config.toml",
            ".pth",
            "envrc",
            "README.md",
        ] {
            assert_eq!(row_for(path, false), None, "{path}");
        }
    }

    #[test]
    fn a_link_in_place_of_a_folder_of_a_pattern_is_held() {
        assert_eq!(
            row_for(".vscode", false),
            None,
            "a folder of that name is judged by what is in it"
        );
        assert_eq!(row_for(".vscode", true), Some(".vscode/tasks.json"));
        assert_eq!(row_for("a/.cargo", true), Some(".cargo/config.toml"));
        assert_eq!(row_for(".husky", true), Some(".husky/"));
    }

    #[test]
    fn the_table_is_written_folded_and_says_everything() {
        for row in TABLE {
            let folded: Vec<_> = fold::components(row.pattern.as_bytes());
            assert_eq!(
                folded.join("/"),
                row.pattern.trim_end_matches('/'),
                "pattern"
            );
            assert!(
                !row.what.is_empty() && !row.when.is_empty() && !row.source.is_empty(),
                "{}",
                row.pattern
            );
        }
    }

    #[test]
    fn git_is_seen_at_any_depth_and_in_any_spelling() {
        let place =
            |path: &str| git_place(&ProjectPath::new(path).unwrap()).map(|place| place.to_string());
        assert_eq!(place(".git/config").as_deref(), Some(".git"));
        assert_eq!(place("a/.GIT./hooks/x").as_deref(), Some("a/.GIT."));
        assert_eq!(place("a\\.git\\config").as_deref(), Some("a\\.git\\config"));
        assert_eq!(place("sub/.git").as_deref(), Some("sub/.git"));
        assert_eq!(place(".gitignore"), None);
        assert_eq!(place(".github/workflows/x.yml"), None);
    }
}
