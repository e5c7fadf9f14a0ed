//! A person's machine in a temporary folder, with the real programs of this one, and sessions on it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

use enclos_paths::AbsPath;
use enclos_sandbox::lend::caches::{Means, slot};
use enclos_sandbox::lend::{self, Catalogue, Disk, Folder, Inside, Lending, Os, Outside, lay};
use enclos_sandbox::linux::etc;
use enclos_sandbox::{
    Command, Exit, HostFacts, Jail, Network, Stdio, Survey, Tree, User, launch, plan,
};

/// Runs `case` in a process of its own: as root and as an ordinary user where we are root, else as ourselves.
pub(crate) fn as_everyone(case: impl FnOnce(&mut Machine)) {
    run(&[0, ORDINARY], case);
}

/// Runs `case` in a process of its own as ourselves, for toolchains that lie in our own home.
pub(crate) fn as_ourselves(case: impl FnOnce(&mut Machine)) {
    run(&[0], case);
}

const ORDINARY: u32 = 65534;
const MARK: &str = "ENCLOS_TEST_PERSON";

fn run(people: &[u32], case: impl FnOnce(&mut Machine)) {
    if std::env::var_os(MARK).is_some() {
        case(&mut Machine::new());
        return;
    }
    let name = std::thread::current()
        .name()
        .expect("tests run in threads with names")
        .to_owned();
    let me = rustix::process::getuid().as_raw();
    let people = if me == 0 { people } else { &[me][..] };
    for person in people {
        let mut test = process::Command::new(programs().join("test"));
        test.args(["--exact", &name, "--nocapture", "--test-threads=1"])
            .env(MARK, person.to_string());
        test.current_dir("/");
        if me == 0 {
            test.uid(*person).gid(*person);
        }
        let output = test.output().expect("the test's own program starts");
        let text = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat();
        assert!(output.status.success(), "as user {person}:\n{text}");
        assert!(
            text.contains("1 passed"),
            "as user {person} nothing was run:\n{text}"
        );
    }
}

/// The test's program and the stage, where every user can read them.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = PROGRAMS.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::copy(std::env::current_exe().unwrap(), dir.path().join("test")).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_enclos-stage"), dir.path().join("stage")).unwrap();
        dir
    });
    dir.path()
}

/// The machine: a home, a project `~/p`, and what Enclos keeps.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
    /// The environment besides `HOME` and `PATH`.
    pub(crate) vars: BTreeMap<OsString, OsString>,
    /// Entries before those of this process's own search path.
    pub(crate) path: Vec<PathBuf>,
    sessions: u32,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

