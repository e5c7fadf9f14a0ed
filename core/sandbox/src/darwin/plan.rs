//! Turns a jail and what was found for it into a plan; pure, so it can be tested on every system.
//!
//! The promise: what is refused is refused here, before anything is started, with the path that is to blame; and what
//! macOS cannot enforce is in the plan's [`Enforcement`]. The rules themselves are decided in [`crate::seatbelt`]; here
//! is what surrounds them: every path as it resolves, and what may not be lent. A profile is made for each command,
//! because it names the terminal, which is not known before it is opened.

use std::collections::BTreeSet;

use enclos_paths::AbsPath;
use enclos_policy::Local;

use super::{HostFacts, Survey};
use crate::lend::Os;
use crate::seatbelt::{self, Host, Identity, Marks, Profile, Service, Tag};
use crate::{Access, Command, Enforcement, Jail, Lent, Network, Tree, seen};

/// Everything a session's start needs, decided. Carried out by [`crate::launch()`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What this plan enforces.
    pub enforcement: Enforcement,
    /// The short name of the temporary folder, and where it leads to.
    pub tmp: ShortTmp,
    /// What runs first.
    pub command: Command,
    /// Our own executable.
    pub stage: AbsPath,
    jail: Jail,
    host: Host,
}

/// A link to a session's temporary folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortTmp {
    /// The link, in a folder that is private to the person.
    pub link: AbsPath,
    /// The temporary folder.
    pub folder: AbsPath,
    /// The person's user id.
    pub uid: u32,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Enclos runs in a sandbox.
    #[error("Enclos runs in a sandbox itself, in which macOS allows no other")]
    Nested,
    /// The command holds no word.
    #[error("there is no command to run")]
    NoCommand,
    /// The survey was taken of another jail.
    #[error("{path} was not surveyed")]
    NotSurveyed {
        /// A path of the jail.
        path: AbsPath,
    },
    /// A lent path contains, or lies in, what may never be lent.
    #[error("{lent} cannot be lent: {protected} must stay outside")]
    Protected {
        /// The lent path.
        lent: AbsPath,
        /// What it would show.
        protected: AbsPath,
    },
    /// A lent path lies in the original.
    #[error("{lent} cannot be lent: it would show the original {original} itself")]
    ShowsOriginal {
        /// The lent path.
        lent: AbsPath,
        /// The original.
        original: AbsPath,
    },
    /// No rules can be written.
    #[error(transparent)]
    Rules(#[from] seatbelt::PlanError),
}

/// Plans `jail` for this Mac with what `survey` found at its paths.
///
/// # Errors
/// Says what makes the session impossible here, or which of its wishes is refused.
pub fn plan(jail: &Jail, facts: &HostFacts, survey: &Survey) -> Result<Plan, PlanError> {
    if facts.nested {
        return Err(PlanError::Nested);
    }
    if jail.command.argv.is_empty() {
        return Err(PlanError::NoCommand);
    }
    let physical = physical(jail, survey)?;
    for lent in &physical.lent {
        lendable(lent, &physical)?;
    }
    let host = Host {
        tag: tag(jail),
        developer: facts.developer.clone(),
        terminal: None,
        listening: survey.listening.clone(),
        local: match jail.network {
            Network::NoLocal => Local::Closed,
            Network::None => Local::Reachable,
        },
        proxy: None,
        services: [Service::FileEvents].into(),
    };
    let rules = seatbelt::plan(&physical, &host)?;
    Ok(Plan {
        enforcement: rules.enforcement,
        tmp: ShortTmp {
            link: seen::tmp(Os::Macos, jail.user.uid, &jail.tmp),
            folder: physical.tmp.clone(),
            uid: jail.user.uid,
        },
        command: jail.command.clone(),
        stage: jail.stage.clone(),
        jail: physical,
        host,
    })
}

