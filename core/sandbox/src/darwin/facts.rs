//! What this Mac has that a session needs, for the planner and for `doctor`.
//!
//! No program is run to find out. How it could break: a fact is a hint; the profile is tried at every start, and that
//! decides.

use std::fmt;
use std::path::Path;

use enclos_paths::AbsPath;

use crate::Gap;

/// What was found on this Mac. The same for all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// Whether `sandbox-exec` is there, with which a profile is tried.
    pub sandbox_exec: bool,
    /// Whether this process is in a sandbox itself, in which no other can be entered.
    pub nested: bool,
    /// The developer folder that was chosen, resolved; none without developer tools.
    pub developer: Option<AbsPath>,
}

/// Something that keeps sessions from working, or weakens them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// `sandbox-exec` is missing.
    SandboxMissing,
    /// Enclos runs in a sandbox itself.
    Nested,
    /// What macOS cannot enforce.
    Weaker(Gap),
}

impl HostFacts {
    /// Reads the facts. Nothing is looked for elsewhere: `_search` is for systems that need a program to be found.
    #[must_use]
    pub fn gather(_search: &[AbsPath]) -> Self {
        let developer = DEVELOPER
            .iter()
            .find_map(|place| std::fs::canonicalize(place).ok())
            .and_then(|path| AbsPath::new(path).ok());
        Self {
            sandbox_exec: Path::new("/usr/bin/sandbox-exec").exists(),
            nested: is_nested(),
            developer,
        }
    }

    /// What is missing or weak here, the worst first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.sandbox_exec {
            findings.push(Finding::SandboxMissing);
        }
        if self.nested {
            findings.push(Finding::Nested);
        }
        let gaps = [
            Gap::NamesVisible,
            Gap::LateLocalServices,
            Gap::ServersSeenFromOutside,
            Gap::StraysPossible,
        ];
        findings.extend(gaps.map(Finding::Weaker));
        findings
    }

    /// What is enforced here, a sentence for each concern.
    #[must_use]
    pub fn promises(&self) -> Vec<&'static str> {
        vec![
            "files: only the copy, a private home and what is lent can be written",
            "network: none leaves the session",
        ]
    }
}

impl Finding {
    /// Whether no session can run because of it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Weaker(_))
    }

    /// The one line to type that helps; there is none on macOS.
    #[must_use]
    pub fn to_type(&self) -> Option<&'static str> {
        None
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SandboxMissing => {
                f.write_str("/usr/bin/sandbox-exec, a part of macOS, is not there")
            }
            Self::Nested => f.write_str(
                "Enclos runs in a sandbox itself, in which macOS allows no other; start it outside",
            ),
            Self::Weaker(gap) => gap.fmt(f),
        }
    }
}

/// The link that `xcode-select` sets, and where it leads to by itself; its manual page.
const DEVELOPER: [&str; 3] = [
    "/var/db/xcode_select_link",
    "/Applications/Xcode.app/Contents/Developer",
    "/Library/Developer/CommandLineTools",
];

#[cfg(target_os = "macos")]
fn is_nested() -> bool {
    enclos_sys::darwin::sandbox::is_sandboxed(rustix::process::getpid().as_raw_pid())
}

#[cfg(not(target_os = "macos"))]
fn is_nested() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fatal_comes_first_and_what_is_weak_is_said() {
        let facts = HostFacts {
            sandbox_exec: false,
            nested: true,
            developer: None,
        };
        let fatal: Vec<bool> = facts.findings().iter().map(Finding::is_fatal).collect();
        assert_eq!(fatal, [true, true, false, false, false, false]);
        let good = HostFacts {
            sandbox_exec: true,
            nested: false,
            ..facts
        };
        assert!(!good.findings().iter().any(Finding::is_fatal));
        assert!(
            good.promises()
                .iter()
                .all(|promise| !promise.starts_with("processes")),
            "nothing is promised of processes"
        );
    }
}
