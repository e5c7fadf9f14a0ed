//! What this machine has and lacks for sessions, for `doctor` and for errors before a session is begun.

use std::fs;

use enclos_paths::AbsPath;
use enclos_sandbox::HostFacts;

use crate::Environment;
use crate::jail;

/// Something about this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// What it is, in words.
    pub what: String,
    /// The one line to type, where there is one.
    pub to_type: Option<String>,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It is as it should be.
    Good,
    /// Sessions run, with less.
    Weak,
    /// No session can run.
    Fatal,
}

/// Looks at the machine.
#[must_use]
pub fn machine(environment: &Environment) -> Vec<Finding> {
    let facts = HostFacts::gather(&jail::bwrap_search(environment));
    let mut findings = Vec::new();
    for finding in facts.findings() {
        let weight = if finding.is_fatal() {
            Weight::Fatal
        } else {
            Weight::Weak
        };
        let to_type = finding.to_type().map(str::to_owned);
        findings.push(Finding {
            weight,
            what: finding.to_string(),
            to_type,
        });
    }
    if !findings
        .iter()
        .any(|finding| finding.weight == Weight::Fatal)
    {
        findings.extend(facts.promises().into_iter().map(|promise| Finding {
            weight: Weight::Good,
            what: promise.to_owned(),
            to_type: None,
        }));
    }
    findings
}

/// Says how `folder` would be copied.
#[must_use]
pub fn folder(environment: &Environment, folder: &AbsPath) -> Finding {
    let real = fs::canonicalize(folder)
        .ok()
        .and_then(|real| AbsPath::new(real).ok());
    let own = crate::config::places(environment, folder).own;
    let refused = real
        .as_ref()
        .map(|real| enclos_clone::refuse(real, &environment.user.home, &own));
    match (real, refused) {
        (None, _) => Finding {
            weight: Weight::Fatal,
            what: format!("{folder} is not there"),
            to_type: None,
        },
        (_, Some(Err(refusal))) => Finding {
            weight: Weight::Fatal,
            what: refusal.to_string(),
            to_type: None,
        },
        (Some(real), _) => Finding {
            weight: Weight::Good,
            what: format!("{real} can be copied"),
            to_type: None,
        },
    }
}
