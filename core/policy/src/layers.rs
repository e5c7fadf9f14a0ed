//! Four documents become one policy.
//!
//! The promises: nothing that the machine's owner forbids comes back; nothing in a project's file gives a session
//! more until a person has agreed to exactly that file; what it takes away counts at once, and goes on counting while
//! a changed version waits to be looked at. It would break if a statement were judged by its layer alone, so the
//! judgement is on the statement ([`Effect`]), and this file only asks for it.

use std::collections::BTreeMap;
use std::time::Duration;

use enclos_paths::AbsPath;

use crate::document::{Document, Effect, Statement};
use crate::hide::{HidePattern, HidePatternError, HideRules};
use crate::lending::{LendRefused, Lending, is_or_holds, may_lend};
use crate::origin::{Layer, Origin, Sourced};
use crate::trust::{Changes, Trust};
use crate::values::{
    CloneMethod, EnvName, EnvValue, History, Local, Network, OnExit, Scope, WrittenPath,
};

/// The documents of a run.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The machine owner's; empty when there is none.
    pub managed: Document,
    /// The person's.
    pub user: Document,
    /// The project's, as it is now; empty when there is none.
    pub project: Document,
    /// Where the person stands on the project's document.
    pub trust: Trust,
    /// The command line's.
    pub flags: Document,
}

/// The folders that give written paths their meaning and that lending must keep away from. All of them resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The person's home.
    pub home: AbsPath,
    /// The project's folder, the original.
    pub project: AbsPath,
    /// Where the command was typed.
    pub cwd: AbsPath,
    /// Enclos's own folders: state, sessions, copies, sockets.
    pub own: Vec<AbsPath>,
}

/// What a session may do, every value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Paths outside the project that are visible inside, at most one entry a path; write is the stronger.
    pub lent: Vec<Sourced<Lent>>,
    /// Folders copied and reviewed together with the project.
    pub with: Vec<Sourced<AbsPath>>,
    /// Unix sockets that can be connected to.
    pub sockets: Vec<Sourced<AbsPath>>,
    /// Paths that are not lent; one below something lent must be covered.
    pub deny: Vec<Sourced<AbsPath>>,
    /// What is asked for in vain, because a deny is stronger.
    pub overruled: Vec<Overruled>,
    /// What is left out of the copy.
    pub hide: HideRules,
    /// Variables by name.
    pub env: BTreeMap<EnvName, Sourced<EnvRule>>,
    /// What may leave the machine.
    pub network: Sourced<Network>,
    /// Whether programs of this machine can be reached.
    pub local: Sourced<Local>,
    /// How the copy is made.
    pub clone_method: Sourced<CloneMethod>,
    /// How much of the repository goes in; none: the person is asked, and without a terminal it is the repository.
    pub scope: Option<Sourced<Scope>>,
    /// How much of its past goes in.
    pub history: Sourced<History>,
    /// What happens when the command ends.
    pub on_exit: Sourced<OnExit>,
    /// How long the session may last.
    pub time_limit: Option<Sourced<Duration>>,
    /// How long it may last without output or input.
    pub idle_limit: Option<Sourced<Duration>>,
    /// What the project's file asks for and does not get until a person agrees.
    pub pending: Vec<Sourced<Statement>>,
    /// What differs from the version of the project's file that the person agreed to; a run without a person stops.
    pub changed: Option<Changes>,
}

impl Policy {
    /// Whether a run at which nobody can be asked must stop before it starts: the project's file is not the one that
    /// was agreed to.
    #[must_use]
    pub fn stops_unattended(&self) -> bool {
        self.changed.is_some()
    }

    /// The deny that `path` is or lies in. To be asked again about what a lent path resolves to.
    #[must_use]
    pub fn denied(&self, path: &AbsPath) -> Option<&Sourced<AbsPath>> {
        denied(&self.deny, path)
    }
}

/// A path outside the project that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The path. Lexical: whoever acts on it resolves links and asks [`may_lend`] about the result.
    pub path: AbsPath,
    /// What can be done with it.
    pub access: LentAccess,
}

/// What can be done with a lent path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LentAccess {
    /// Reading and executing.
    Read,
    /// Reading, executing and writing.
    Write,
}

/// A variable of the environment inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvRule {
    /// The caller's value, if there is one.
    Pass,
    /// This value.
    Set(EnvValue),
}

/// A path that was asked for and is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overruled {
    /// What was asked for.
    pub asked: Sourced<AbsPath>,
    /// The deny that is stronger.
    pub by: Sourced<AbsPath>,
}

