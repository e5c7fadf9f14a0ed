//! Starts one command: its streams, its profile, its stage.
//!
//! The stage is our own executable, started without a copy of this process and with exactly four descriptors: the three
//! standard streams and the socket on which it gets its order. It cannot end before it is watched, because it waits for
//! that order.

use std::ffi::CString;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use enclos_sys::darwin::exits::Exits;
use enclos_sys::darwin::processes;
use enclos_sys::spawn::Spawn;
use rustix::io::Errno;
use rustix::process::Pid;

use super::error::LaunchError;
use super::half::Half;
use super::order::Order;
use super::plan::Plan;
use super::terminal::{self, Terminal};
use crate::seatbelt::{Identity, Profile};
use crate::{Command, Spawned};

/// A command whose streams and profile are there.
pub(super) struct Prepared {
    pub(super) profile: Profile,
    command: Command,
    terminal: Option<Terminal>,
    /// For each standard stream that is one, a pipe.
    pipes: [Option<(PipeReader, PipeWriter)>; 3],
}

/// A command that runs.
pub(super) struct Started {
    pub(super) spawned: Spawned,
    pub(super) pid: Pid,
    pub(super) identity: Identity,
    /// The number of its terminal, and our end again, so that it stays its number.
    pub(super) terminal: Option<(u32, OwnedFd)>,
}

/// Opens the streams of `command`, and makes its profile.
pub(super) fn prepare(plan: &Plan, command: &Command) -> Result<Prepared, LaunchError> {
    let size = command.stdio.terminal();
    let terminal = size.map(|(rows, cols)| terminal::open(rows, cols));
    let terminal = terminal.transpose().map_err(LaunchError::Resources)?;
    let mut pipes = [None, None, None];
    for (pipe, wanted) in pipes.iter_mut().zip(command.stdio.piped()) {
        if wanted {
            *pipe = Some(io::pipe().map_err(LaunchError::Resources)?);
        }
    }
    Ok(Prepared {
        profile: plan.profile(terminal.as_ref().map(|terminal| terminal.path.clone()))?,
        command: command.clone(),
        terminal,
        pipes,
    })
}

impl Prepared {
    /// Starts the command as number `id`, to be heard of on each of `exits`.
    pub(super) fn start(
        self,
        plan: &Plan,
        id: u32,
        exits: &[&Exits],
    ) -> Result<Started, LaunchError> {
        let (ours, theirs) = UnixStream::pair().map_err(LaunchError::Resources)?;
        let pid = self.start_stage(plan, theirs.as_fd())?;
        drop(theirs);
        let half = Half::new(pid);
        for exits in exits {
            exits.watch(pid).map_err(LaunchError::Resources)?;
        }
        let entry = processes::entry(pid.as_raw_pid());
        let entry = entry.ok_or_else(|| LaunchError::Resources(Errno::SRCH.into()))?;
        let order = Order {
            profile: self.profile.text().to_owned(),
            params: self.profile.params().to_vec(),
            command: self.command.clone(),
        };
        let terminal = self.terminal.as_ref();
        let reserved = terminal.map(|own| Ok((own.device, own.ours.try_clone()?)));
        Ok(Started {
            terminal: reserved.transpose().map_err(LaunchError::Resources)?,
            pid: half.converse(&ours, &order)?,
            identity: Identity {
                pid: entry.pid,
                started: entry.started,
            },
            spawned: self.into_spawned(id),
        })
    }

    fn start_stage(&self, plan: &Plan, control: BorrowedFd<'_>) -> Result<Pid, LaunchError> {
        let failed = |source| LaunchError::Start {
            program: plan.stage.clone(),
            source,
        };
        let program = CString::new(plan.stage.as_bytes());
        let numbered = (0..).zip(self.theirs());
        let mut descriptors: Vec<_> = numbered
            .filter_map(|(number, fd)| Some((fd?, number)))
            .collect();
        descriptors.push((control, 3));
        let spawn = Spawn {
            program: program.map_err(|_| failed(Errno::INVAL.into()))?,
            argv: [c"enclos", c"stage"].map(CString::from).into(),
            env: Vec::new(),
            terminal: None,
            descriptors,
        };
        spawn.start().map_err(failed)
    }

    /// The command's standard streams, in order.
    fn theirs(&self) -> [Option<BorrowedFd<'_>>; 3] {
        let terminal = || Some(self.terminal.as_ref()?.theirs.as_fd());
        let [input, output, errors] = &self.pipes;
        [
            input.as_ref().map(|(read, _)| read.as_fd()),
            output.as_ref().map(|(_, write)| write.as_fd()),
            errors.as_ref().map(|(_, write)| write.as_fd()),
        ]
        .map(|pipe| pipe.or_else(terminal))
    }

    fn into_spawned(self, id: u32) -> Spawned {
        let [input, output, errors] = self.pipes;
        Spawned {
            id,
            terminal: self.terminal.map(|terminal| terminal.ours),
            stdin: input.map(|(_, write)| OwnedFd::from(write)),
            stdout: output.map(|(read, _)| OwnedFd::from(read)),
            stderr: errors.map(|(read, _)| OwnedFd::from(read)),
        }
    }
}
