//! Process 1 of the jail: confines itself, starts commands, buries the dead.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use enclos_sys::children::{ChildEnded, signal_everyone};
use enclos_sys::inherit;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::super::channel::{Channel, Frame};
use super::super::wire::{FromStage, ToStage, signal_number};
use super::{confine, hold, program};
use crate::Exit;

/// Runs until the first command has ended or the launcher is gone.
///
/// # Errors
/// Says what failed before the launcher could be told.
pub(super) fn run() -> Result<(), String> {
    let [control] = inherit::take_over().map_err(|error| format!("no socket: {error}"))?;
    let control = Channel::over(control);
    let ended = prepare(&control).map_err(|error| format!("cannot start: {error}"))?;
    let mut stage = Stage {
        control,
        ended,
        commands: BTreeMap::new(),
        held: None,
    };
    // An error here is that of a socket whose other end is gone: nobody is left to be told.
    let _ = stage.serve();
    Ok(())
}

/// Lets go of what was inherited, and says hello.
fn prepare(control: &Channel) -> io::Result<ChildEnded> {
    program::occupy_standard_streams()?;
    confine::hide()?;
    let ended = ChildEnded::watch()?;
    let me = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    control.send(&FromStage::Hello.encode(), &[me.as_fd()])?;
    Ok(ended)
}

struct Stage {
    control: Channel,
    ended: ChildEnded,
    /// What was started and not yet buried; orphans are not in it.
    commands: BTreeMap<u32, Pid>,
    /// Everyone, while they are held still.
    held: Option<hold::Held>,
}

impl Stage {
    fn serve(&mut self) -> io::Result<()> {
        let Some(ToStage::Confine(confinement)) =
            self.receive()?.and_then(|f| ToStage::decode(&f.bytes))
        else {
            return Ok(());
        };
        if let Err((step, error)) = confine::confine(&confinement) {
            return self.say(
                &FromStage::NotConfined {
                    step,
                    errno: errno_of(&error),
                },
                &[],
            );
        }
        loop {
            let (told, buried) = self.wait()?;
            if buried && self.bury()? {
                return Ok(());
            }
            if told {
                match self.receive()? {
                    Some(frame) => self.obey(frame)?,
                    None => return Ok(()),
                }
            }
        }
    }

    /// Waits for a message, or a death.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let mut fds = [
            PollFd::new(&self.control, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
        ];
        match rustix::event::poll(&mut fds, None) {
            Err(Errno::INTR) => return Ok((false, false)),
            result => result?,
        };
        let [control, ended] = fds;
        Ok((!control.revents().is_empty(), !ended.revents().is_empty()))
    }

    fn receive(&self) -> io::Result<Option<Frame>> {
        self.control.receive()
    }

    fn say(&self, message: &FromStage, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.control.send(&message.encode(), descriptors)
    }

    fn obey(&mut self, frame: Frame) -> io::Result<()> {
        match ToStage::decode(&frame.bytes) {
            Some(ToStage::Spawn { id, command }) => {
                match program::start(&command, &frame.descriptors) {
                    Ok(started) => {
                        self.commands.insert(id, started.pid);
                        let terminal: Vec<_> = started.terminal.iter().map(AsFd::as_fd).collect();
                        self.say(&FromStage::Started { id }, &terminal)
                    }
                    Err((refusal, error)) => self.say(
                        &FromStage::Refused {
                            id,
                            refusal,
                            errno: errno_of(&error),
                        },
                        &[],
                    ),
                }
            }
            Some(ToStage::Signal { id, signal }) => {
                self.signal(id, signal);
                Ok(())
            }
            Some(ToStage::Everyone { signal }) => {
                if let Some(signal) = Signal::from_named_raw(signal_number(signal).into()) {
                    let _ = signal_everyone(signal);
                }
                // A stopped process hears nothing before it continues.
                let _ = signal_everyone(Signal::CONT);
                Ok(())
            }
            Some(ToStage::Freeze) => {
                if self.held.is_none() {
                    self.held = hold::still();
                }
                self.say(
                    &FromStage::Held {
                        still: self.held.is_some(),
                    },
                    &[],
                )
            }
            Some(ToStage::Thaw) => {
                if let Some(held) = self.held.take() {
                    held.release();
                }
                Ok(())
            }
            Some(ToStage::Confine(_)) | None => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }

    fn signal(&self, id: u32, signal: crate::Signal) {
        let Some(pid) = self.commands.get(&id) else {
            return;
        };
        if let Some(signal) = Signal::from_named_raw(signal_number(signal).into()) {
            let _ = rustix::process::kill_process_group(*pid, signal);
        }
    }

    /// Buries all dead; true when the first command is among them.
    fn bury(&mut self) -> io::Result<bool> {
        self.ended.clear();
        let mut over = false;
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let Some(id) = self
                .commands
                .iter()
                .find_map(|(id, known)| (*known == pid).then_some(*id))
            else {
                continue;
            };
            self.commands.remove(&id);
            self.say(
                &FromStage::Ended {
                    id,
                    exit: Exit::of(status),
                },
                &[],
            )?;
            over |= id == 0;
        }
        Ok(over)
    }
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())
}
