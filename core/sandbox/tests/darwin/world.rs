//! A session's folders, and what it takes to start a command in it.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_sandbox::lend::Os;
use enclos_sandbox::seatbelt::{Process, darwin};
use enclos_sandbox::{
    Command, Exit, HostFacts, Jail, LaunchError, Network, Running, Stdio, Survey, Tree, User,
    launch, plan, seen,
};

/// Folders as a session has them, below one temporary folder.
pub(crate) struct World {
    root: tempfile::TempDir,
}

/// What a command printed and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["copy", "home", "tmp", "etc", "original", "elsewhere"] {
            fs::create_dir(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("file"), folder).unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, inner: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(inner)
    }

    pub(crate) fn abs(&self, inner: &str) -> AbsPath {
        AbsPath::new(self.path(inner)).unwrap()
    }

    pub(crate) fn command(&self, argv: &[&str], stdio: Stdio) -> Command {
        let tmp = seen::tmp(Os::Macos, uid(), &self.abs("tmp"));
        let env = [
            ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".into()),
            ("HOME", self.path("home").into_os_string()),
            ("TMPDIR", tmp.as_path().as_os_str().to_owned()),
            ("WORD", "word".into()),
        ];
        Command {
            argv: argv.iter().map(Into::into).collect(),
            env: env.map(|(name, value)| (name.into(), value)).into(),
            cwd: self.abs("copy"),
            umask: 0o022,
            stdio,
        }
    }

    pub(crate) fn jail(&self, command: Command) -> Jail {
        Jail {
            user: User {
                name: "u".into(),
                uid: uid(),
                gid: rustix::process::getgid().as_raw(),
                home: self.abs("elsewhere"),
                shell: AbsPath::new("/bin/zsh").unwrap(),
            },
            trees: vec![Tree {
                inside: self.abs("original"),
                outside: self.abs("copy"),
                overlays: Vec::new(),
            }],
            home: self.abs("home"),
            tmp: self.abs("tmp"),
            etc: self.abs("etc"),
            lent: Vec::new(),
            covered: Vec::new(),
            sockets: Vec::new(),
            protected: vec![self.abs("elsewhere")],
            network: Network::None,
            command,
            stage: AbsPath::new(env!("CARGO_BIN_EXE_enclos-stage")).unwrap(),
        }
    }

    pub(crate) fn try_start(&self, argv: &[&str], stdio: Stdio) -> Result<Running, LaunchError> {
        let jail = self.jail(self.command(argv, stdio));
        let survey = Survey::take(&jail).unwrap();
        launch(&plan(&jail, &HostFacts::gather(&[]), &survey).unwrap())
    }

    pub(crate) fn start(&self, argv: &[&str], stdio: Stdio) -> Running {
        self.try_start(argv, stdio).unwrap()
    }

    /// Runs a script to its end.
    pub(crate) fn sh(&self, script: &str) -> Output {
        let mut running = self.start(&["sh", "-c", script], Stdio::Pipes);
        drop(running.first.stdin.take());
        let stdout = all(running.first.stdout.take().unwrap());
        let stderr = all(running.first.stderr.take().unwrap());
        Output {
            exit: running.wait().unwrap(),
            stdout,
            stderr,
        }
    }

    /// The processes that work in the copy.
    pub(crate) fn inhabitants(&self) -> Vec<Process> {
        let copy = self.abs("copy");
        let lives = |process: &Process| process.folder.as_ref().is_some_and(|f| f.is_within(&copy));
        let table = darwin::table().unwrap();
        table.into_iter().filter(lives).collect()
    }
}

/// All that can be read.
pub(crate) fn all(from: OwnedFd) -> String {
    let mut text = String::new();
    fs::File::from(from).read_to_string(&mut text).unwrap();
    text
}

fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}
