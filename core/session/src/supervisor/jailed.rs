//! The jailed processes, as the supervisor sees them.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use enclos_paths::AbsPath;
use enclos_sandbox::Command;
use enclos_sandbox::Running;
use enclos_sandbox::Signal;
use enclos_sandbox::Spawned;
use enclos_sandbox::Stdio;

use super::streams::Audience;
use super::streams::Input;
use super::streams::Streams;
use crate::Exit;
use crate::control::FrameKind;
use crate::control::Shell;
use crate::launch;
use crate::launch::LaunchError;
use crate::launch::Started;

/// The running jail of a session.
#[derive(Debug)]
pub(super) struct Jailed {
    running: Running,
    shell: Command,
    frozen: bool,
}

/// What was started first, and what is not enforced around it.
pub(super) struct First {
    pub(super) jailed: Jailed,
    pub(super) streams: Streams,
    pub(super) gaps: Vec<String>,
    /// Our own executable, as it was when the session was made.
    pub(super) executable: AbsPath,
}

/// How processes are asked to end: those on a terminal expect the one, others the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// As when a terminal's window is closed.
    Hangup,
    /// As `kill` does.
    Terminate,
}

impl Jailed {
    /// Starts the command of the session in `folder`.
    pub(super) fn start(folder: &AbsPath) -> Result<First, LaunchError> {
        let Started {
            mut running,
            audience,
            shell,
            gaps,
            executable,
        } = launch::start(folder)?;
        let streams = streams(&mut running.first, audience)?;
        Ok(First {
            jailed: Self {
                running,
                shell,
                frozen: false,
            },
            streams,
            gaps,
            executable,
        })
    }

    /// Starts the person's shell beside the command; its number and its streams.
    pub(super) fn spawn_shell(&mut self, wanted: Shell) -> Result<(u32, Streams), LaunchError> {
        let Shell {
            terminal,
            rows,
            cols,
        } = wanted;
        let stdio = if terminal {
            Stdio::Terminal { rows, cols }
        } else {
            Stdio::Pipes
        };
        let command = Command {
            stdio,
            ..self.shell.clone()
        };
        let mut spawned = self
            .running
            .spawn(&command)
            .map_err(enclos_sandbox::LaunchError::from)?;
        let streams = streams(&mut spawned, Audience::Comes)?;
        Ok((spawned.id, streams))
    }

    /// Becomes readable when no process is left.
    pub(super) fn gone(&self) -> BorrowedFd<'_> {
        self.running.ended()
    }

    /// Becomes readable when a program has ended.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        self.running.news()
    }

    /// How program `id` ended; none while it runs.
    pub(super) fn exit_of(&mut self, id: u32) -> Option<Exit> {
        self.running.exit_of(id).map(exit)
    }

    /// How the command ended, once no process is left.
    pub(super) fn ended(&mut self) -> Option<Exit> {
        match self.running.try_wait() {
            Ok(ended) => ended.map(exit),
            // What cannot be waited for is as good as killed.
            Err(_) => Some(Exit::Signal(9)),
        }
    }

    /// Restores what somebody may have cleaned away; to be called now and then.
    pub(super) fn tend(&self) {
        self.running.tend();
    }

    /// Who is still there although the session has ended, in words.
    pub(super) fn left(&self) -> Vec<String> {
        let left = self.running.left().into_iter();
        left.map(|pid| format!("processes: process {pid} could not be ended; it stays locked in"))
            .collect()
    }

    /// Passes a signal on to program `id`.
    pub(super) fn signal(&mut self, id: u32, number: u8) {
        let signal = match i32::from(number) {
            signal_hook::consts::SIGHUP => Signal::Hangup,
            signal_hook::consts::SIGINT => Signal::Interrupt,
            signal_hook::consts::SIGQUIT => Signal::Quit,
            signal_hook::consts::SIGTERM => Signal::Terminate,
            _ => return,
        };
        // A program that is gone needs no signal; its end is about to be seen.
        let _ = self.running.signal(id, signal);
    }

    /// Asks every process to end.
    pub(super) fn ask_to_end(&mut self, how: Asking) {
        let signal = match how {
            Asking::Hangup => Signal::Hangup,
            Asking::Terminate => Signal::Terminate,
        };
        // A jail that is gone has ended.
        let _ = self.running.signal_everyone(signal);
    }

    /// Ends every process at once.
    pub(super) fn kill(&mut self) {
        // What remains is reported by the exit that is read next.
        let _ = self.running.stop(Duration::ZERO);
    }

    /// Stops every process where it is; true when all of them stand still.
    pub(super) fn freeze(&mut self) -> bool {
        self.frozen = self.frozen || self.running.freeze().is_ok();
        self.frozen
    }

    /// Whether they stand still.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Lets them go on.
    pub(super) fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            self.running.thaw();
        }
    }
}

fn exit(exit: enclos_sandbox::Exit) -> Exit {
    match exit {
        enclos_sandbox::Exit::Code(code) => Exit::Code(code),
        enclos_sandbox::Exit::Signal(signal) => Exit::Signal(signal),
        enclos_sandbox::Exit::Killed => Exit::Signal(9),
    }
}

fn streams(spawned: &mut Spawned, audience: Audience) -> Result<Streams, LaunchError> {
    let terminal = spawned.terminal.take();
    let input = match (spawned.stdin.take(), &terminal) {
        (Some(pipe), _) => Some(Input::Pipe(pipe)),
        (None, Some(master)) => {
            let master =
                rustix::io::fcntl_dupfd_cloexec(master, 3).map_err(LaunchError::Streams)?;
            Some(Input::Terminal(master))
        }
        (None, None) => None,
    };
    let mut outputs = Vec::new();
    outputs.extend(terminal.map(|fd| (FrameKind::Terminal, fd)));
    outputs.extend(spawned.stdout.take().map(|fd| (FrameKind::Output, fd)));
    outputs.extend(spawned.stderr.take().map(|fd| (FrameKind::Errors, fd)));
    Streams::new(input, outputs, audience).map_err(LaunchError::Streams)
}
