//! The client's end of a control socket.

use std::io;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use super::Decoder;
use super::Frame;
use super::FrameError;
use super::FrameKind;
use super::Hello;
use super::PlaceError;
use super::Refusal;
use super::Role;
use super::Shell;
use super::SocketPlace;
use super::Welcome;
use super::hello::PROTOCOL;
use crate::StreamKind;
use crate::Streams;

/// A connection to a session's supervisor.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    decoder: Decoder,
    welcome: Welcome,
}

impl Client {
    /// Connects and introduces itself.
    ///
    /// # Errors
    /// When nobody serves the session, or the supervisor does not speak this protocol.
    pub fn connect(place: &SocketPlace, role: Role, output: bool) -> Result<Self, ClientError> {
        Self::introduce(
            place,
            &Hello {
                protocol: PROTOCOL,
                role,
                output,
                shell: None,
            },
        )
    }

    /// Has the person's shell started beside the session's command and connects to it.
    ///
    /// # Errors
    /// As [`Client::connect`], and when the shell cannot be started.
    pub fn shell(place: &SocketPlace, streams: Streams) -> Result<Self, ClientError> {
        let terminal =
            [streams.input, streams.output, streams.errors].contains(&StreamKind::Terminal);
        let shell = Shell {
            terminal,
            rows: streams.rows,
            cols: streams.cols,
        };
        Self::introduce(
            place,
            &Hello {
                protocol: PROTOCOL,
                role: Role::Type,
                output: true,
                shell: Some(shell),
            },
        )
    }

    fn introduce(place: &SocketPlace, hello: &Hello) -> Result<Self, ClientError> {
        let mut stream = place.connect()?;
        let hello = serde_json::to_vec(hello).map_err(ClientError::Json)?;
        stream
            .write_all(&Frame::new(FrameKind::Hello, hello).encode())
            .map_err(ClientError::Lost)?;
        let mut decoder = Decoder::default();
        let first = next(&mut stream, &mut decoder)?;
        if first.kind == FrameKind::Refused {
            return Err(ClientError::Refused(
                serde_json::from_slice(&first.payload).map_err(ClientError::Json)?,
            ));
        }
        if first.kind != FrameKind::Welcome {
            return Err(ClientError::Unexpected { kind: first.kind });
        }
        let welcome = serde_json::from_slice(&first.payload).map_err(ClientError::Json)?;
        Ok(Self {
            stream,
            decoder,
            welcome,
        })
    }

    /// What the supervisor said first.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub fn send(&mut self, kind: FrameKind, payload: &[u8]) -> Result<(), ClientError> {
        let mut rest = payload;
        loop {
            let (piece, after) = rest.split_at(rest.len().min(Frame::MAX));
            self.stream
                .write_all(&Frame::new(kind, piece).encode())
                .map_err(ClientError::Lost)?;
            rest = after;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    /// When the supervisor is gone or sends what is no frame.
    pub fn receive(&mut self) -> Result<Frame, ClientError> {
        next(&mut self.stream, &mut self.decoder)
    }

    /// The next frame that has been read already, without waiting.
    ///
    /// # Errors
    /// When what was read is no frame.
    pub fn received(&mut self) -> Result<Option<Frame>, ClientError> {
        Ok(self.decoder.next_frame()?)
    }

    /// Reads once what the socket has; to be called when it is readable.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub fn read(&mut self) -> Result<(), ClientError> {
        read(&mut self.stream, &mut self.decoder)
    }

    /// Asks for something and waits until it is done; output that arrives meanwhile is dropped.
    ///
    /// # Errors
    /// When it is refused, or the supervisor is gone.
    pub fn ask(&mut self, kind: FrameKind) -> Result<(), ClientError> {
        self.send(kind, &[])?;
        loop {
            let frame = self.receive()?;
            match frame.kind {
                FrameKind::Done => return Ok(()),
                FrameKind::Refused => {
                    return Err(ClientError::Refused(
                        serde_json::from_slice(&frame.payload).map_err(ClientError::Json)?,
                    ));
                }
                _ => {}
            }
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn next(stream: &mut UnixStream, decoder: &mut Decoder) -> Result<Frame, ClientError> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(frame);
        }
        read(stream, decoder)?;
    }
}

fn read(stream: &mut UnixStream, decoder: &mut Decoder) -> Result<(), ClientError> {
    let mut buffer = [0; 64 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => {
                decoder.feed(&buffer[..read]);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ClientError::Lost(error)),
        }
    }
}

/// What can go wrong in talking to a supervisor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is nobody to talk to.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The connection ended.
    #[error("the connection to the session's supervisor was lost")]
    Lost(#[source] io::Error),
    /// It sends what is no frame.
    #[error("the session's supervisor speaks another version of the protocol")]
    Frame(#[from] FrameError),
    /// It sends what does not belong there.
    #[error("the session's supervisor sent {kind:?} where it should have introduced itself")]
    Unexpected {
        /// What it sent.
        kind: FrameKind,
    },
    /// Something could not be put into or read from JSON.
    #[error("the session's supervisor speaks another version of the protocol")]
    Json(#[source] serde_json::Error),
    /// It refuses.
    #[error("{0}")]
    Refused(Refusal),
}
