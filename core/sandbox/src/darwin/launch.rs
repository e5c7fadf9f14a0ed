//! Carries a plan out: lays the temporary folder's name, tries the profile, starts the command.
//!
//! The promise: nothing of the caller is handed in, and no command runs unless this very profile has just been shown to
//! be taken and enforced. When the launch fails, no process is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use enclos_sys::darwin::exits::Exits;

use super::error::LaunchError;
use super::plan::Plan;
use super::running::Running;
use super::{command, tmp};
use crate::seatbelt::Members;
use crate::seatbelt::darwin::self_test;

/// How long a stage may take: far more than it does on the slowest machine, far less than forever.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Starts the session of `plan` and its command; returns once the command was executed. Takes some tens of milliseconds,
/// most of them for trying the profile.
///
/// May be called from any thread. The folders that the plan names must exist, and no process of an earlier run may be
/// working in them.
///
/// # Errors
/// Says whether the sandbox or the command is to blame; nothing is left behind.
pub fn launch(plan: &Plan) -> Result<Running, LaunchError> {
    let probe = tmp::lay(&plan.tmp).map_err(|(path, source)| LaunchError::Tmp { path, source })?;
    let prepared = command::prepare(plan, &plan.command)?;
    self_test(&prepared.profile, &probe)?;
    let news = Exits::new().map_err(LaunchError::Resources)?;
    let gone = Exits::new().map_err(LaunchError::Resources)?;
    let first = prepared.start(plan, 0, &[&news, &gone])?;
    let own = [Some(rustix::process::getpid()), rustix::process::getppid()];
    let spared: BTreeSet<i32> = own
        .into_iter()
        .flatten()
        .map(|pid| pid.as_raw_pid())
        .collect();
    let device = first.terminal.as_ref().map(|(device, _)| *device);
    Ok(Running {
        on_terminal: first.terminal.is_some(),
        members: Members::new(plan.marks(first.identity, device, spared)),
        terminals: first.terminal.into_iter().map(|own| (0, own)).collect(),
        first: first.spawned,
        plan: plan.clone(),
        news,
        gone,
        alive: BTreeMap::from([(0, first.pid)]),
        exits: BTreeMap::new(),
        next: 1,
        held: None,
        left: Vec::new(),
        over: false,
    })
}
