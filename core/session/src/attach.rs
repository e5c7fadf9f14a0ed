//! A person's terminal, or a script's pipes, connected to a session.
//!
//! On a terminal every key goes to the command but the leader key; the terminal is given back whatever happens. On
//! pipes bytes pass unchanged, standard output and standard error apart, the end of input is passed on, and signals
//! that would end this process are given to the command instead.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use enclos_terminal::Leader;
use enclos_terminal::LeaderEvent;
use enclos_terminal::RawMode;
use enclos_terminal::RawModeError;
use enclos_terminal::Screen;
use enclos_terminal::Size;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::io::Errno;

use crate::Exit;
use crate::control::Client;
use crate::control::ClientError;
use crate::control::Frame;
use crate::control::FrameKind;
use crate::control::Refusal;

/// The caller's three standard streams.
#[derive(Debug, Clone, Copy)]
pub struct Standard<'a> {
    /// Where input comes from.
    pub input: BorrowedFd<'a>,
    /// Where output goes.
    pub output: BorrowedFd<'a>,
    /// Where errors go.
    pub errors: BorrowedFd<'a>,
}

/// How an attachment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// The command ended.
    Exited(Exit),
    /// The person left; the session goes on.
    Detached,
    /// The command could not be started.
    NotStarted(Refusal, Exit),
}

/// Connects `standard` to the session behind `client` until the command ends or the person leaves.
///
/// # Errors
/// When the supervisor is lost or the caller's streams fail; the session goes on without this viewer.
pub fn attach(client: Client, standard: Standard<'_>, leader: Leader) -> Result<Left, AttachError> {
    let terminal = client.welcome().terminal;
    let raw = if terminal && rustix::termios::isatty(standard.input) {
        Some(RawMode::enter(standard.input)?)
    } else {
        None
    };
    let signals = Signals::new(raw.is_some()).map_err(AttachError::Signals)?;
    let mut attachment = Attachment {
        client,
        standard,
        leader,
        raw,
        signals,
        input_open: true,
        screen: Screen::default(),
    };
    if attachment.raw.is_some() {
        attachment.tell_size()?;
    }
    attachment.pump()
}

struct Attachment<'a> {
    client: Client,
    standard: Standard<'a>,
    leader: Leader,
    raw: Option<RawMode>,
    signals: Signals,
    input_open: bool,
    screen: Screen,
}

impl Drop for Attachment<'_> {
    fn drop(&mut self) {
        if self.raw.is_some() {
            // A terminal that is gone needs no reset.
            let _ = write_all(self.terminal_output(), &self.screen.reset());
        }
    }
}

/// What there is to do.
struct Ready {
    supervisor: bool,
    signal: bool,
    input: bool,
}

