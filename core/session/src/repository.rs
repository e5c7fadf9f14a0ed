//! The git repository that a folder belongs to, found without running git and without trusting what a file claims.
//!
//! A `.git` file can name any folder of this machine, `~/.ssh` too. So a git folder outside the project counts only
//! when it points back: a linked worktree's `gitdir` file, or a submodule's `core.worktree`, must name the folder that
//! named it. What does not point back is reported and not taken along.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use enclos_paths::AbsPath;

/// A repository that holds a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The folder with the work tree's `.git`.
    pub root: AbsPath,
    /// Git folders outside `root` that it needs, each verified by its back pointer.
    pub outside: Vec<AbsPath>,
    /// What its `.git` file, or an `alternates` file, names but does not point back.
    pub unverified: Vec<AbsPath>,
}

/// Finds the repository that `folder` lies in: its own, or that of the nearest parent.
///
/// # Errors
/// When a `.git` is there but cannot be read.
pub(crate) fn find(folder: &AbsPath) -> io::Result<Option<Repository>> {
    let mut at = Some(folder.clone());
    while let Some(root) = at {
        let dot_git = root.resolve(".git");
        match fs::symlink_metadata(&dot_git) {
            Ok(found) if found.is_dir() && looks_like_git_folder(&dot_git) => {
                let mut repository = Repository {
                    root,
                    outside: Vec::new(),
                    unverified: Vec::new(),
                };
                repository.add_alternates(&dot_git)?;
                return Ok(Some(repository));
            }
            Ok(found) if found.is_file() => return Ok(Some(linked(root, &dot_git)?)),
            _ => at = root.parent(),
        }
    }
    Ok(None)
}

fn linked(root: AbsPath, dot_git: &AbsPath) -> io::Result<Repository> {
    let mut repository = Repository {
        root: root.clone(),
        outside: Vec::new(),
        unverified: Vec::new(),
    };
    let text = small_file(dot_git)?;
    let Some(target) = text
        .strip_prefix(b"gitdir:")
        .map(<[u8]>::trim_ascii)
        .filter(|t| !t.is_empty())
    else {
        return Ok(repository);
    };
    let Ok(git_folder) = resolved(root.resolve(OsStr::from_bytes(target))) else {
        return Ok(repository);
    };
    match points_back(&git_folder, &root)? {
        Some(common) => {
            repository.add_alternates(&common)?;
            repository.add(common);
        }
        None => repository.unverified.push(git_folder),
    }
    Ok(repository)
}

/// The folder to take along for `git_folder` if it belongs to the work tree at `root`.
fn points_back(git_folder: &AbsPath, root: &AbsPath) -> io::Result<Option<AbsPath>> {
    if let Ok(back) = small_file(&git_folder.resolve("gitdir")) {
        // A linked worktree: `.git/worktrees/NAME`, whose common folder is two above by git's own layout.
        let names_us = resolved(git_folder.resolve(OsStr::from_bytes(back.trim_ascii())))
            .is_ok_and(|path| path == root.resolve(".git"));
        let common = git_folder.parent().and_then(|worktrees| worktrees.parent());
        return Ok(common.filter(|common| names_us && looks_like_git_folder(common)));
    }
    let Ok(config) = small_file(&git_folder.resolve("config")) else {
        return Ok(None);
    };
    let names_us = worktree_of(&config)
        .and_then(|path| resolved(git_folder.resolve(path)).ok())
        .is_some_and(|path| path == *root);
    Ok((names_us && looks_like_git_folder(git_folder)).then(|| git_folder.clone()))
}

impl Repository {
    fn add(&mut self, folder: AbsPath) {
        if !folder.is_within(&self.root)
            && !self.outside.iter().any(|known| folder.is_within(known))
        {
            self.outside.retain(|known| !known.is_within(&folder));
            self.outside.push(folder);
        }
    }

    /// Alternates are object folders of other repositories. They have no back pointer by design, so what vouches for
    /// one is that it is the `objects` of something that is a git folder, or of a bare object store in that shape.
    fn add_alternates(&mut self, git_folder: &AbsPath) -> io::Result<()> {
        let objects = git_folder.resolve("objects");
        let list = objects.resolve("info/alternates");
        let Ok(text) = small_file(&list) else {
            return Ok(());
        };
        for line in text
            .split(|&b| b == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|l| !l.is_empty() && l[0] != b'#')
        {
            let Ok(path) = resolved(objects.resolve(OsStr::from_bytes(line))) else {
                continue;
            };
            let is_store = path.name() == Some(OsStr::new("objects"))
                && path
                    .parent()
                    .is_some_and(|parent| looks_like_git_folder(&parent));
            if is_store {
                self.add(path)
            } else {
                self.unverified.push(path)
            }
        }
        Ok(())
    }
}

