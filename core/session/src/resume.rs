//! Going on in a session's copy after its command has ended, or after a crash or restart interrupted it.
//!
//! The jail is the one that was planned when the session was made: what it may do does not grow by going on.

use enclos_sandbox::Piped;
use enclos_sandbox::Stdio;

use crate::Environment;
use crate::HandoverError;
use crate::LaunchError;
use crate::Registry;
use crate::RegistryError;
use crate::State;
use crate::StreamKind;
use crate::Streams;
use crate::control::SocketPlace;
use crate::handover::start_supervisor;
use crate::launch::Launch;
use crate::registry::Found;

/// Starts the command of a session again, or the person's shell in its place, for a caller with these streams.
///
/// # Errors
/// When the session runs, was discarded, or cannot be started; its copy is as it was left.
pub fn resume(
    environment: &Environment,
    registry: &Registry,
    found: &Found,
    (what, streams): (Again, Streams),
) -> Result<SocketPlace, ResumeError> {
    if matches!(found.record.state, State::Discarded { .. }) {
        return Err(ResumeError::Discarded);
    }
    let held = registry.hold(&found.record.id)?;
    let mut launch = Launch::read(&held.folder)?;
    launch.attended = true;
    if what == Again::Shell {
        launch.jail.command = launch.shell.clone();
    }
    launch.jail.command.stdio = stdio(streams);
    launch.jail.stage = environment.executable.clone();
    launch.write(&held.folder)?;
    Ok(start_supervisor(environment, &held)?)
}

/// What is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The session's own command.
    Command,
    /// The person's shell.
    Shell,
}

pub(crate) fn stdio(streams: Streams) -> Stdio {
    let kinds = [streams.input, streams.output, streams.errors];
    let piped = kinds.map(|kind| kind == StreamKind::Pipe);
    if kinds.contains(&StreamKind::Terminal) && kinds.contains(&StreamKind::Pipe) {
        let [input, output, errors] = piped;
        Stdio::Mixed {
            rows: streams.rows,
            cols: streams.cols,
            piped: Piped {
                input,
                output,
                errors,
            },
        }
    } else if kinds.contains(&StreamKind::Terminal) {
        Stdio::Terminal {
            rows: streams.rows,
            cols: streams.cols,
        }
    } else {
        Stdio::Pipes
    }
}

/// Why a session does not go on. Its copy is as it was left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Its copy is in the trash.
    #[error("the session was discarded")]
    Discarded,
    /// It is running, or somebody works on it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Its launch file cannot be used.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Its supervisor cannot be started.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}
