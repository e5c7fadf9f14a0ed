//! A person at a terminal: types, waits for what must appear, changes the window's size.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::process::Command;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::Normal;
use crate::invocation::code;
use crate::invocation::wait;

/// A program on a terminal of its own; killed when this is dropped.
pub struct Terminal {
    child: Child,
    /// The side that a terminal's window holds.
    window: Arc<File>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    /// How much of the output earlier expectations have seen.
    seen: usize,
    deadline: Duration,
    normal: Normal,
}

/// A window's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
        }
    }
}

/// What the reading thread and the test share.
#[derive(Default)]
struct Shared {
    output: Mutex<Appeared>,
    changed: Condvar,
    closing: AtomicBool,
}

#[derive(Default)]
struct Appeared {
    bytes: Vec<u8>,
    ended: bool,
}

impl Terminal {
    #[track_caller]
    pub(crate) fn new(mut command: Command, size: TerminalSize, normal: Normal) -> Self {
        let (window, inner) = open(size);
        let clone = || inner.try_clone().expect("a descriptor");
        command.stdin(clone()).stdout(clone()).stderr(clone());
        let child = enclos_sys::ctty::own_terminal(&mut command)
            .spawn()
            .expect("the program");
        // With ours open the terminal would never report its end.
        drop((command, inner));
        let shared = Arc::new(Shared::default());
        let window = Arc::new(File::from(window));
        let reader = thread::spawn({
            let (shared, window) = (Arc::clone(&shared), Arc::clone(&window));
            move || shared.read(&window)
        });
        Self {
            child,
            window,
            shared,
            reader: Some(reader),
            seen: 0,
            deadline: Duration::from_secs(60),
            normal,
        }
    }

    /// How long to wait for what must appear.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Types these bytes; `\r` is the Enter key, `\x03` is ctrl-C, `\x1d` is ctrl-].
    ///
    /// # Panics
    /// When the terminal is gone.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        (&*self.window)
            .write_all(bytes.as_ref())
            .expect("a terminal that takes input");
    }

    /// Types a line and Enter.
    ///
    /// # Panics
    /// As [`Terminal::send`].
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        self.send(format!("{line}\r"));
    }

    /// Waits until `text` appears after what was expected before, and returns everything up to its end.
    ///
    /// Sequences that move the cursor or change colours are left out of the comparison, as a person leaves them out.
    ///
    /// # Panics
    /// When it does not appear in time, or the program ends before; shows what appeared instead.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        let end = Instant::now() + self.deadline;
        let mut output = self.shared.output.lock().expect("the output");
        loop {
            let plain = plain(&output.bytes);
            if let Some(at) = plain[self.seen..].find(text) {
                let until = self.seen + at + text.len();
                let before = plain[self.seen..until].to_owned();
                self.seen = until;
                return self.normal.of(before.as_bytes());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || output.ended {
                let why = if output.ended {
                    "the program ended"
                } else {
                    "nothing more came"
                };
                let rest = plain[self.seen..].to_owned();
                drop(output);
                panic!("{text:?} did not appear, {why}; since the last expectation:\n{rest}");
            }
            output = self
                .shared
                .changed
                .wait_timeout(output, left)
                .expect("the output")
                .0;
        }
    }

    /// Changes the window's size; the program gets SIGWINCH.
    ///
    /// # Panics
    /// When the terminal is gone.
    #[track_caller]
    pub fn resize(&self, size: TerminalSize) {
        rustix::termios::tcsetwinsize(&*self.window, size.into()).expect("a terminal");
    }

    /// Waits for the program's end and returns its exit code, 128 and the signal's number for one that a signal ended.
    ///
    /// # Panics
    /// When it does not end in time.
    #[track_caller]
    pub fn wait(mut self) -> i32 {
        let status = wait(&mut self.child, Instant::now() + self.deadline);
        match status {
            Some(status) => code(status),
            None => panic!("it did not end; it showed\n{}", self.text()),
        }
    }

    /// Everything that appeared so far, without the sequences that move the cursor or change colours.
    #[must_use]
    pub fn text(&self) -> String {
        self.normal.of(plain(&self.raw()).as_bytes())
    }

    /// Every byte that appeared so far.
    #[must_use]
    pub fn raw(&self) -> Vec<u8> {
        self.shared
            .output
            .lock()
            .map(|output| output.bytes.clone())
            .unwrap_or_default()
    }

    /// The process id of the program.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the window as a person does: the program gets SIGHUP and its terminal is gone. Returns as
    /// [`Terminal::wait`].
    ///
    /// # Panics
    /// When the program goes on without its terminal for longer than the deadline.
    #[track_caller]
    pub fn close(mut self) -> i32 {
        self.stop_reading();
        // The last descriptor of the window's side: dropping it is what hangs up.
        self.window = Arc::new(File::open("/dev/null").expect("a file that is always there"));
        self.wait()
    }

    fn stop_reading(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.stop_reading();
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("child", &self.child.id())
            .field("text", &self.text())
            .finish()
    }
}