impl Attachment<'_> {
    fn pump(&mut self) -> Result<Left, AttachError> {
        loop {
            while let Some(frame) = self.client.received()? {
                if let Some(left) = self.take(&frame)? {
                    return Ok(left);
                }
            }
            let ready = self.wait()?;
            if ready.signal {
                self.pass_signals()?;
            }
            if ready.supervisor {
                self.client.read()?;
            }
            if ready.input
                && let Some(left) = self.type_in()?
            {
                return Ok(left);
            }
        }
    }

    fn wait(&self) -> Result<Ready, AttachError> {
        let mut fds = vec![PollFd::new(&self.client, PollFlags::IN)];
        fds.extend(
            self.signals
                .kinds
                .iter()
                .map(|(_, read)| PollFd::new(read, PollFlags::IN)),
        );
        let input_at = fds.len();
        if self.input_open {
            fds.push(PollFd::from_borrowed_fd(self.standard.input, PollFlags::IN));
        }
        match rustix::event::poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => {
                return Ok(Ready {
                    supervisor: false,
                    signal: true,
                    input: false,
                });
            }
            Err(source) => return Err(AttachError::Wait(source)),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(Ready {
            supervisor: ready(&fds[0]),
            signal: fds[1..input_at].iter().any(ready),
            input: fds[input_at..].iter().any(ready),
        })
    }

    fn take(&mut self, frame: &Frame) -> Result<Option<Left>, AttachError> {
        match frame.kind {
            FrameKind::Output => write_all(self.standard.output, &frame.payload)?,
            FrameKind::Errors => write_all(self.standard.errors, &frame.payload)?,
            FrameKind::Terminal => {
                let passed = self.screen.pass(&frame.payload);
                write_all(self.terminal_output(), &passed)?;
            }
            FrameKind::Exited => {
                return Ok(Some(Left::Exited(
                    serde_json::from_slice(&frame.payload).map_err(ClientError::Json)?,
                )));
            }
            FrameKind::Refused => {
                let refusal: Refusal =
                    serde_json::from_slice(&frame.payload).map_err(ClientError::Json)?;
                if let Refusal::NotStarted { exit, .. } = &refusal {
                    let exit = *exit;
                    return Ok(Some(Left::NotStarted(refusal, exit)));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// The stream of the caller's that is a terminal; where none is, output.
    fn terminal_output(&self) -> BorrowedFd<'_> {
        let is_terminal = |fd: &BorrowedFd<'_>| rustix::termios::isatty(fd);
        [self.standard.output, self.standard.errors]
            .into_iter()
            .find(is_terminal)
            .unwrap_or(self.standard.output)
    }

    fn type_in(&mut self) -> Result<Option<Left>, AttachError> {
        let mut buffer = [0; 64 * 1024];
        let read = match rustix::io::read(self.standard.input, &mut buffer) {
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            // The person's terminal is gone: leave, the session goes on.
            Err(Errno::IO) if self.raw.is_some() => return Ok(Some(Left::Detached)),
            Err(source) => return Err(AttachError::Input(source)),
        };
        if read == 0 {
            self.input_open = false;
            if self.raw.is_some() {
                return Ok(Some(Left::Detached));
            }
            self.tell(FrameKind::InputEnd, &[])?;
            return Ok(None);
        }
        if self.raw.is_none() {
            self.tell(FrameKind::Input, &buffer[..read])?;
            return Ok(None);
        }
        for event in self.leader.feed(&buffer[..read]) {
            match event {
                LeaderEvent::Bytes(bytes) => self.tell(FrameKind::Input, &bytes)?,
                LeaderEvent::Detach => return Ok(Some(Left::Detached)),
                LeaderEvent::Stop => self.tell(FrameKind::Stop, &[])?,
                LeaderEvent::Help => write_all(self.terminal_output(), HELP)?,
            }
        }
        Ok(None)
    }

    /// Sends a frame. A supervisor that does not listen any more may still have said how the command ended, so that it
    /// is gone is found out by reading.
    fn tell(&mut self, kind: FrameKind, payload: &[u8]) -> Result<(), AttachError> {
        match self.client.send(kind, payload) {
            Err(ClientError::Lost(_)) => self.input_open = false,
            sent => sent?,
        }
        Ok(())
    }

    fn pass_signals(&mut self) -> Result<(), AttachError> {
        for signal in self.signals.take() {
            if signal == signal_hook::consts::SIGWINCH {
                if self.raw.is_some() {
                    self.tell_size()?;
                }
            } else if let Ok(signal) = u8::try_from(signal) {
                self.tell(FrameKind::Signal, &[signal])?;
            }
        }
        Ok(())
    }

    fn tell_size(&mut self) -> Result<(), AttachError> {
        let Size { rows, cols } = Size::of(self.standard.input);
        let [a, b] = rows.to_be_bytes();
        let [c, d] = cols.to_be_bytes();
        self.tell(FrameKind::Resize, &[a, b, c, d])
    }
}

const HELP: &[u8] =
    b"\r\n[enclos] ctrl-] then: d detach (the session goes on)  s stop  ctrl-] the key itself\r\n";

/// Signals that arrived, each kind with a socket of its own that can be waited for with everything else. Dropped, they
/// do again what they do by default, so that a review afterwards can be interrupted.
struct Signals {
    kinds: Vec<(i32, UnixStream)>,
    by_default: Arc<AtomicBool>,
}

impl Signals {
    /// On a raw terminal only the size matters; otherwise what would end this process goes to the command.
    fn new(raw: bool) -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
        let wanted: &[i32] = if raw {
            &[SIGWINCH]
        } else {
            &[SIGINT, SIGQUIT, SIGTERM, SIGHUP]
        };
        let by_default = Arc::new(AtomicBool::new(false));
        let mut kinds = Vec::new();
        for &signal in wanted {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&by_default))?;
            signal_hook::low_level::pipe::register(signal, write)?;
            kinds.push((signal, read));
        }
        Ok(Self { kinds, by_default })
    }

    /// The signals that came since the last time; one that came twice counts once, as with the kernel.
    fn take(&self) -> Vec<i32> {
        let mut buffer = [0; 64];
        let came = |read: &UnixStream, buffer: &mut [u8]| {
            rustix::io::read(read, buffer).is_ok_and(|n| n > 0)
        };
        self.kinds
            .iter()
            .filter(|(_, read)| came(read, &mut buffer))
            .map(|(signal, _)| *signal)
            .collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.by_default.store(true, Ordering::SeqCst);
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), AttachError> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // Somebody made the stream non-blocking; it is the caller's, so it is left that way and waited for.
                let mut fds = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
                rustix::event::poll(&mut fds, None).map_err(AttachError::Output)?;
            }
            Err(source) => return Err(AttachError::Output(source)),
        }
    }
    Ok(())
}

/// Why an attachment ended early. The session goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The supervisor was lost.
    #[error(transparent)]
    Supervisor(#[from] ClientError),
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] RawModeError),
    /// Signals cannot be received.
    #[error("signals cannot be received")]
    Signals(#[source] io::Error),
    /// Waiting fails.
    #[error("waiting for input failed")]
    Wait(#[source] Errno),
    /// The caller's input cannot be read.
    #[error("standard input cannot be read")]
    Input(#[source] Errno),
    /// The caller's output cannot be written.
    #[error("output cannot be written")]
    Output(#[source] Errno),
}
