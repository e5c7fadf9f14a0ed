//! The table of cases, carried out in a real jail.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use enclos_sandbox::cases::{Access as Try, CASES, Outcome, Place};
use enclos_sandbox::{Access, Doors, Jail, Lent, Stdio};

use crate::world::{World, as_everyone, python, words};

/// Every row as one program each: what it reaches and what it does not is what the table says.
#[test]
fn the_jail_does_what_the_table_says() {
    as_everyone(|world| {
        let machine = Machine::new(world);
        for case in CASES.iter().filter(|case| case.linux != Outcome::NotHere) {
            let Some(attempt) = machine.attempt(world, case.access, case.place) else {
                continue;
            };
            let mut jail = machine.jail.clone();
            jail.command = world.command(&words(&python(&attempt)));
            if case.place == Place::OwnTerminal {
                jail.command.stdio = Stdio::Terminal { rows: 1, cols: 1 };
            }
            if case.linux == Outcome::Refused && machine.is_real(case.access, case.place) {
                let open = world.outside(&words(&python(&attempt)));
                assert!(
                    open.out.contains("REACHED"),
                    "{case} is no attempt even outside: {open:?}"
                );
            }
            let reached = machine.reached(world, &jail);
            assert_eq!(reached, case.linux == Outcome::Allowed, "{case}: {attempt}");
        }
    });
}

/// The machine of the table: what is on it, and what keeps it alive.
struct Machine {
    jail: Jail,
    places: BTreeMap<Place, String>,
    victim: std::process::Child,
    early: TcpListener,
    _sockets: Vec<UnixListener>,
}

/// Files of the machine.
const FILES: [(Place, &str); 11] = [
    (Place::Original, "project/original"),
    (Place::OtherSession, "state/other/copy/file"),
    (Place::State, "state/record"),
    (Place::PersonHome, "home/document"),
    (Place::SshKey, "home/.ssh/id_ed25519"),
    (Place::Keychain, "home/.local/share/keyrings/login.keyring"),
    (Place::Browser, "home/.mozilla/firefox/cookies"),
    (Place::ShellStart, "home/.bashrc"),
    (Place::LentRead, "home/lent/read/file"),
    (Place::LentSecret, "home/lent/read/.netrc"),
    (Place::LentWrite, "home/lent/write/file"),
];

/// Files of the session: where they lie, and where they are inside.
const OWN: [(Place, &str, &str); 2] = [
    (Place::Copy, "state/copy/src/file", "project/src/file"),
    (Place::SessionHome, "state/home/own", "home/own"),
];

const SOCKETS: [(Place, &str); 3] = [
    (Place::LentSocket, "home/lent/read/lent.sock"),
    (Place::SocketInLent, "home/lent/read/other.sock"),
    (Place::AgentSocket, "home/.ssh/agent.sock"),
];

/// What a desktop has.
const SYSTEM: [(Place, &str); 6] = [
    (Place::SystemProgram, "/usr/bin/true"),
    (Place::PasswordHashes, "/etc/shadow"),
    (Place::DockerSocket, "/run/docker.sock"),
    (Place::AppControl, "/run/dbus/system_bus_socket"),
    (Place::ServiceManager, "/run/systemd/private"),
    (Place::Pasteboard, "/tmp/.X11-unix/X0"),
];

impl Machine {
    fn new(world: &World) -> Self {
        let show = |name: &str| world.at(name).to_str().unwrap().to_owned();
        let own = OWN.map(|(place, outside, inside)| (place, outside, show(inside)));
        let files = FILES.map(|(place, name)| (place, name, show(name)));
        let mut places = BTreeMap::new();
        for (place, outside, inside) in own.into_iter().chain(files) {
            let path = world.at(outside);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::copy("/usr/bin/true", &path).unwrap();
            places.insert(place, inside);
        }
        places.extend(SYSTEM.map(|(place, path)| (place, path.to_owned())));
        let mut sockets = Vec::new();
        for (place, name) in SOCKETS {
            sockets.push(UnixListener::bind(world.at(name)).unwrap());
            places.insert(place, show(name));
        }
        let (me, uid) = (std::process::id(), world.user().uid);
        places.extend([
            (Place::SshFolder, show("home/.ssh")),
            (
                Place::OriginalByAlias,
                format!("/proc/{me}/root{}", show("project/original")),
            ),
            (Place::Opener, format!("/run/user/{uid}/bus")),
            (
                Place::KeychainService,
                format!("/run/user/{uid}/keyring/control"),
            ),
            (Place::MachineTmp, format!("/tmp/enclos-test-{me}")),
        ]);
        std::fs::write(&places[&Place::MachineTmp], "MACHINE").unwrap();
        Self {
            jail: jail(world),
            places,
            victim: std::process::Command::new("/bin/sleep")
                .arg("1000")
                .spawn()
                .unwrap(),
            early: TcpListener::bind("127.0.0.1:0").unwrap(),
            _sockets: sockets,
        }
    }

    /// Whether the attempt of `jail` reached its place; what it did to the machine is undone.
    fn reached(&self, world: &World, jail: &Jail) -> bool {
        let said = if jail.command.stdio == Stdio::Pipes {
            world.run(jail).out
        } else {
            crate::terminal::said_on_terminal(world, jail)
        };
        assert!(
            said.contains("REACHED") || said.contains("refused"),
            "the attempt itself failed: {said}"
        );
        for name in ["project/src/file", "state/copy/src/file"] {
            std::fs::copy("/usr/bin/true", world.at(name)).ok();
        }
        for made in ["new", "linked", "moved"] {
            std::fs::remove_file(world.at("state/copy/src").join(made)).ok();
        }
        for place in [
            Place::Original,
            Place::PersonHome,
            Place::SshKey,
            Place::OtherSession,
            Place::MachineTmp,
        ] {
            assert!(
                std::fs::exists(&self.places[&place]).unwrap(),
                "{place:?} is gone"
            );
        }
        said.contains("REACHED")
    }

