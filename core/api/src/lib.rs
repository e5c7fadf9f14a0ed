//! The front door: what a window, a command line or another program can ask Enclos to do.
//!
//! [`with_calls!`] is the one table of calls: a host that passes its own macro gets every call with its request and
//! answer, so a host that forgets one does not compile. The types in [`wire`] are the only ones that go over a wire;
//! they are versioned, documented and stable. Errors carry a [`Code`] to branch on, a sentence for people, what is
//! untouched, and what to do.
//!
//! Starting and attaching a session is not a request with an answer: it needs a terminal and a person. For that
//! [`run`] passes on what the session crate offers.

mod calls;
mod chosen;
mod convert;
mod doctor;
mod error;
pub mod run;
pub mod wire;

pub use calls::{
    Api, changes_apply, changes_discard, changes_undo, session_diff, session_forget, session_stop,
    sessions_list, trash_empty, trash_expire,
};
pub use doctor::doctor_check;
pub use error::{Code, Error};

/// The table of calls: `name(Request) -> Answer`, what it does, in the order people meet them.
#[macro_export]
macro_rules! with_calls {
    ($host:ident) => {
        $host! {
            /// Every session with its state.
            sessions_list(wire::SessionsListReq) -> wire::Sessions;
            /// What a session changed.
            session_diff(wire::DiffReq) -> wire::Diff;
            /// Brings changes into the original.
            changes_apply(wire::ApplyReq) -> wire::Applied;
            /// Takes the last apply back.
            changes_undo(wire::UndoReq) -> wire::Applied;
            /// Throws a session's copy away.
            changes_discard(wire::DiscardReq) -> wire::Discarded;
            /// Ends every process of a session.
            session_stop(wire::StopReq) -> wire::Stopped;
            /// Deletes what was thrown away.
            trash_empty(wire::TrashReq) -> wire::Trash;
            /// What this machine can enforce.
            doctor_check(wire::DoctorReq) -> wire::Health;
        }
    };
}
