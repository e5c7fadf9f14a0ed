//! A stage that has been started and is not the command yet.
//!
//! It is ended and buried when it is dropped, so whatever fails on the way leaves no process behind.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::error::LaunchError;
use super::launch::PATIENCE;
use super::order::{Order, Outcome};
use super::waiting::reap;
use crate::{Exit, SpawnError};

/// The stage.
pub(super) struct Half(Option<Pid>);

impl Half {
    /// Takes over a child that was just started.
    pub(super) fn new(pid: Pid) -> Self {
        Self(Some(pid))
    }

    /// Gives the order, and waits until the command is executed.
    pub(super) fn converse(
        mut self,
        control: &UnixStream,
        order: &Order,
    ) -> Result<Pid, LaunchError> {
        let heard = say(control, order);
        let pid = self
            .0
            .take()
            .ok_or(LaunchError::Resources(Errno::CHILD.into()))?;
        let outcome = match heard {
            Ok(heard) => Outcome::of(&heard),
            Err(error) => {
                end(pid);
                return Err(error);
            }
        };
        if outcome == Outcome::Executed {
            return Ok(pid);
        }
        let exit = end(pid);
        Err(match outcome {
            Outcome::NotEntered { step, said, errno } => LaunchError::NotEntered {
                step: step.into(),
                said,
                source: std::io::Error::from_raw_os_error(errno),
            },
            Outcome::Refused { refusal, errno } => {
                SpawnError::refused(&order.command, refusal, errno).into()
            }
            Outcome::Executed | Outcome::Silence => LaunchError::Silence { exit },
        })
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            end(pid);
        }
    }
}

/// The longest answer, in bytes: a sentence of the system's and some words around it.
const LONGEST: u64 = 64 << 10;

fn say(control: &UnixStream, order: &Order) -> Result<Vec<u8>, LaunchError> {
    let order = order.encode().map_err(LaunchError::Resources)?;
    let patience: Option<Duration> = Some(PATIENCE);
    control
        .set_read_timeout(patience)
        .map_err(LaunchError::Resources)?;
    control
        .set_write_timeout(patience)
        .map_err(LaunchError::Resources)?;
    // A stage that has died is heard of below, so it is no error here.
    let mut to = control;
    let _ = to.write_all(&order);
    let _ = control.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    match control.take(LONGEST).read_to_end(&mut heard) {
        Ok(_) => Ok(heard),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(heard),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(LaunchError::TimedOut(PATIENCE)),
        Err(error) => Err(LaunchError::Resources(error)),
    }
}

/// Ends and buries our child; how it ended.
fn end(pid: Pid) -> Exit {
    // It fails only when the child has ended.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    reap(pid)
}
