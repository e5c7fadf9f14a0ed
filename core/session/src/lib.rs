//! One run from draft to outcome: who is asked, what is made, who watches over it, what remains.
//!
//! A [`Draft`] is what was asked for and may be had; [`prepare`] makes the copies and plans the jail; a supervisor of
//! its own carries the session ([`start_supervisor`]), and any number of terminals [`attach`] to it. Once the command
//! has ended, [`look()`] says what changed and [`outcome`] brings it back, takes it back or throws it away.
//!
//! Every session is a folder with a record in it. Whoever works on a session holds its lock; a crash frees the lock
//! and leaves a record from which the next command sees how far things were.

pub mod attach;
mod base;
pub mod config;
pub mod control;
mod cover;
mod draft;
mod environment;
mod git;
mod handover;
pub mod health;
mod id;
mod jail;
mod launch;
mod layout;
mod lock;
mod look;
pub mod outcome;
mod prepare;
mod private;
mod record;
mod registry;
mod repository;
mod resume;
mod scope;
mod shown;
mod store;
mod supervisor;

pub use control::{Client, ClientError, Refusal, Role, SocketPlace};
pub use enclos_clone::{CloneError, Decision, FallBack, LeaveOut, Progress as CloneProgress};
pub use enclos_policy as policy;
pub use enclos_terminal::{Leader, Size};

pub use attach::{AttachError, Left, Standard, attach};
pub use base::{KEEP_BASE, keep_base};
pub use draft::{
    Ask, Attended, Draft, DraftError, Request, StreamKind, Streams, Watched, project_of,
};
pub use enclos_sandbox::stage;
pub use environment::{Clock, Environment, Person, Places};
pub use handover::{HandoverError, SUPERVISE, start_supervisor, supervise_main};
pub use id::{BadId, SessionId, SessionIdError};
pub use jail::JailError;
pub use launch::{Launch, LaunchError};
pub use lock::LockError;
pub use look::{Look, LookError, LookFor, TreeLook, look};
pub use prepare::{PrepareError, Prepared, TreeNote, prepare};
pub use private::PrivateError;
pub use record::{
    ApplyRecord, Exit, OnExit, OverlaidRecord, Record, RecordError, State, TreeRecord, TreeRole,
};
pub use registry::{Found, Held, Registry, RegistryError, remove_tree};
pub use resume::{Again, ResumeError, resume};
pub use shown::Shown;
pub use store::{DELETE, Store, delete_later, delete_trash};
pub use supervisor::SuperviseError;
