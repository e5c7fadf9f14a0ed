//! One run of a program in the world: what it is given, and a deadline after which it has failed.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use rustix::process::Pid;
use rustix::process::Signal;

use crate::Output;
use crate::Terminal;
use crate::TerminalSize;
use crate::World;

/// A program about to run.
#[derive(Debug)]
#[must_use = "nothing runs before `run` or `terminal`"]
pub struct Invocation<'w> {
    world: &'w World,
    program: PathBuf,
    command: Command,
    stdin: Option<Vec<u8>>,
    deadline: Duration,
}

/// How long a program may take unless a test says otherwise; far more than any needs, on a machine that does much else.
const DEADLINE: Duration = Duration::from_secs(120);

impl<'w> Invocation<'w> {
    pub(crate) fn new(world: &'w World, program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .envs(world.environment())
            .current_dir(world.home());
        Self {
            world,
            program: program.as_ref().into(),
            command,
            stdin: None,
            deadline: DEADLINE,
        }
    }

    /// One more argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// More arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// One more variable, or another value for one of the world's.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Where it starts; the home without this.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// What it can read; nothing without this.
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = Some(bytes.as_ref().to_vec());
        self
    }

    /// How long it may take.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Runs it as the user `uid` with no group but their own. The whole world becomes theirs, and so does a copy of
    /// the program where it is a file of this build: build folders are seldom open to others.
    ///
    /// # Panics
    /// When this process is not root.
    #[track_caller]
    pub fn as_user(mut self, uid: u32) -> Self {
        if self.program.is_absolute() && !self.program.starts_with("/usr") {
            let copy = self
                .world
                .root()
                .as_path()
                .join("bin")
                .join(self.program.file_name().expect("a program"));
            lend(&self.program, &copy);
            self.command = with_program(&self.command, &copy);
        }
        self.world.give_to(uid);
        self.command.uid(uid).gid(uid);
        self
    }

    /// Runs it to its end, without a terminal.
    ///
    /// # Panics
    /// When it cannot be started, takes too long, or leaves something behind that holds its output.
    #[must_use = "compare it with a snapshot, or say how it must have ended"]
    #[track_caller]
    pub fn run(mut self) -> Output {
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        self.command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", self.program));
        if let (Some(bytes), Some(mut input)) = (self.stdin.take(), child.stdin.take()) {
            // A program that reads nothing closes the pipe; that is its business.
            thread::spawn(move || input.write_all(&bytes));
        }
        let stdout = drain(child.stdout.take().expect("a pipe"));
        let stderr = drain(child.stderr.take().expect("a pipe"));
        let end = Instant::now() + self.deadline;
        let status = wait(&mut child, end);
        let collect = |pipe: &mpsc::Receiver<Vec<u8>>| {
            let left = if status.is_some() {
                end.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            pipe.recv_timeout(left.max(Duration::from_millis(500))).ok()
        };
        let (stdout, stderr) = (collect(&stdout), collect(&stderr));
        let what = || {
            format!(
                "{:?}\nstdout: {:?}\nstderr: {:?}",
                self.command,
                shown(&stdout),
                shown(&stderr)
            )
        };
        let Some(status) = status else {
            panic!("took longer than {:?}: {}", self.deadline, what())
        };
        let (Some(stdout), Some(stderr)) = (&stdout, &stderr) else {
            panic!(
                "it ended ({status}) but something holds its output: {}",
                what()
            )
        };
        Output::new(
            status,
            [stdout.clone(), stderr.clone()],
            self.world.normal(),
        )
    }

    /// Runs it on a terminal of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn terminal(self, size: TerminalSize) -> Terminal {
        Terminal::new(self.command, size, self.world.normal())
    }
}

fn shown(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_ref().map_or("(still open)".into(), |bytes| {
        String::from_utf8_lossy(bytes).into_owned()
    })
}

/// Makes `program` reachable at `copy`.
#[track_caller]
fn lend(program: &Path, copy: &Path) {
    fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder for the program");
    if !copy.exists() {
        // A copy and not a second name: giving the world away would give the original away with it.
        fs::copy(program, copy).expect("a copy of the program");
    }
}

/// The same command for another program.
fn with_program(command: &Command, program: &Path) -> Command {
    let mut other = Command::new(program);
    other.env_clear().args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            other.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        other.current_dir(folder);
    }
    other
}

/// Reads to the end in a thread of its own, so that neither pipe can fill up.
fn drain(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits until `end`; after it everything that the child started in its process group is killed.
pub(crate) fn wait(child: &mut Child, end: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Some(status);
        }
        if Instant::now() >= end {
            let group = i32::try_from(child.id())
                .ok()
                .and_then(Pid::from_raw)
                .expect("a process id");
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
            let _ = child.wait();
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The exit code as a shell reports it: 128 and the signal's number for a program that a signal ended.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .or(status.signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_passed_and_both_outputs_are_kept_apart() {
        let world = World::new();
        let big = vec![b'x'; 1 << 20];
        let output = world
            .command("sh")
            .args(["-c", "cat; echo aside >&2"])
            .stdin(&big)
            .run()
            .success();
        assert_eq!(output.raw_stdout(), big);
        assert_eq!(output.stderr(), "aside\n");
    }

    #[test]
    fn a_signal_is_reported_as_a_shell_does() {
        World::new()
            .command("sh")
            .args(["-c", "kill -TERM $$"])
            .run()
            .code(143);
    }

    #[test]
    #[should_panic(expected = "took longer")]
    fn what_never_ends_is_ended() {
        let short = Duration::from_millis(100);
        let _ = World::new()
            .command("sleep")
            .arg("60")
            .deadline(short)
            .run();
    }

    #[test]
    #[should_panic(expected = "something holds its output")]
    fn what_is_left_behind_with_the_output_is_seen() {
        let short = Duration::from_secs(1);
        let _ = World::new()
            .command("sh")
            .args(["-c", "sleep 5 & exit 0"])
            .deadline(short)
            .run();
    }
}
