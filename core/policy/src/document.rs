//! What one layer states, value by value, in the order it is written.
//!
//! A document is a list of [`Statement`]s, each with its origin. Everything else follows from what a statement
//! *does*: one that narrows counts as soon as it is read, one that widens needs a person's word, and the machine
//! owner's file may hold only the first kind. Because the rule hangs on the statement itself, a new key cannot be
//! added without deciding which kind it is. Reading text is in `parse`; putting layers together is in `layers`.

use std::fmt;
use std::time::Duration;

use crate::hide::HidePattern;
use crate::origin::Sourced;
use crate::values::{
    CloneMethod, EnvName, EnvValue, History, Local, Network, OnExit, Scope, WrittenPath,
    show_duration,
};

/// The statements of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    statements: Vec<Sourced<Statement>>,
}

impl Document {
    /// Adds a statement at the end.
    pub fn push(&mut self, statement: Sourced<Statement>) {
        self.statements.push(statement);
    }

    /// All statements, in the order they are written.
    #[must_use]
    pub fn statements(&self) -> &[Sourced<Statement>] {
        &self.statements
    }

    /// What a person has to agree to before it counts, when the document is a project's.
    pub fn widenings(&self) -> impl Iterator<Item = &Sourced<Statement>> {
        self.statements
            .iter()
            .filter(|s| s.value.effect() == Effect::Widens)
    }

    /// Whether anything that `self` states with effect `effect` is missing in `other`.
    pub(crate) fn beyond<'a>(
        &'a self,
        other: &'a Document,
        effect: Effect,
    ) -> impl Iterator<Item = &'a Sourced<Statement>> {
        let here = self
            .statements
            .iter()
            .filter(move |s| s.value.effect() == effect);
        here.filter(|s| !other.statements.iter().any(|o| o.value == s.value))
    }
}

/// One thing that a layer states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statement {
    /// The path can be read inside.
    Read(WrittenPath),
    /// The path can be read and written inside; writes reach the person's files at once.
    Write(WrittenPath),
    /// The folder is copied and reviewed together with the project.
    With(WrittenPath),
    /// The Unix socket can be connected to.
    Socket(WrittenPath),
    /// The path is never lent, whoever asks.
    Deny(WrittenPath),
    /// What matches below the project is not in the copy.
    Hide(HidePattern),
    /// The caller's variable is handed on.
    Pass(EnvName),
    /// The variable has this value inside.
    Set(EnvName, EnvValue),
    /// What may leave the machine.
    Network(Network),
    /// Whether programs of this machine can be reached.
    Local(Local),
    /// How the copy is made.
    CloneMethod(CloneMethod),
    /// How much of the repository goes in.
    Scope(Scope),
    /// How much of its past goes in.
    History(History),
    /// What happens when the command ends.
    OnExit(OnExit),
    /// The session ends after this time.
    TimeLimit(Duration),
    /// The session ends after this time without output or input.
    IdleLimit(Duration),
}

/// What a statement does to what a session can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The session can do less; counts at once, whoever wrote it.
    Narrows,
    /// The session, or its result, reaches further; in a project's file it counts only once trusted.
    Widens,
    /// A preference that changes nothing a person has to fear.
    Neutral,
}

impl Statement {
    /// Whether it narrows or widens.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Deny(_)
            | Self::Hide(_)
            | Self::Network(Network::None)
            | Self::Local(Local::Closed)
            | Self::History(History::None)
            | Self::Scope(Scope::Folder)
            | Self::TimeLimit(_)
            | Self::IdleLimit(_) => Effect::Narrows,
            Self::OnExit(OnExit::Ask | OnExit::Keep) => Effect::Neutral,
            Self::CloneMethod(CloneMethod::Overlay) => Effect::Widens,
            Self::CloneMethod(_) => Effect::Neutral,
            // An end without a person: changes reach the original unseen, or are gone.
            Self::OnExit(OnExit::Apply | OnExit::Discard)
            | Self::Read(_)
            | Self::Write(_)
            | Self::With(_)
            | Self::Socket(_)
            | Self::Pass(_)
            | Self::Set(..)
            | Self::Local(Local::Reachable)
            | Self::Scope(Scope::Repository)
            | Self::History(History::Full) => Effect::Widens,
        }
    }

    /// The key it is written under: `files.read`.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Read(_) => "files.read",
            Self::Write(_) => "files.write",
            Self::With(_) => "files.with",
            Self::Socket(_) => "files.sockets",
            Self::Deny(_) => "files.deny",
            Self::Hide(_) => "files.hide",
            Self::Pass(_) => "env.pass",
            Self::Set(..) => "env.set",
            Self::Network(_) => "network.mode",
            Self::Local(_) => "network.local",
            Self::CloneMethod(_) => "clone.method",
            Self::Scope(_) => "clone.scope",
            Self::History(_) => "clone.history",
            Self::OnExit(_) => "session.on_exit",
            Self::TimeLimit(_) => "limits.time",
            Self::IdleLimit(_) => "limits.idle",
        }
    }
}

impl fmt::Display for Statement {
    /// As a request in plain words: `read ~/datasets`, `set RUST_LOG to "info"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {path}"),
            Self::Write(path) => write!(f, "change {path} directly, without review"),
            Self::With(path) => write!(f, "copy and review {path} as well"),
            Self::Socket(path) => write!(f, "connect to the socket {path}"),
            Self::Deny(path) => write!(f, "never lend {path}"),
            Self::Hide(pattern) => write!(f, "hide {pattern}"),
            Self::Pass(name) => write!(f, "see your variable {name}"),
            Self::Set(name, value) => write!(f, "set {name} to \"{}\"", shown_value(value)),
            Self::Network(mode) => write!(f, "have the network mode {mode}"),
            Self::Local(Local::Reachable) => f.write_str("reach programs on this machine"),
            Self::Local(Local::Closed) => f.write_str("reach no program on this machine"),
            Self::CloneMethod(CloneMethod::Overlay) => {
                f.write_str("see your later edits of the original (clone method overlay)")
            }
            Self::CloneMethod(method) => write!(f, "copy with the method {method}"),
            Self::Scope(Scope::Repository) => f.write_str("take the whole repository in"),
            Self::Scope(Scope::Folder) => f.write_str("take this folder alone in"),
            Self::History(History::Full) => f.write_str("see the repository's history"),
            Self::History(History::None) => f.write_str("see no history of the repository"),
            Self::OnExit(OnExit::Apply) => f.write_str("apply its changes without asking you"),
            Self::OnExit(OnExit::Discard) => f.write_str("discard its changes without asking you"),
            Self::OnExit(OnExit::Ask) => f.write_str("ask you at the end"),
            Self::OnExit(OnExit::Keep) => f.write_str("keep its changes for review"),
            Self::TimeLimit(limit) => write!(f, "end after {}", show_duration(*limit)),
            Self::IdleLimit(limit) => {
                write!(f, "end after {} without activity", show_duration(*limit))
            }
        }
    }
}

fn shown_value(value: &EnvValue) -> enclos_paths::Shown<'_> {
    enclos_paths::shown(value.as_os_str().as_encoded_bytes())
}
