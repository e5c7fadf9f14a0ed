//! Answers whether a profile would allow something, and by which rule.
//!
//! The model, which explains every measurement that projects have published: an operation's own rules are asked
//! first; among those with a filter the last that matches decides, else the last without a filter does; else the
//! wider operation is asked, and so on up to `default`. Some operations end there by themselves, allowed or denied.
//! It is a model: what only a Mac can show is tested on a Mac, and a rule says how sure the fact behind it is.

use super::operations::{Above, Operation, operation};
use super::ruleset::{Filter, Rule, Ruleset};

/// What an operation is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'t> {
    /// A file by its resolved path.
    Path(&'t str),
    /// A file for which the process was granted an extension of this class.
    Granted {
        /// Its resolved path.
        path: &'t str,
        /// The class of the extension.
        class: &'t str,
    },
    /// An address on the other side.
    Remote {
        /// Whether it is this machine's loopback.
        localhost: bool,
        /// Its port.
        port: u16,
    },
    /// An address on this side.
    Local {
        /// Whether it is this machine's loopback.
        localhost: bool,
        /// Its port.
        port: u16,
    },
    /// A name: of a service, a setting, a shared memory.
    Name(&'t str),
    /// A process of this sandbox.
    Own,
    /// A process outside this sandbox.
    Other,
    /// Nothing in particular.
    Nothing,
}

/// Something a program may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt<'t> {
    /// Read a file or list a folder.
    Read(&'t str),
    /// See that a file exists, its size and times.
    Stat(&'t str),
    /// Change a file that exists.
    Write(&'t str),
    /// Make a file.
    Create(&'t str),
    /// Delete a file.
    Delete(&'t str),
    /// Execute a file.
    Execute(&'t str),
    /// Load a library.
    Load(&'t str),
    /// Set up a terminal or device.
    Control(&'t str),
    /// Clone a file or folder.
    Clone(&'t str, &'t str),
    /// Make a second name for a file.
    Link(&'t str, &'t str),
    /// Move a file.
    Rename(&'t str, &'t str),
    /// Connect to a Unix socket.
    Connect(&'t str),
    /// Connect to a port, on loopback when the flag of the target says so.
    Dial(Target<'t>),
    /// Accept connections on a loopback port.
    Serve(u16),
    /// Send a signal.
    Signal(Target<'t>),
    /// Read a setting of the kernel.
    Sysctl(&'t str),
    /// Find a service by name.
    Lookup(&'t str),
    /// Have LaunchServices open something.
    OpenByApp,
    /// Send an Apple event.
    AppleEvent,
}

/// The answer.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'r> {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The rule that decided; none when the operation decides by itself.
    pub rule: Option<&'r Rule>,
    /// The operation whose rules decided.
    pub operation: &'static str,
}

impl Ruleset {
    /// Whether `operation` on `target` is allowed. None for an operation that is not known here.
    #[must_use]
    pub fn allowed(&self, name: &str, target: Target<'_>) -> Option<Verdict<'_>> {
        let mut at: &Operation = operation(name)?;
        loop {
            if let Some(rule) = self.own_rule(at, target) {
                return Some(Verdict {
                    allowed: rule.allow,
                    rule: Some(rule),
                    operation: at.name,
                });
            }
            match at.above {
                Above::Operation(above) => at = operation(above)?,
                end => {
                    let allowed = end == Above::AllowedAlone;
                    return Some(Verdict {
                        allowed,
                        rule: None,
                        operation: at.name,
                    });
                }
            }
        }
    }

    /// Whether all that `attempt` needs is allowed; the verdict is that on the first thing denied, else on the last.
    #[must_use]
    pub fn attempt(&self, attempt: Attempt<'_>) -> Option<Verdict<'_>> {
        let mut last = None;
        for (name, target) in needs(attempt) {
            let verdict = self.allowed(name, target)?;
            last = Some(verdict);
            if !verdict.allowed {
                break;
            }
        }
        last
    }

    fn own_rule(&self, operation: &Operation, target: Target<'_>) -> Option<&Rule> {
        let own = || {
            self.rules
                .iter()
                .rev()
                .filter(|rule| rule.operations.contains(&operation))
        };
        let filtered = own().find(|rule| rule.filters.iter().any(|filter| matches(filter, target)));
        filtered.or_else(|| own().find(|rule| rule.filters.is_empty()))
    }
}

/// The operations that the kernel checks for an attempt.
fn needs(attempt: Attempt<'_>) -> Vec<(&'static str, Target<'_>)> {
    let path = Target::Path;
    match attempt {
        Attempt::Read(at) => vec![("file-read-data", path(at))],
        Attempt::Stat(at) => vec![("file-read-metadata", path(at))],
        Attempt::Write(at) => vec![("file-write-data", path(at))],
        Attempt::Create(at) => vec![("file-write-create", path(at))],
        Attempt::Delete(at) => vec![("file-write-unlink", path(at))],
        Attempt::Execute(at) => vec![("process-exec*", path(at))],
        Attempt::Load(at) => vec![
            ("file-read-data", path(at)),
            ("file-map-executable", path(at)),
        ],
        Attempt::Control(at) => vec![("file-ioctl", path(at))],
        Attempt::Clone(from, to) => {
            vec![
                ("file-clone", path(from)),
                ("file-read-data", path(from)),
                ("file-write-create", path(to)),
            ]
        }
        Attempt::Link(from, to) => vec![("file-link", path(from)), ("file-write-create", path(to))],
        Attempt::Rename(from, to) => vec![
            ("file-write-unlink", path(from)),
            ("file-write-create", path(to)),
        ],
        Attempt::Connect(at) => vec![("network-outbound", path(at))],
        Attempt::Dial(target) => vec![("network-outbound", target)],
        Attempt::Serve(port) => {
            let here = Target::Local {
                localhost: true,
                port,
            };
            vec![("network-bind", here), ("network-inbound", here)]
        }
        Attempt::Signal(target) => vec![("signal", target)],
        Attempt::Sysctl(name) => vec![("sysctl-read", Target::Name(name))],
        Attempt::Lookup(name) => vec![("mach-lookup", Target::Name(name))],
        Attempt::OpenByApp => vec![("lsopen", Target::Nothing)],
        Attempt::AppleEvent => vec![("appleevent-send", Target::Nothing)],
    }
}

fn matches(filter: &Filter, target: Target<'_>) -> bool {
    let path = match target {
        Target::Path(path) | Target::Granted { path, .. } => Some(path),
        _ => None,
    };
    match filter {
        Filter::All(filters) => filters.iter().all(|filter| matches(filter, target)),
        Filter::Any(filters) => filters.iter().any(|filter| matches(filter, target)),
        Filter::Not(filter) => !matches(filter, target),
        Filter::Literal(literal) => path == Some(literal),
        Filter::Subpath(folder) => path.is_some_and(|path| is_within(path, folder)),
        Filter::Extension(class) => {
            matches!(target, Target::Granted { class: granted, .. } if granted == class)
        }
        Filter::Name(name) => target == Target::Name(name),
        Filter::NamePrefix(prefix) => {
            matches!(target, Target::Name(name) if name.starts_with(prefix.as_str()))
        }
        Filter::Own => target == Target::Own,
        Filter::Remote { localhost, port } => {
            matches!(target, Target::Remote { localhost: to, port: at }
            if (to || !localhost) && port.is_none_or(|port| port == at))
        }
        Filter::Local { localhost, port } => {
            matches!(target, Target::Local { localhost: to, port: at }
            if (to || !localhost) && port.is_none_or(|port| port == at))
        }
    }
}

fn is_within(path: &str, folder: &str) -> bool {
    folder == "/"
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &str, operation: &str, target: Target<'_>) -> bool {
        let rules = Ruleset::compile(&format!("(version 1)\n{rules}"), &[]).unwrap();
        rules.allowed(operation, target).unwrap().allowed
    }

    const X: Target<'_> = Target::Path("/x/y");

    #[test]
    fn the_last_filtered_match_of_one_operation_wins() {
        assert!(!allowed(
            "(allow file-read* (subpath \"/x\")) (deny file-read* (literal \"/x/y\"))",
            "file-read*",
            X
        ));
        assert!(allowed(
            "(deny file-read* (literal \"/x/y\")) (allow file-read* (subpath \"/x\"))",
            "file-read*",
            X
        ));
    }

    #[test]
    fn a_narrow_operation_answers_before_a_wide_one_in_any_order() {
        let narrow_first =
            "(allow file-read-data (subpath \"/\")) (deny file-read* (literal \"/x/y\"))";
        let narrow_last =
            "(deny file-read* (literal \"/x/y\")) (allow file-read-data (subpath \"/\"))";
        for rules in [narrow_first, narrow_last] {
            assert!(allowed(rules, "file-read-data", X), "{rules}");
            assert!(!allowed(rules, "file-read-xattr", X), "{rules}");
        }
    }

    #[test]
    fn a_rule_without_filter_is_the_default_of_its_operation() {
        for rules in [
            "(deny network-outbound (literal \"/x/y\")) (allow network-outbound)",
            "(allow network-outbound) (deny network-outbound (literal \"/x/y\"))",
        ] {
            assert!(!allowed(rules, "network-outbound", X), "{rules}");
            assert!(
                allowed(rules, "network-outbound", Target::Path("/z")),
                "{rules}"
            );
        }
    }

    #[test]
    fn some_operations_are_open_in_a_closed_profile() {
        for open in [
            "file-link",
            "file-clone",
            "file-map-executable",
            "process-info-pidinfo",
        ] {
            assert!(allowed("(deny default)", open, X), "{open}");
            let word = open.replace("-pidinfo", "*");
            assert!(
                !allowed(&format!("(deny default) (deny {word})"), open, X),
                "{open}"
            );
        }
        assert!(!allowed("(allow default)", "file-write-setugid", X));
        assert!(!allowed("(deny default)", "file-read-data", X));
    }

    #[test]
    fn bind_follows_inbound() {
        let here = Target::Local {
            localhost: true,
            port: 3000,
        };
        assert!(allowed(
            "(allow network-inbound (local ip \"localhost:*\"))",
            "network-bind",
            here
        ));
    }

    #[test]
    fn a_port_denied_after_all_of_localhost_stays_denied() {
        let rules = "(allow network-outbound (remote ip \"localhost:*\"))\
            (deny network-outbound (remote ip \"localhost:5432\"))";
        let to = |localhost, port| {
            allowed(
                rules,
                "network-outbound",
                Target::Remote { localhost, port },
            )
        };
        assert!(to(true, 3000) && !to(true, 5432) && !to(false, 3000));
    }

    #[test]
    fn a_folder_holds_whole_names() {
        assert!(is_within("/x", "/x") && is_within("/x/y", "/x") && is_within("/x", "/"));
        assert!(!is_within("/xy", "/x") && !is_within("/", "/x"));
    }
}
