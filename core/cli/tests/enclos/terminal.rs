//! A person at a terminal: keys, sizes, leaving and coming back.

use enclos_testkit::TerminalSize;

use crate::world;

const SIZE: TerminalSize = TerminalSize {
    rows: 30,
    columns: 100,
};

#[test]
fn the_command_has_a_terminal_of_its_own_with_the_persons_size() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--discard", "--", "sh"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("[enclos]");
    terminal.send_line("tty; stty size; echo $((40+2))");
    terminal.expect("/dev/pts/0");
    terminal.expect("30 100");
    terminal.expect("42");
    terminal.resize(TerminalSize {
        rows: 40,
        columns: 120,
    });
    terminal.send_line("sleep 0.2; stty size");
    terminal.expect("40 120");
    terminal.send_line("exit 7");
    assert_eq!(terminal.wait(), 7);
}

#[test]
fn job_control_works() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--discard", "--", "bash", "--norc"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("bash");
    terminal.send_line("sleep 100");
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.send(b"\x1a");
    terminal.expect("Stopped");
    terminal.send_line("fg");
    std::thread::sleep(std::time::Duration::from_millis(300));
    terminal.send(b"\x03");
    terminal.send_line("echo $((6*7))");
    terminal.expect("42");
    terminal.send_line("exit 0");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn one_can_leave_and_come_back() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut first = world
        .enclos(["run", "--", "sh"])
        .current_dir(&project)
        .terminal(SIZE);
    first.expect("[enclos]");
    first.send_line("echo before-$((1+1))");
    first.expect("before-2");
    first.send(b"\x1dd");
    first.expect("web-1 goes on");
    assert_eq!(first.wait(), 0);
    let mut second = world.enclos(["attach", "web-1"]).terminal(SIZE);
    second.expect("before-2");
    second.send_line("echo after-$((2+2))");
    second.expect("after-4");
    second.send(b"\x1ds");
    assert_eq!(
        second.wait(),
        129,
        "a shell on a terminal ends by its hangup"
    );
}

#[test]
fn closing_the_terminal_does_not_end_the_session() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--", "sh"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("[enclos]");
    terminal.close();
    let list = world
        .enclos(["sessions", "--json"])
        .run()
        .success()
        .stdout();
    assert!(list.contains("\"working\""), "{list}");
    world.enclos(["stop", "web-1"]).run().success();
}

#[test]
fn a_second_shell_sees_the_same_copy_and_the_same_processes() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--discard", "--", "sh"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("[enclos]");
    terminal.send_line("echo made > here; sleep 321 &");
    terminal.expect("[enclos]");
    let mut shell = world.enclos(["shell", "web-1"]).terminal(SIZE);
    shell.expect("[enclos]");
    shell.send_line("cat here; ps ax | grep -c '[s]leep 321'");
    shell.expect("made");
    shell.expect("1");
    shell.send_line("exit 5");
    assert_eq!(shell.wait(), 5);
    terminal.send_line("exit 0");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn the_end_asks_what_becomes_of_the_changes() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--", "sh", "-c", "echo 2 >> a"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("What becomes of web-1?");
    terminal.send_line("r");
    terminal.expect("+2");
    terminal.expect("What becomes of web-1?");
    terminal.send_line("a");
    terminal.expect("Applied 1 file");
    assert_eq!(terminal.wait(), 0);
    assert_eq!(project.read("a"), "1\n2\n");
}

#[test]
fn without_changes_nothing_is_kept_and_nothing_is_asked() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let mut terminal = world
        .enclos(["run", "--", "true"])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("Nothing changed; the copy was discarded.");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn a_redirected_stream_stays_a_pipe_while_the_others_are_the_terminal() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script =
        "test -t 0 && echo in-is-terminal >&2; test -t 1 || echo out-is-pipe >&2; echo a; echo b";
    let line = format!(
        "{} run --discard -- sh -c '{script}' > {}/out",
        env!("CARGO_BIN_EXE_enclos"),
        world.home()
    );
    let mut terminal = world
        .command("sh")
        .args(["-c", &line])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("in-is-terminal");
    terminal.expect("out-is-pipe");
    assert_eq!(terminal.wait(), 0);
    let out = std::fs::read(world.home().resolve("out")).unwrap();
    assert_eq!(out, b"a\nb\n", "no carriage return gets into a file");
}

#[test]
fn the_command_cannot_fill_the_clipboard_or_leave_the_terminal_in_a_strange_mode() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "printf '\\033]52;c;aGk=\\007\\033[?1049h\\033[?1003hshown\\033[?25l'";
    let mut plain = world.command("sh").args(["-c", script]).terminal(SIZE);
    plain.expect("shown");
    assert!(
        plain.raw().windows(4).any(|at| at == b"]52;"),
        "without Enclos in between it reaches the terminal"
    );
    let mut terminal = world
        .enclos(["run", "--discard", "--", "sh", "-c", script])
        .current_dir(&project)
        .terminal(SIZE);
    terminal.expect("shown");
    terminal.expect("Nothing changed");
    let raw = terminal.raw();
    assert!(
        !raw.windows(4).any(|at| at == b"]52;"),
        "{}",
        raw.escape_ascii()
    );
    for undone in [&b"\x1b[?1049l"[..], b"\x1b[?1003l", b"\x1b[?25h"] {
        assert!(
            raw.windows(undone.len()).any(|at| at == undone),
            "{} in {}",
            undone.escape_ascii(),
            raw.escape_ascii()
        );
    }
}
