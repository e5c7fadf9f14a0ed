//! Starting, attaching and resuming a session: what needs a terminal and a person rather than a request.

use std::ffi::OsString;
use std::process::ExitCode;

use enclos_paths::AbsPath;
use enclos_session::Again;
use enclos_session::Client;
use enclos_session::ClientError;
use enclos_session::Refusal;
use enclos_session::Role;
use enclos_session::attach;
pub use enclos_session::config;
pub use enclos_session::policy;
pub use enclos_session::{
    Ask, Attended, Clock, CloneProgress, DELETE, Decision, Draft, Environment, Exit, FallBack,
    Found, Held, KEEP_BASE, Leader, LeaveOut, Left, OnExit, Person, Places, Prepared, Request,
    SUPERVISE, SessionId, Size, SocketPlace, Standard, StreamKind, Streams, TreeNote, Watched,
    prepare, project_of, start_supervisor, supervise_main,
};

use crate::Api;
use crate::Code;
use crate::Error;

/// Where the supervisor of a session is reached.
#[must_use]
pub fn place(api: &Api, found: &Found) -> SocketPlace {
    SocketPlace::new(
        &api.environment.places.runtime,
        &found.folder,
        api.environment.user.uid,
    )
}

/// A connection to a session's supervisor, before any byte has passed.
#[derive(Debug)]
pub struct Connection(Result<Client, (Refusal, Exit)>);

/// Connects to the command of the session that `place` serves.
///
/// # Errors
/// When nobody serves the session.
pub fn connect(place: &SocketPlace) -> Result<Connection, Error> {
    Connection::of(Client::connect(place, Role::Decide, true))
}

/// Has a shell started beside the command of a running session, in the same jail, and connects to it.
///
/// # Errors
/// When nobody serves the session.
pub fn connect_shell(place: &SocketPlace, streams: Streams) -> Result<Connection, Error> {
    Connection::of(Client::shell(place, streams))
}

impl Connection {
    fn of(client: Result<Client, ClientError>) -> Result<Self, Error> {
        match client {
            Ok(client) => Ok(Self(Ok(client))),
            Err(ClientError::Refused(refusal @ Refusal::NotStarted { exit, .. })) => {
                Ok(Self(Err((refusal, exit))))
            }
            Err(error) => {
                Err(Error::internal(&error).hint("see how the session is: enclos sessions"))
            }
        }
    }

    /// What could not be enforced around the session, in words.
    #[must_use]
    pub fn gaps(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |client| &client.welcome().gaps)
    }

    /// Moves bytes between the caller's streams and the session until the command ends or the person leaves.
    ///
    /// # Errors
    /// When the supervisor is lost; the session may go on.
    pub fn stay(self, standard: Standard<'_>, leader: Leader) -> Result<Left, Error> {
        match self.0 {
            Ok(client) => Ok(attach(client, standard, leader)?),
            Err((refusal, exit)) => Ok(Left::NotStarted(refusal, exit)),
        }
    }
}

/// Starts a session's command again in the same copy.
///
/// # Errors
/// When it runs already, was discarded, or cannot be started.
pub fn resume(api: &Api, found: &Found, streams: Streams) -> Result<SocketPlace, Error> {
    Ok(enclos_session::resume(
        &api.environment,
        &api.registry,
        found,
        (Again::Command, streams),
    )?)
}

/// Starts the person's shell in the copy of a session that does not run.
///
/// # Errors
/// As [`resume`].
pub fn resume_with_shell(api: &Api, found: &Found, streams: Streams) -> Result<SocketPlace, Error> {
    Ok(enclos_session::resume(
        &api.environment,
        &api.registry,
        found,
        (Again::Shell, streams),
    )?)
}

/// What `enclos stage` does; called before anything else in main.
#[must_use]
pub fn stage(args: impl Iterator<Item = OsString>) -> ExitCode {
    enclos_session::stage(&args.collect::<Vec<_>>())
}

/// What `enclos keep-base SESSION` does.
///
/// # Errors
/// When the session cannot be read, or there is no room.
pub fn keep_base(session: &AbsPath) -> Result<(), Error> {
    enclos_session::keep_base(session).map_err(|error| Error::internal(&error))
}

/// Deletes a folder of the trash; it must lie in one.
///
/// # Errors
/// When it does not, or cannot be deleted.
pub fn delete_trash(folder: &AbsPath) -> Result<(), Error> {
    enclos_session::delete_trash(folder)
        .map_err(|error| Error::new(Code::Internal, error.to_string()))
}