impl Said {
    /// What it said, after it has ended well.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(self.exit, Exit::Code(0), "{}", self.text);
        self.text
    }

    /// What it said, after it has not ended well.
    #[track_caller]
    pub(crate) fn badly(self) -> String {
        assert_ne!(self.exit, Exit::Code(0), "{}", self.text);
        self.text
    }
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/p")).unwrap();
        std::fs::create_dir_all(dir.path().join("state")).unwrap();
        Self {
            dir,
            vars: BTreeMap::new(),
            path: Vec::new(),
            sessions: 0,
        }
    }

    fn at(&self, name: &str) -> AbsPath {
        AbsPath::new(self.dir.path().canonicalize().unwrap().join(name)).unwrap()
    }

    /// A path in the person's home.
    pub(crate) fn home(&self, name: &str) -> PathBuf {
        self.at("home").resolve(name).as_path().to_owned()
    }

    /// A path in the project's own part of the caches.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        slot(&self.at("state/caches"), 0)
            .resolve(name)
            .as_path()
            .to_owned()
    }

    /// Writes a file of the person's home, such as `p/src/main.rs` of the project.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.home(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The person's search path: their own entries and this machine's.
    fn search(&self) -> Vec<OsString> {
        let own = self.path.iter().map(|path| path.clone().into_os_string());
        let machine = std::env::var_os("PATH").unwrap_or_default();
        own.chain(std::env::split_paths(&machine).map(PathBuf::into_os_string))
            .collect()
    }

    /// Fails unless a program is on the search path.
    pub(crate) fn needs(&self, program: &str) {
        let found = self
            .search()
            .iter()
            .any(|entry| Path::new(entry).join(program).is_file());
        assert!(
            found,
            "this test needs {program}: `cargo xtask setup` installs it"
        );
    }

    /// Runs `script` outside, in the project, as the person would, and gives what it prints.
    #[track_caller]
    pub(crate) fn outside(&self, script: &str) -> String {
        let mut command = process::Command::new("/bin/sh");
        command
            .args(["-euc", script])
            .current_dir(self.home("p"))
            .env_clear()
            .envs(&self.vars);
        command
            .env("HOME", self.home(""))
            .env("PATH", std::env::join_paths(self.search()).unwrap());
        let output = command.output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success(),
            "outside, `{script}` failed:\n{out}{err}"
        );
        out.into_owned()
    }

    /// Runs `script` in a session of its own: a new copy and a new private home, the caches of the project.
    pub(crate) fn inside(&mut self, script: &str) -> Said {
        self.session(&["/bin/sh", "-euc", script], "", |_| {})
    }

    /// Runs `argv` in a session of its own, to which `input` is said, with the lent folders changed by `change`.
    pub(crate) fn session(
        &mut self,
        argv: &[&str],
        input: &str,
        change: impl Fn(&mut Vec<Folder>),
    ) -> Said {
        let name = format!("state/{}", self.sessions);
        self.sessions += 1;
        for folder in ["home", "tmp", "etc"] {
            std::fs::create_dir_all(self.at(&format!("{name}/{folder}"))).unwrap();
        }
        let copy = self.at(&format!("{name}/copy"));
        let copied = process::Command::new("cp")
            .arg("-a")
            .arg(self.home("p"))
            .arg(&copy)
            .status()
            .unwrap();
        assert!(copied.success(), "the project is copied");
        let mut lending = self.lending();
        change(&mut lending.folders);
        let facts = HostFacts::gather(&[]);
        assert!(
            facts.bwrap.is_some(),
            "these tests need bubblewrap: `cargo xtask setup` installs it"
        );
        let jail = self.jail(&name, &lending, argv);
        etc::generate(
            &jail.etc,
            &jail.user,
            &facts,
            &AbsPath::new("/etc").unwrap(),
        )
        .unwrap();
        let plan = plan(&jail, &facts, &Survey::take(&jail).unwrap()).unwrap();
        let mut running = launch(&plan).unwrap();
        let mut stdin = std::fs::File::from(running.first.stdin.take().unwrap());
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
        drop(stdin);
        let streams = [
            running.first.stdout.take().unwrap(),
            running.first.stderr.take().unwrap(),
        ];
        let readers = streams.map(|stream| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                std::fs::File::from(stream).read_to_end(&mut bytes).unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        let text = readers.map(|reader| reader.join().unwrap()).concat();
        Said {
            exit: running.wait().unwrap(),
            text,
        }
    }

    /// What the person's machine lends.
    pub(crate) fn lending(&self) -> Lending {
        let outside = Outside {
            os: Os::Linux,
            home: self.at("home"),
            project: self.at("home/p"),
            path: self.search(),
            vars: self.vars.clone(),
            shell: AbsPath::new("/bin/bash").unwrap(),
            protected: vec![self.at("state")],
            readable: Vec::new(),
        };
        let inside = Inside {
            home: self.at("home"),
            project: self.at("home/p"),
            tmp: AbsPath::new("/tmp").unwrap(),
            user: "ada".into(),
            session: "calm-fox".into(),
        };
        lend::find(&Catalogue::built_in().unwrap(), &outside, &inside, &Disk)
    }

    fn jail(&self, name: &str, lending: &Lending, argv: &[&str]) -> Jail {
        let part = |part: &str| self.at(&format!("{name}/{part}"));
        let home = part("home");
        let settings = [
            ("user.name".to_owned(), b"Ada".to_vec()),
            ("user.email".to_owned(), b"ada@example.org".to_vec()),
        ];
        let git = lend::git::GitInput {
            settings: &settings,
            trees: &[self.at("home/p")],
            ignored: None,
            large_files: lend::git::LargeFiles::Absent,
        };
        let shell =
            lend::shell::interactive(&lending.shell, &self.at("home"), &lending.path, "[enclos] ");
        for files in [&lending.files, &lend::git::files(&git), &shell.files] {
            lay::home(&home, files).unwrap();
        }
        let caches = slot(&self.at("state/caches"), 0);
        let no_clone = |_: &AbsPath, _: &AbsPath| unreachable!("overlays are mounted");
        let argv = if argv.is_empty() {
            shell.argv
        } else {
            argv.iter().map(OsString::from).collect()
        };
        let command = Command {
            argv,
            env: lending.env.iter().cloned().chain(shell.env).collect(),
            cwd: self.at("home/p"),
            umask: 0o022,
            stdio: Stdio::Pipes,
        };
        Jail {
            user: User {
                name: "ada".into(),
                uid: rustix::process::getuid().as_raw(),
                gid: rustix::process::getgid().as_raw(),
                home: self.at("home"),
                shell: lending.shell.clone(),
            },
            trees: vec![Tree {
                inside: self.at("home/p"),
                outside: part("copy"),
                overlays: Vec::new(),
            }],
            home,
            tmp: part("tmp"),
            etc: part("etc"),
            lent: lay::folders(&lending.folders, &caches, Means::Overlay, &no_clone).unwrap(),
            covered: lending.covered.clone(),
            sockets: Vec::new(),
            protected: Vec::new(),
            network: Network::None,
            command,
            stage: AbsPath::new(std::env::current_exe().unwrap().with_file_name("stage")).unwrap(),
        }
    }

    /// Sets a variable of the person's environment.
    pub(crate) fn var(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.vars.insert(name.into(), value.as_ref().to_owned());
    }
}
