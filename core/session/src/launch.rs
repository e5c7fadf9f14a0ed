//! The launch file: the jail a session's command runs in, as it was planned, and starting it.
//!
//! It is written by whoever prepares the session and read by the supervisor, 0600 in the session's folder, so that
//! `resume` starts exactly what `run` started. It holds the environment of the command, which is an allow list.

use std::fs;
use std::io;

use enclos_paths::AbsPath;
use enclos_sandbox::Command;
use enclos_sandbox::Enforcement;
use enclos_sandbox::HostFacts;
use enclos_sandbox::Jail;
use enclos_sandbox::PlanError;
use enclos_sandbox::Running;
use enclos_sandbox::Survey;
use rustix::io::Errno;
use serde::Deserialize;
use serde::Serialize;

use crate::Exit;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;
use crate::supervisor::Audience;

/// What is started, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    version: u32,
    /// The jail.
    pub jail: Jail,
    /// The person's shell in it.
    pub shell: Command,
    /// Where bubblewrap is looked for, in order (Linux).
    pub search: Vec<AbsPath>,
    /// Whether whoever starts the session stays to watch.
    pub attended: bool,
}

impl Launch {
    const VERSION: u32 = 1;

    /// A launch of `jail`.
    #[must_use]
    pub fn new(jail: Jail, shell: Command, search: Vec<AbsPath>, attended: bool) -> Self {
        Self {
            version: Self::VERSION,
            jail,
            shell,
            search,
            attended,
        }
    }

    /// Writes it into the session's folder.
    ///
    /// # Errors
    /// When the file cannot be replaced.
    pub fn write(&self, session: &AbsPath) -> Result<(), LaunchError> {
        let text = serde_json::to_vec(self).map_err(LaunchError::Encode)?;
        Ok(private::replace(
            &session.resolve(FILE),
            &text,
            Durability::Process,
        )?)
    }

    /// Reads the launch of the session in `session`.
    ///
    /// # Errors
    /// When it is not there, damaged or of another version.
    pub fn read(session: &AbsPath) -> Result<Self, LaunchError> {
        let path = session.resolve(FILE);
        let text = fs::read(&path).map_err(|source| LaunchError::Read {
            path: path.clone(),
            source,
        })?;
        let launch: Self =
            serde_json::from_slice(&text).map_err(|source| LaunchError::Damaged {
                path: path.clone(),
                source,
            })?;
        if launch.version != Self::VERSION {
            return Err(LaunchError::Version {
                path,
                version: launch.version,
            });
        }
        Ok(launch)
    }
}

/// Starts the session's command.
pub(crate) fn start(session: &AbsPath) -> Result<Started, LaunchError> {
    let launch = Launch::read(session)?;
    let facts = HostFacts::gather(&launch.search);
    let survey = Survey::take(&launch.jail).map_err(LaunchError::Survey)?;
    let plan = enclos_sandbox::plan(&launch.jail, &facts, &survey)?;
    let running = enclos_sandbox::launch(&plan)?;
    let audience = if launch.attended {
        Audience::Comes
    } else {
        Audience::None
    };
    Ok(Started {
        running,
        audience,
        shell: launch.shell,
        gaps: gaps(&plan.enforcement),
        executable: launch.jail.stage,
    })
}

/// A session's command that runs.
pub(crate) struct Started {
    pub(crate) running: Running,
    pub(crate) audience: Audience,
    pub(crate) shell: Command,
    pub(crate) gaps: Vec<String>,
    pub(crate) executable: AbsPath,
}

/// What is not enforced, in words.
fn gaps(enforcement: &Enforcement) -> Vec<String> {
    let named = [
        ("files", &enforcement.filesystem),
        ("network", &enforcement.network),
        ("processes", &enforcement.processes),
    ];
    named
        .iter()
        .flat_map(|(name, level)| level.gaps().iter().map(move |gap| format!("{name}: {gap}")))
        .collect()
}

const FILE: &str = "launch.json";

/// Why a session's command was not started. Its copy is whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch file cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is damaged.
    #[error("{path} is damaged")]
    Damaged {
        /// The file.
        path: AbsPath,
        /// How.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of Enclos wrote it.
    #[error("{path} has version {version}, which this version of Enclos does not know")]
    Version {
        /// The file.
        path: AbsPath,
        /// What it says.
        version: u32,
    },
    /// It cannot be put into bytes.
    #[error("the launch file cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] PrivateError),
    /// Something that is lent cannot be looked at.
    #[error(transparent)]
    Survey(enclos_sandbox::SurveyError),
    /// The jail cannot be planned on this machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The jail or its command did not start.
    #[error(transparent)]
    Start(#[from] enclos_sandbox::LaunchError),
    /// The command's streams cannot be used.
    #[error("the command's streams cannot be used")]
    Streams(#[source] Errno),
}

impl LaunchError {
    /// The exit of `run` for this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Start(error) => match error.exit_code() {
                127 => Exit::NotFound,
                126 => Exit::NotExecutable,
                _ => Exit::Failed,
            },
            _ => Exit::Failed,
        }
    }

    /// The whole chain of reasons, for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(inner) = source {
            let part = inner.to_string();
            if !text.ends_with(&part) {
                text.push_str(": ");
                text.push_str(&part);
            }
            source = inner.source();
        }
        text
    }
}
