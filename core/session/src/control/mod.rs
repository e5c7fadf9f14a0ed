//! The control socket of a session: what its supervisor can be asked while it lives.
//!
//! It lies in a short private folder (a socket's path is limited to 104 bytes on macOS and 108 on Linux), peers are
//! checked by user id, and the first frame each way carries the protocol's version. What a connection may do is its
//! role: a watcher sees, a typer also types, a decider also stops and freezes.

mod client;
mod frame;
mod hello;
mod place;

pub use client::{Client, ClientError};
pub use frame::{Decoder, Frame, FrameError, FrameKind};
pub use hello::{Hello, PROTOCOL, Refusal, Role, Shell, Welcome};
pub use place::{PlaceError, SocketPlace};