/// Puts the layers together.
///
/// # Errors
/// All statements that can never be met: paths that are never lent, hide patterns too large together.
pub fn merge(layers: &Layers, places: &Places) -> Result<Policy, MergeErrors> {
    let mut merge = Merge::new(places);
    for layer in [&layers.managed, &layers.user] {
        layer.statements().iter().for_each(|s| merge.take(s));
    }
    if let Trust::Changed { trusted } = &layers.trust {
        trusted
            .beyond(&layers.project, Effect::Narrows)
            .for_each(|s| merge.take(&as_trusted(s)));
        merge.policy.changed = Some(Changes::between(trusted, &layers.project));
    }
    for statement in layers.project.statements() {
        if statement.value.effect() == Effect::Widens && layers.trust != Trust::Trusted {
            merge.policy.pending.push(statement.clone());
        } else {
            merge.take(statement);
        }
    }
    layers.flags.statements().iter().for_each(|s| merge.take(s));
    merge.finish()
}

/// A statement that cannot be met, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A path that is never lent.
    #[error("{origin}: {source}")]
    Lend {
        /// Where it is asked for.
        origin: Origin,
        /// Why it is refused.
        #[source]
        source: LendRefused,
    },
    /// The project lies in a path that is denied.
    #[error("{origin}: {path} is denied, and the project lies in it")]
    ProjectDenied {
        /// Where it is denied.
        origin: Origin,
        /// The denied path.
        path: AbsPath,
    },
    /// A path inside the project is denied and cannot be written as a pattern.
    #[error("{origin}: {source}")]
    DenyInside {
        /// Where it is denied.
        origin: Origin,
        /// Why not.
        #[source]
        source: HidePatternError,
    },
    /// The hide patterns are too many or too large to be compiled together.
    #[error("the hide patterns of all layers together are too large")]
    Hide {
        /// What the compiler says.
        #[source]
        source: globset::Error,
    },
}

/// Everything that stands in the way of a policy; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeErrors(Vec<MergeError>);

impl MergeErrors {
    /// The errors in the order the statements are taken.
    #[must_use]
    pub fn all(&self) -> &[MergeError] {
        &self.0
    }
}

impl std::fmt::Display for MergeErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for MergeErrors {}

/// A policy in the making.
struct Merge<'a> {
    places: &'a Places,
    policy: Policy,
    hide: Vec<Sourced<HidePattern>>,
    errors: Vec<MergeError>,
}