impl Plan {
    /// The profile for a command on `terminal`, `/dev/ttysNNN`, or on none.
    ///
    /// # Errors
    /// `terminal` is something else.
    pub fn profile(&self, terminal: Option<AbsPath>) -> Result<Profile, PlanError> {
        let host = Host {
            terminal,
            ..self.host.clone()
        };
        Ok(seatbelt::plan(&self.jail, &host)?.profile)
    }

    /// What marks the processes of the session whose first one is `first`; `spared` are never taken.
    #[must_use]
    pub fn marks(&self, first: Identity, terminal: Option<u32>, spared: BTreeSet<i32>) -> Marks {
        let trees = self.jail.trees.iter().map(|tree| tree.outside.clone());
        Marks {
            uid: self.jail.user.uid,
            first,
            terminals: terminal.into_iter().collect(),
            folders: trees
                .chain([self.jail.home.clone(), self.jail.tmp.clone()])
                .collect(),
            spared,
        }
    }
}

/// The jail with every path as it resolves.
fn physical(jail: &Jail, survey: &Survey) -> Result<Jail, PlanError> {
    let real = |path: &AbsPath| {
        let real = survey.real.get(path).cloned();
        real.ok_or_else(|| PlanError::NotSurveyed { path: path.clone() })
    };
    let all = |paths: &[AbsPath]| paths.iter().map(real).collect::<Result<Vec<_>, _>>();
    let tree = |tree: &Tree| {
        Ok(Tree {
            inside: real(&tree.inside)?,
            outside: real(&tree.outside)?,
            overlays: tree.overlays.clone(),
        })
    };
    let lent = |lent: &Lent| {
        Ok(Lent {
            outside: real(&lent.outside)?,
            inside: real(&lent.inside)?,
            ..lent.clone()
        })
    };
    let mut physical = Jail {
        trees: jail
            .trees
            .iter()
            .map(tree)
            .collect::<Result<_, PlanError>>()?,
        home: real(&jail.home)?,
        tmp: real(&jail.tmp)?,
        lent: jail
            .lent
            .iter()
            .map(lent)
            .collect::<Result<_, PlanError>>()?,
        covered: all(&jail.covered)?,
        sockets: all(&jail.sockets)?,
        protected: all(&jail.protected)?,
        ..jail.clone()
    };
    // What lies in a folder of the session is there anyway: a cache in the private home.
    let own: Vec<AbsPath> = own_folders(&physical).cloned().collect();
    physical.lent.retain(|lent| {
        let apart = !own.iter().any(|own| lent.outside.is_within(own));
        apart || matches!(lent.access, Access::Overlay { .. })
    });
    Ok(physical)
}

fn own_folders(jail: &Jail) -> impl Iterator<Item = &AbsPath> {
    let trees = jail.trees.iter().map(|tree| &tree.outside);
    trees.chain([&jail.home, &jail.tmp])
}

fn lendable(lent: &Lent, jail: &Jail) -> Result<(), PlanError> {
    let path = &lent.outside;
    let touches = |protected: &&AbsPath| path.is_within(protected) || protected.is_within(path);
    if let Some(protected) = jail.protected.iter().find(touches) {
        return Err(PlanError::Protected {
            lent: path.clone(),
            protected: protected.clone(),
        });
    }
    // A folder around the original is fine: the original is closed at the end of the rules.
    let inside = |tree: &&Tree| tree.inside != tree.outside && path.is_within(&tree.inside);
    match jail.trees.iter().find(inside) {
        Some(tree) => Err(PlanError::ShowsOriginal {
            lent: path.clone(),
            original: tree.inside.clone(),
        }),
        None => Ok(()),
    }
}

/// The mark on the session's denials in the log: what the folder that holds its home is called.
fn tag(jail: &Jail) -> Tag {
    let folder = jail.home.parent();
    let name = folder.as_ref().and_then(|folder| folder.name());
    Tag::of_session(name.unwrap_or_default().as_encoded_bytes())
}

#[cfg(test)]
mod tests;
