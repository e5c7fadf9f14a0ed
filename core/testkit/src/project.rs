//! Projects, described line by line and made as described.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use enclos_paths::AbsPath;

use crate::World;

/// A project in the making; each method makes what it says at once.
///
/// Every method panics where it stands when the file system refuses.
#[derive(Debug)]
pub struct ProjectBuilder<'w> {
    world: &'w World,
    root: AbsPath,
}

/// A folder with a project in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: AbsPath,
}

impl<'w> ProjectBuilder<'w> {
    #[track_caller]
    pub(crate) fn new(world: &'w World, root: AbsPath) -> Self {
        fs::create_dir_all(&root).expect("the project's folder");
        Self { world, root }
    }

    /// A file with mode 0644.
    #[track_caller]
    pub fn file(self, path: impl AsRef<OsStr>, contents: impl AsRef<[u8]>) -> Self {
        let at = self.place(path.as_ref());
        fs::write(&at, contents).unwrap_or_else(|error| panic!("{}: {error}", at.display()));
        self.mode(path, 0o644)
    }

    /// A file with mode 0755.
    #[track_caller]
    pub fn executable(self, path: impl AsRef<OsStr>, contents: impl AsRef<[u8]>) -> Self {
        self.file(&path, contents).mode(path, 0o755)
    }

    /// A file of `bytes` zero bytes that occupies no blocks.
    #[track_caller]
    pub fn sparse(self, path: impl AsRef<OsStr>, bytes: u64) -> Self {
        let file = fs::File::create(self.place(path.as_ref())).expect("the file");
        file.set_len(bytes).expect("its length");
        self
    }

    /// An empty folder.
    #[track_caller]
    pub fn folder(self, path: impl AsRef<OsStr>) -> Self {
        fs::create_dir_all(self.place(path.as_ref())).expect("the folder");
        self
    }

    /// A symbolic link that says `target`, whatever is there.
    #[track_caller]
    pub fn link(self, path: impl AsRef<OsStr>, target: impl AsRef<Path>) -> Self {
        std::os::unix::fs::symlink(target, self.place(path.as_ref())).expect("the link");
        self
    }

    /// A second name for the file `existing`.
    #[track_caller]
    pub fn hard_link(self, path: impl AsRef<OsStr>, existing: impl AsRef<OsStr>) -> Self {
        fs::hard_link(self.place(existing.as_ref()), self.place(path.as_ref()))
            .expect("the second name");
        self
    }

    /// A FIFO: opening it for reading waits for a writer that never comes.
    #[track_caller]
    pub fn fifo(self, path: impl AsRef<OsStr>) -> Self {
        self.world
            .command("mkfifo")
            .args([self.place(path.as_ref())])
            .run()
            .success();
        self
    }

    /// A socket that nobody listens on.
    #[track_caller]
    pub fn socket(self, path: impl AsRef<OsStr>) -> Self {
        drop(
            std::os::unix::net::UnixListener::bind(self.place(path.as_ref())).expect("the socket"),
        );
        self
    }

    /// Sets the permission bits of a file or folder.
    #[track_caller]
    pub fn mode(self, path: impl AsRef<OsStr>, mode: u32) -> Self {
        let at = self.place(path.as_ref());
        fs::set_permissions(&at, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|e| panic!("{}: {e}", at.display()));
        self
    }

    /// Sets when a file was last modified, in seconds since 1970.
    #[track_caller]
    pub fn modified(self, path: impl AsRef<OsStr>, seconds: u64) -> Self {
        let file = fs::File::open(self.place(path.as_ref())).expect("the file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .expect("its time");
        self
    }

    /// Sets an extended attribute.
    #[track_caller]
    pub fn attribute(self, path: impl AsRef<OsStr>, name: &str, value: &[u8]) -> Self {
        let at = self.place(path.as_ref());
        rustix::fs::lsetxattr(at, name, value, rustix::fs::XattrFlags::empty())
            .expect("the attribute");
        self
    }

    /// Makes the project a git repository whose branch `main` has one commit with everything that is not ignored.
    #[track_caller]
    pub fn git_init(self) -> Self {
        self.git(["init", "--quiet", "--initial-branch=main"])
            .git(["add", "--all"])
            .git(["commit", "--quiet", "--allow-empty", "--message=Start"])
    }

    /// Runs git in the project.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.world
            .command("git")
            .args(arguments)
            .current_dir(&self.root)
            .run()
            .success();
        self
    }

    /// The project as described.
    #[must_use]
    pub fn build(self) -> Project {
        Project { root: self.root }
    }

    /// Where `path` is, with the folders that lead there made.
    #[track_caller]
    fn place(&self, path: &OsStr) -> PathBuf {
        let at = self.root.as_path().join(path);
        let folder = at.parent().expect("a name in the project");
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        at
    }
}

impl Project {
    /// The project's folder.
    #[must_use]
    pub fn root(&self) -> &AbsPath {
        &self.root
    }

    /// Where `inner` is.
    #[must_use]
    pub fn path(&self, inner: impl AsRef<OsStr>) -> PathBuf {
        self.root.as_path().join(inner.as_ref())
    }

    /// What the file `inner` holds.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    #[track_caller]
    pub fn read(&self, inner: impl AsRef<OsStr>) -> String {
        let path = self.path(inner);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes the file `inner`, as the person would while a session runs.
    ///
    /// # Panics
    /// When it cannot be written.
    #[track_caller]
    pub fn write(&self, inner: impl AsRef<OsStr>, contents: impl AsRef<[u8]>) {
        let path = self.path(inner);
        fs::create_dir_all(path.parent().expect("a name in the project"))
            .expect("the file's folder");
        fs::write(&path, contents).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl AsRef<Path> for Project {
    fn as_ref(&self) -> &Path {
        self.root.as_path()
    }
}

impl AsRef<OsStr> for Project {
    fn as_ref(&self) -> &OsStr {
        OsStr::from_bytes(self.root.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    #[test]
    fn a_project_is_made_as_described() {
        let world = World::new();
        let project = world
            .project("web")
            .file("src/a.rs", "a")
            .executable("run.sh", "#!/bin/sh\n")
            .file("secret", "s")
            .mode("secret", 0o600)
            .link("latest", "src/a.rs")
            .hard_link("again", "run.sh")
            .folder("empty")
            .fifo("pipe")
            .socket("sock")
            .sparse("big", 1 << 20)
            .file(OsStr::from_bytes(b"caf\xe9"), "")
            .build();
        assert_eq!(
            tree(&project).names(),
            [
                "again", "big", "caf\\xe9", "empty", "latest", "pipe", "run.sh", "secret", "sock",
                "src", "src/a.rs"
            ]
        );
        assert_eq!(project.read("src/a.rs"), "a");
    }

    #[test]
    fn commits_have_the_same_name_in_every_world() {
        let head = || {
            let world = World::new();
            let project = world.project("web").file("a", "1").git_init().build();
            let output = world
                .command("git")
                .args(["rev-parse", "HEAD"])
                .current_dir(&project)
                .run()
                .success();
            output.raw_stdout().to_vec()
        };
        assert_eq!(head(), head());
    }
}
