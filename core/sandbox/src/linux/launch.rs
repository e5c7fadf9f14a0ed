//! Carries a plan out: starts the jail, hands out its streams, waits for it, ends it.
//!
//! The promise: when [`Running::wait`] or [`Running::stop`] returns, no process of the jail is left, and when this
//! process dies, however it dies, the jail dies with it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::Plan;
use crate::{Command, Exit, Signal};

/// A jail that runs. Dropping it ends the jail.
#[derive(Debug)]
pub struct Running {
    /// The streams of the jail's own command; taken by the caller.
    pub first: Spawned,
    ended: OwnedFd,
}

/// A command that was started in a jail, and our ends of its streams.
#[derive(Debug)]
pub struct Spawned {
    /// Names it towards [`Running::signal`]; 0 is the jail's own command.
    pub id: u32,
    /// The other end of its terminal, when it has one.
    pub terminal: Option<OwnedFd>,
    /// Where its standard input is written to, unless it has a terminal.
    pub stdin: Option<OwnedFd>,
    /// Where its standard output is read from, unless it has a terminal.
    pub stdout: Option<OwnedFd>,
    /// Where its standard error is read from, unless it has a terminal.
    pub stderr: Option<OwnedFd>,
}

/// Why a jail did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Bubblewrap could not be executed.
    #[error("cannot start bubblewrap")]
    Bwrap(#[source] io::Error),
    /// The jail was made but the command could not be started.
    #[error(transparent)]
    Command(#[from] SpawnError),
}

/// Why a command did not start in a jail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No such program: exit code 127.
    #[error("{}: command not found", enclos_paths::shown(std::os::unix::ffi::OsStrExt::as_bytes(.program.as_os_str())))]
    NotFound {
        /// The program as it was asked for.
        program: OsString,
    },
    /// There is one but it cannot be executed: exit code 126.
    #[error("{}: cannot execute", enclos_paths::shown(std::os::unix::ffi::OsStrExt::as_bytes(.program.as_os_str())))]
    CannotExecute {
        /// The program as it was asked for.
        program: OsString,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The jail is gone, or does not answer.
    #[error("the jail has ended")]
    Gone,
}

/// Why waiting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The kernel refused to wait.
    #[error("cannot wait for the jail")]
    Wait(#[source] io::Error),
}

impl LaunchError {
    /// The exit code of `run` for this error: 127 not found, 126 cannot execute, else 125.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Command(SpawnError::NotFound { .. }) => 127,
            Self::Command(SpawnError::CannotExecute { .. }) => 126,
            _ => 125,
        }
    }
}

/// Starts the jail of `plan` and its command; returns once the command was executed. Takes a few milliseconds.
///
/// May be called from any thread: the jail's life hangs on a socket of this process, not on a thread.
///
/// # Errors
/// Says whether the jail or the command is to blame; nothing is left behind.
pub fn launch(plan: &Plan) -> Result<Running, LaunchError> {
    let _ = plan;
    Err(LaunchError::Bwrap(io::Error::from(io::ErrorKind::Unsupported)))
}

impl Running {
    /// Starts another command in the same jail. It dies with the jail, at the latest.
    ///
    /// # Errors
    /// As for the first command.
    pub fn spawn(&mut self, command: &Command) -> Result<Spawned, SpawnError> {
        let _ = command;
        Err(SpawnError::Gone)
    }

    /// A descriptor that becomes readable when no process of the jail is left; for an event loop.
    #[must_use]
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Waits until the command has ended and no process of the jail is left.
    ///
    /// # Errors
    /// Only when the kernel refuses to wait.
    pub fn wait(&mut self) -> Result<Exit, WaitError> {
        Ok(Exit::Killed)
    }

    /// Like [`Running::wait`] but returns none when the jail still lives.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn try_wait(&mut self) -> Result<Option<Exit>, WaitError> {
        Ok(None)
    }

    /// Sends `signal` to the process group of command `id`.
    ///
    /// # Errors
    /// When the jail is gone.
    pub fn signal(&mut self, id: u32, signal: Signal) -> Result<(), SpawnError> {
        let _ = (id, signal);
        Err(SpawnError::Gone)
    }

    /// Asks every process of the jail to end (hangup, then terminate), waits `grace`, then kills what is left.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn stop(&mut self, grace: Duration) -> Result<Exit, WaitError> {
        let _ = grace;
        self.wait()
    }
}