impl<'a> Merge<'a> {
    fn new(places: &'a Places) -> Self {
        let policy = Policy {
            lent: Vec::new(),
            with: Vec::new(),
            sockets: Vec::new(),
            deny: Vec::new(),
            overruled: Vec::new(),
            hide: HideRules::default(),
            env: BTreeMap::new(),
            network: Sourced::default_of(Network::None),
            local: Sourced::default_of(Local::Reachable),
            clone_method: Sourced::default_of(CloneMethod::Auto),
            scope: None,
            history: Sourced::default_of(History::Full),
            on_exit: Sourced::default_of(OnExit::Ask),
            time_limit: None,
            idle_limit: None,
            pending: Vec::new(),
            changed: None,
        };
        Self {
            places,
            policy,
            hide: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn take(&mut self, statement: &Sourced<Statement>) {
        let origin = statement.origin;
        let policy = &mut self.policy;
        match &statement.value {
            Statement::Read(path) => self.lend(path, LentAccess::Read, origin),
            Statement::Write(path) => self.lend(path, LentAccess::Write, origin),
            Statement::With(path) => {
                if let Some(path) = self.allowed(path, Lending::With, origin) {
                    self.policy.with.push(Sourced::new(path, origin));
                }
            }
            Statement::Socket(path) => {
                if let Some(path) = self.allowed(path, Lending::Socket, origin) {
                    self.policy.sockets.push(Sourced::new(path, origin));
                }
            }
            Statement::Deny(path) => self.deny(path, origin),
            Statement::Hide(pattern) => self.hide.push(Sourced::new(pattern.clone(), origin)),
            Statement::Pass(name) => {
                policy
                    .env
                    .insert(name.clone(), Sourced::new(EnvRule::Pass, origin));
            }
            Statement::Set(name, value) => {
                policy.env.insert(
                    name.clone(),
                    Sourced::new(EnvRule::Set(value.clone()), origin),
                );
            }
            Statement::Network(mode) => {
                settle(&mut policy.network, *mode, origin, |m| m == Network::None)
            }
            Statement::Local(local) => {
                settle(&mut policy.local, *local, origin, |l| l == Local::Closed)
            }
            Statement::History(kept) => {
                settle(&mut policy.history, *kept, origin, |h| h == History::None)
            }
            Statement::CloneMethod(method) => policy.clone_method = Sourced::new(*method, origin),
            Statement::Scope(scope) => policy.scope = Some(Sourced::new(*scope, origin)),
            Statement::OnExit(end) => policy.on_exit = Sourced::new(*end, origin),
            Statement::TimeLimit(limit) => shorten(&mut policy.time_limit, *limit, origin),
            Statement::IdleLimit(limit) => shorten(&mut policy.idle_limit, *limit, origin),
        }
    }

    fn lend(&mut self, path: &WrittenPath, access: LentAccess, origin: Origin) {
        let lending = match access {
            LentAccess::Read => Lending::Read,
            LentAccess::Write => Lending::Write,
        };
        let Some(path) = self.allowed(path, lending, origin) else {
            return;
        };
        match self
            .policy
            .lent
            .iter_mut()
            .find(|lent| lent.value.path == path)
        {
            Some(lent) if lent.value.access < access => {
                *lent = Sourced::new(Lent { path, access }, origin)
            }
            Some(_) => {}
            None => self
                .policy
                .lent
                .push(Sourced::new(Lent { path, access }, origin)),
        }
    }

    /// A path that is denied inside the project is hidden; a project that is denied itself has no session.
    fn deny(&mut self, path: &WrittenPath, origin: Origin) {
        let path = self.resolve(path, origin);
        if is_or_holds(&path, &self.places.project) {
            self.errors.push(MergeError::ProjectDenied { origin, path });
        } else if let Some(inner) = path.below(&self.places.project) {
            match HidePattern::exactly(&inner) {
                Ok(pattern) => self.hide.push(Sourced::new(pattern, origin)),
                Err(source) => self.errors.push(MergeError::DenyInside { origin, source }),
            }
        } else {
            self.policy.deny.push(Sourced::new(path, origin));
        }
    }

    fn allowed(&mut self, path: &WrittenPath, lending: Lending, origin: Origin) -> Option<AbsPath> {
        let path = self.resolve(path, origin);
        match may_lend(&path, lending, self.places) {
            Ok(()) => Some(path),
            Err(source) => {
                self.errors.push(MergeError::Lend { origin, source });
                None
            }
        }
    }

    /// A relative path starts at the project in its file, and where the command was typed on the command line.
    fn resolve(&self, path: &WrittenPath, origin: Origin) -> AbsPath {
        let from = match origin.layer() {
            Some(Layer::Flags) => &self.places.cwd,
            _ => &self.places.project,
        };
        path.resolve(&self.places.home, from)
    }

    fn finish(mut self) -> Result<Policy, MergeErrors> {
        match HideRules::new(self.hide) {
            Ok(rules) => self.policy.hide = rules,
            Err(source) => self.errors.push(MergeError::Hide { source }),
        }
        if !self.errors.is_empty() {
            return Err(MergeErrors(self.errors));
        }
        let mut policy = self.policy;
        let mut overruled = Vec::new();
        let mut stays = |asked: Sourced<AbsPath>| match denied(&policy.deny, &asked.value) {
            None => true,
            Some(by) => {
                overruled.push(Overruled {
                    asked,
                    by: by.clone(),
                });
                false
            }
        };
        policy
            .lent
            .retain(|lent| stays(Sourced::new(lent.value.path.clone(), lent.origin)));
        policy.with.retain(|path| stays(path.clone()));
        policy.sockets.retain(|path| stays(path.clone()));
        policy.overruled = overruled;
        Ok(policy)
    }
}

/// The statement with an origin that says that the file on disk no longer holds it.
fn as_trusted(statement: &Sourced<Statement>) -> Sourced<Statement> {
    let origin = match statement.origin {
        Origin::File { line, .. } => Origin::TrustedFile { line },
        other => other,
    };
    Sourced::new(statement.value.clone(), origin)
}

/// The deny that covers `path`, the first stated one. Another spelling of the path is covered as well.
fn denied<'a>(deny: &'a [Sourced<AbsPath>], path: &AbsPath) -> Option<&'a Sourced<AbsPath>> {
    deny.iter().find(|rule| is_or_holds(&rule.value, path))
}

/// Takes the later statement, unless the machine's owner or the project has closed this already.
fn settle<T: Copy>(slot: &mut Sourced<T>, new: T, origin: Origin, narrow: impl Fn(T) -> bool) {
    let kept =
        matches!(slot.origin.layer(), Some(Layer::Managed | Layer::Project)) && narrow(slot.value);
    if !kept {
        *slot = Sourced::new(new, origin);
    }
}

/// Keeps the shorter of two limits.
fn shorten(slot: &mut Option<Sourced<Duration>>, limit: Duration, origin: Origin) {
    if slot.as_ref().is_none_or(|old| limit < old.value) {
        *slot = Some(Sourced::new(limit, origin));
    }
}

#[cfg(test)]
mod tests;
