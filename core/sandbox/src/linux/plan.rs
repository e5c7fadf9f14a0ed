//! Turns a jail and the facts into a plan; pure, so it can be tested on every system.

use enclos_paths::AbsPath;

use super::HostFacts;
use super::Survey;
use crate::{Enforcement, Jail, Level};

/// Everything the launch needs, decided. Carried out by [`crate::launch()`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What this plan enforces.
    pub enforcement: Enforcement,
    /// Sockets that are covered, by their path inside: to be named to the person.
    pub covered_sockets: Vec<AbsPath>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No bubblewrap was found.
    #[error("bubblewrap is not installed")]
    BwrapMissing,
}

/// Plans `jail` for the machine described by `facts` with what `survey` found at its lent paths.
///
/// # Errors
/// Says what makes the jail impossible here, or which of its wishes is refused.
pub fn plan(jail: &Jail, facts: &HostFacts, survey: &Survey) -> Result<Plan, PlanError> {
    let _ = (jail, survey);
    if facts.bwrap.is_none() {
        return Err(PlanError::BwrapMissing);
    }
    Ok(Plan {
        enforcement: Enforcement { filesystem: Level::Full, network: Level::Full, processes: Level::Full },
        covered_sockets: Vec::new(),
    })
}
