//! A session that is asked for: which folder, which command, under which policy.
//!
//! Everything that can be refused is refused here, before anything is made: the folder, the configuration, an
//! agreement that is missing. A [`Draft`] can be shown (`--dry-run`) and prepared, nothing else.

use std::ffi::OsString;
use std::fs;
use std::io;

use enclos_clone::LeaveOut;
use enclos_clone::Refusal;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_policy::FlagError;
use enclos_policy::Flags;
use enclos_policy::Policy;
use enclos_policy::Scope;

use crate::Environment;
use crate::OnExit;
use crate::SessionId;
use crate::config;
use crate::config::ConfigError;
use crate::repository;
use crate::repository::Repository;

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folder, as given.
    pub folder: AbsPath,
    /// The command and its arguments; empty for the person's shell.
    pub command: Vec<OsString>,
    /// The name the session should have.
    pub id: Option<SessionId>,
    /// What the command line says about the policy.
    pub flags: Flags,
    /// What the command's standard streams are.
    pub streams: Streams,
    /// Whether somebody is there to answer questions.
    pub attended: Attended,
    /// Whether whoever starts the session stays for its output.
    pub watched: Watched,
    /// What to do with entries that cannot be read.
    pub leave_out: LeaveOut,
    /// What happens at the end, when that was said.
    pub on_exit: Option<OnExit>,
}

/// What the caller's standard streams are; the command's are the same kinds, but never the same descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Whether standard input is a terminal.
    pub input: StreamKind,
    /// Whether standard output is a terminal.
    pub output: StreamKind,
    /// Whether standard error is a terminal.
    pub errors: StreamKind,
    /// The terminal's size.
    pub rows: u16,
    /// The terminal's size.
    pub cols: u16,
}

impl Streams {
    /// Those of a session that nobody watches yet: a terminal, so that somebody can attach to it later.
    pub const DETACHED: Self = Self {
        input: StreamKind::Terminal,
        output: StreamKind::Terminal,
        errors: StreamKind::Terminal,
        rows: 24,
        cols: 80,
    };
}

/// What one of the standard streams is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// A terminal.
    Terminal,
    /// A pipe, a file or anything else.
    Pipe,
}

/// Whether somebody is there to answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attended {
    /// Yes.
    Yes,
    /// No: a script, a pipe, a detached start.
    No,
}

/// Whether whoever starts a session stays for its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// Every byte of output waits for them.
    Yes,
    /// The session runs by itself.
    No,
}

/// Asked when only a person can know.
pub trait Ask {
    /// How much of the repository at `root` goes in; `folder` lies below it.
    fn scope(&self, folder: &AbsPath, root: &AbsPath) -> Scope;
}

/// A session that could be prepared.
#[derive(Debug)]
pub struct Draft {
    /// What was asked for.
    pub request: Request,
    /// The folder that is copied.
    pub project: ProjectRoot,
    /// The folder the command starts in, below the project; none for the project itself.
    pub start: Option<ProjectPath>,
    /// What the session may do.
    pub policy: Policy,
    /// The repository the project is or lies in.
    pub repository: Option<Repository>,
}

impl Draft {
    /// Decides what a request means.
    ///
    /// # Errors
    /// Everything that stands in the way; nothing has been made.
    pub fn new(
        environment: &Environment,
        request: Request,
        ask: &dyn Ask,
    ) -> Result<Self, DraftError> {
        let folder = resolve(&request.folder)?;
        let own = config::places(environment, &folder).own;
        let repository = repository::find(&folder).map_err(|source| DraftError::Folder {
            path: folder.clone(),
            source,
        })?;
        let project = match &repository {
            Some(found) if found.root != folder => {
                match scope(environment, &request, &folder, &found.root, ask)? {
                    Scope::Repository => found.root.clone(),
                    Scope::Folder => folder.clone(),
                }
            }
            _ => folder.clone(),
        };
        enclos_clone::refuse(&project, &environment.user.home, &own)?;
        let policy = config::load(environment, &project, request.flags.document(&project)?)?;
        if request.attended == Attended::No && policy.stops_unattended() {
            return Err(DraftError::TrustChanged { project });
        }
        let start = folder.below(&project);
        let repository = repository.filter(|found| found.root.is_within(&project));
        Ok(Self {
            request,
            project: ProjectRoot::from_resolved(project),
            start,
            policy,
            repository,
        })
    }

    /// The name that the project's sessions begin with.
    #[must_use]
    pub fn stem(&self) -> String {
        SessionId::stem(
            &self
                .project
                .path()
                .name()
                .unwrap_or_default()
                .to_string_lossy(),
        )
    }
}

/// The scope that the configuration, or the person, decides on.
fn scope(
    environment: &Environment,
    request: &Request,
    folder: &AbsPath,
    root: &AbsPath,
    ask: &dyn Ask,
) -> Result<Scope, DraftError> {
    let policy = config::load(environment, root, request.flags.document(root)?)?;
    if let Some(scope) = policy.scope {
        return Ok(scope.value);
    }
    if let Some(scope) = crate::scope::remembered(environment, folder) {
        return Ok(scope);
    }
    if request.attended == Attended::No {
        return Ok(Scope::Repository);
    }
    let scope = ask.scope(folder, root);
    // An answer that cannot be kept is asked for again.
    let _ = crate::scope::remember(environment, folder, scope);
    Ok(scope)
}

/// The project that `folder`, a folder with links resolved, belongs to: its repository, or itself.
///
/// # Errors
/// When its repository cannot be read.
pub fn project_of(folder: &AbsPath) -> Result<AbsPath, DraftError> {
    let found = repository::find(folder).map_err(|source| DraftError::Folder {
        path: folder.clone(),
        source,
    })?;
    Ok(found.map_or_else(|| folder.clone(), |repository| repository.root))
}

/// The folder itself, with links resolved.
fn resolve(folder: &AbsPath) -> Result<AbsPath, DraftError> {
    let fail = |source| DraftError::Folder {
        path: folder.clone(),
        source,
    };
    let real = fs::canonicalize(folder).map_err(fail)?;
    if !real.is_dir() {
        return Err(DraftError::NotAFolder {
            path: folder.clone(),
        });
    }
    AbsPath::new(real).map_err(|error| fail(io::Error::other(error)))
}

/// Why a session cannot be prepared. Nothing has been made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The folder cannot be used.
    #[error("{path} cannot be opened")]
    Folder {
        /// The folder.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no folder.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// What it is instead is not known.
        path: AbsPath,
    },
    /// Enclos does not copy this folder.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An option's value is wrong.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// The project's file is not the one that was agreed to, and nobody is there to ask.
    #[error("{}/{} changed since you agreed to it", .project, config::PROJECT_FILE)]
    TrustChanged {
        /// The project.
        project: AbsPath,
    },
}
