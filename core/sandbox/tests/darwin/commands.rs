//! Commands, their streams and how they end.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use enclos_sandbox::{Exit, LaunchError, Piped, SpawnError, Stdio};

use crate::world::{World, all};

const TERMINAL: Stdio = Stdio::Terminal { rows: 24, cols: 80 };

#[test]
fn true_runs() {
    let world = World::new();
    let mut running = world.start(&["true"], Stdio::Pipes);
    assert_eq!(running.wait().unwrap(), Exit::Code(0));
    assert_eq!(running.try_wait().unwrap(), Some(Exit::Code(0)));
    assert_eq!(running.left(), [0_i32; 0]);
}

#[test]
fn codes_and_signals_come_out() {
    let world = World::new();
    assert_eq!(world.sh("exit 7").exit, Exit::Code(7));
    let killed = world.sh("kill -TERM $$").exit;
    assert_eq!((killed, killed.code()), (Exit::Signal(15), 143));
}

#[test]
fn what_cannot_be_executed_is_told_apart_from_what_is_missing() {
    let world = World::new();
    let plain = world.path("copy/plain");
    fs::write(&plain, "no program").unwrap();
    let code = |argv: &[&str]| world.try_start(argv, Stdio::Pipes).unwrap_err().exit_code();
    assert_eq!(code(&["no-such-program"]), 127);
    assert_eq!(code(&["./none"]), 127);
    assert_eq!(code(&["./plain"]), 126);
    assert_eq!(
        code(&["/usr/bin/sudo", "true"]),
        126,
        "it runs as another user"
    );
    assert_eq!(world.inhabitants(), []);

    fs::write(&plain, "exit 3\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = world.start(&["./plain"], Stdio::Pipes);
    assert_eq!(script.wait().unwrap(), Exit::Code(3), "a shell runs it");
}

#[test]
fn a_folder_to_work_in_that_is_not_there_is_named() {
    let world = World::new();
    fs::remove_dir_all(world.path("copy")).unwrap();
    fs::create_dir(world.path("copy")).unwrap();
    let mut running = world.start(&["sleep", "60"], Stdio::Pipes);
    let mut elsewhere = world.command(&["true"], Stdio::Pipes);
    elsewhere.cwd = world.abs("copy/none");
    let error = running.spawn(&elsewhere).unwrap_err();
    assert!(matches!(error, SpawnError::WorkingFolder { .. }), "{error}");
}

#[test]
fn three_pipes_stay_apart() {
    let world = World::new();
    let mut running = world.start(&["sh", "-c", "cat; echo err >&2"], Stdio::Pipes);
    let mut stdin = fs::File::from(running.first.stdin.take().unwrap());
    stdin.write_all(b"a\0b\n").unwrap();
    drop(stdin);
    assert_eq!(all(running.first.stdout.take().unwrap()), "a\0b\n");
    assert_eq!(all(running.first.stderr.take().unwrap()), "err\n");
    assert_eq!(running.wait().unwrap(), Exit::Code(0));
}

#[test]
fn the_command_holds_its_streams_and_its_environment_and_nothing_else() {
    let world = World::new();
    let open = fs::File::open("/etc/hosts").unwrap();
    let kept = rustix::io::fcntl_dupfd_cloexec(&open, 7).unwrap();
    rustix::io::fcntl_setfd(&kept, rustix::io::FdFlags::empty()).unwrap();
    // `ls` opens the folder that it lists.
    assert_eq!(world.sh("ls /dev/fd | tr '\\n' ' '").stdout, "0 1 2 3 ");
    let mut running = world.start(&["env"], Stdio::Pipes);
    let env = all(running.first.stdout.take().unwrap());
    let names: Vec<_> = env
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR", "WORD"]);
    assert_eq!(world.sh("echo $WORD; umask").stdout, "word\n0022\n");
}

#[test]
fn temporary_files_have_a_short_name_and_lie_in_the_sessions_folder() {
    let world = World::new();
    let output = world.sh("cd \"$TMPDIR\" && echo x >new && echo ${#TMPDIR}");
    assert_eq!(output.exit, Exit::Code(0), "{}", output.stderr);
    assert!(output.stdout.trim().parse::<usize>().unwrap() < 50);
    assert_eq!(fs::read_to_string(world.path("tmp/new")).unwrap(), "x\n");
}

#[test]
fn a_terminal_is_the_commands_own() {
    let world = World::new();
    let script = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && tty && : </dev/tty && echo done";
    let mut running = world.start(&["sh", "-c", script], TERMINAL);
    let said = read_terminal(&mut running);
    assert_eq!(running.wait().unwrap(), Exit::Code(0), "{said}");
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], "24 80");
    assert!(lines[1].starts_with("/dev/ttys"), "{said}");
    assert_eq!(lines[2], "done");
}

#[test]
fn a_terminal_and_a_pipe_side_by_side() {
    let world = World::new();
    let stdio = Stdio::Mixed {
        rows: 24,
        cols: 80,
        piped: Piped {
            input: true,
            output: false,
            errors: false,
        },
    };
    let mut running = world.start(
        &["sh", "-c", "cat; [ -t 0 ] || : </dev/tty && echo done"],
        stdio,
    );
    let mut stdin = fs::File::from(running.first.stdin.take().unwrap());
    stdin.write_all(b"piped\n").unwrap();
    drop(stdin);
    let said = read_terminal(&mut running);
    assert_eq!(said.replace('\r', ""), "piped\ndone\n");
    assert_eq!(running.wait().unwrap(), Exit::Code(0));
}

#[test]
fn a_shell_beside_the_command_has_its_own_terminal_and_its_own_end() {
    let world = World::new();
    let mut running = world.start(&["sleep", "60"], TERMINAL);
    let shell = world.command(&["sh", "-c", "tty; exit 4"], TERMINAL);
    let spawned = running.spawn(&shell).unwrap();
    let said = all_of_terminal(spawned.terminal.unwrap());
    assert!(said.starts_with("/dev/ttys"), "{said}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while running.exit_of(spawned.id).is_none() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(running.exit_of(spawned.id), Some(Exit::Code(4)));
    assert_eq!(running.exit_of(0), None);
}

#[test]
fn a_folder_of_short_names_that_is_somebody_elses_starts_nothing() {
    let world = World::new();
    // As far as the plan knows; the folder is made here, and is ours.
    let mut jail = world.jail(world.command(&["touch", "ran"], Stdio::Pipes));
    jail.user.uid = 4_000_000_000;
    let survey = enclos_sandbox::Survey::take(&jail).unwrap();
    let facts = enclos_sandbox::HostFacts::gather(&[]);
    let plan = enclos_sandbox::plan(&jail, &facts, &survey).unwrap();
    let error = enclos_sandbox::launch(&plan).unwrap_err();
    assert!(matches!(error, LaunchError::Tmp { .. }), "{error}");
    assert!(!world.path("copy/ran").exists());
}

fn read_terminal(running: &mut enclos_sandbox::Running) -> String {
    all_of_terminal(running.first.terminal.take().unwrap())
}

pub(crate) fn all_of_terminal(terminal: std::os::fd::OwnedFd) -> String {
    let mut bytes = Vec::new();
    // The end of the last program on it is an end, or an error on some systems.
    let _ = fs::File::from(terminal).read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}
