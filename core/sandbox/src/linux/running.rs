//! A jail that runs: its streams, its commands, its end.
//!
//! The promise: when [`Running::wait`] or [`Running::stop`] returns, no process of the jail is left, not even one that
//! left its session. What is waited for is process 1 of the jail's pid namespace, by a descriptor that it made of
//! itself; the kernel lets it end only after everyone else in the namespace has. Deliberately not here: moving bytes
//! between the streams and anyone.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use super::channel::{Channel, Frame};
use super::launch::Failure;
use super::plan::Confinement;
use super::wire::{FromStage, ToStage};
use crate::{Command, Exit, FreezeError, Signal, SpawnError, Spawned, WaitError};

/// A jail that runs. Dropping it kills the jail.
#[derive(Debug)]
pub struct Running {
    /// The jail's own command. Its streams may be taken out.
    pub first: Spawned,
    /// Bubblewrap, our child, or the outer stage that became it.
    pid: Pid,
    control: Channel,
    /// Process 1 of the jail.
    init: OwnedFd,
    exits: BTreeMap<u32, Exit>,
    next: u32,
    on_terminal: bool,
    reaped: bool,
}

impl Running {
    /// Starts another command in the same jail. It dies with the jail, at the latest.
    ///
    /// # Errors
    /// As for the first command.
    pub fn spawn(&mut self, command: &Command) -> Result<Spawned, SpawnError> {
        let id = self.next;
        self.next += 1;
        let mut streams = Streams::send(&self.control, id, command)?;
        loop {
            let frame = self
                .control
                .receive()
                .map_err(|_| SpawnError::Gone)?
                .ok_or(SpawnError::Gone)?;
            match FromStage::decode(&frame.bytes) {
                Some(FromStage::Ended { id, exit }) => {
                    self.exits.insert(id, exit);
                }
                Some(FromStage::Started { id: started }) if started == id => {
                    return Ok(streams.spawned(frame));
                }
                Some(FromStage::Refused {
                    id: refused,
                    refusal,
                    errno,
                }) if refused == id => {
                    return Err(SpawnError::refused(command, refusal, errno));
                }
                _ => return Err(SpawnError::Gone),
            }
        }
    }

    /// Restores what may have been taken away from outside while the jail runs: nothing, as all of it is the jail's own.
    pub fn tend(&self) {}

