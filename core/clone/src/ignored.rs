//! What git ignores in the original, by the original's own rules.
//!
//! Only rules in the project and above it count, and those of its repository; a person's global ones would be read
//! from a home that is not ours to find. Outside of a repository nothing is ignored. The answer decides how something
//! is kept, never whether an agent may see it.

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use ignore::IncrementalIgnore;
use ignore::WalkBuilder;

/// The rules of one project.
pub(crate) struct Ignored(Option<IncrementalIgnore>);

impl Ignored {
    pub(crate) fn of(project: &AbsPath) -> Self {
        let mut builder = WalkBuilder::new(project.as_path());
        builder
            .standard_filters(false)
            .git_ignore(true)
            .git_exclude(true)
            .parents(true)
            .follow_links(false);
        Self(builder.build_matchers().into_iter().next())
    }

    /// Whether git ignores the file `path`.
    pub(crate) fn file(&mut self, path: &ProjectPath) -> bool {
        self.matches(path, false)
    }

    /// Whether git ignores the folder `path` with all that is in it.
    pub(crate) fn folder(&mut self, path: &ProjectPath) -> bool {
        self.matches(path, true)
    }

    fn matches(&mut self, path: &ProjectPath, is_folder: bool) -> bool {
        self.0
            .as_mut()
            .is_some_and(|rules| rules.matched(path.as_path(), is_folder).is_ignore())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn path(text: &str) -> ProjectPath {
        ProjectPath::new(text).unwrap()
    }

    #[test]
    fn rules_of_the_project_and_above_count_in_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::create_dir_all(root.join("package/src")).unwrap();
        fs::create_dir_all(root.join("package/node_modules/left-pad")).unwrap();
        fs::write(root.join(".gitignore"), "node_modules\n*.log\n").unwrap();
        fs::write(root.join(".git/info/exclude"), "private\n").unwrap();
        fs::write(root.join("package/.gitignore"), "!keep.log\n").unwrap();
        let mut rules = Ignored::of(&AbsPath::new(root.join("package")).unwrap());
        assert!(rules.folder(&path("node_modules")));
        assert!(rules.file(&path("node_modules/left-pad/index.js")));
        assert!(rules.file(&path("src/a.log")));
        assert!(rules.file(&path("private")));
        assert!(!rules.file(&path("src/keep.log")));
        assert!(!rules.file(&path("src/main.rs")));
    }

    #[test]
    fn nothing_is_ignored_outside_of_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".gitignore"), "*\n").unwrap();
        let mut rules = Ignored::of(&AbsPath::new(folder.path()).unwrap());
        assert!(!rules.file(&path("file")));
    }
}
