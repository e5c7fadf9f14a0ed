//! Going on in a session's copy after its command has ended, or after a crash or restart interrupted it.
//!
//! The jail is the one that was planned when the session was made: what it may do does not grow by going on. Only the
//! project's caches may be others now, because another session may have taken them meanwhile.

use std::fs;
use std::io;

use enclos_paths::AbsPath;
use enclos_sandbox::Access;
use enclos_sandbox::Jail;
use enclos_sandbox::Piped;
use enclos_sandbox::Stdio;
use enclos_sandbox::lend::caches::slot;

use crate::Environment;
use crate::HandoverError;
use crate::LaunchError;
use crate::Record;
use crate::RecordError;
use crate::Registry;
use crate::RegistryError;
use crate::State;
use crate::StreamKind;
use crate::Streams;
use crate::control::SocketPlace;
use crate::handover::start_supervisor;
use crate::launch::Launch;
use crate::prepare::SLOTS;
use crate::registry::Found;
use crate::registry::Held;

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
    claim_caches(registry, &held, &mut launch.jail)?;
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

/// Has the jail use caches that no other living session does: its own from before, if they are free.
///
/// Two sessions in one writable folder could lead each other astray, and two overlays in one the kernel.
fn claim_caches(registry: &Registry, held: &Held, jail: &mut Jail) -> Result<(), ResumeError> {
    let mut record = Record::read(&held.folder)?;
    let Some((before, project)) = record
        .caches
        .clone()
        .and_then(|caches| Some((caches.clone(), caches.parent()?)))
    else {
        // They lie with its copy and are nobody else's.
        return Ok(());
    };
    let others = (0..SLOTS).map(|number| slot(&project, number));
    let free = registry.claim_caches(held, &mut record, std::iter::once(before).chain(others))?;
    let now = free.unwrap_or_else(|| record.store.resolve("caches"));
    for lent in &mut jail.lent {
        match &mut lent.access {
            Access::Overlay { upper, work } => {
                relocate(upper, &project, &now)?;
                relocate(work, &project, &now)?;
            }
            Access::ReadWrite => relocate(&mut lent.outside, &project, &now)?,
            Access::ReadOnly => {}
        }
    }
    Ok(())
}

/// Where `path` lies in one of the folders of `project`'s caches, it becomes the same place in `now`.
fn relocate(path: &mut AbsPath, project: &AbsPath, now: &AbsPath) -> Result<(), ResumeError> {
    let Some(below) = path.below(project) else {
        return Ok(());
    };
    *path = below
        .components()
        .skip(1)
        .fold(now.clone(), |folder, name| folder.resolve(name));
    fs::create_dir_all(&*path).map_err(|source| ResumeError::Cache {
        folder: path.clone(),
        source,
    })
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
    /// Its record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder for one of the project's caches cannot be made.
    #[error("the project's own {folder} cannot be made")]
    Cache {
        /// The folder.
        folder: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its launch file cannot be used.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Its supervisor cannot be started.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}
