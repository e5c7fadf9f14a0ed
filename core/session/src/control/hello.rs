//! The first frame each way, and refusals.

use serde::Deserialize;
use serde::Serialize;

use crate::Exit;
use crate::SessionId;

/// The version of the protocol that this code speaks. Frames that both sides know keep their meaning for ever.
pub const PROTOCOL: u32 = 1;

/// What a client says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The client's version of the protocol.
    pub protocol: u32,
    /// What it may do.
    pub role: Role,
    /// Whether it wants the output, beginning with what is kept of it.
    pub output: bool,
    /// A shell to be started for it beside the session's command; none to be connected to the command itself.
    #[serde(default)]
    pub shell: Option<Shell>,
}

/// A shell that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    /// Whether it gets a terminal; otherwise three pipes.
    pub terminal: bool,
    /// The terminal's height.
    pub rows: u16,
    /// The terminal's width.
    pub cols: u16,
}

/// What a connection may do; each includes the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// See the output and the state.
    Watch,
    /// Also type, resize and send signals.
    Type,
    /// Also stop the session and freeze it for a review.
    Decide,
}

/// What the supervisor answers first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The supervisor's version of the protocol.
    pub protocol: u32,
    /// The session.
    pub session: SessionId,
    /// Whether the command has a terminal; otherwise it has three pipes.
    pub terminal: bool,
    /// What could not be enforced around the session, in words.
    #[serde(default)]
    pub gaps: Vec<String>,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "why")]
#[non_exhaustive]
pub enum Refusal {
    /// The connection's role does not include it.
    #[error("this connection may not do that")]
    Role,
    /// The frame is not one a client sends, or its payload is not what its kind wants.
    #[error("the supervisor did not understand the request")]
    NotUnderstood,
    /// The jailed processes could not be held still.
    #[error("the session's processes could not be stopped for a review")]
    NotFrozen,
    /// The processes are held still for a review.
    #[error("the session is held still for a review; try again in a moment")]
    Busy,
    /// The command could not be started.
    #[error("{message}")]
    NotStarted {
        /// Why, for people.
        message: String,
        /// The exit code that says so.
        exit: Exit,
    },
}