impl From<TerminalSize> for Winsize {
    fn from(size: TerminalSize) -> Self {
        Self {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

impl Shared {
    /// Reads until the terminal is gone, or until nobody wants to know more.
    fn read(&self, window: &File) {
        let mut buffer = vec![0; 64 << 10];
        while !self.closing.load(Ordering::Relaxed) {
            let mut poll = [PollFd::new(window, PollFlags::IN)];
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            if rustix::event::poll(&mut poll, Some(&pause)).is_ok_and(|ready| ready == 0) {
                continue;
            }
            // Linux answers EIO, others end of file, once nobody holds the inner side.
            let read = (&*window).read(&mut buffer).unwrap_or(0);
            if let Ok(mut output) = self.output.lock() {
                output.bytes.extend_from_slice(&buffer[..read]);
                output.ended |= read == 0;
            }
            self.changed.notify_all();
            if read == 0 {
                return;
            }
        }
    }
}

/// A new terminal: the window's side and the program's.
#[track_caller]
fn open(size: TerminalSize) -> (OwnedFd, OwnedFd) {
    let window = rustix::pty::openpt(FLAGS).expect("a terminal");
    rustix::io::fcntl_setfd(&window, rustix::io::FdFlags::CLOEXEC).expect("a descriptor");
    rustix::pty::grantpt(&window).expect("the terminal's inner side");
    rustix::pty::unlockpt(&window).expect("the terminal's inner side");
    let name = rustix::pty::ptsname(&window, Vec::new()).expect("its name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inner = rustix::fs::open(name, flags, Mode::empty()).expect("the terminal's inner side");
    rustix::termios::tcsetwinsize(&inner, size.into()).expect("a terminal");
    (window, inner)
}

// Another test's program must not inherit the window's side: the terminal would outlive it.
#[cfg(target_os = "linux")]
const FLAGS: OpenptFlags = OpenptFlags::RDWR
    .union(OpenptFlags::NOCTTY)
    .union(OpenptFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FLAGS: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY);

/// What a person reads: without carriage returns and escape sequences. A sequence or character that is not complete yet
/// is left out, so that what is there never changes when more comes.
fn plain(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b'\x1b' => match sequence(after) {
                Some(length) => &after[length..],
                None => break,
            },
            b'\r' | b'\x07' => after,
            other => {
                text.push(other);
                after
            }
        };
    }
    let incomplete =
        |error: std::str::Utf8Error| error.error_len().is_none().then_some(error.valid_up_to());
    if let Some(end) = std::str::from_utf8(&text).err().and_then(incomplete) {
        text.truncate(end);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The length of an escape sequence without its escape; none while its end is missing (ECMA-48).
fn sequence(after: &[u8]) -> Option<usize> {
    match after.first()? {
        b'[' => after
            .iter()
            .skip(1)
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map(|at| at + 2),
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let bell = after.iter().position(|&byte| byte == 7).map(|at| at + 1);
            let terminator = after
                .windows(2)
                .position(|pair| pair == b"\x1b\\")
                .map(|at| at + 2);
            bell.into_iter().chain(terminator).min()
        }
        _ => after
            .iter()
            .position(|byte| !(0x20..=0x2f).contains(byte))
            .map(|at| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    fn shell(world: &World, script: &str) -> Terminal {
        world
            .command("sh")
            .args(["-c", script])
            .terminal(TerminalSize::default())
    }

    /// Waits until `cat` runs: a signal that meets the shell on its way there may be kept for later.
    fn answers(terminal: &mut Terminal) {
        terminal.send_line("hello");
        terminal.expect("hello\nhello");
    }

    #[test]
    fn a_program_has_a_terminal_and_job_control() {
        let world = World::new();
        let mut terminal = shell(&world, "test -t 0 && exec 3</dev/tty && exec cat");
        answers(&mut terminal);
        terminal.send("\x03");
        assert_eq!(terminal.wait(), 130, "ctrl-C reaches the program");
    }

    #[test]
    fn what_is_typed_arrives_and_what_appears_is_waited_for() {
        let world = World::new();
        let mut terminal = shell(
            &world,
            "printf '\\033[1mname?\\033[0m '; read name; echo hello $name; exit 5",
        );
        assert_eq!(terminal.expect("name?"), "name?");
        terminal.send_line("Ada");
        terminal.expect("hello Ada");
        assert_eq!(terminal.wait(), 5);
    }

    #[test]
    fn the_size_is_given_and_changed() {
        let world = World::new();
        let mut terminal = shell(
            &world,
            "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done",
        );
        terminal.expect("24 80");
        terminal.resize(TerminalSize {
            columns: 120,
            rows: 40,
        });
        terminal.expect("40 120");
    }

    #[test]
    fn closing_the_window_hangs_up() {
        let world = World::new();
        let mut terminal = shell(&world, "exec cat");
        answers(&mut terminal);
        let code = terminal.close();
        // By SIGHUP, or by the end of its input, whichever it meets first.
        assert!(matches!(code, 129 | 1), "{code}");
    }

    #[test]
    #[should_panic(expected = "the program ended")]
    fn what_never_appears_fails_with_what_did() {
        shell(&World::new(), "echo other").expect("wanted");
    }

    #[test]
    fn sequences_are_left_out_and_incomplete_ones_waited_for() {
        assert_eq!(plain(b"a\x1b[1;31mb\x1b]0;title\x07c\x1b(Bd\r\n"), "abcd\n");
        assert_eq!(plain(b"a\x1b[1;3"), "a");
        assert_eq!(plain(b"a\xc3"), "a");
        assert_eq!(plain(b"a\xc3\xa9"), "a\u{e9}");
    }
}
