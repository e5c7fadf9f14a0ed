//! A session that runs: its streams, its commands, its end.
//!
//! The promise is smaller than on Linux: when [`Running::wait`] or [`Running::stop`] returns, every process that was
//! found is gone, and who could not be ended is named by [`Running::left`]. Finding them is looking at the table of
//! processes ([`crate::seatbelt::Members`]); one that carries no mark of the session is not found, but stays in its sandbox
//! for life. Holding still is done the same way, by stopping processes, and not by a second copy of the files: the
//! files keep their identity, by which a review finds what changed without reading everything.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use enclos_sys::darwin::exits::Exits;
use rustix::process::Pid;

use super::error::LaunchError;
use super::{Plan, command};
use crate::seatbelt::{Identity, Members, darwin};
use crate::{Command, Exit, FreezeError, Signal, SpawnError, Spawned};

/// A session that runs. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    /// The session's own command. Its streams may be taken out.
    pub first: Spawned,
    pub(super) plan: Plan,
    pub(super) news: Exits,
    pub(super) gone: Exits,
    /// Our children that are not buried: their numbers are not handed out again.
    pub(super) alive: BTreeMap<u32, Pid>,
    pub(super) exits: BTreeMap<u32, Exit>,
    pub(super) members: Members,
    /// The terminals of commands that are not buried, by which others are found. They are kept open.
    pub(super) terminals: BTreeMap<u32, (u32, OwnedFd)>,
    pub(super) next: u32,
    pub(super) on_terminal: bool,
    /// While everyone is held still, who was stopped before.
    pub(super) held: Option<BTreeSet<Identity>>,
    pub(super) left: Vec<Identity>,
    pub(super) over: bool,
}

impl Running {
    /// Starts another command beside the first, in a sandbox of the same rules.
    ///
    /// # Errors
    /// As for the first command.
    pub fn spawn(&mut self, command: &Command) -> Result<Spawned, SpawnError> {
        let prepared = command::prepare(&self.plan, command);
        let started = prepared.and_then(|it| it.start(&self.plan, self.next, &[&self.news]));
        let started = started.map_err(|error| match error {
            LaunchError::Command(error) => error,
            other => SpawnError::Resources(io::Error::other(other)),
        })?;
        self.alive.insert(self.next, started.pid);
        let device = started.terminal.as_ref().map(|(device, _)| *device);
        self.members.join(started.identity, device);
        let own = started.terminal.map(|own| (self.next, own));
        self.terminals.extend(own);
        self.next += 1;
        Ok(started.spawned)
    }

    /// Lays the short name of the temporary folder again, which the system's cleaner of old files may have taken away. To
    /// be called now and then while the session runs.
    pub fn tend(&self) {
        if !self.plan.tmp.link.as_path().is_symlink() {
            // Without it programs find no temporary folder, which they say themselves.
            let _ = super::tmp::lay(&self.plan.tmp);
        }
    }

    /// A descriptor that becomes readable when the command has ended; for an event loop. What it left behind is ended by
    /// [`Running::try_wait`].
    #[must_use]
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.gone.as_fd()
    }

    /// A descriptor that becomes readable when a command has ended; then [`Running::exit_of`] is worth asking.
    #[must_use]
    pub fn news(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }

    /// How the command `id` ended; none while it runs. Never waits.
    pub fn exit_of(&mut self, id: u32) -> Option<Exit> {
        self.bury();
        self.exits.get(&id).copied()
    }

    /// Sends `signal` to the process group of command `id`.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&mut self, id: u32, signal: Signal) -> Result<(), SpawnError> {
        self.bury();
        let pid = self.alive.get(&id).ok_or(SpawnError::Gone)?;
        rustix::process::kill_process_group(*pid, number(signal)).map_err(|_| SpawnError::Gone)
    }

    /// Sends `signal` to every process of the session that is found.
    ///
    /// # Errors
    /// When there are none.
    pub fn signal_everyone(&mut self, signal: Signal) -> Result<(), SpawnError> {
        let all = darwin::signal(&mut self.members, number(signal).as_raw());
        // A stopped process hears nothing before it continues.
        all.and_then(|()| darwin::signal(&mut self.members, darwin::CONTINUE))
            .map_err(SpawnError::Resources)
    }

    /// Stops every process of the session that is found where it is, until [`Running::thaw`].
    ///
    /// # Errors
    /// When one of them could not be stopped in time; then all of them go on.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        if self.held.is_none() {
            let held = darwin::hold(&mut self.members, PATIENCE);
            self.held = held.map_err(|_| FreezeError::Unstoppable)?;
        }
        self.held
            .as_ref()
            .map(|_| ())
            .ok_or(FreezeError::Unstoppable)
    }

    /// Lets the processes of the session go on; those that were stopped before the freeze stay stopped.
    pub fn thaw(&mut self) {
        if let Some(before) = self.held.take() {
            // Without a list of processes nobody is found who could go on; the next signal lets them.
            let _ = darwin::release(&mut self.members, &before);
        }
    }
}

/// How long stopping or ending everyone may take. A process that waits for a disk ends when the disk has answered.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

fn number(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Hangup => rustix::process::Signal::HUP,
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Quit => rustix::process::Signal::QUIT,
        Signal::Terminate => rustix::process::Signal::TERM,
    }
}
