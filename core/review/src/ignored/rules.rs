//! The original's ignore rules, as git reads them.
//!
//! `.gitignore` files count from the folder they are in; a deeper one wins over those above, all of them over
//! `.git/info/exclude`, and that over what the caller adds (the person's global file). They are read through the
//! openers: a link in place of an ignore file says nothing, as it does to git since 2.32.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use ignore::Match;
use ignore::gitignore::Gitignore;
use ignore::gitignore::GitignoreBuilder;

use crate::held::prefixes;
use crate::source::Tree;

/// Ignore files beyond this size are not read; git has no limit, but no person writes them.
const LARGEST: u64 = 1 << 20;

pub(super) struct Rules<'a> {
    original: &'a Tree,
    /// By folder; the root is kept under no path. None where there is no ignore file.
    by_folder: HashMap<Option<ProjectPath>, Option<Gitignore>>,
    /// Weaker rules for the whole project, the strongest first.
    wide: Vec<Gitignore>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(original: &'a Tree, extra: &[AbsPath]) -> Self {
        let exclude = ProjectPath::new(".git/info/exclude")
            .ok()
            .and_then(|path| read(original, None, &path));
        let extra = extra.iter().filter_map(|file| {
            let text = std::fs::read(file).ok()?;
            parse(None, &text)
        });
        Self {
            original,
            by_folder: HashMap::new(),
            wide: exclude.into_iter().chain(extra).collect(),
        }
    }

    /// Whether a rule ignores exactly `path`; whether one ignores a folder above is asked apart.
    pub(super) fn ignore(&mut self, path: &ProjectPath, is_folder: bool) -> bool {
        let below = prefixes(path).filter(|prefix| prefix != path).map(Some);
        let mut folders: Vec<_> = [None].into_iter().chain(below).collect();
        let full = rooted(Some(path));
        while let Some(folder) = folders.pop() {
            if let Some(rules) = self.rules(folder)
                && let Some(answer) = answer(rules, &full, is_folder)
            {
                return answer;
            }
        }
        self.wide
            .iter()
            .find_map(|rules| answer(rules, &full, is_folder))
            .unwrap_or(false)
    }

    fn rules(&mut self, folder: Option<ProjectPath>) -> Option<&Gitignore> {
        let original = self.original;
        let load = |folder: &Option<ProjectPath>| {
            let path = match folder {
                Some(folder) => folder.join(".gitignore"),
                None => ProjectPath::new(".gitignore"),
            };
            read(original, folder.as_ref(), &path.ok()?)
        };
        self.by_folder
            .entry(folder)
            .or_insert_with_key(load)
            .as_ref()
    }
}

fn answer(rules: &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
    match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

fn read(original: &Tree, folder: Option<&ProjectPath>, path: &ProjectPath) -> Option<Gitignore> {
    let contents = original.read(path, LARGEST).ok()?;
    parse(folder, &contents.bytes)
}

/// A line that is no pattern is left out, as git does.
fn parse(folder: Option<&ProjectPath>, text: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(rooted(folder));
    for line in text.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(line) = std::str::from_utf8(line) {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok()
}

/// Patterns are matched against paths in a tree that stands at `/`, which never touches the real one.
fn rooted(path: Option<&ProjectPath>) -> PathBuf {
    path.map_or_else(
        || PathBuf::from("/"),
        |path| Path::new("/").join(path.as_path()),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], cases: &[(&str, bool, bool)]) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::open(&AbsPath::new(folder.path()).unwrap()).unwrap();
        let mut rules = Rules::new(&tree, &[]);
        for (path, is_folder, expected) in cases {
            let path = ProjectPath::new(path).unwrap();
            assert_eq!(rules.ignore(&path, *is_folder), *expected, "{path}");
        }
    }

    #[test]
    fn deeper_rules_win_and_folders_are_told_from_files() {
        check(
            &[
                (".gitignore", "*.log\n/build/\ntmp/\n"),
                ("keep/.gitignore", "!*.log\n"),
                (".git/info/exclude", "mine\n"),
            ],
            &[
                ("a.log", false, true),
                ("keep/a.log", false, false),
                ("build", true, true),
                ("build", false, false),
                ("sub/build", true, false),
                ("sub/tmp", true, true),
                ("mine", false, true),
                ("src/main.rs", false, false),
            ],
        );
    }

    #[test]
    fn a_line_that_is_no_pattern_hides_no_other() {
        check(&[(".gitignore", "a[\n*.o\r\n")], &[("x.o", false, true)]);
    }

    #[test]
    fn a_link_in_place_of_an_ignore_file_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rules"), "*\n").unwrap();
        std::os::unix::fs::symlink("rules", folder.path().join(".gitignore")).unwrap();
        let tree = Tree::open(&AbsPath::new(folder.path()).unwrap()).unwrap();
        assert!(!Rules::new(&tree, &[]).ignore(&ProjectPath::new("a").unwrap(), false));
    }
}
