//! Writes the profile of a session: pure text from [`Facts`], the same on every system.
//!
//! The order is the argument: closed by default, then what is open by itself closed, the system opened, the session's
//! own opened, what is lent opened, and at the end everything protected closed again with the narrow operations
//! named, because a rule on a narrow operation is stronger than one on a wide one. Paths are parameters, so no path
//! can be read as a rule. What it cannot do is in `gaps`; entering the sandbox is in `darwin`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;

use super::facts::{Facts, Loopback, Network, PhysicalPath, Service};

/// A profile and the values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    text: String,
    params: Vec<(String, String)>,
}

impl Profile {
    /// The profile's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters, each with its value.
    #[must_use]
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }

    /// The arguments of `sandbox-exec` before the command.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let values = self
            .params
            .iter()
            .flat_map(|(name, value)| ["-D".into(), format!("{name}={value}").into()]);
        ["-p".into(), self.text.clone().into()]
            .into_iter()
            .chain(values)
            .collect()
    }
}

/// Writes the profile for `facts`.
///
/// # Errors
/// Facts that contradict each other; nothing is guessed.
pub fn profile(facts: &Facts) -> Result<Profile, ProfileError> {
    check(facts)?;
    let mut writer = Writer::default();
    writer.text.push_str("(version 1)\n\n");
    writer.comment("What is not opened below is closed. The mark finds this session's denials in the system's log.");
    let _ = writeln!(
        writer.text,
        "(deny default (with message \"{}\"))\n",
        facts.tag.as_str()
    );
    for base in BASES {
        writer.text.push_str(base);
        writer.text.push('\n');
    }
    for service in &facts.services {
        writer.text.push_str(match service {
            Service::FileEvents => include_str!("base/file-events.sbpl"),
            Service::SystemTrust => include_str!("base/system-trust.sbpl"),
        });
    }
    writer.session(facts);
    writer.lent(facts);
    writer.network(&facts.network);
    writer.protected(facts);
    writer.anchors(facts);
    Ok(Profile {
        text: writer.text,
        params: writer.params,
    })
}

/// Facts that cannot be true together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A session has nowhere to work.
    #[error("a session needs at least one copy")]
    NoTree,
    /// A folder of the session is protected itself.
    #[error("{path} is a folder of the session and protected at the same time")]
    Contradiction {
        /// The folder.
        path: PhysicalPath,
    },
    /// What is to be the terminal is something else.
    #[error("{path} is not a terminal")]
    NotATerminal {
        /// The path.
        path: PhysicalPath,
    },
}

/// The parts that are the same for every session.
const BASES: [&str; 5] = [
    include_str!("base/closed.sbpl"),
    include_str!("base/process.sbpl"),
    include_str!("base/system.sbpl"),
    include_str!("base/devices.sbpl"),
    include_str!("base/services.sbpl"),
];

/// Bytes of filters and their values in one rule. Nix found that rules beyond 2^14 bytes are refused.
const LONGEST_RULE: usize = 8_000;

/// Everything that can be done with a file, the narrow operations by name.
const ON_FILES: &str = "file-read* file-read-data file-read-xattr \
    file-write* file-write-data file-write-create file-write-unlink file-write-mode file-write-xattr \
    file-link file-clone file-map-executable process-exec* \
    network-outbound network-inbound network-bind";

fn check(facts: &Facts) -> Result<(), ProfileError> {
    if facts.trees.is_empty() {
        return Err(ProfileError::NoTree);
    }
    if let Some(path) = own_folders(facts).find(|own| facts.protected.iter().any(|p| p == *own)) {
        return Err(ProfileError::Contradiction { path: path.clone() });
    }
    match &facts.terminal {
        Some(path) if !is_terminal(path.as_str()) => {
            Err(ProfileError::NotATerminal { path: path.clone() })
        }
        _ => Ok(()),
    }
}

