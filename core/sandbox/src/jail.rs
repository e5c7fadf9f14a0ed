//! What is wanted of a jail: pure data, no decision about how.
//!
//! The promise is by construction: what is not named here is not inside. Paths come in pairs, `outside` for where a
//! thing lies on this machine and `inside` for where the jailed command finds it. Nothing here reads a file system;
//! links are resolved, and sockets found, by the survey that the planner gets besides.

use std::ffi::OsString;

use enclos_paths::AbsPath;
use serde::{Deserialize, Serialize};

/// A jail for one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jail {
    /// Who the command is inside: the caller, with the same ids as outside.
    pub user: User,
    /// The copies the command works in, each at its original's own path.
    pub trees: Vec<Tree>,
    /// The folder outside that is shown, writable, at [`User::home`].
    pub home: AbsPath,
    /// The folder outside that is shown as `/tmp` and `/var/tmp`; the caller makes it with mode 1777 or 0700.
    pub tmp: AbsPath,
    /// The folder outside with the generated `/etc`; see [`crate::linux::etc`].
    pub etc: AbsPath,
    /// What the policy lends.
    pub lent: Vec<Lent>,
    /// Files that are there inside but read as empty, by their path inside.
    pub covered: Vec<AbsPath>,
    /// Unix sockets that are lent on purpose, by their path outside; they lie in a lent folder or are lent themselves.
    pub sockets: Vec<AbsPath>,
    /// What may never be lent: a lent path that contains one of these or lies in one is refused.
    pub protected: Vec<AbsPath>,
    /// What network the jail has.
    pub network: Network,
    /// What runs first. When it ends, the jail ends.
    pub command: Command,
    /// Our own executable outside, which is run as `stage ...`; shown inside read-only.
    pub stage: AbsPath,
}

/// The person a jail is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The login name.
    pub name: OsString,
    /// The user id, the same outside and inside.
    pub uid: u32,
    /// The primary group id, the same outside and inside; there are no other groups.
    pub gid: u32,
    /// The home folder, the same path outside and inside.
    pub home: AbsPath,
    /// The login shell, for the generated passwd entry.
    pub shell: AbsPath,
}

/// One copy of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The original's path, where the copy is shown.
    pub inside: AbsPath,
    /// The copy.
    pub outside: AbsPath,
    /// Heavy folders of the original that are overlaid instead of copied. Their mount points are in the copy already.
    pub overlays: Vec<Overlay>,
}

/// A folder that is read from `lower` and written to `upper`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Where the merged folder is shown.
    pub inside: AbsPath,
    /// The folder that is never written.
    pub lower: AbsPath,
    /// The folder that takes all changes; exists, on the same file system as `work`.
    pub upper: AbsPath,
    /// An empty folder for the kernel's own use.
    pub work: AbsPath,
}

/// Something of this machine that is shown inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lent {
    /// Where it lies.
    pub outside: AbsPath,
    /// Where it is shown.
    pub inside: AbsPath,
    /// What can be done with it.
    pub access: Access,
    /// How it is searched for ways out.
    pub doors: Doors,
}

/// How a lent folder is searched for sockets and named pipes, which lead out of a jail although nothing may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doors {
    /// Every entry is looked at. For what a person lends by name.
    Searched,
    /// The kernel's own list of sockets is looked at. For folders of tools and caches: they are no place for services,
    /// and looking at every entry takes most of a second for the toolchains of one developer.
    Listed,
}

/// What can be done with a lent path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Read and executed.
    ReadOnly,
    /// Changed as well.
    ReadWrite,
    /// Changed, but the changes go to `upper`; the lent folder itself is never written.
    Overlay {
        /// The folder that takes all changes; exists.
        upper: AbsPath,
        /// An empty folder beside `upper` for the kernel's own use.
        work: AbsPath,
    },
}

/// What network the jail has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Network {
    /// A loopback of its own and nothing else. On macOS, where there is none of its own, the machine's, without the ports
    /// that are taken.
    None,
    /// Not even a loopback that would have to be shared with the machine. Where there is one of its own, the same.
    NoLocal,
}

/// A program to run inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program, looked up in the `PATH` of `env` when it holds no slash, and its arguments. Not empty.
    pub argv: Vec<OsString>,
    /// The whole environment, in order.
    pub env: Vec<(OsString, OsString)>,
    /// The working folder, inside.
    pub cwd: AbsPath,
    /// The file mode creation mask, as the caller's.
    pub umask: u32,
    /// What the three standard streams are.
    pub stdio: Stdio,
}

/// What the standard streams of a command are. None is ever a descriptor of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// A pseudo terminal of the jail's own, whose other end is handed out.
    Terminal {
        /// Its height in cells.
        rows: u16,
        /// Its width in cells.
        cols: u16,
    },
    /// Three pipes.
    Pipes,
    /// A pseudo terminal, and pipes in place of some of its three streams: `command > file` at a terminal.
    Mixed {
        /// The terminal's height in cells.
        rows: u16,
        /// Its width in cells.
        cols: u16,
        /// Which streams are pipes.
        piped: Piped,
    },
}

/// Which of the standard streams are pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piped {
    /// Standard input.
    pub input: bool,
    /// Standard output.
    pub output: bool,
    /// Standard error.
    pub errors: bool,
}

impl Stdio {
    /// Whether each of the three streams is a pipe, in the order of their numbers.
    #[must_use]
    pub fn piped(self) -> [bool; 3] {
        match self {
            Self::Terminal { .. } => [false; 3],
            Self::Pipes => [true; 3],
            Self::Mixed {
                piped:
                    Piped {
                        input,
                        output,
                        errors,
                    },
                ..
            } => [input, output, errors],
        }
    }

    /// The height and width of the terminal, if there is one.
    #[must_use]
    pub fn terminal(self) -> Option<(u16, u16)> {
        match self {
            Self::Terminal { rows, cols } | Self::Mixed { rows, cols, .. } => Some((rows, cols)),
            Self::Pipes => None,
        }
    }
}
