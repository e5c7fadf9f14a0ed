//! Errors at the front door: a code to branch on, a sentence for people, what is untouched, what to do.

use std::error::Error as StdError;
use std::fmt;

use enclos_session::AttachError;
use enclos_session::DraftError;
use enclos_session::HandoverError;
use enclos_session::LookError;
use enclos_session::PrepareError;
use enclos_session::RegistryError;
use enclos_session::ResumeError;
use enclos_session::SessionIdError;
use enclos_session::config::ConfigError;
use enclos_session::outcome::OutcomeError;
use serde::Serialize;

/// What kind of error it is; a kind is here only when somebody branches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// What was asked for cannot be, as it was asked.
    Request,
    /// There is no such session, or more than one.
    NoSuchSession,
    /// Somebody else is working on the session.
    Busy,
    /// The project's configuration waits for an agreement.
    NeedsTrust,
    /// The machine lacks something.
    Machine,
    /// Something failed that should not.
    Internal,
}

/// An error at the front door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// Its kind.
    pub code: Code,
    /// What happened.
    pub what: String,
    /// What is untouched in spite of it.
    pub untouched: Option<String>,
    /// What can be done.
    pub hints: Vec<String>,
}

impl Error {
    /// An error of `code` that says what happened.
    #[must_use]
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            untouched: None,
            hints: Vec::new(),
        }
    }

    /// Something that should not fail did.
    #[must_use]
    pub fn internal(error: &dyn StdError) -> Self {
        Self::new(Code::Internal, sentence(error))
    }

    /// The same with what is untouched.
    #[must_use]
    pub fn untouched(mut self, what: impl Into<String>) -> Self {
        self.untouched = Some(what.into());
        self
    }

    /// The same with one more thing to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for Error {}

/// An error with its reasons, each once.
pub(crate) fn sentence(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let part = inner.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        source = inner.source();
    }
    text
}

const NOTHING_STARTED: &str = "Nothing was started and nothing was changed.";
const ORIGINAL: &str = "The original is untouched.";

impl From<DraftError> for Error {
    fn from(error: DraftError) -> Self {
        let what = sentence(&error);
        match &error {
            DraftError::TrustChanged { project } => Self::new(Code::NeedsTrust, what).hint(
                format!("see what it asks for now and agree to it: enclos trust {project}"),
            ),
            DraftError::Config(_) => Self::new(Code::Request, what),
            _ => Self::new(Code::Request, what)
                .hint("name the folder of a project: enclos run FOLDER"),
        }
        .untouched(NOTHING_STARTED)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::new(Code::Request, sentence(&error)).untouched(NOTHING_STARTED)
    }
}

impl From<PrepareError> for Error {
    fn from(error: PrepareError) -> Self {
        let what = sentence(&error);
        let untouched =
            |error: Self| error.untouched(format!("{ORIGINAL} The unfinished copy was removed."));
        match error {
            PrepareError::Registry(error) => error.into(),
            PrepareError::Clone(enclos_session::CloneError::Unreadable { .. }) => {
                untouched(Self::new(Code::Request, what))
                    .hint("leave out what cannot be read: --leave-out-unreadable")
            }
            PrepareError::Clone(enclos_session::CloneError::NoSpace { .. }) => {
                untouched(Self::new(Code::Machine, what))
                    .hint("free space held by what was thrown away: enclos clean")
                    .hint("see what sessions there are: enclos sessions")
            }
            PrepareError::Clone(enclos_session::CloneError::Declined) => {
                untouched(Self::new(Code::Request, what))
            }
            PrepareError::Jail(_) | PrepareError::Refused(_) | PrepareError::With { .. } => {
                untouched(Self::new(Code::Request, what))
            }
            _ => untouched(Self::new(Code::Internal, what)),
        }
    }
}

impl From<HandoverError> for Error {
    fn from(error: HandoverError) -> Self {
        Self::new(Code::Internal, sentence(&error)).untouched(ORIGINAL)
    }
}

impl From<AttachError> for Error {
    fn from(error: AttachError) -> Self {
        Self::new(Code::Internal, sentence(&error))
            .untouched("The session and its copy are as they are.")
            .hint("see how it is: enclos sessions")
    }
}

impl From<ResumeError> for Error {
    fn from(error: ResumeError) -> Self {
        let what = sentence(&error);
        match error {
            ResumeError::Registry(error) => error.into(),
            ResumeError::Discarded => Self::new(Code::Request, what),
            _ => Self::new(Code::Internal, what).untouched("The session's copy is as it was left."),
        }
    }
}

impl From<SessionIdError> for Error {
    fn from(error: SessionIdError) -> Self {
        Self::new(Code::Request, sentence(&error)).untouched(NOTHING_STARTED)
    }
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let what = sentence(&error);
        match error {
            RegistryError::NoSuch { known, .. } => {
                let error = Self::new(Code::NoSuchSession, what);
                if known.is_empty() {
                    error.hint("there are no sessions yet; start one: enclos run FOLDER")
                } else {
                    let names: Vec<&str> = known
                        .iter()
                        .map(enclos_session::SessionId::as_str)
                        .collect();
                    error.hint(format!("there are: {}", names.join(", ")))
                }
            }
            RegistryError::Ambiguous { matching, .. } => {
                let names: Vec<&str> = matching
                    .iter()
                    .map(enclos_session::SessionId::as_str)
                    .collect();
                Self::new(Code::NoSuchSession, what).hint(format!("one of: {}", names.join(", ")))
            }
            RegistryError::Taken { id } => Self::new(Code::Request, what)
                .untouched(NOTHING_STARTED)
                .hint(format!(
                    "take another name, or go on with that one: enclos resume {id}"
                )),
            RegistryError::Lock(enclos_session::LockError::Held { .. }) => Self::new(
                Code::Busy,
                "another Enclos process is working on this session",
            )
            .hint("wait for it, or stop a running session: enclos stop ID"),
            _ => Self::new(Code::Internal, what),
        }
    }
}

impl From<LookError> for Error {
    fn from(error: LookError) -> Self {
        let what = sentence(&error);
        match error {
            LookError::Discarded => Self::new(Code::Request, what),
            LookError::Supervisor(_) => Self::new(Code::Busy, what)
                .untouched(ORIGINAL)
                .hint("look again once the session has ended"),
            _ => Self::new(Code::Internal, what).untouched(ORIGINAL),
        }
    }
}

impl From<OutcomeError> for Error {
    fn from(error: OutcomeError) -> Self {
        let what = sentence(&error);
        match error {
            OutcomeError::Look(error) => error.into(),
            OutcomeError::Registry(error) => error.into(),
            OutcomeError::NotThere { .. } => Self::new(Code::Request, what)
                .untouched(ORIGINAL)
                .hint("see what changed: enclos diff ID --stat"),
            OutcomeError::Overlaid { .. } => Self::new(Code::Request, what)
                .untouched(ORIGINAL)
                .hint("make it again in the original with the tool that made it")
                .hint("or start the session with --clone-method copy, which copies it"),
            OutcomeError::NothingApplied | OutcomeError::NotRunning => {
                Self::new(Code::Request, what)
            }
            _ => Self::new(Code::Internal, what),
        }
    }
}
