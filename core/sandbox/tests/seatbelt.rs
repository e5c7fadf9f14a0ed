//! What only a Mac can show: macOS takes the generated profile, and does what the evaluator says.

#![cfg(target_os = "macos")]
#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use enclos_paths::AbsPath;
use enclos_sandbox::seatbelt::darwin::{SelfTestError, end, self_test, table};
use enclos_sandbox::seatbelt::{
    Attempt, Facts, Loopback, Marks, Members, Network, PhysicalPath, Profile, Ruleset, Service,
    Tag, profile,
};

/// Folders as a session has them, below one temporary folder.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["copy", "home", "tmp", "original", "lent"] {
            fs::create_dir(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("file"), folder).unwrap();
        }
        fs::write(root.path().join("lent/.netrc"), "secret").unwrap();
        Self { root }
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(inner)
    }

    fn abs(&self, inner: &str) -> AbsPath {
        AbsPath::new(self.path(inner)).unwrap()
    }

    fn physical(&self, inner: &str) -> PhysicalPath {
        PhysicalPath::new(&self.abs(inner)).unwrap()
    }

    fn profile(&self) -> Profile {
        profile(&Facts {
            tag: Tag::new("enclos-test").unwrap(),
            trees: vec![self.physical("copy")],
            home: self.physical("home"),
            tmp: self.physical("tmp"),
            readable: vec![self.physical("lent")],
            writable: Vec::new(),
            covered: vec![self.physical("lent/.netrc")],
            sockets: Vec::new(),
            protected: vec![self.physical("original")],
            developer: None,
            terminal: None,
            network: Network {
                proxy: None,
                loopback: Loopback::Open { denied: [1].into() },
            },
            services: [Service::FileEvents, Service::SystemTrust].into(),
        })
        .unwrap()
    }

    fn inside(&self, profile: &Profile, command: &[&str]) -> Command {
        let mut exec = Command::new("/usr/bin/sandbox-exec");
        exec.args(profile.arguments())
            .args(command)
            .current_dir(self.path("copy"));
        exec.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        exec
    }
}

#[test]
fn the_profile_is_taken_and_enforced() {
    let world = World::new();
    self_test(&world.profile(), &world.abs("original/file")).unwrap();
}

#[test]
fn a_profile_that_leaves_the_probe_open_is_not_used() {
    let world = World::new();
    let error = self_test(&world.profile(), &world.abs("lent/file")).unwrap_err();
    assert!(
        matches!(error, SelfTestError::NotEnforced { .. }),
        "{error}"
    );
}

/// A row: a command, and the attempt that it comes down to.
#[test]
fn macos_does_what_the_evaluator_says() {
    let world = World::new();
    let profile = world.profile();
    let rules = Ruleset::compile(profile.text(), profile.params()).unwrap();
    let text = |inner: &str| world.path(inner).to_str().unwrap().to_owned();
    let [copy, original, lent, netrc, tmp, outside] = [
        "copy/file",
        "original/file",
        "lent/file",
        "lent/.netrc",
        "tmp/new",
        "new",
    ]
    .map(text);
    let [linked, cloned, folder, whole] =
        ["copy/linked", "copy/cloned", "original", "copy/whole"].map(text);
    let alias = format!("/System/Volumes/Data{original}");
    let rows: [(&[&str], Attempt<'_>); 12] = [
        (&["/bin/cat", &copy], Attempt::Read(&copy)),
        (&["/bin/cat", &original], Attempt::Read(&original)),
        (&["/bin/cat", &alias], Attempt::Read(&alias)),
        (&["/bin/cat", &lent], Attempt::Read(&lent)),
        (&["/bin/cat", &netrc], Attempt::Read(&netrc)),
        (&["/usr/bin/touch", &tmp], Attempt::Create(&tmp)),
        (&["/usr/bin/touch", &outside], Attempt::Create(&outside)),
        (
            &["/bin/ln", &original, &linked],
            Attempt::Link(&original, &linked),
        ),
        (&["/bin/ln", &lent, &linked], Attempt::Link(&lent, &linked)),
        (
            &["/bin/cp", "-c", &original, &cloned],
            Attempt::Clone(&original, &cloned),
        ),
        (
            &["/bin/cp", "-cR", &folder, &whole],
            Attempt::Clone(&folder, &whole),
        ),
        (
            &["/bin/ls", "/private/etc/ssh"],
            Attempt::Read("/private/etc/ssh"),
        ),
    ];
    for (command, attempt) in rows {
        let really = world.inside(&profile, command).status().unwrap().success();
        assert_eq!(
            really,
            rules.attempt(attempt).unwrap().allowed,
            "{attempt:?}"
        );
    }
}

#[test]
fn tools_run_inside() {
    let world = World::new();
    let profile = world.profile();
    for command in [
        &["/bin/zsh", "-fc", "echo $(( 1 + 1 )) | /usr/bin/grep 2"][..],
        &["/bin/sh", "-c", "/bin/cat <(echo x)"],
        &["/usr/bin/perl", "-e", "exit 0"],
        &[
            "/bin/sh",
            "-c",
            "/bin/cp /usr/bin/true mine 2>/dev/null; exit 0",
        ],
        &["/usr/bin/id"],
    ] {
        let status = world.inside(&profile, command).status().unwrap();
        assert!(status.success(), "{command:?}: {status}");
    }
}

#[test]
fn programs_outside_are_not_started() {
    let world = World::new();
    let profile = world.profile();
    for command in [
        &["/usr/bin/open", "/System/Applications/TextEdit.app"][..],
        &[
            "/usr/bin/osascript",
            "-e",
            "tell application \"Finder\" to get name",
        ],
        &["/usr/bin/security", "dump-keychain"],
        &["/usr/sbin/sysctl", "kern.procargs2"],
    ] {
        let status = world.inside(&profile, command).status().unwrap();
        assert!(!status.success(), "{command:?}");
    }
}

/// A process that left its session and lost its parent is found by its folder, and ended.
#[test]
fn a_daemon_is_ended() {
    let world = World::new();
    let profile = world.profile();
    let daemon = "use POSIX; exit if fork; POSIX::setsid(); exit if fork; sleep 600";
    let mut child = world.inside(
        &profile,
        &[
            "/bin/sh",
            "-c",
            &format!("/usr/bin/perl -e '{daemon}'; sleep 600"),
        ],
    );
    let mut child = child.spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let seen = table().unwrap();
    let first = seen.iter().find(|process| process.id.pid == pid).unwrap();
    let mut members = Members::new(Marks {
        uid: first.uid,
        first: first.id,
        terminals: [].into(),
        folders: vec![world.abs("copy")],
        spared: [i32::try_from(std::process::id()).unwrap()].into(),
    });
    assert!(
        members.scan(&seen).alive.len() >= 3,
        "the shell, its sleep and the daemon"
    );
    assert_eq!(end(&mut members, Duration::from_secs(5)).unwrap(), []);
    child.wait().unwrap();
    let copy = world.path("copy");
    let left = table()
        .unwrap()
        .into_iter()
        .filter(|p| p.folder.as_ref().is_some_and(|f| f.as_path() == copy));
    assert_eq!(left.count(), 0);
    assert!(Path::new(&copy).exists());
}
