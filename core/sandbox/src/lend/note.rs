//! What lending says to the person about what it left out or chose.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::{AbsPath, shown};

use super::Fenced;

/// One thing a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LendNote {
    /// An entry of the search path is not there inside.
    #[error("PATH entry `{}` is left out: {why}", shown(.entry.as_bytes()))]
    PathLeftOut {
        /// The entry as it is written.
        entry: OsString,
        /// Why.
        why: LeftOut,
    },
    /// A row would lend a place that is fenced.
    #[error("{path} is not lent to {tool}: {why}")]
    NotLent {
        /// The row.
        tool: String,
        /// The place.
        path: AbsPath,
        /// Why.
        why: Fenced,
    },
    /// The project or the person asks for a version that is not installed.
    #[error("{tool} has no version `{wanted}`, which {from} asks for")]
    VersionMissing {
        /// The version manager.
        tool: String,
        /// The version, as far as it is printable.
        wanted: String,
        /// The file that asks for it.
        from: AbsPath,
    },
    /// Programs inside do not know this terminal.
    #[error("no description of the terminal `{}` can be lent, so TERM is xterm-256color", shown(.term.as_bytes()))]
    TerminalUnknown {
        /// The terminal's name.
        term: OsString,
    },
    /// The person's shell cannot be reached inside.
    #[error("the shell {wanted} is not there inside, so it is {used}")]
    ShellReplaced {
        /// The person's shell.
        wanted: AbsPath,
        /// The one that is used.
        used: AbsPath,
    },
    /// A variable that may go in does not, because its value looks like a secret.
    #[error("{} is left out: its value looks like a secret", shown(.name.as_bytes()))]
    LooksSecret {
        /// The variable.
        name: OsString,
    },
    /// A variable that may go in does not, because its value leads to nothing inside.
    #[error("{} is left out: what it names is not lent", shown(.name.as_bytes()))]
    LeadsNowhere {
        /// The variable.
        name: OsString,
    },
}

/// Why an entry of the search path is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOut {
    /// It would mean another folder after every `cd`.
    #[error("it is not an absolute path")]
    Relative,
    /// It holds a colon's or line's end and cannot be written.
    #[error("it is not a path")]
    Malformed,
    /// Secrets are kept there, or it is protected.
    #[error("it lies where secrets are kept")]
    Private,
    /// Inside, its path means something else.
    #[error("it lies in a folder that is private inside")]
    Replaced,
    /// No row lends it.
    #[error("it is not part of a known tool; `--read` lends it")]
    Unknown,
}
