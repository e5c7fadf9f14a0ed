//! A command that was started in a jail, or why it was not; the same on every system.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use enclos_paths::{AbsPath, shown};
use serde::{Deserialize, Serialize};

use crate::Command;

/// A command that was started in a jail, and our ends of its streams.
#[derive(Debug)]
pub struct Spawned {
    /// Names it towards [`crate::Running`]; 0 is the jail's own command.
    pub id: u32,
    /// The other end of its terminal, when it has one.
    pub terminal: Option<OwnedFd>,
    /// Where its standard input is written to, if it is a pipe.
    pub stdin: Option<OwnedFd>,
    /// Where its standard output is read from, if it is a pipe.
    pub stdout: Option<OwnedFd>,
    /// Where its standard error is read from, if it is a pipe.
    pub stderr: Option<OwnedFd>,
}

/// Why a command did not start in a jail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No such program: exit code 127.
    #[error("{}: command not found", shown(.program.as_encoded_bytes()))]
    NotFound {
        /// The program as it was asked for.
        program: OsString,
    },
    /// There is one but it cannot be executed: exit code 126.
    #[error("{}: cannot be executed", shown(.program.as_encoded_bytes()))]
    CannotExecute {
        /// The program as it was asked for.
        program: OsString,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The working folder cannot be entered.
    #[error("cannot work in {cwd}")]
    WorkingFolder {
        /// The folder inside.
        cwd: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A pipe, a terminal or a process could not be made.
    #[error("cannot start another process")]
    Resources(#[source] io::Error),
    /// The jail is gone.
    #[error("the jail has ended")]
    Gone,
}

/// Why the processes of a jail do not stand still. All of them go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// One of them did not stop in time.
    #[error("a process could not be stopped")]
    Unstoppable,
    /// The jail is gone.
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

/// Why the stage did not execute a command, as it tells the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// There is no such program.
    NotFound,
    /// There is one, but it cannot be executed.
    CannotExecute,
    /// The working folder cannot be entered.
    WorkingFolder,
    /// The terminal or a process could not be made.
    Resources,
}

impl SpawnError {
    /// What the stage's refusal of `command` means; `errno` is what the kernel said to it.
    pub(crate) fn refused(command: &Command, refusal: Refusal, errno: i32) -> Self {
        let program = command.argv.first().cloned().unwrap_or_default();
        let source = io::Error::from_raw_os_error(errno);
        match refusal {
            Refusal::NotFound => Self::NotFound { program },
            Refusal::CannotExecute => Self::CannotExecute { program, source },
            Refusal::WorkingFolder => Self::WorkingFolder {
                cwd: command.cwd.clone(),
                source,
            },
            Refusal::Resources => Self::Resources(source),
        }
    }
}
