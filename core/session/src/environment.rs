//! Everything a session takes from the world around it, gathered once by the mains and passed down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::SystemTime;

use enclos_paths::AbsPath;

/// What the mains read so that nothing below them has to.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The person.
    pub user: Person,
    /// Where Enclos keeps its things.
    pub places: Places,
    /// The person's environment variables; only an allow list of them ever enters a jail.
    pub vars: BTreeMap<OsString, OsString>,
    /// The folder the command was typed in.
    pub cwd: AbsPath,
    /// Our own executable, which is also the stage.
    pub executable: AbsPath,
    /// The file mode creation mask.
    pub umask: u32,
    /// What time it is.
    pub clock: Clock,
}

/// Who runs Enclos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The login name.
    pub name: OsString,
    /// The user id.
    pub uid: u32,
    /// The primary group id.
    pub gid: u32,
    /// The home folder, links resolved.
    pub home: AbsPath,
    /// The login shell.
    pub shell: AbsPath,
}

/// Where Enclos keeps its things. Every folder of ours is 0700.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// `config.toml`.
    pub config: AbsPath,
    /// The managed policy, root-owned.
    pub managed: AbsPath,
    /// Session records, locks, trust.
    pub state: AbsPath,
    /// Copies of projects that lie on the home's file system.
    pub copies: AbsPath,
    /// What sessions of a project add to the caches they are lent; kept for its next session.
    pub caches: AbsPath,
    /// Control sockets; short, because a socket's path is limited to 104 (macOS) or 108 (Linux) bytes.
    pub runtime: AbsPath,
}

/// Tells the time in nanoseconds since 1970.
///
/// For people and for ages only: what changed is decided by identities, never by this.
#[derive(Debug, Clone, Copy, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// Always the same moment, for tests.
    Fixed(i128),
}

impl Clock {
    /// Nanoseconds since 1970; negative before.
    #[must_use]
    pub fn now(self) -> i128 {
        match self {
            Self::Fixed(at) => at,
            Self::System => match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
                Ok(since) => since.as_nanos().cast_signed(),
                Err(before) => -(before.duration().as_nanos().cast_signed()),
            },
        }
    }
}
