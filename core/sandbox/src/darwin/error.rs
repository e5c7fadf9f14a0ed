//! Why a session on macOS did not start, in words.

use std::io;
use std::time::Duration;

use enclos_paths::{AbsPath, shown};

use super::order::Step;
use super::plan::PlanError;
use crate::seatbelt::darwin::SelfTestError;
use crate::{Exit, SpawnError};

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A descriptor, a pipe, a terminal or memory could not be had.
    #[error("cannot prepare the sandbox")]
    Resources(#[source] io::Error),
    /// The short name of the temporary folder cannot be laid.
    #[error("cannot use {path} for temporary files")]
    Tmp {
        /// What is in the way.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// No profile can be made for the terminal.
    #[error(transparent)]
    Profile(#[from] PlanError),
    /// The profile must not be used.
    #[error(transparent)]
    SelfTest(#[from] SelfTestError),
    /// Our stage could not be executed.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The stage ran, but could not enter the sandbox.
    #[error("the sandbox could not be entered ({step}): {}", shown(.said.as_bytes()))]
    NotEntered {
        /// At which step.
        step: Entering,
        /// What the system said.
        said: String,
        /// Its number.
        #[source]
        source: io::Error,
    },
    /// The stage ended without a word.
    #[error("the sandbox's first process ended by itself ({exit:?})")]
    Silence {
        /// How.
        exit: Exit,
    },
    /// The stage did not answer in time.
    #[error("the sandbox did not start within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The sandbox was entered but the command could not be started.
    #[error(transparent)]
    Command(#[from] SpawnError),
}

/// A step on the way into the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entering {
    /// Taking the terminal.
    Terminal,
    /// Forbidding memory dumps.
    Limits,
    /// The profile.
    Sandbox,
}

impl LaunchError {
    /// The exit code of `run` for this error: 127 not found, 126 cannot execute, else 125.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Command(SpawnError::NotFound { .. }) => 127,
            Self::Command(SpawnError::CannotExecute { .. }) => 126,
            _ => 125,
        }
    }

    /// The one line to type that helps; there is none on macOS.
    #[must_use]
    pub fn to_type(&self) -> Option<&'static str> {
        None
    }
}

impl std::fmt::Display for Entering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Terminal => "taking the terminal",
            Self::Limits => "forbidding memory dumps",
            Self::Sandbox => "the profile",
        })
    }
}

impl From<Step> for Entering {
    fn from(step: Step) -> Self {
        match step {
            Step::Terminal => Self::Terminal,
            Step::Limits => Self::Limits,
            Step::Sandbox => Self::Sandbox,
        }
    }
}