fn is_terminal(path: &str) -> bool {
    path.strip_prefix("/dev/ttys")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The folders that are the session's own.
fn own_folders(facts: &Facts) -> impl Iterator<Item = &PhysicalPath> {
    facts.trees.iter().chain([&facts.home, &facts.tmp])
}

/// What is closed again at the end.
fn closed(facts: &Facts) -> impl Iterator<Item = &PhysicalPath> {
    facts.protected.iter().chain(&facts.covered)
}

#[derive(Default)]
struct Writer {
    text: String,
    params: Vec<(String, String)>,
}

impl Writer {
    fn session(&mut self, facts: &Facts) {
        let mut own = Vec::new();
        for (at, tree) in facts.trees.iter().enumerate() {
            own.push(self.param("subpath", &format!("TREE_{at}"), tree));
        }
        own.push(self.param("subpath", "HOME", &facts.home));
        own.push(self.param("subpath", "TMP", &facts.tmp));
        self.rule(
            "The copies, the session's home and its temporary folder.",
            "allow file-read* file-write* file-link file-clone file-map-executable process-exec*",
            &own,
        );
        self.rule(
            "Unix sockets of the session among themselves. No other path is opened, so no agent or daemon is reached.",
            "allow network-outbound network-inbound network-bind",
            &own,
        );
        if let Some(terminal) = &facts.terminal {
            let filter = self.param("literal", "TERMINAL", terminal);
            let why = "The session's own terminal and no other: what is written to another one is typed there.";
            self.rule(why, "allow file-read* file-write* file-ioctl", &[filter]);
        }
    }

    fn lent(&mut self, facts: &Facts) {
        if let Some(developer) = &facts.developer {
            let filter = self.param("subpath", "DEVELOPER", developer);
            let why = "Compilers and tools of the chosen developer folder.";
            self.rule(
                why,
                "allow file-read* file-map-executable process-exec*",
                &[filter],
            );
        }
        let readable = self.both("READ", &facts.readable);
        self.rule(
            "Lent to read and run.",
            "allow file-read* file-map-executable process-exec*",
            &readable,
        );
        let writable = self.both("WRITE", &facts.writable);
        self.rule(
            "Lent to change.",
            "allow file-read* file-write* file-link file-map-executable process-exec*",
            &writable,
        );
        // A clone is checked for its top alone, so a folder that holds something closed is not cloned as a whole.
        let mut clonable = Vec::new();
        for (at, path) in facts.writable.iter().enumerate() {
            if !closed(facts).any(|inner| inner.is_within(path)) {
                clonable.push(self.param("subpath", &format!("WRITE_{at}"), path));
            }
        }
        self.rule(
            "The same, cloned as a whole. [inferred]",
            "allow file-clone",
            &clonable,
        );
        let mut sockets = Vec::new();
        for (at, socket) in facts.sockets.iter().enumerate() {
            sockets.push(self.param("literal", &format!("SOCKET_{at}"), socket));
        }
        self.rule("Lent to connect to.", "allow network-outbound", &sockets);
        let covered = self.both("COVERED", &facts.covered);
        self.rule(
            "Credentials that lie in something lent.",
            &format!("deny {ON_FILES}"),
            &covered,
        );
    }

    fn network(&mut self, network: &Network) {
        if let Loopback::Open { denied } = &network.loopback {
            self.rule(
                "Servers of the session and what connects to them. Rules cannot tell them from other services of this \
                 machine, nor loopback from the local network on the listening side.",
                "allow network-outbound",
                &["(remote ip \"localhost:*\")".into()],
            );
            let here = "(local ip \"localhost:*\")".to_owned();
            self.rule(
                "The listening side.",
                "allow network-bind network-inbound",
                &[here],
            );
            let ports: BTreeSet<u16> = denied.iter().copied().filter(|port| *port != 0).collect();
            let filters: Vec<String> = ports
                .iter()
                .map(|port| format!("(remote ip \"localhost:{port}\")"))
                .collect();
            let why = "Services that listen already, and known ones. [reported]";
            self.rule(why, "deny network-outbound", &filters);
        }
        if let Some(port) = network.proxy.filter(|port| *port != 0) {
            let filter = format!("(remote ip \"localhost:{port}\")");
            self.rule("The one way out.", "allow network-outbound", &[filter]);
        }
    }

    fn protected(&mut self, facts: &Facts) {
        let (around, apart): (Vec<_>, Vec<_>) = facts
            .protected
            .iter()
            .enumerate()
            .partition(|(_, p)| own_folders(facts).any(|own| own.is_within(p)));
        let mut filters = Vec::new();
        for (at, path) in apart {
            let name = format!("PROTECTED_{at}");
            filters.push(self.param("literal", &name, path));
            filters.push(format!("(subpath (param \"{name}\"))"));
        }
        let why = "Never, whatever is lent above: the original, Enclos's own folders, keys.";
        self.rule(
            why,
            &format!("deny {ON_FILES} file-read-metadata"),
            &filters,
        );
        for (at, path) in around {
            let own: Vec<String> = facts
                .trees
                .iter()
                .enumerate()
                .map(|(at, tree)| (format!("TREE_{at}"), tree))
                .chain([
                    ("HOME".to_owned(), &facts.home),
                    ("TMP".to_owned(), &facts.tmp),
                ])
                .filter(|(_, own)| own.is_within(path))
                .map(|(name, _)| format!("(require-not (subpath (param \"{name}\")))"))
                .collect();
            let whole = self.param("subpath", &format!("PROTECTED_{at}"), path);
            let filter = format!("(require-all {whole} {})", own.join(" "));
            // Names on the way to the session's own folders stay visible, or their paths cannot be resolved.
            let why = "The same around the session's own folders. [reported]";
            self.rule(why, &format!("deny {ON_FILES}"), &[filter]);
        }
    }

    /// A folder that is moved takes what is closed in it along, to a path that no rule names: the folders between a
    /// writable place and something closed stay where they are.
    fn anchors(&mut self, facts: &Facts) {
        let roots: Vec<&PhysicalPath> = own_folders(facts).chain(&facts.writable).collect();
        let mut anchors = BTreeSet::new();
        for path in closed(facts) {
            for root in roots.iter().filter(|root| path.is_within(root)) {
                let above = path.ancestors().filter(|folder| folder.is_within(root));
                anchors.extend(above);
            }
        }
        let mut filters = Vec::new();
        for (at, folder) in anchors.iter().enumerate() {
            filters.push(self.param("literal", &format!("ANCHOR_{at}"), folder));
        }
        let why = "Folders that hold something closed are not moved or deleted.";
        self.rule(why, "deny file-write* file-write-unlink", &filters);
    }

    /// Filters for paths that may be files or folders; `subpath` alone has been seen to miss a plain file.
    fn both(&mut self, prefix: &str, paths: &[PhysicalPath]) -> Vec<String> {
        let mut filters = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let name = format!("{prefix}_{at}");
            filters.push(self.param("literal", &name, path));
            filters.push(format!("(subpath (param \"{name}\"))"));
        }
        filters
    }

    fn param(&mut self, filter: &str, name: &str, path: &PhysicalPath) -> String {
        if !self.params.iter().any(|(known, _)| known == name) {
            self.params
                .push((name.to_owned(), path.as_str().to_owned()));
        }
        format!("({filter} (param \"{name}\"))")
    }

    /// One rule, or several where the filters are too long for one; none without filters.
    fn rule(&mut self, why: &str, head: &str, filters: &[String]) {
        let mut rest = filters;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|filter| {
                bytes += filter.len() + self.value_bytes(filter);
                bytes <= LONGEST_RULE
            });
            let count = fits.count().max(1);
            self.text.push('\n');
            self.comment(why);
            let _ = writeln!(self.text, "({head}");
            for filter in &rest[..count] {
                let _ = writeln!(self.text, "  {filter}");
            }
            // The bracket goes behind the last filter.
            self.text.pop();
            self.text.push_str(")\n");
            rest = &rest[count..];
        }
    }

    fn value_bytes(&self, filter: &str) -> usize {
        let used = self
            .params
            .iter()
            .filter(|(name, _)| filter.contains(&format!("\"{name}\"")));
        used.map(|(_, value)| value.len()).sum()
    }

    fn comment(&mut self, text: &str) {
        let _ = writeln!(self.text, "; {text}");
    }
}
