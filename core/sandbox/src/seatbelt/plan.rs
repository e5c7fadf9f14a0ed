//! Turns a jail and the facts about this Mac into a plan; pure, so it can be tested on every system.
//!
//! The promise: what a profile cannot say is refused here, with the path that is to blame, and what macOS cannot
//! enforce is in the plan's [`Enforcement`]. On macOS nothing is shown under another path and nothing is overlaid:
//! who prepares a session gives copies instead, and a jail that still asks for one of the two is refused.

use std::collections::BTreeSet;

use enclos_paths::AbsPath;
use enclos_policy::Local;

use super::facts::{Facts, Loopback, Network, PhysicalPath, PhysicalPathError, Service, Tag};
use super::ports::KNOWN_PORTS;
use super::profile::{Profile, ProfileError, profile};
use crate::{Access, Enforcement, Gap, Jail, Level};

/// What is known about this Mac and this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The mark on denials in the log.
    pub tag: Tag,
    /// The developer folder as `xcode-select -p` names it, resolved; none without developer tools.
    pub developer: Option<AbsPath>,
    /// The session's terminal, when it has one.
    pub terminal: Option<AbsPath>,
    /// Ports of loopback that are listened on now, ours among them.
    pub listening: BTreeSet<u16>,
    /// What the policy says about loopback.
    pub local: Local,
    /// The port of the session's proxy, when it has one.
    pub proxy: Option<u16>,
    /// Services of the system beyond the usual.
    pub services: BTreeSet<Service>,
}

/// Everything that is needed to enter the sandbox, decided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What this plan enforces.
    pub enforcement: Enforcement,
    /// The profile to try and to enter.
    pub profile: Profile,
}

/// Why a jail cannot be planned on macOS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A path that no rule can carry.
    #[error(transparent)]
    Path(#[from] PhysicalPathError),
    /// The facts contradict each other.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Something is to be shown under another path.
    #[error("{outside} cannot be shown as {inside}: macOS shows everything under its own path")]
    Elsewhere {
        /// Where it lies.
        outside: AbsPath,
        /// Where it was to be shown.
        inside: AbsPath,
    },
    /// Something is to be overlaid.
    #[error("{path} cannot be overlaid on macOS; give the session a copy of it")]
    Overlay {
        /// The folder.
        path: AbsPath,
    },
}

/// Plans `jail` on this Mac.
///
/// # Errors
/// What the jail asks for and a profile cannot say.
pub fn plan(jail: &Jail, host: &Host) -> Result<Plan, PlanError> {
    let facts = facts(jail, host)?;
    let profile = profile(&facts)?;
    Ok(Plan {
        enforcement: enforcement(&facts),
        profile,
    })
}

fn facts(jail: &Jail, host: &Host) -> Result<Facts, PlanError> {
    let mut readable = Vec::new();
    let mut writable = Vec::new();
    for lent in &jail.lent {
        if lent.inside != lent.outside {
            return Err(PlanError::Elsewhere {
                outside: lent.outside.clone(),
                inside: lent.inside.clone(),
            });
        }
        let path = PhysicalPath::new(&lent.outside)?;
        match lent.access {
            Access::ReadOnly => readable.push(path),
            Access::ReadWrite => writable.push(path),
            Access::Overlay { .. } => {
                return Err(PlanError::Overlay {
                    path: lent.outside.clone(),
                });
            }
        }
    }
    let mut trees = Vec::new();
    for tree in &jail.trees {
        if let Some(overlay) = tree.overlays.first() {
            return Err(PlanError::Overlay {
                path: overlay.inside.clone(),
            });
        }
        trees.push(PhysicalPath::new(&tree.outside)?);
    }
    // The original stays closed wherever it lies; the copy is elsewhere.
    let originals = jail
        .trees
        .iter()
        .filter(|tree| tree.inside != tree.outside)
        .map(|tree| &tree.inside);
    Ok(Facts {
        tag: host.tag.clone(),
        trees,
        home: PhysicalPath::new(&jail.home)?,
        tmp: PhysicalPath::new(&jail.tmp)?,
        readable,
        writable,
        covered: all(&jail.covered)?,
        sockets: all(&jail.sockets)?,
        protected: all(jail.protected.iter().chain(originals))?,
        developer: host.developer.as_ref().map(PhysicalPath::new).transpose()?,
        terminal: host.terminal.as_ref().map(PhysicalPath::new).transpose()?,
        network: network(host),
        services: host.services.clone(),
    })
}

fn all<'a>(
    paths: impl IntoIterator<Item = &'a AbsPath>,
) -> Result<Vec<PhysicalPath>, PhysicalPathError> {
    paths.into_iter().map(PhysicalPath::new).collect()
}

fn network(host: &Host) -> Network {
    let known = KNOWN_PORTS.iter().map(|known| known.port);
    let loopback = match host.local {
        Local::Closed => Loopback::Closed,
        Local::Reachable => Loopback::Open {
            denied: known.chain(host.listening.iter().copied()).collect(),
        },
    };
    Network {
        proxy: host.proxy,
        loopback,
    }
}

