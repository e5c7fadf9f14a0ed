//! Frames of the control socket: a kind, a length, bytes.
//!
//! The first frame each way carries the protocol's version; kinds that a side does not know are refused by name, so an
//! old supervisor under a new command line still answers what it knows. Bytes of the terminal are not wrapped in JSON.

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// What it carries: terminal bytes as they are, otherwise JSON.
    pub payload: Vec<u8>,
}

/// What a frame is; the number is the one on the socket and never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// Client: who I am and what I want. Always first.
    Hello = 1,
    /// Supervisor: who I am; always first.
    Welcome = 2,
    /// Client: bytes typed, or piped in.
    Input = 3,
    /// Client: nothing more will be piped in.
    InputEnd = 4,
    /// Client: my terminal's size, two big-endian u16.
    Resize = 5,
    /// Client: a signal for the command, one byte.
    Signal = 6,
    /// Client: end every process of the session.
    Stop = 7,
    /// Client: stop all processes where they are, for a review.
    Freeze = 8,
    /// Client: let them go on.
    Thaw = 9,
    /// Supervisor: bytes of standard output.
    Output = 16,
    /// Supervisor: bytes of standard error.
    Errors = 17,
    /// Supervisor: the program ended; JSON.
    Exited = 18,
    /// Supervisor: what was asked has been done.
    Done = 19,
    /// Supervisor: what was asked is not done; JSON.
    Refused = 20,
    /// Supervisor: bytes of the command's terminal.
    Terminal = 21,
}

impl FrameKind {
    const ALL: [Self; 15] = [
        Self::Hello,
        Self::Welcome,
        Self::Input,
        Self::InputEnd,
        Self::Resize,
        Self::Signal,
        Self::Stop,
        Self::Freeze,
        Self::Thaw,
        Self::Output,
        Self::Errors,
        Self::Exited,
        Self::Done,
        Self::Refused,
        Self::Terminal,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

impl Frame {
    /// The longest payload in bytes; longer data travels in several frames.
    pub const MAX: usize = 1 << 20;

    /// A frame of `kind` with `payload`.
    #[must_use]
    pub fn new(kind: FrameKind, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            payload: payload.into(),
        }
    }

    /// The bytes on the socket.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload.len() + HEAD);
        bytes.push(self.kind as u8);
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

const HEAD: usize = 5;

/// Turns a stream of bytes into frames, however it is cut.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
}

impl Decoder {
    /// Adds what was read.
    pub fn feed(&mut self, read: &[u8]) {
        self.bytes.extend_from_slice(read);
    }

    /// The next whole frame, if there is one.
    ///
    /// # Errors
    /// When the stream is not frames of ours; the connection is of no further use.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [kind, a, b, c, d] = *head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > Frame::MAX {
            return Err(FrameError::TooLong { length });
        }
        let kind = FrameKind::from_byte(kind).ok_or(FrameError::UnknownKind { kind })?;
        if rest.len() < length {
            return Ok(None);
        }
        let payload = rest[..length].to_vec();
        self.bytes.drain(..HEAD + length);
        Ok(Some(Frame { kind, payload }))
    }
}

/// What makes a stream of bytes no stream of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A payload longer than [`Frame::MAX`].
    #[error("a frame of {length} bytes is longer than the protocol allows")]
    TooLong {
        /// What the header says.
        length: usize,
    },
    /// A kind of a newer version, or noise.
    #[error("frame kind {kind} is unknown to this version")]
    UnknownKind {
        /// The number.
        kind: u8,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_arrive_whole_however_the_stream_is_cut(
            payloads in prop::collection::vec((0usize..FrameKind::ALL.len(), prop::collection::vec(any::<u8>(), 0..200)), 0..8),
            cut in 1usize..50,
        ) {
            let sent: Vec<Frame> = payloads.into_iter().map(|(k, p)| Frame::new(FrameKind::ALL[k], p)).collect();
            let stream: Vec<u8> = sent.iter().flat_map(Frame::encode).collect();
            let mut decoder = Decoder::default();
            let mut got = Vec::new();
            for piece in stream.chunks(cut) {
                decoder.feed(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, sent);
        }

        #[test]
        fn noise_is_refused_and_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.feed(&noise);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }
}
