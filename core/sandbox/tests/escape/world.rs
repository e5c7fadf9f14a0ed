//! A machine in a temporary folder: a home with secrets, a project, a copy of it, and jails around that.
//!
//! Each test runs in a process of its own, and where we are root twice: as root and as an ordinary user. Nothing is
//! skipped: what a test needs and does not find (bubblewrap, python3, a compiler) makes it fail with the name of it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

use enclos_paths::AbsPath;
use enclos_sandbox::linux::etc;
use enclos_sandbox::{
    Command, Exit, HostFacts, Jail, LaunchError, Network, Plan, Running, Stdio, Survey, Tree, User,
    launch, plan,
};

/// Runs `case` in a process of its own: as root and as an ordinary user where we are root, else as ourselves.
pub(crate) fn as_everyone(case: impl FnOnce(&World)) {
    run(&[0, ORDINARY], case);
}

/// Runs `case` as root only, for what an ordinary user cannot do anyway; as another user there is nothing to show.
pub(crate) fn as_root(case: impl FnOnce(&World)) {
    run(&[0], case);
}

const ORDINARY: u32 = 65534;
const MARK: &str = "ENCLOS_TEST_PERSON";

fn run(people: &[u32], case: impl FnOnce(&World)) {
    if std::env::var_os(MARK).is_some() {
        case(&World::new());
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
        for person in [0, ORDINARY, rustix::process::getuid().as_raw()] {
            let cache = dir.path().join(format!("etc-{person}"));
            if std::fs::create_dir(&cache).is_ok() {
                std::os::unix::fs::chown(&cache, Some(person), Some(person)).ok();
            }
        }
        dir
    });
    dir.path()
}

/// The machine.
pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) facts: HostFacts,
}

/// What a command said and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self {
            dir,
            facts: HostFacts::gather(&[]),
        };
        assert!(world.facts.bwrap.is_some(), "these tests need bubblewrap");
        for folder in [
            "home/.ssh",
            "home/lent",
            "project/src",
            "sibling",
            "state/home",
            "state/tmp",
        ] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.write("home/.ssh/id_ed25519", "PRIVATE KEY");
        world.write("sibling/secret", "SIBLING");
        world.write("project/src/main", "ORIGINAL");
        std::fs::create_dir_all(world.at("state/copy/src")).unwrap();
        world.write("state/copy/src/main", "ORIGINAL");
        world
    }

    /// A path of the machine.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The same, as the jail takes it.
    pub(crate) fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.at(name)).unwrap()
    }

    /// Writes a file of the machine.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    /// Reads a file of the machine.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    pub(crate) fn user(&self) -> User {
        User {
            name: "ada".into(),
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            home: self.path("home"),
            shell: AbsPath::new("/bin/sh").unwrap(),
        }
    }

    /// A command in the project, with pipes.
    pub(crate) fn command(&self, argv: &[&str]) -> Command {
        Command {
            argv: argv.iter().map(OsString::from).collect(),
            env: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), self.at("home").into()),
            ],
            cwd: self.path("project"),
            umask: 0o022,
            stdio: Stdio::Pipes,
        }
    }

    /// A jail for the copy, in which `argv` runs.
    pub(crate) fn jail(&self, argv: &[&str]) -> Jail {
        Jail {
            user: self.user(),
            trees: vec![Tree {
                inside: self.path("project"),
                outside: self.path("state/copy"),
                overlays: Vec::new(),
            }],
            home: self.path("state/home"),
            tmp: self.path("state/tmp"),
            etc: self.etc(),
            lent: Vec::new(),
            covered: Vec::new(),
            sockets: Vec::new(),
            protected: vec![self.path("home/.ssh"), self.path("state")],
            network: Network::None,
            command: self.command(argv),
            stage: self.stage(),
        }
    }

    /// The generated `/etc`, made once for each person as it takes long; so the home in it is none of this world.
    fn etc(&self) -> AbsPath {
        let [host, home] = ["/etc", "/home/ada"].map(|path| AbsPath::new(path).unwrap());
        let user = User {
            home,
            ..self.user()
        };
        let cache = std::env::current_exe()
            .unwrap()
            .with_file_name(format!("etc-{}", user.uid));
        etc::kept(&AbsPath::new(cache).unwrap(), &user, &self.facts, &host).unwrap()
    }

    /// Our executable.
    pub(crate) fn stage(&self) -> AbsPath {
        AbsPath::new(std::env::current_exe().unwrap().with_file_name("stage")).unwrap()
    }

    pub(crate) fn plan(&self, jail: &Jail) -> Plan {
        plan(jail, &self.facts, &Survey::take(jail).unwrap()).unwrap()
    }

    pub(crate) fn launch(&self, jail: &Jail) -> Result<Running, LaunchError> {
        launch(&self.plan(jail))
    }

    /// Runs `argv` in a jail.
    pub(crate) fn jailed(&self, argv: &[&str]) -> Said {
        self.run(&self.jail(argv))
    }

    /// Runs a jail to its end.
    pub(crate) fn run(&self, jail: &Jail) -> Said {
        let mut running = self.launch(jail).unwrap();
        drop(running.first.stdin.take());
        hear(&mut running)
    }

    /// Runs `argv` outside, as the same user, with a clean environment.
    pub(crate) fn outside(&self, argv: &[&str]) -> Said {
        let mut command = process::Command::new(argv[0]);
        command
            .args(&argv[1..])
            .current_dir(self.at("project"))
            .env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.at("home"));
        Said::of(&command.output().unwrap())
    }

    /// Runs `argv` in a plain bubblewrap with `options`: what one gets without thinking.
    pub(crate) fn plain_bwrap(&self, options: &[&str], argv: &[&str]) -> Said {
        let mut words = vec![
            self.facts
                .bwrap
                .as_ref()
                .unwrap()
                .path
                .as_path()
                .to_str()
                .unwrap(),
        ];
        words.extend(options);
        words.extend(argv);
        self.outside(&words)
    }
}