    /// A descriptor that becomes readable when no process of the jail is left; for an event loop.
    #[must_use]
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.init.as_fd()
    }

    /// A descriptor that becomes readable when a command has ended; then [`Running::exit_of`] is worth asking.
    #[must_use]
    pub fn news(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// How the command `id` ended; none while it runs. Never waits.
    pub fn exit_of(&mut self, id: u32) -> Option<Exit> {
        while is_ready(self.control.as_fd(), Some(Duration::ZERO)).unwrap_or(false) && self.hear() {
        }
        self.exits.get(&id).copied()
    }

    /// Waits until the command has ended and no process of the jail is left.
    ///
    /// # Errors
    /// Only when the kernel refuses to wait.
    pub fn wait(&mut self) -> Result<Exit, WaitError> {
        is_ready(self.init.as_fd(), None).map_err(WaitError::Wait)?;
        Ok(self.finish())
    }

    /// Like [`Running::wait`] but returns none when the jail still lives.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn try_wait(&mut self) -> Result<Option<Exit>, WaitError> {
        let gone = is_ready(self.init.as_fd(), Some(Duration::ZERO)).map_err(WaitError::Wait)?;
        Ok(gone.then(|| self.finish()))
    }

    /// Sends `signal` to the process group of command `id`.
    ///
    /// # Errors
    /// When the jail is gone.
    pub fn signal(&mut self, id: u32, signal: Signal) -> Result<(), SpawnError> {
        let frame = ToStage::Signal { id, signal }.encode();
        self.control.send(&frame, &[]).map_err(|_| SpawnError::Gone)
    }

    /// Sends `signal` to every process of the jail, for callers that must not wait as [`Running::stop`] does.
    ///
    /// # Errors
    /// When the jail is gone.
    pub fn signal_everyone(&mut self, signal: Signal) -> Result<(), SpawnError> {
        let frame = ToStage::Everyone { signal }.encode();
        self.control.send(&frame, &[]).map_err(|_| SpawnError::Gone)
    }

    /// Asks every process of the jail to end, waits `grace` in all, then kills what is left.
    ///
    /// It is asked as the command expects it: on a terminal by the hangup that closing one sends, else by the
    /// terminate signal; a quarter of the grace later by the other one, as shells ignore the latter.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn stop(&mut self, grace: Duration) -> Result<Exit, WaitError> {
        let (first, then) = match self.on_terminal {
            true => (Signal::Hangup, Signal::Terminate),
            false => (Signal::Terminate, Signal::Hangup),
        };
        for (signal, patience) in [(first, grace / 4), (then, grace - grace / 4)] {
            if patience.is_zero()
                || self
                    .control
                    .send(&ToStage::Everyone { signal }.encode(), &[])
                    .is_err()
            {
                break;
            }
            if is_ready(self.init.as_fd(), Some(patience)).map_err(WaitError::Wait)? {
                return Ok(self.finish());
            }
        }
        kill(&self.init);
        self.wait()
    }

    /// The numbers of processes that are still there although the jail has ended: none, as the kernel ends them all.
    #[must_use]
    pub fn left(&self) -> Vec<i32> {
        Vec::new()
    }

    /// Stops every process of the jail where it is, until [`Running::thaw`]; returns once all of them stand still.
    ///
    /// # Errors
    /// When one of them could not be stopped in time; then all of them go on.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        self.control
            .send(&ToStage::Freeze.encode(), &[])
            .map_err(|_| FreezeError::Gone)?;
        loop {
            let frame = self
                .control
                .receive()
                .map_err(|_| FreezeError::Gone)?
                .ok_or(FreezeError::Gone)?;
            match FromStage::decode(&frame.bytes) {
                Some(FromStage::Ended { id, exit }) => {
                    self.exits.insert(id, exit);
                }
                Some(FromStage::Held { still: true }) => return Ok(()),
                Some(FromStage::Held { still: false }) => return Err(FreezeError::Unstoppable),
                _ => return Err(FreezeError::Gone),
            }
        }
    }

    /// Lets the processes of the jail go on; those that were stopped before the freeze stay stopped.
    pub fn thaw(&mut self) {
        // A jail that is gone has nobody to go on.
        let _ = self.control.send(&ToStage::Thaw.encode(), &[]);
    }

    /// Nobody is left: hears what was said last, and buries our child.
    fn finish(&mut self) -> Exit {
        while self.hear() {}
        if !self.reaped {
            reap(self.pid);
            self.reaped = true;
        }
        self.exits.get(&0).copied().unwrap_or(Exit::Killed)
    }

    /// Waits for one message; false when there will be none any more.
    fn hear(&mut self) -> bool {
        let Ok(Some(frame)) = self.control.receive() else {
            return false;
        };
        if let Some(FromStage::Ended { id, exit }) = FromStage::decode(&frame.bytes) {
            self.exits.insert(id, exit);
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            kill(&self.init);
            let _ = is_ready(self.init.as_fd(), Some(LAST_MOMENT));
            reap(self.pid);
        }
    }
}

/// Killing takes milliseconds; only a process stuck in a broken disk or network file system takes longer.
const LAST_MOMENT: Duration = Duration::from_secs(10);

/// A jail that is being entered.
pub(super) struct Half {
    pub(super) pid: Pid,
    pub(super) child: OwnedFd,
    pub(super) control: Channel,
    pub(super) init: Option<OwnedFd>,
}

impl Half {
    /// Tells the stage everything at once and then listens.
    pub(super) fn enter(
        mut self,
        confinement: &Confinement,
        command: &Command,
    ) -> Result<Running, (Self, Failure)> {
        match self.converse(confinement, command) {
            Ok((init, first)) => {
                let Self { pid, control, .. } = self;
                let on_terminal = first.terminal.is_some();
                Ok(Running {
                    first,
                    pid,
                    control,
                    init,
                    exits: BTreeMap::new(),
                    next: 1,
                    on_terminal,
                    reaped: false,
                })
            }
            Err(failure) => Err((self, failure)),
        }
    }

