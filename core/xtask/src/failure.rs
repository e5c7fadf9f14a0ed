//! Why a task did not finish, what to do about it, and the exit code that says so.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::process::ExitStatus;

use crate::manual::Topic;

/// Why a task did not finish.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage {
        /// What is wrong with it.
        problem: String,
        /// Whose help text explains it.
        topic: Topic,
    },
    /// A program could not be started.
    Spawn {
        program: String,
        source: std::io::Error,
    },
    /// A program ran and failed.
    Command { line: String, status: ExitStatus },
    /// A file or folder could not be used.
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Programs are missing and only the person may install them.
    Missing {
        programs: Vec<&'static str>,
        install: String,
    },
    /// The repository breaks its own rules; each violation is printed already.
    Untidy { violations: usize },
    /// What cargo printed about the workspace is not what is expected of it.
    Metadata(&'static str),
    /// A measurement needs something that this machine lacks.
    Bench(&'static str),
    /// A program's output lacks what was expected of it.
    Output {
        line: String,
        expected: &'static str,
    },
}

impl Failure {
    /// What to do next, where that is not obvious.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::Usage {
                topic: Topic::Overview,
                ..
            } => Some("`cargo xtask help` lists the commands".into()),
            Failure::Usage { topic, .. } => {
                Some(format!("`cargo xtask help {}` says more", topic.name()))
            }
            Failure::Missing { install, .. } => {
                Some(format!("run this, then try again:\n\n    {install}\n"))
            }
            _ => None,
        }
    }

    /// 2 for a bad command line, the program's own code where one failed, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage { .. } => ExitCode::from(2),
            Failure::Command { status, .. } => ExitCode::from(
                status
                    .code()
                    .and_then(|code| u8::try_from(code).ok())
                    .filter(|&c| c != 0)
                    .unwrap_or(1),
            ),
            _ => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage { problem, .. } => f.write_str(problem),
            Failure::Spawn { program, source } => {
                write!(f, "`{program}` cannot be started: {source}")
            }
            Failure::Command { line, status } => write!(f, "`{line}` failed: {status}"),
            Failure::File { path, source } => write!(f, "{}: {source}", path.display()),
            Failure::Missing { programs, .. } => {
                write!(f, "not installed: {}", programs.join(", "))
            }
            Failure::Untidy { violations: 1 } => {
                f.write_str("one rule of the repository is broken")
            }
            Failure::Untidy { violations } => write!(
                f,
                "rules of the repository are broken in {violations} places"
            ),
            Failure::Metadata(what) => write!(f, "`cargo metadata` printed no {what}"),
            Failure::Bench(what) => write!(f, "cannot measure: {what}"),
            Failure::Output { line, expected } => write!(f, "`{line}` printed no {expected}"),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Failure::Spawn { source, .. } | Failure::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