    /// Whether the attempt would go through outside, and change nothing there.
    fn is_real(&self, access: Try, place: Place) -> bool {
        let harmless = [
            Try::Read,
            Try::Stat,
            Try::Write,
            Try::Connect,
            Try::Signal,
            Try::ReadArguments,
        ];
        let elsewhere = [
            Place::SystemProgram,
            Place::PasswordHashes,
            Place::DockerSocket,
            Place::KeychainService,
            Place::Pasteboard,
            Place::OtherTerminal,
            Place::Internet,
        ];
        harmless.contains(&access) && !elsewhere.contains(&place)
    }

    /// The attempt in python; none where a row has no meaning of its own on Linux.
    fn attempt(&self, world: &World, access: Try, place: Place) -> Option<String> {
        let port = self.early.local_addr().unwrap().port();
        let pid = match place {
            Place::OwnProcess => "os.getpid()".into(),
            _ => self.victim.id().to_string(),
        };
        Some(match (place, access) {
            (Place::SessionTmp, _) => in_tmp(access),
            (Place::SessionSocket, _) => format!(
                "b = socket.socket(socket.AF_UNIX); b.bind('/tmp/socket'); b.listen(); {}",
                connect("/tmp/socket")
            ),
            (Place::OwnTerminal, _) => {
                "os.write(os.open('/dev/tty', os.O_RDWR), b'.'); os.ttyname(0)".into()
            }
            (Place::OtherTerminal, _) => "os.open('/dev/pts/1', os.O_RDWR)".into(),
            (Place::OwnServer, _) => "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); \
                                      socket.create_connection(s.getsockname())"
                .into(),
            (Place::EarlyService | Place::LateService, _) => {
                format!("socket.create_connection(('127.0.0.1', {port}), 5)")
            }
            (Place::Internet, _) => "socket.create_connection(('192.0.2.1', 443), 5)".into(),
            (Place::OwnProcess | Place::OtherProcess, Try::Signal) => format!("os.kill({pid}, 0)"),
            (Place::OwnProcess | Place::OtherProcess, _) => {
                format!("open('/proc/' + str({pid}) + '/cmdline').read()")
            }
            _ => return self.attempt_on_file(world, access, place),
        })
    }

    fn attempt_on_file(&self, world: &World, access: Try, place: Place) -> Option<String> {
        let path = self.places.get(&place);
        let path = path.unwrap_or_else(|| panic!("{place:?} has no path"));
        // Inside, the paths of outside belong to the copy, the private home and the private /tmp, where things may be
        // made. Only what reaches the machine's own counts, so what is there outside is looked for first.
        let real = FILES.iter().any(|(file, _)| *file == place) || place == Place::MachineTmp;
        let there = if real {
            format!("os.stat('{path}'); ")
        } else {
            String::new()
        };
        let beside = std::path::Path::new(path).with_file_name("new");
        let (beside, copy) = (beside.display(), world.at("project/src"));
        let copy = copy.display();
        let content =
            format!("if not open('{path}', 'rb').read(): raise OSError(errno.ENODATA, '')");
        Some(match access {
            Try::Read if place == Place::SshFolder => format!("os.listdir('{path}')"),
            Try::Clone if place == Place::SshFolder => format!("os.stat('{path}')"),
            // To clone a file is to open it for reading.
            Try::Read | Try::Clone => content,
            Try::Stat => format!("os.stat('{path}')"),
            Try::Write => format!("{there}os.open('{path}', os.O_WRONLY)"),
            Try::Create => {
                format!("{there}os.open('{beside}', os.O_WRONLY | os.O_CREAT | os.O_EXCL)")
            }
            Try::Delete => format!("{there}os.unlink('{path}')"),
            Try::Execute => format!("import subprocess; subprocess.run(['{path}'], check=True)"),
            Try::Link => format!("os.link('{path}', '{copy}/linked')"),
            Try::MoveIn => format!("os.rename('{path}', '{copy}/moved')"),
            Try::Connect | Try::Start => connect(path),
            Try::Serve | Try::Signal | Try::ReadArguments => return None,
            other => panic!("{other:?} cannot be tried yet"),
        })
    }
}

fn jail(world: &World) -> Jail {
    let mut jail = world.jail(&[]);
    for (name, access) in [
        ("home/lent/read", Access::ReadOnly),
        ("home/lent/write", Access::ReadWrite),
    ] {
        jail.lent.push(Lent {
            outside: world.path(name),
            inside: world.path(name),
            access,
            doors: Doors::Searched,
        });
    }
    jail.covered.push(world.path("home/lent/read/.netrc"));
    jail.sockets.push(world.path("home/lent/read/lent.sock"));
    jail
}

fn connect(path: &str) -> String {
    format!("s = socket.socket(socket.AF_UNIX); s.connect('{path}')")
}

fn in_tmp(access: Try) -> String {
    let make = "open('/tmp/own', 'w').write('#!/bin/sh\\n'); os.chmod('/tmp/own', 0o755)";
    match access {
        Try::Execute => {
            format!("{make}; import subprocess; subprocess.run(['/tmp/own'], check=True)")
        }
        _ => format!("{make}; open('/tmp/own').read()"),
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.victim.kill().ok();
        self.victim.wait().ok();
        std::fs::remove_file(&self.places[&Place::MachineTmp]).ok();
    }
}
