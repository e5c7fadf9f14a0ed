//! One connection to the control socket, as the supervisor sees it.

use std::io;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::time::Instant;

use enclos_terminal::Flushed;
use enclos_terminal::Outbox;
use serde::Serialize;

use crate::control::Decoder;
use crate::control::Frame;
use crate::control::FrameKind;
use crate::control::Refusal;
use crate::control::Role;

/// A connected client.
#[derive(Debug)]
pub(super) struct Viewer {
    stream: UnixStream,
    decoder: Decoder,
    outbox: Outbox,
    /// What it may do; none until it has introduced itself.
    pub(super) role: Option<Role>,
    /// The program it is connected to.
    pub(super) program: u32,
    /// Whether it wants the output.
    pub(super) output: bool,
    /// Whether it asked for the freeze that is on.
    pub(super) froze: bool,
    /// Whether the connection is of no further use.
    pub(super) gone: bool,
    blocked_since: Option<Instant>,
}

impl Viewer {
    /// How long a viewer of a terminal may not read before it is let go so that the command can go on.
    const PATIENCE: Duration = Duration::from_secs(5);

    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            decoder: Decoder::default(),
            outbox: Outbox::new(),
            role: None,
            program: super::COMMAND,
            output: false,
            froze: false,
            gone: false,
            blocked_since: None,
        })
    }

    pub(super) fn may(&self, role: Role) -> bool {
        self.role.is_some_and(|own| own >= role)
    }

    /// Reads what is there and returns the whole frames of it.
    pub(super) fn receive(&mut self) -> Vec<Frame> {
        let mut buffer = [0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.gone = true,
            Ok(read) => self.decoder.feed(&buffer[..read]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.gone = true,
        }
        let mut frames = Vec::new();
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return frames,
                Err(_) => {
                    self.refuse(&Refusal::NotUnderstood);
                    self.gone = true;
                    return frames;
                }
            }
        }
    }

    pub(super) fn send(&mut self, kind: FrameKind, payload: &[u8]) {
        for piece in payload.chunks(Frame::MAX) {
            self.outbox.push(&Frame::new(kind, piece).encode());
        }
        if payload.is_empty() {
            self.outbox.push(&Frame::new(kind, []).encode());
        }
        self.flush();
    }

    pub(super) fn send_json(&mut self, kind: FrameKind, value: &impl Serialize) {
        // Our own types always have a JSON form; a peer that gets none sees the connection end.
        match serde_json::to_vec(value) {
            Ok(json) => self.send(kind, &json),
            Err(_) => self.gone = true,
        }
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        self.send_json(FrameKind::Refused, refusal);
    }

    pub(super) fn flush(&mut self) {
        match self.outbox.flush(&self.stream) {
            Flushed::All => self.blocked_since = None,
            Flushed::Blocked => {
                self.blocked_since.get_or_insert_with(Instant::now);
            }
            Flushed::Gone => self.gone = true,
        }
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether the source of output should pause for this viewer.
    pub(super) fn holds_back(&self) -> bool {
        self.output && !self.gone && self.outbox.is_full()
    }

    /// Whether it has not read for so long that it may no longer hold the command up.
    pub(super) fn is_stuck(&self) -> bool {
        self.outbox.is_full()
            && self
                .blocked_since
                .is_some_and(|since| since.elapsed() > Self::PATIENCE)
    }
}

impl AsFd for Viewer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
