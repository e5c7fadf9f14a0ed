//! A terminal of the jail's own.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use enclos_sandbox::{Exit, Running, Stdio};

use crate::world::{World, as_everyone, python, words};

#[test]
fn the_command_has_a_terminal_with_a_name_a_size_and_job_control() {
    as_everyone(|world| {
        let script = "tty; stty size; echo to-the-tty > /dev/tty; set -m; sleep 0.01 & fg; [ -t 0 ] && [ -t 1 ] && [ -t 2 ]";
        let (text, exit) = on_terminal(world, &["bash", "-c", script], |_| {});
        assert!(
            text.starts_with("/dev/pts/0\r\n24 80\r\nto-the-tty\r\nsleep 0.01"),
            "{text}"
        );
        assert_eq!(exit, Exit::Code(0), "{text}");
    });
}

#[test]
fn the_interrupt_key_interrupts_the_foreground() {
    as_everyone(|world| {
        let script =
            "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.01; done";
        let (text, exit) = on_terminal(world, &["sh", "-c", script], |terminal| {
            terminal.write_all(b"\x03").unwrap()
        });
        assert!(text.contains("interrupted"), "{text}");
        assert_eq!(exit, Exit::Code(9));
    });
}

#[test]
fn a_resize_is_told() {
    as_everyone(|world| {
        let script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done";
        let (text, _) = on_terminal(world, &["sh", "-c", script], |terminal| {
            let size = rustix::termios::Winsize {
                ws_row: 50,
                ws_col: 132,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            rustix::termios::tcsetwinsize(terminal.as_fd(), size).unwrap();
        });
        assert!(text.contains("50 132"), "{text}");
    });
}

/// Typing into a terminal on someone's behalf, and loading line disciplines.
#[test]
fn nothing_is_typed_into_a_terminal() {
    let attacks = [
        ("TIOCSTI", "fcntl.ioctl(0, 0x5412, b'x')"),
        (
            "TIOCSTI with a high bit",
            "call(16, 0, 0x100005412, ctypes.create_string_buffer(b'x'))",
        ),
        ("TIOCSETD", "fcntl.ioctl(0, 0x5423, struct.pack('i', 0))"),
    ];
    as_everyone(|world| {
        for (what, attack) in attacks {
            let program = python(attack);
            let (text, _) = on_terminal(world, &words(&program), |_| {});
            assert_eq!(text.trim(), "refused: EPERM", "{what}");
            let mut jail = world.jail(&words(&program));
            jail.command.stdio = Stdio::Terminal { rows: 24, cols: 80 };
            let mut plan = world.plan(&jail);
            plan.confinement.filter.clear();
            let mut running = enclos_sandbox::launch(&plan).unwrap();
            let text = read_to_end(std::fs::File::from(running.first.terminal.take().unwrap()));
            let legacy =
                std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").unwrap_or_default();
            // Linux 6.2 can switch the first off for everyone, and then answers another error.
            let refused_anyway = legacy.trim() == "0"
                && what.starts_with("TIOCSTI")
                && text.contains("refused: EIO");
            assert!(
                text.contains("REACHED") || refused_anyway,
                "{what} without the filter: {text}"
            );
        }
    });
}

#[test]
fn a_terminal_and_pipes_may_be_in_one_jail() {
    as_everyone(|world| {
        let mut running = world
            .launch(&world.jail(&["sh", "-c", "read stop; exit 0"]))
            .unwrap();
        let mut command = world.command(&["sh", "-c", "tty; exit 3"]);
        command.stdio = Stdio::Terminal { rows: 1, cols: 1 };
        let mut shell = running.spawn(&command).unwrap();
        assert_eq!(
            read_to_end(std::fs::File::from(shell.terminal.take().unwrap())),
            "/dev/pts/0\r\n"
        );
        crate::world::feed(&mut running, "stop\n");
        assert_eq!(running.wait().unwrap(), Exit::Code(0));
    });
}

/// Runs `argv` on a terminal; `then` is done once it has said its first word.
fn on_terminal(
    world: &World,
    argv: &[&str],
    then: impl FnOnce(&mut std::fs::File),
) -> (String, Exit) {
    let mut jail = world.jail(argv);
    jail.command.stdio = Stdio::Terminal { rows: 24, cols: 80 };
    let mut running: Running = world.launch(&jail).unwrap();
    let mut terminal = std::fs::File::from(running.first.terminal.take().unwrap());
    let mut first = [0; 4096];
    let len = terminal.read(&mut first).unwrap();
    then(&mut terminal);
    let text = String::from_utf8_lossy(&first[..len]).into_owned() + &read_to_end(terminal);
    (text, running.wait().unwrap())
}

/// All that a jail says on its terminal.
pub(crate) fn said_on_terminal(world: &World, jail: &enclos_sandbox::Jail) -> String {
    let mut running = world.launch(jail).unwrap();
    let text = read_to_end(std::fs::File::from(running.first.terminal.take().unwrap()));
    running.wait().unwrap();
    text
}

/// A terminal whose other side is closed for good answers EIO.
fn read_to_end(mut terminal: std::fs::File) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(len @ 1..) = terminal.read(&mut piece) {
        text.extend(&piece[..len]);
    }
    String::from_utf8_lossy(&text).into_owned()
}
