//! The jailed command's standard streams, as the supervisor moves them.
//!
//! With a terminal there is one stream each way, the PTY's master. Without one there are three pipes of ours, kept
//! apart and binary-safe; the end of input is passed on once everything before it has been taken.

use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::time::Instant;

use enclos_terminal::Flushed;
use enclos_terminal::Outbox;
use enclos_terminal::Size;
use enclos_terminal::Transcript;
use rustix::event::PollFlags;
use rustix::io::Errno;

use crate::control::FrameKind;

/// The supervisor's ends of the command's streams.
#[derive(Debug)]
pub(super) struct Streams {
    /// Where input goes.
    input: Option<Input>,
    typed: Outbox,
    input_ends: bool,
    /// Where output comes from; the PTY's master or two pipes.
    outputs: Vec<Output>,
    terminal: bool,
    /// What a later viewer is shown of the past, each stream apart.
    transcripts: Vec<(FrameKind, Transcript)>,
    waits_for_first: Option<Instant>,
}

/// Where a command's input goes.
#[derive(Debug)]
pub(super) enum Input {
    /// The PTY's master: it has no end.
    Terminal(OwnedFd),
    /// A pipe.
    Pipe(OwnedFd),
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Terminal(fd) | Self::Pipe(fd) => fd.as_fd(),
        }
    }
}

#[derive(Debug)]
struct Output {
    kind: FrameKind,
    from: OwnedFd,
}

impl Streams {
    /// How many bytes of each stream a later viewer is shown.
    const KEPT: usize = 256 * 1024;

    /// How long output waits for the viewer that started the session, so that not a byte of it is cut.
    const FIRST_VIEWER: Duration = Duration::from_secs(10);

    /// The streams of a command that was just started.
    ///
    /// # Errors
    /// When a descriptor cannot be made non-blocking.
    pub(super) fn new(
        input: Option<Input>,
        outputs: Vec<(FrameKind, OwnedFd)>,
        audience: Audience,
    ) -> Result<Self, Errno> {
        for fd in input
            .iter()
            .map(AsFd::as_fd)
            .chain(outputs.iter().map(|(_, fd)| fd.as_fd()))
        {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        let terminal = outputs.iter().any(|(kind, _)| *kind == FrameKind::Terminal);
        let transcripts = outputs
            .iter()
            .map(|(kind, _)| (*kind, Transcript::new(Self::KEPT)))
            .collect();
        let outputs = outputs
            .into_iter()
            .map(|(kind, from)| Output { kind, from })
            .collect();
        let waits_for_first = (audience == Audience::Comes).then(Instant::now);
        Ok(Self {
            input,
            typed: Outbox::new(),
            input_ends: false,
            outputs,
            terminal,
            transcripts,
            waits_for_first,
        })
    }

    /// A viewer of the output is there.
    pub(super) fn seen(&mut self) {
        self.waits_for_first = None;
    }

    fn waits(&self) -> bool {
        self.waits_for_first
            .is_some_and(|since| since.elapsed() < Self::FIRST_VIEWER)
    }

    pub(super) fn has_terminal(&self) -> bool {
        self.terminal
    }

    /// What to wait for: each descriptor with the events that matter now.
    pub(super) fn interests(&self, paused: Paused) -> Vec<(StreamEnd, BorrowedFd<'_>, PollFlags)> {
        let mut interests = Vec::new();
        if let Some(input) = &self.input
            && !self.typed.is_empty()
        {
            interests.push((StreamEnd::Input, input.as_fd(), PollFlags::OUT));
        }
        if paused == Paused::No && !self.waits() {
            for (at, output) in self.outputs.iter().enumerate() {
                interests.push((StreamEnd::Output(at), output.from.as_fd(), PollFlags::IN));
            }
        }
        interests
    }

    /// Queues what was typed or piped in.
    pub(super) fn type_in(&mut self, bytes: &[u8]) {
        if self.input.is_some() && !self.input_ends {
            self.typed.push(bytes);
            self.pass_on();
        }
    }

    /// Closes standard input once everything before has been taken; a terminal's input has no end.
    pub(super) fn end_input(&mut self) {
        if matches!(self.input, Some(Input::Pipe(_))) {
            self.input_ends = true;
            self.pass_on();
        }
    }

    /// Whether clients should stop sending input for a while.
    pub(super) fn is_full(&self) -> bool {
        self.typed.is_full()
    }

    pub(super) fn pass_on(&mut self) {
        let Some(input) = &self.input else { return };
        let flushed = self.typed.flush(input);
        if flushed == Flushed::Gone || (flushed == Flushed::All && self.input_ends) {
            self.input = None;
        }
    }

    pub(super) fn resize(&self, size: Size) {
        for output in self
            .outputs
            .iter()
            .filter(|output| output.kind == FrameKind::Terminal)
        {
            size.set(&output.from);
        }
    }

    /// Reads once from an output; an end closes it.
    pub(super) fn read(&mut self, at: usize) -> Option<(FrameKind, Vec<u8>)> {
        let output = self.outputs.get(at)?;
        let kind = output.kind;
        let mut buffer = vec![0; 64 * 1024];
        match rustix::io::read(&output.from, &mut buffer) {
            Ok(0) | Err(Errno::IO) => {
                // EIO is how a PTY's master says that the last slave was closed (Linux, pty(7)).
                self.outputs.remove(at);
                None
            }
            Ok(read) => {
                buffer.truncate(read);
                self.keep(kind, &buffer);
                Some((kind, buffer))
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(_) => {
                self.outputs.remove(at);
                None
            }
        }
    }

    /// Whether every output has ended.
    pub(super) fn is_drained(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The newest output, for a viewer that comes later.
    pub(super) fn kept(&self) -> Vec<(FrameKind, Vec<u8>)> {
        let kept = self
            .transcripts
            .iter()
            .map(|(kind, transcript)| (*kind, transcript.kept()));
        kept.filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    fn keep(&mut self, kind: FrameKind, bytes: &[u8]) {
        for (_, transcript) in self.transcripts.iter_mut().filter(|(own, _)| *own == kind) {
            transcript.push(bytes);
        }
    }
}

/// Whether somebody is about to connect who wants every byte of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Whoever started the session connects at once.
    Comes,
    /// The session was started to run by itself.
    None,
}

/// Whether output waits for a viewer to catch up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paused {
    Yes,
    No,
}

/// One of the descriptors in [`Streams::interests`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    Input,
    Output(usize),
}
