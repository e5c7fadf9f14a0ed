//! What the supervisor does when something happens.

use std::os::unix::net::UnixListener;
use std::time::Instant;

use enclos_terminal::Size;
use rustix::event::PollFlags;

use super::COMMAND;
use super::Source;
use super::Stopping;
use super::StreamEnd;
use super::Supervisor;
use super::viewer::Viewer;
use crate::control::Frame;
use crate::control::FrameKind;
use crate::control::Hello;
use crate::control::PROTOCOL;
use crate::control::Refusal;
use crate::control::Role;
use crate::control::Welcome;

impl Supervisor<'_> {
    pub(super) fn handle(&mut self, source: &Source, flags: PollFlags) {
        match source {
            Source::Listener => self.accept(),
            Source::Signals => self.stop(),
            Source::Gone => self.exit = self.exit.or_else(|| self.jailed.ended()),
            // Hearing it is enough: what it says is asked for where it is needed.
            Source::News => drop(self.jailed.exit_of(COMMAND)),
            Source::Stream(id, end) => self.move_stream(*id, *end),
            Source::Viewer(at) => self.attend(*at, flags),
        }
    }

    fn move_stream(&mut self, id: u32, end: StreamEnd) {
        let Some(streams) = self.programs.get_mut(&id) else {
            return;
        };
        let StreamEnd::Output(at) = end else {
            return streams.pass_on();
        };
        if let Some((kind, bytes)) = streams.read(at) {
            for viewer in self
                .viewers
                .iter_mut()
                .filter(|viewer| viewer.output && viewer.program == id)
            {
                viewer.send(kind, &bytes);
            }
        }
    }

    fn accept(&mut self) {
        let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) else {
            return;
        };
        if self.place.is_ours(&stream) {
            // A connection that cannot be made non-blocking could hold everything up, so it is let go.
            self.viewers.extend(Viewer::new(stream).ok());
        }
    }

    fn attend(&mut self, at: usize, flags: PollFlags) {
        let Some(viewer) = self.viewers.get_mut(at) else {
            return;
        };
        if flags.contains(PollFlags::OUT) {
            viewer.flush();
        }
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            for frame in viewer.receive() {
                self.answer(at, &frame);
            }
        }
    }

    fn answer(&mut self, at: usize, frame: &Frame) {
        let needed = match frame.kind {
            FrameKind::Hello => return self.greet(at, &frame.payload),
            FrameKind::Input | FrameKind::InputEnd | FrameKind::Resize | FrameKind::Signal => {
                Role::Type
            }
            FrameKind::Stop | FrameKind::Freeze | FrameKind::Thaw => Role::Decide,
            _ => return self.viewers[at].refuse(&Refusal::NotUnderstood),
        };
        if !self.viewers[at].may(needed) {
            return self.viewers[at].refuse(&Refusal::Role);
        }
        let program = self.viewers[at].program;
        match (frame.kind, frame.payload.as_slice()) {
            (FrameKind::Signal, &[signal]) => self.jailed.signal(program, signal),
            (FrameKind::Input | FrameKind::InputEnd | FrameKind::Resize, _) => {
                self.type_in(at, frame)
            }
            (FrameKind::Stop, _) => {
                self.stop();
                self.viewers[at].send(FrameKind::Done, &[]);
            }
            (FrameKind::Freeze, _) => self.freeze(at),
            (FrameKind::Thaw, _) => {
                self.viewers[at].froze = false;
                self.thaw_if_nobody_cares();
                self.viewers[at].send(FrameKind::Done, &[]);
            }
            _ => self.viewers[at].refuse(&Refusal::NotUnderstood),
        }
    }

    fn type_in(&mut self, at: usize, frame: &Frame) {
        let Some(streams) = self.programs.get_mut(&self.viewers[at].program) else {
            return;
        };
        match (frame.kind, frame.payload.as_slice()) {
            (FrameKind::Input, bytes) => streams.type_in(bytes),
            (FrameKind::InputEnd, _) => streams.end_input(),
            (_, &[a, b, c, d]) => {
                streams.resize(Size {
                    rows: u16::from_be_bytes([a, b]),
                    cols: u16::from_be_bytes([c, d]),
                });
            }
            _ => self.viewers[at].refuse(&Refusal::NotUnderstood),
        }
    }

    fn greet(&mut self, at: usize, payload: &[u8]) {
        let Ok(hello) = serde_json::from_slice::<Hello>(payload) else {
            return self.viewers[at].refuse(&Refusal::NotUnderstood);
        };
        self.viewers[at].role = Some(hello.role);
        if let Some(shell) = hello.shell {
            if hello.role < Role::Type {
                return self.viewers[at].refuse(&Refusal::Role);
            }
            if self.jailed.is_frozen() {
                return self.viewers[at].refuse(&Refusal::Busy);
            }
            match self.jailed.spawn_shell(shell) {
                Ok((id, streams)) => {
                    self.programs.insert(id, streams);
                    self.viewers[at].program = id;
                }
                Err(error) => {
                    let refusal = Refusal::NotStarted {
                        message: error.sentence(),
                        exit: error.exit(),
                    };
                    return self.viewers[at].refuse(&refusal);
                }
            }
        }
        let viewer = &mut self.viewers[at];
        let Some(streams) = self.programs.get_mut(&viewer.program) else {
            return;
        };
        let terminal = streams.has_terminal();
        viewer.send_json(
            FrameKind::Welcome,
            &Welcome {
                protocol: PROTOCOL,
                session: self.record.id.clone(),
                terminal,
                gaps: self.record.gaps.clone(),
            },
        );
        viewer.output = hello.output;
        if hello.output {
            streams.seen();
            for (kind, bytes) in streams.kept() {
                viewer.send(kind, &bytes);
            }
        }
    }

    pub(super) fn stop(&mut self) {
        if self.stopping.is_none() {
            self.jailed.thaw();
            self.jailed.ask_to_end(self.first_asking());
            self.stopping = Some(Stopping {
                since: Instant::now(),
                asked_twice: false,
            });
        }
    }

    fn freeze(&mut self, at: usize) {
        if self.jailed.freeze() {
            self.viewers[at].froze = true;
            self.viewers[at].send(FrameKind::Done, &[]);
        } else {
            self.viewers[at].refuse(&Refusal::NotFrozen);
        }
    }

    /// Lets the processes go on once no connection asks for them to be still: a client that dies thaws too.
    pub(super) fn thaw_if_nobody_cares(&mut self) {
        if !self.viewers.iter().any(|viewer| viewer.froze) {
            self.jailed.thaw();
        }
    }
}