/// Whether git would take `folder` for a git folder: `HEAD`, `objects`, `refs` (gitrepository-layout(5)).
fn looks_like_git_folder(folder: &AbsPath) -> bool {
    let is_dir = |name| folder.resolve(name).as_path().is_dir();
    folder.resolve("HEAD").as_path().symlink_metadata().is_ok()
        && is_dir("objects")
        && is_dir("refs")
}

/// The value of `worktree` in the `[core]` section of a git configuration.
fn worktree_of(config: &[u8]) -> Option<&OsStr> {
    let mut in_core = false;
    for line in config.split(|&b| b == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            in_core = line.eq_ignore_ascii_case(b"[core]");
        } else if in_core
            && let Some(at) = line.iter().position(|&b| b == b'=')
            && line[..at].trim_ascii().eq_ignore_ascii_case(b"worktree")
        {
            let value = line[at + 1..].trim_ascii();
            let value = value
                .strip_prefix(b"\"")
                .and_then(|v| v.strip_suffix(b"\""))
                .unwrap_or(value);
            return Some(OsStr::from_bytes(value));
        }
    }
    None
}

fn resolved(path: impl AsRef<Path>) -> io::Result<AbsPath> {
    AbsPath::new(fs::canonicalize(path)?).map_err(io::Error::other)
}

/// Reads a file of git's that is small by nature; a larger one is cut, and then means nothing.
fn small_file(path: &AbsPath) -> io::Result<Vec<u8>> {
    const LIMIT: u64 = 64 * 1024;
    let file = fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let output = Command::new("git")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ])
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.com",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn repository(at: &Path) {
        fs::create_dir_all(at).unwrap();
        git(at, &["init", "-q", "-b", "main"]);
        fs::write(at.join("file"), "x").unwrap();
        git(at, &["add", "."]);
        git(at, &["commit", "-q", "-m", "one"]);
    }

    fn world() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = resolved(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn a_folder_below_finds_its_repository() {
        let (_dir, root) = world();
        repository(root.resolve("main").as_path());
        fs::create_dir_all(root.resolve("main/a/b")).unwrap();
        let found = find(&root.resolve("main/a/b")).unwrap().unwrap();
        assert_eq!(found.root, root.resolve("main"));
        assert!(
            found.outside.is_empty() && found.unverified.is_empty(),
            "{found:?}"
        );
    }

    #[test]
    fn a_linked_worktree_takes_the_common_folder_along() {
        let (_dir, root) = world();
        repository(root.resolve("main").as_path());
        git(
            root.resolve("main").as_path(),
            &["worktree", "add", "-q", "../wt"],
        );
        let found = find(&root.resolve("wt")).unwrap().unwrap();
        assert_eq!(found.outside, [root.resolve("main/.git")]);
    }

    #[test]
    fn a_submodule_takes_its_own_git_folder_along() {
        let (_dir, root) = world();
        repository(root.resolve("lib").as_path());
        repository(root.resolve("main").as_path());
        git(
            root.resolve("main").as_path(),
            &["submodule", "--quiet", "add", "../lib", "sub"],
        );
        let found = find(&root.resolve("main/sub")).unwrap().unwrap();
        assert_eq!(found.outside, [root.resolve("main/.git/modules/sub")]);
    }

    #[test]
    fn a_pointer_that_is_not_returned_is_not_followed() {
        let (_dir, root) = world();
        repository(root.resolve("victim").as_path());
        fs::create_dir_all(root.resolve("evil")).unwrap();
        fs::write(root.resolve("evil/.git"), "gitdir: ../victim/.git\n").unwrap();
        let found = find(&root.resolve("evil")).unwrap().unwrap();
        assert!(
            found.outside.is_empty(),
            "the victim does not name the folder: {found:?}"
        );
        assert_eq!(found.unverified, [root.resolve("victim/.git")]);
    }

    #[test]
    fn an_alternate_must_be_the_objects_of_a_repository() {
        let (_dir, root) = world();
        repository(root.resolve("main").as_path());
        repository(root.resolve("other").as_path());
        fs::create_dir_all(root.resolve("secrets/objects")).unwrap();
        let list = root.resolve("main/.git/objects/info/alternates");
        let text = format!(
            "{}\n{}\n",
            root.resolve("other/.git/objects"),
            root.resolve("secrets/objects")
        );
        fs::write(list, text).unwrap();
        let found = find(&root.resolve("main")).unwrap().unwrap();
        assert_eq!(found.outside, [root.resolve("other/.git/objects")]);
        assert_eq!(found.unverified, [root.resolve("secrets/objects")]);
    }

    #[test]
    fn a_dot_git_that_is_no_git_folder_is_passed_over() {
        let (_dir, root) = world();
        fs::create_dir_all(root.resolve("p/.git")).unwrap();
        assert_eq!(find(&root.resolve("p")).unwrap(), None);
    }
}
