//! The session's terminal: sizes, raw mode, the leader key, the transcript and bounded queues.
//!
//! A command on a terminal gets a PTY of the supervisor, never the person's own. What passes between the two is bytes
//! in bounded queues: a viewer that does not read cannot stop the command, and a command that does not read cannot
//! fill the supervisor's memory. Who is connected and how frames travel is the session's business, not this crate's.

mod leader;
mod outbox;
mod raw;
mod screen;
mod size;
mod transcript;

pub use leader::{Leader, LeaderEvent};
pub use outbox::{Flushed, Outbox};
pub use raw::{RawMode, RawModeError};
pub use screen::Screen;
pub use size::Size;
pub use transcript::Transcript;
