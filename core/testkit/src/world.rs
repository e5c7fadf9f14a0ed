//! The world itself: a temporary folder that holds everything a test may touch, and the environment that points there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use tempfile::TempDir;

use crate::Invocation;
use crate::Normal;
use crate::ProjectBuilder;
use crate::leftovers;

/// A home, a runtime folder, a temporary folder and projects; what runs in it is killed and all of it removed when this
/// is dropped.
#[derive(Debug)]
pub struct World {
    // Removes the folder when it is dropped.
    _folder: TempDir,
    root: AbsPath,
    enclos: Option<PathBuf>,
}

/// Where the programs of every system are, and nothing of the person's own.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// The moment of every commit that a world makes: hashes are the same in every run.
const COMMIT_DATE: &str = "2001-09-09T01:46:40+00:00";

impl World {
    /// A new world. It lies in `/var/tmp` where there is one: a jail gives `/tmp` a meaning of its own, and a test of
    /// a home below it would see that instead of what a person sees.
    ///
    /// # Panics
    /// When its folders cannot be made.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        let usual = Path::new("/var/tmp");
        if usual.is_dir() {
            Self::below(usual)
        } else {
            Self::below(&std::env::temp_dir())
        }
    }

    /// A new world inside `folder`, which may lie on a file system made for the test.
    ///
    /// # Panics
    /// When its folders cannot be made.
    #[must_use]
    #[track_caller]
    pub fn below(folder: &Path) -> Self {
        // Short: a socket's path has 104 bytes on macOS.
        let folder = tempfile::Builder::new()
            .prefix("ew-")
            .tempdir_in(folder)
            .expect("a folder for the world");
        // Links resolved, as programs report the place.
        let root = AbsPath::new(folder.path().canonicalize().expect("the world's place"))
            .expect("an absolute path");
        let world = Self {
            _folder: folder,
            root,
            enclos: None,
        };
        for (name, mode) in [("", 0o755), ("home", 0o755), ("tmp", 0o700), ("run", 0o700)] {
            let path = world.root.as_path().join(name);
            fs::create_dir_all(&path).expect("a folder of the world");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        }
        world
    }

    /// The same world with the command that [`World::enclos`] runs: `env!("CARGO_BIN_EXE_enclos")`.
    #[must_use]
    pub fn with_enclos(mut self, binary: impl Into<PathBuf>) -> Self {
        self.enclos = Some(binary.into());
        self
    }

    /// The folder that holds everything.
    #[must_use]
    pub fn root(&self) -> &AbsPath {
        &self.root
    }

    /// The person's home.
    #[must_use]
    pub fn home(&self) -> AbsPath {
        self.at("home")
    }

    /// The path of `inner` below the world's root.
    ///
    /// # Panics
    /// When `inner` leads out of the world.
    #[must_use]
    #[track_caller]
    pub fn at(&self, inner: impl AsRef<Path>) -> AbsPath {
        let path = self.root.resolve(&inner);
        assert!(
            path.is_within(&self.root),
            "{} leads out of the world",
            inner.as_ref().display()
        );
        path
    }

    /// A new project in the home.
    #[track_caller]
    pub fn project(&self, name: &str) -> ProjectBuilder<'_> {
        ProjectBuilder::new(self, self.at("home").resolve(name))
    }

    /// Writes a file below the home, with the folders that lead to it.
    ///
    /// # Panics
    /// When it cannot be written.
    #[track_caller]
    pub fn home_file(&self, inner: &str, contents: impl AsRef<[u8]>) -> AbsPath {
        let path = self.home().resolve(inner);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the file's folder");
        fs::write(&path, contents).expect("the file");
        path
    }

    /// The command of the product with `arguments`, in this world's environment.
    ///
    /// # Panics
    /// When the world was not told where the command is.
    #[track_caller]
    pub fn enclos<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Invocation<'_> {
        let binary = self
            .enclos
            .as_ref()
            .expect("a world made by `World::new().with_enclos(env!(\"CARGO_BIN_EXE_enclos\"))`");
        Invocation::new(self, binary).args(arguments)
    }

    /// Any other program, in this world's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Invocation<'_> {
        Invocation::new(self, program.as_ref())
    }

    /// What turns this world's paths, times and ids into words that are the same in every run.
    #[must_use]
    pub fn normal(&self) -> Normal {
        Normal::new([("$HOME", self.home()), ("$WORLD", self.root.clone())])
    }

    /// The whole environment of a program in this world.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.home();
        let below = |inner: &str| home.as_path().join(inner);
        let mut variables = vec![
            ("HOME", home.as_path().to_path_buf()),
            ("XDG_CONFIG_HOME", below(".config")),
            ("XDG_STATE_HOME", below(".local/state")),
            ("XDG_DATA_HOME", below(".local/share")),
            ("XDG_CACHE_HOME", below(".cache")),
            ("XDG_RUNTIME_DIR", self.root.as_path().join("run")),
            ("TMPDIR", self.root.as_path().join("tmp")),
        ];
        let fixed = [
            ("PATH", PATH),
            ("SHELL", "/bin/sh"),
            ("USER", "ada"),
            ("LOGNAME", "ada"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("TERM", "xterm-256color"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.com"),
            ("GIT_AUTHOR_DATE", COMMIT_DATE),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.com"),
            ("GIT_COMMITTER_DATE", COMMIT_DATE),
        ];
        variables.extend(fixed.map(|(name, value)| (name, value.into())));
        variables
    }

    /// Gives everything in this world to the user `uid`, so that a program of theirs finds its home.
    ///
    /// # Panics
    /// When this process is not root.
    #[track_caller]
    pub fn give_to(&self, uid: u32) {
        give(self.root.as_path(), uid);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        leftovers::end(&self.root);
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

#[track_caller]
fn give(path: &Path, uid: u32) {
    use std::os::unix::fs::MetadataExt;
    let found = path.symlink_metadata().expect("a file of the world");
    // Giving a file to who has it already would still move its ctime, and so look like a change.
    if (found.uid(), found.gid()) != (uid, uid) {
        std::os::unix::fs::lchown(path, Some(uid), Some(uid)).expect("only root gives files away");
    }
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("a folder of the world") {
            give(&entry.expect("an entry").path(), uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_only_the_world() {
        let world = World::new();
        let output = world.command("env").run().success();
        let mut names: Vec<&str> = Vec::new();
        let text = output.stdout();
        for line in text.lines() {
            let (name, value) = line.split_once('=').expect("a variable");
            let is_place = name == "HOME" || name.starts_with("XDG_") || name == "TMPDIR";
            assert!(
                !is_place || value.starts_with("$HOME") || value.starts_with("$WORLD"),
                "{line} is outside"
            );
            names.push(name);
        }
        names.sort_unstable();
        let mut wanted: Vec<_> = world
            .environment()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        wanted.sort_unstable();
        assert_eq!(names, wanted, "nothing of the caller's environment");
    }

    #[test]
    fn a_world_is_gone_with_its_test() {
        let world = World::new();
        let root = world.root().clone();
        drop(world);
        assert!(!root.as_path().exists(), "{root} is removed");
    }

    #[test]
    #[should_panic(expected = "leads out of the world")]
    fn nothing_leads_out() {
        let _ = World::new().at("../elsewhere");
    }

    #[test]
    fn a_world_can_be_given_away() {
        if !crate::requires_root() {
            return;
        }
        let world = World::new();
        let project = world.project("web").file("a", "1").build();
        let output = world
            .command("sh")
            .args(["-c", "id -u; echo 2 > a"])
            .current_dir(&project)
            .as_user(12345)
            .run();
        assert_eq!(output.success().stdout(), "12345\n");
        assert_eq!(fs::read(project.path("a")).unwrap(), b"2\n");
    }
}