    fn converse(
        &mut self,
        confinement: &Confinement,
        command: &Command,
    ) -> Result<(OwnedFd, Spawned), Failure> {
        // A jail that failed has closed its end: that is then heard below, so it is no error here.
        let _ = self
            .control
            .send(&ToStage::Confine(confinement.clone()).encode(), &[]);
        let mut streams = match Streams::send(&self.control, 0, command) {
            Ok(streams) => Some(streams),
            Err(SpawnError::Gone) => None,
            Err(error) => return Err(Failure::Command(error)),
        };
        loop {
            let frame = match self.control.receive() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Err(Failure::Silence),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Failure::TimedOut);
                }
                Err(error) => return Err(Failure::Resources(error)),
            };
            match (
                FromStage::decode(&frame.bytes),
                &mut self.init,
                &mut streams,
            ) {
                (Some(FromStage::Hello), init @ None, _) => {
                    *init = frame.descriptors.into_iter().next()
                }
                (Some(FromStage::Started { id: 0 }), init @ Some(_), Some(streams)) => {
                    self.control
                        .set_patience(None)
                        .map_err(Failure::Resources)?;
                    let init = init.take().ok_or(Failure::Silence)?;
                    return Ok((init, streams.spawned(frame)));
                }
                (Some(FromStage::NotConfined { step, errno }), ..) => {
                    return Err(Failure::NotConfined { step, errno });
                }
                (
                    Some(FromStage::Refused {
                        id: 0,
                        refusal,
                        errno,
                    }),
                    ..,
                ) => {
                    return Err(Failure::Command(SpawnError::refused(
                        command, refusal, errno,
                    )));
                }
                _ => {
                    return Err(Failure::Resources(io::Error::from(
                        io::ErrorKind::InvalidData,
                    )));
                }
            }
        }
    }

    /// Ends whatever there is of the jail; the exit code of bubblewrap, if it had one.
    pub(super) fn abandon(self) -> Option<u8> {
        let Self {
            pid,
            child,
            control,
            init,
        } = self;
        // The stage ends when it hears nothing any more, and bubblewrap when the stage does.
        drop(control);
        if let Some(init) = init {
            kill(&init);
        }
        if !is_ready(child.as_fd(), Some(Duration::from_secs(1))).unwrap_or(false) {
            kill(&child);
        }
        reap(pid)
    }
}

/// Our ends of a command's pipes, while it is being started.
struct Streams {
    id: u32,
    stdin: Option<PipeWriter>,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
}

impl Streams {
    /// Asks for `command` to be started as `id`, with pipes that are made for it.
    fn send(control: &Channel, id: u32, command: &Command) -> Result<Self, SpawnError> {
        let frame = ToStage::Spawn {
            id,
            command: command.clone(),
        }
        .encode();
        let [input, output, errors] = command.stdio.piped();
        let pipe = |wanted: bool| {
            wanted
                .then(io::pipe)
                .transpose()
                .map_err(SpawnError::Resources)
        };
        let (in_read, stdin) = pipe(input)?.unzip();
        let (stdout, out_write) = pipe(output)?.unzip();
        let (stderr, err_write) = pipe(errors)?.unzip();
        let theirs = [
            in_read.as_ref().map(AsFd::as_fd),
            out_write.as_ref().map(AsFd::as_fd),
            err_write.as_ref().map(AsFd::as_fd),
        ];
        let theirs: Vec<BorrowedFd<'_>> = theirs.into_iter().flatten().collect();
        control.send(&frame, &theirs).map_err(unsent)?;
        Ok(Self {
            id,
            stdin,
            stdout,
            stderr,
        })
    }

    /// The command runs; `frame` has brought its terminal.
    fn spawned(&mut self, frame: Frame) -> Spawned {
        Spawned {
            id: self.id,
            terminal: frame.descriptors.into_iter().next(),
            stdin: self.stdin.take().map(Into::into),
            stdout: self.stdout.take().map(Into::into),
            stderr: self.stderr.take().map(Into::into),
        }
    }
}

/// A command that is too long for any frame is too long for the kernel too.
fn unsent(error: io::Error) -> SpawnError {
    match error.kind() {
        io::ErrorKind::InvalidInput => SpawnError::Resources(Errno::TOOBIG.into()),
        _ => SpawnError::Gone,
    }
}

fn kill(process: &OwnedFd) {
    // It fails only when the process has ended.
    let _ = rustix::process::pidfd_send_signal(process, rustix::process::Signal::KILL);
}

/// Waits for our child; none when a signal ended it, or when someone else waited for all children.
fn reap(pid: Pid) -> Option<u8> {
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            Ok(Some((_, status))) => return u8::try_from(status.exit_status()?).ok(),
            _ => return None,
        }
    }
}

/// Waits for at most `patience` (forever without) until `fd` can be read or its other end is gone.
fn is_ready(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<bool> {
    let deadline = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        match rustix::event::poll(&mut fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            result => return Ok(result? > 0),
        }
    }
}
