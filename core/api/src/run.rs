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

/// Connects the caller's streams to the command of the session that `place` serves, until it ends or the person leaves.
///
/// # Errors
/// When nobody serves the session, or the supervisor is lost.
pub fn join(place: &SocketPlace, standard: Standard<'_>, leader: Leader) -> Result<Left, Error> {
    stay(Client::connect(place, Role::Decide, true), standard, leader)
}

/// Connects the caller's streams to a shell of their own beside the command of a running session, in the same jail.
///
/// # Errors
/// As [`join`].
pub fn join_shell(
    place: &SocketPlace,
    standard: Standard<'_>,
    streams: Streams,
) -> Result<Left, Error> {
    stay(Client::shell(place, streams), standard, Leader::default())
}

fn stay(
    client: Result<Client, ClientError>,
    standard: Standard<'_>,
    leader: Leader,
) -> Result<Left, Error> {
    match client {
        Ok(client) => Ok(attach(client, standard, leader)?),
        Err(ClientError::Refused(refusal @ Refusal::NotStarted { exit, .. })) => {
            Ok(Left::NotStarted(refusal, exit))
        }
        Err(error) => Err(Error::internal(&error).hint("see how the session is: enclos sessions")),
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