impl Said {
    pub(crate) fn of(output: &process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let exit = match output.status.code() {
            Some(code) => Exit::Code(u8::try_from(code).unwrap()),
            None => Exit::Killed,
        };
        Self {
            exit,
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Its output, after it has ended well.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(self.exit, Exit::Code(0), "{self:?}");
        self.out
    }
}

/// Reads all a jail says and waits for its end.
pub(crate) fn hear(running: &mut Running) -> Said {
    let read = |fd: Option<std::os::fd::OwnedFd>| {
        let mut file = std::fs::File::from(fd.expect("the stream was not taken yet"));
        std::thread::spawn(move || {
            let mut text = Vec::new();
            file.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let (out, err) = (
        read(running.first.stdout.take()),
        read(running.first.stderr.take()),
    );
    let exit = running.wait().unwrap();
    Said {
        exit,
        out: out.join().unwrap(),
        err: err.join().unwrap(),
    }
}

/// Writes to a command's standard input and closes it.
pub(crate) fn feed(running: &mut Running, text: &str) {
    let mut stdin = std::fs::File::from(running.first.stdin.take().unwrap());
    stdin.write_all(text.as_bytes()).unwrap();
}

/// A python program that prints REACHED when `attack`, given as statements, goes through, and what refused it else.
pub(crate) fn python(attack: &str) -> Vec<String> {
    let indented: String = attack.lines().map(|line| format!("    {line}\n")).collect();
    let program = format!(
        "{PRELUDE}\ntry:\n{indented}    print('REACHED')\nexcept OSError as e:\n    print('refused:', errno.errorcode.get(e.errno, e))\n"
    );
    vec![
        "/usr/bin/python3".into(),
        "-I".into(),
        "-S".into(),
        "-c".into(),
        program,
    ]
}

const PRELUDE: &str = "\
import ctypes, errno, fcntl, os, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
";

/// What an attack has to get through first, to show that it is one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Without {
    /// Any jail.
    Jail,
    /// All but a bubblewrap with these options.
    AllBut(&'static [&'static str]),
    /// The system call filter; the rest of the jail is there.
    Filter,
}

impl World {
    /// Shows that the python statements `attack` go through without a defence, and what refuses them in the jail.
    #[track_caller]
    pub(crate) fn refused(&self, attack: &str, without: Without) -> String {
        self.refused_in(&self.jail(&[]), attack, without)
    }

    /// As [`World::refused`], in this jail.
    #[track_caller]
    pub(crate) fn refused_in(&self, jail: &Jail, attack: &str, without: Without) -> String {
        let program = python(attack);
        let program = words(&program);
        let mut jail = jail.clone();
        jail.command = self.command(&program);
        let open = match without {
            Without::Jail => self.outside(&program),
            Without::AllBut(options) => self.plain_bwrap(options, &program),
            Without::Filter => {
                let mut plan = self.plan(&jail);
                plan.confinement.filter.clear();
                self.carry_out(&plan)
            }
        };
        assert!(
            open.out.contains("REACHED"),
            "the attack is none even without {without:?}: {attack}: {open:?}"
        );
        let said = self.run(&jail);
        let refusal = said.out.trim().strip_prefix("refused: ").map(str::to_owned);
        refusal.unwrap_or_else(|| panic!("the attack went through: {attack}: {said:?}"))
    }

    /// Runs a plan to its end.
    pub(crate) fn carry_out(&self, plan: &Plan) -> Said {
        let mut running = launch(plan).unwrap();
        drop(running.first.stdin.take());
        hear(&mut running)
    }
}

/// The words of a command as references.
pub(crate) fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}
