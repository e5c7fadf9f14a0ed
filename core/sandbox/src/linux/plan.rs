//! Turns a jail and the facts into a plan; pure, so it can be tested on every system.
//!
//! The promise: what is refused is refused here, before anything is started, with the path that is to blame; and what
//! this machine cannot enforce is in the plan's [`Enforcement`]. How it could break: a path that means something else
//! than it says. So everything lent is compared and mounted by its resolved path, which the survey found.

use std::ffi::OsString;

use enclos_paths::AbsPath;

use super::facts::{HostFacts, Userns};
use super::filter::{Instruction, filter};
use super::mounts::{MountPoint, Mounts};
use super::survey::Survey;
use super::{bwrap, rights};
use crate::{Command, Enforcement, Gap, Jail, Level};

/// Everything the launch needs, decided. Carried out by [`crate::launch()`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What this plan enforces.
    pub enforcement: Enforcement,
    /// Sockets and named pipes that are covered, by their path inside: to be named to the person.
    pub covered_doors: Vec<AbsPath>,
    /// The bubblewrap to run.
    pub bwrap: AbsPath,
    /// Its options, without the command.
    pub bwrap_options: Vec<OsString>,
    /// What has to be mounted before it runs.
    pub outer: Option<Outer>,
    /// Places in folders an agent may have written that something is mounted on.
    pub mount_points: Vec<MountPoint>,
    /// What the stage gives up.
    pub confinement: Confinement,
    /// What runs first.
    pub command: Command,
    /// What is known about user namespaces here, for the message when they turn out to be forbidden.
    pub userns: Userns,
}

/// Overlays, mounted by an outer stage that then executes bubblewrap, as that cannot mount them itself before 0.11.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outer {
    /// Our executable.
    pub stage: AbsPath,
    /// The overlays.
    pub overlays: Vec<OverlayMount>,
}

/// One overlay. The merged folder is shown at `upper`, in the jail's own mount namespace only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMount {
    /// The folder that is never written.
    pub lower: AbsPath,
    /// The folder that takes the changes.
    pub upper: AbsPath,
    /// The kernel's own folder.
    pub work: AbsPath,
}

/// What the stage gives up before it starts anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Rights on files; none when the kernel has no usable Landlock.
    pub landlock: Option<Landlock>,
    /// The system call filter; empty when there is none for this machine.
    pub filter: Vec<Instruction>,
}

/// Landlock's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landlock {
    /// The rights that are taken away where no rule gives them back.
    pub handled: u64,
    /// What else is confined to the jail (abstract sockets, signals).
    pub scoped: u64,
    /// What is given back.
    pub rules: Vec<FileRule>,
}

/// Rights at and below a path inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
    /// The path.
    pub path: AbsPath,
    /// The rights, as the kernel's bits.
    pub rights: u64,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No bubblewrap was found.
    #[error("bubblewrap is not installed")]
    BwrapMissing,
    /// User namespaces cannot be made, by anyone or by us.
    #[error("user namespaces are forbidden: {by}")]
    NamespacesForbidden {
        /// By what.
        by: Userns,
    },
    /// The command holds no word.
    #[error("there is no command to run")]
    NoCommand,
    /// The survey was taken of another jail.
    #[error("the lent paths were not surveyed")]
    NotSurveyed,
    /// A lent path contains, or lies in, what may never be lent.
    #[error("{lent} cannot be lent: {protected} must stay outside")]
    Protected {
        /// The lent path.
        lent: AbsPath,
        /// What it would show.
        protected: AbsPath,
    },
    /// A lent path would show the original beside the copy.
    #[error("{lent} cannot be lent: it would show the original {original} itself")]
    ShowsOriginal {
        /// The lent path.
        lent: AbsPath,
        /// The original.
        original: AbsPath,
    },
    /// The path inside belongs to the jail itself.
    #[error("nothing can be shown at {inside}: the jail makes that path itself")]
    Reserved {
        /// The path inside.
        inside: AbsPath,
    },
    /// Two things would be shown at one path.
    #[error("two things would be shown at {inside}")]
    Twice {
        /// The path inside.
        inside: AbsPath,
    },
    /// A lent path is a socket; those are lent one by one.
    #[error("{lent} is a socket; a socket is lent only when it is named as one")]
    SocketLent {
        /// The lent path.
        lent: AbsPath,
    },
    /// A path named as a socket is none.
    #[error("{path} is not a socket")]
    NotASocket {
        /// The path.
        path: AbsPath,
    },
    /// A lent path is neither file nor folder.
    #[error("{lent} is neither a file nor a folder")]
    NotLendable {
        /// The lent path.
        lent: AbsPath,
    },
    /// A file cannot have a private copy-on-write layer.
    #[error("{lent} is not a folder; only a folder can be lent copy-on-write")]
    OverlayOfFile {
        /// The lent path.
        lent: AbsPath,
    },
}

/// Plans `jail` for the machine described by `facts` with what `survey` found at its lent paths.
///
/// # Errors
/// Says what makes the jail impossible here, or which of its wishes is refused.
pub fn plan(jail: &Jail, facts: &HostFacts, survey: &Survey) -> Result<Plan, PlanError> {
    let bwrap = facts.bwrap.as_ref().ok_or(PlanError::BwrapMissing)?;
    if facts.userns.is_hopeless() {
        return Err(PlanError::NamespacesForbidden { by: facts.userns });
    }
    if jail.command.argv.is_empty() {
        return Err(PlanError::NoCommand);
    }
    let mounts = Mounts::of(jail, survey)?;
    let landlock = rights::landlock(facts.landlock_abi, &mounts);
    let filter = filter(facts.machine);
    let overlays = mounts.overlays.clone();
    Ok(Plan {
        enforcement: enforcement(jail, facts, survey),
        covered_doors: mounts.covered_doors.clone(),
        bwrap: bwrap.path.clone(),
        bwrap_options: bwrap::options(jail, facts, bwrap, &mounts),
        outer: (!overlays.is_empty()).then(|| Outer {
            stage: jail.stage.clone(),
            overlays,
        }),
        mount_points: mounts.mount_points(),
        confinement: Confinement {
            landlock,
            filter: filter.unwrap_or_default(),
        },
        command: jail.command.clone(),
        userns: facts.userns,
    })
}

fn enforcement(jail: &Jail, facts: &HostFacts, survey: &Survey) -> Enforcement {
    let mut files = Vec::new();
    if !rights::usable(facts.landlock_abi) {
        files.push(Gap::LandlockMissing {
            abi: facts.landlock_abi,
        });
    }
    for (lent, found) in jail.lent.iter().zip(&survey.lent) {
        if !found.complete {
            files.push(Gap::SocketsNotSearched {
                folder: lent.inside.clone(),
            });
        }
    }
    let mut processes = Vec::new();
    if filter(facts.machine).is_none() {
        processes.push(Gap::SeccompUnknownMachine);
    }
    if !facts.bwrap.as_ref().is_some_and(bwrap::forbids_namespaces) {
        processes.push(Gap::NamespacesFilteredOnly);
    }
    Enforcement {
        filesystem: Level::from_gaps(files),
        network: Level::Full,
        processes: Level::from_gaps(processes),
    }
}