fn enforcement(facts: &Facts) -> Enforcement {
    let network = match facts.network.loopback {
        Loopback::Closed => Vec::new(),
        Loopback::Open { .. } => vec![Gap::LateLocalServices, Gap::ServersSeenFromOutside],
    };
    Enforcement {
        filesystem: Level::from_gaps(vec![Gap::NamesVisible]),
        network: Level::from_gaps(network),
        processes: Level::from_gaps(vec![Gap::StraysPossible]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seatbelt::{Attempt, Ruleset, Target};
    use crate::{Command, Doors, Lent, Overlay, Stdio, Tree, User};

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn jail() -> Jail {
        Jail {
            user: User {
                name: "u".into(),
                uid: 501,
                gid: 20,
                home: abs("/Users/u"),
                shell: abs("/bin/zsh"),
            },
            trees: vec![Tree {
                inside: abs("/Users/u/code/p"),
                outside: abs("/Users/u/.enclos.noindex/p"),
                overlays: Vec::new(),
            }],
            home: abs("/Users/u/.enclos.noindex/.home-1"),
            tmp: abs("/private/tmp/enclos-501/1"),
            etc: abs("/private/tmp/enclos-501/etc"),
            lent: vec![
                lent("/Users/u/data", Access::ReadOnly),
                lent("/Users/u/out", Access::ReadWrite),
            ],
            covered: vec![abs("/Users/u/data/.netrc")],
            sockets: Vec::new(),
            protected: vec![abs("/Users/u/.ssh")],
            network: crate::Network::None,
            command: Command {
                argv: vec!["true".into()],
                env: Vec::new(),
                cwd: abs("/Users/u/.enclos.noindex/p"),
                umask: 0o022,
                stdio: Stdio::Pipes,
            },
            stage: abs("/usr/local/bin/enclos"),
        }
    }

    fn lent(path: &str, access: Access) -> Lent {
        Lent {
            outside: abs(path),
            inside: abs(path),
            access,
            doors: Doors::Searched,
        }
    }

    fn host(local: Local) -> Host {
        Host {
            tag: Tag::new("enclos-1").unwrap(),
            developer: None,
            terminal: None,
            listening: [8080].into(),
            local,
            proxy: None,
            services: BTreeSet::new(),
        }
    }

    fn rules(plan: &Plan) -> Ruleset {
        Ruleset::compile(plan.profile.text(), plan.profile.params()).unwrap()
    }

    #[test]
    fn a_jail_becomes_a_profile_that_closes_the_original() {
        let plan = plan(&jail(), &host(Local::Reachable)).unwrap();
        let rules = rules(&plan);
        let ask = |attempt| rules.attempt(attempt).unwrap().allowed;
        assert!(
            ask(Attempt::Write("/Users/u/.enclos.noindex/p/a"))
                && ask(Attempt::Read("/Users/u/data/a"))
        );
        assert!(
            !ask(Attempt::Read("/Users/u/code/p/a")) && !ask(Attempt::Read("/Users/u/data/.netrc"))
        );
        let dial = |port| {
            ask(Attempt::Dial(Target::Remote {
                localhost: true,
                port,
            }))
        };
        assert!(
            dial(3000) && !dial(8080) && !dial(5432),
            "listening and known ports are closed"
        );
    }

    #[test]
    fn what_is_not_enforced_is_in_the_plan() {
        let gaps = |local| {
            let enforcement = plan(&jail(), &host(local)).unwrap().enforcement;
            let levels = [
                &enforcement.filesystem,
                &enforcement.network,
                &enforcement.processes,
            ];
            levels
                .iter()
                .flat_map(|level| level.gaps())
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        };
        insta::assert_snapshot!(gaps(Local::Reachable), @r"
        macOS lets a session see that files exist everywhere, but not what is in them
        programs that start to listen on this Mac's localhost later can be reached; macOS can't narrow this down
        servers that a session starts accept connections from the local network, too
        a process that detaches itself completely may outlive the session, still locked in
        ");
        insta::assert_snapshot!(gaps(Local::Closed), @r"
        macOS lets a session see that files exist everywhere, but not what is in them
        a process that detaches itself completely may outlive the session, still locked in
        ");
    }

    #[test]
    fn what_a_profile_cannot_say_is_refused_with_the_path() {
        let said = |jail: &Jail| plan(jail, &host(Local::Closed)).unwrap_err().to_string();
        let elsewhere = Lent {
            inside: abs("/opt/x"),
            ..lent("/Users/u/x", Access::ReadOnly)
        };
        insta::assert_snapshot!(said(&Jail { lent: vec![elsewhere], ..jail() }), @"/Users/u/x cannot be shown as /opt/x: macOS shows everything under its own path");
        let overlay = Access::Overlay {
            upper: abs("/a"),
            work: abs("/b"),
        };
        insta::assert_snapshot!(said(&Jail { lent: vec![lent("/Users/u/x", overlay)], ..jail() }), @"/Users/u/x cannot be overlaid on macOS; give the session a copy of it");
        let heavy = Overlay {
            inside: abs("/p/node_modules"),
            lower: abs("/a"),
            upper: abs("/b"),
            work: abs("/c"),
        };
        let tree = Tree {
            inside: abs("/p"),
            outside: abs("/q"),
            overlays: vec![heavy],
        };
        insta::assert_snapshot!(said(&Jail { trees: vec![tree], ..jail() }), @"/p/node_modules cannot be overlaid on macOS; give the session a copy of it");
        insta::assert_snapshot!(said(&Jail { tmp: abs("/tmp/x"), ..jail() }), @"/tmp/x is another name of /private/tmp/x; a rule about it would never match");
        insta::assert_snapshot!(said(&Jail { protected: vec![abs("/tmp/x")], ..jail() }), @"/tmp/x is another name of /private/tmp/x; a rule about it would never match");
    }
}
