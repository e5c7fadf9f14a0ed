//! What a plan really enforces, to be shown and, where the person asked for it, to be insisted on.
//!
//! The promise: no weaker mode is silent. Each planner names every gap it knows; a gap that is not in [`Gap`] cannot
//! be reported, so a planner that meets a new one gets a new variant here, not a free text.

use std::fmt;

use enclos_paths::AbsPath;

/// How well each concern is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforcement {
    /// Reading, writing, creating, executing files.
    pub filesystem: Level,
    /// Reaching other machines and services of this one.
    pub network: Level,
    /// Seeing, signalling and outliving; what of the kernel can be asked for.
    pub processes: Level,
}

/// How well one concern is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// All that is promised.
    Full,
    /// With these gaps.
    Partial(Vec<Gap>),
    /// Not at all, for these reasons.
    None(Vec<Gap>),
}

/// One thing that is not enforced, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// The kernel has no Landlock, or one too old to allow renames across folders (ABI < 2): only the mount
    /// namespace keeps the command in.
    LandlockMissing {
        /// The ABI the kernel reports; 0 is none.
        abi: u32,
    },
    /// No system call filter exists for this machine's instruction set.
    SeccompUnknownMachine,
    /// New user namespaces inside are refused by the system call filter only.
    NamespacesFilteredOnly,
    /// A lent folder was too big to be searched for sockets: one in it may be connected to.
    SocketsNotSearched {
        /// The lent folder.
        folder: AbsPath,
    },
    /// That a file exists, its size and times are visible everywhere (macOS).
    NamesVisible,
    /// Services that start to listen on loopback later can be reached (macOS).
    LateLocalServices,
    /// Servers of the session accept from the local network, not from loopback alone (macOS).
    ServersSeenFromOutside,
    /// A process that left its group, terminal and folder may outlive the session, still in its sandbox (macOS).
    StraysPossible,
}

impl Level {
    /// [`Level::Full`] without gaps, else [`Level::Partial`].
    #[must_use]
    pub fn from_gaps(gaps: Vec<Gap>) -> Self {
        if gaps.is_empty() {
            Self::Full
        } else {
            Self::Partial(gaps)
        }
    }

    /// The gaps, none when full.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        match self {
            Self::Full => &[],
            Self::Partial(gaps) | Self::None(gaps) => gaps,
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LandlockMissing { abi: 0 } => f.write_str("the kernel has no Landlock, the second line of defence"),
            Self::LandlockMissing { abi } => write!(f, "the kernel's Landlock (ABI {abi}) is too old to be used"),
            Self::SeccompUnknownMachine => f.write_str("there is no system call filter for this kind of machine"),
            Self::NamespacesFilteredOnly => {
                f.write_str("bubblewrap cannot forbid nested user namespaces, only the system call filter does")
            }
            Self::SocketsNotSearched { folder } => {
                write!(f, "{folder} is too big to be searched for sockets; a service in it may be reachable")
            }
            Self::NamesVisible => f.write_str("macOS lets a session see that files exist everywhere, but not what is in them"),
            Self::LateLocalServices => {
                f.write_str("programs that start to listen on this Mac's localhost later can be reached; macOS can't narrow this down")
            }
            Self::ServersSeenFromOutside => {
                f.write_str("servers that a session starts accept connections from the local network, too")
            }
            Self::StraysPossible => {
                f.write_str("a process that detaches itself completely may outlive the session, still locked in")
            }
        }
    }
}
