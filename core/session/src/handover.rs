//! Handing a prepared session to its supervisor, a process of its own.
//!
//! The supervisor gets the control socket as standard input and the session's lock as standard output: two
//! descriptors that survive `exec` without a special case, and no moment in which the lock is free. Its standard error
//! is the session's log, which holds no content of the project.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::process::Stdio;

use enclos_paths::AbsPath;

use crate::Environment;
use crate::control::PlaceError;
use crate::control::SocketPlace;
use crate::registry::Held;
use crate::supervisor::Inheritance;
use crate::supervisor::SuperviseError;
use crate::supervisor::supervise;

/// Starts the supervisor of a session and gives it the lock.
///
/// # Errors
/// When the socket or the process cannot be made; the session stays as it was prepared.
pub fn start_supervisor(
    environment: &Environment,
    held: &Held,
) -> Result<SocketPlace, HandoverError> {
    let place = SocketPlace::new(
        &environment.places.runtime,
        &held.folder,
        environment.user.uid,
    );
    let listener = place.listen()?;
    let log = held.folder.resolve("log");
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log)
        .map_err(|source| HandoverError::Log { path: log, source })?;
    let lock = held.file_for_child().map_err(HandoverError::Lock)?;
    Command::new(&environment.executable)
        .arg(SUPERVISE)
        .args([&held.folder, &environment.places.runtime])
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(listener))
        .stdout(lock)
        .stderr(log)
        .spawn()
        .map_err(|source| HandoverError::Spawn {
            executable: environment.executable.clone(),
            source,
        })?;
    Ok(place)
}

/// The hidden subcommand by which our executable becomes a supervisor.
pub const SUPERVISE: &str = "supervise";

/// What `enclos supervise SESSION RUNTIME` does: takes over what [`start_supervisor`] left on the standard streams.
///
/// # Errors
/// When the streams are not what they should be, or the supervisor fails.
pub fn supervise_main(session: AbsPath, runtime: &AbsPath) -> Result<(), SuperviseError> {
    // A session of its own: closing the terminal that started it must not reach it.
    rustix::process::setsid().map_err(SuperviseError::Detach)?;
    let keep = |fd: io::Result<OwnedFd>| fd.map_err(SuperviseError::Listener);
    let listener = UnixListener::from(keep(io::stdin().as_fd().try_clone_to_owned())?);
    let lock = File::from(keep(io::stdout().as_fd().try_clone_to_owned())?);
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(SuperviseError::Listener)?;
    rustix::stdio::dup2_stdin(&null).map_err(SuperviseError::Detach)?;
    rustix::stdio::dup2_stdout(&null).map_err(SuperviseError::Detach)?;
    let uid = rustix::process::getuid().as_raw();
    let place = SocketPlace::new(runtime, &session, uid);
    supervise(Inheritance::new(
        session,
        lock,
        listener,
        place,
        crate::Clock::System,
    ))
}

impl Held {
    fn file_for_child(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.lock.file().try_clone()?))
    }
}

/// Why a session has no supervisor. Its copy is whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoverError {
    /// The control socket cannot be made.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The log cannot be opened.
    #[error("{path} cannot be opened")]
    Log {
        /// The log.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The lock cannot be handed over.
    #[error("the session's lock cannot be handed over")]
    Lock(#[source] io::Error),
    /// The process cannot be started.
    #[error("{executable} cannot be started")]
    Spawn {
        /// Our own executable.
        executable: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
}
