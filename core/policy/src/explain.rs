//! What would happen to a path, and which line says so.
//!
//! `enclos why PATH` prints a [`Verdict`]. It is the policy's answer, in the same order of strength that the jail is
//! planned in: what is protected or Enclos's own, then what is denied or hidden, then what is lent, then nothing.
//! What a jail shows besides (system folders, toolchains) is decided where jails are planned and passed in, so the
//! two cannot drift apart. Whether a platform enforces the answer is not known here.

use std::fmt;

use enclos_paths::AbsPath;

use crate::document::Statement;
use crate::hide::{EntryKind, HidePattern};
use crate::layers::{Lent, LentAccess, Places, Policy};
use crate::lending::{Lending, protected_by};
use crate::origin::Sourced;
use crate::protected::Protected;
use crate::secret_names::{SecretFile, secret_file};

/// What a program inside would like to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read, list or execute.
    Read,
    /// Create, change or delete.
    Write,
    /// Connect, when the path is a Unix socket.
    Connect,
}

/// Something that a jail shows whatever the policy says: a system folder, a toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The folder or file.
    pub path: AbsPath,
    /// What can be done with it.
    pub access: LentAccess,
    /// Why it is there, in words: `the system`, `lent for cargo`.
    pub why: String,
}

/// The answer and what decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was asked about.
    pub access: Access,
    /// Whether it succeeds.
    pub allowed: bool,
    /// What decided.
    pub rule: Rule,
    /// A request in the project's file that would change the answer, were the file trusted.
    pub pending: Option<Sourced<Statement>>,
}

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// It is part of the project: the copy is read and written, the original stays as it is.
    Copy,
    /// It is part of a folder that is copied along.
    With(Sourced<AbsPath>),
    /// A pattern keeps it out of the copy.
    Hidden(Sourced<HidePattern>),
    /// It is lent.
    Lent(Sourced<Lent>),
    /// It lies in something lent, and its name says that it holds credentials.
    Secret(Sourced<Lent>, &'static SecretFile),
    /// The socket is lent.
    Socket(Sourced<AbsPath>),
    /// It is denied.
    Denied(Sourced<AbsPath>),
    /// It is never lent.
    Protected(&'static Protected),
    /// It is Enclos's own.
    Own(AbsPath),
    /// Every session sees it.
    Shown(Shown),
    /// It lies in the home, and a session has a home of its own.
    Home,
    /// Nobody lent it.
    NotLent,
}

/// Answers for `path`, which the caller has resolved.
#[must_use]
pub fn verdict(
    policy: &Policy,
    places: &Places,
    shown: &[Shown],
    (path, kind): (&AbsPath, EntryKind),
    access: Access,
) -> Verdict {
    let rule = rule(policy, places, shown, (path, kind), access);
    let allowed = match &rule {
        Rule::Copy | Rule::With(_) => true,
        Rule::Lent(lent) => may(lent.value.access, access),
        Rule::Shown(shown) => may(shown.access, access),
        Rule::Socket(_) => access == Access::Connect,
        _ => false,
    };
    let asks = |statement: &&Sourced<Statement>| grants(&statement.value, path, access, places);
    let pending = policy
        .pending
        .iter()
        .find(asks)
        .filter(|_| !allowed)
        .cloned();
    Verdict {
        access,
        allowed,
        rule,
        pending,
    }
}

fn rule(
    policy: &Policy,
    places: &Places,
    shown: &[Shown],
    (path, kind): (&AbsPath, EntryKind),
    access: Access,
) -> Rule {
    if let Some(own) = places.own.iter().find(|own| path.is_within(own)) {
        return Rule::Own(own.clone());
    }
    if *path == places.project {
        return Rule::Copy;
    }
    if let Some(inner) = path.below(&places.project) {
        let hidden = policy.hide.matched(&inner, kind);
        return hidden.map_or(Rule::Copy, |rule| Rule::Hidden(rule.clone()));
    }
    if let Some(socket) = policy.sockets.iter().find(|socket| socket.value == *path) {
        return Rule::Socket(socket.clone());
    }
    if let Some(rule) = policy.denied(path) {
        return Rule::Denied(rule.clone());
    }
    let inside = |lent: &&Sourced<Lent>| path.is_within(&lent.value.path);
    let depth = |lent: &&Sourced<Lent>| lent.value.path.as_bytes().len();
    let lent = policy.lent.iter().filter(inside).max_by_key(depth);
    if let Some(lent) = lent {
        return match secret_file(path.as_path()) {
            Some(row) if lent.value.path != *path => Rule::Secret(lent.clone(), row),
            _ => Rule::Lent(lent.clone()),
        };
    }
    if let Some(with) = policy.with.iter().find(|with| path.is_within(&with.value)) {
        return Rule::With(with.clone());
    }
    if let Some(row) = protected_by(path, lending(access), &places.home) {
        return Rule::Protected(row);
    }
    if let Some(shown) = shown.iter().find(|shown| path.is_within(&shown.path)) {
        return Rule::Shown(shown.clone());
    }
    if path.is_within(&places.home) {
        Rule::Home
    } else {
        Rule::NotLent
    }
}

fn may(lent: LentAccess, access: Access) -> bool {
    match access {
        Access::Read => true,
        Access::Write => lent == LentAccess::Write,
        Access::Connect => false,
    }
}

/// What is refused for writing alone is answered by who lends it, so a table row counts only for reading.
fn lending(access: Access) -> Lending {
    match access {
        Access::Read | Access::Write => Lending::Read,
        Access::Connect => Lending::Socket,
    }
}

fn grants(statement: &Statement, path: &AbsPath, access: Access, places: &Places) -> bool {
    let within = |written: &crate::WrittenPath| {
        path.is_within(&written.resolve(&places.home, &places.project))
    };
    match statement {
        Statement::Read(written) => access == Access::Read && within(written),
        Statement::Write(written) | Statement::With(written) => {
            access != Access::Connect && within(written)
        }
        Statement::Socket(written) => access == Access::Connect && within(written),
        _ => false,
    }
}

impl fmt::Display for Verdict {
    /// One line a person can act on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Rule::Copy => {
                f.write_str("in the copy: read and written there, the original stays as it is")
            }
            Rule::With(with) => write!(f, "in the copy of {} (by {})", with.value, with.origin),
            Rule::Hidden(rule) => write!(f, "hidden by {}: {}", rule.origin, rule.value),
            Rule::Lent(lent) if self.allowed => {
                write!(f, "lent by {}: {}", lent.origin, lent.value.path)
            }
            Rule::Lent(lent) if self.access == Access::Connect => write!(
                f,
                "in {}, lent by {}, but a socket is lent by its own name only (`--socket`)",
                lent.value.path, lent.origin
            ),
            Rule::Lent(lent) => {
                write!(
                    f,
                    "lent for reading only, by {}: {}",
                    lent.origin, lent.value.path
                )
            }
            Rule::Secret(lent, row) => {
                write!(
                    f,
                    "covered, because it holds credentials of {}, in {}, lent by {}",
                    row.tool, lent.value.path, lent.origin
                )
            }
            Rule::Socket(socket) if self.allowed => write!(f, "lent by {}", socket.origin),
            Rule::Socket(socket) => write!(
                f,
                "a socket, lent for connecting only, by {}",
                socket.origin
            ),
            Rule::Denied(rule) => write!(f, "denied by {}: {}", rule.origin, rule.value),
            Rule::Protected(row) => write!(f, "never lent: {}", row.what),
            Rule::Own(own) => write!(f, "never lent: {own} is Enclos's own"),
            Rule::Shown(shown) if self.allowed => {
                write!(f, "there for every session: {}", shown.why)
            }
            Rule::Shown(shown) => write!(
                f,
                "there for every session to read, not to change: {}",
                shown.why
            ),
            Rule::Home => f.write_str("not lent: a session has a home of its own"),
            Rule::NotLent => f.write_str("not lent"),
        }?;
        match &self.pending {
            Some(ask) => write!(f, "; asked for by {}, which is not trusted", ask.origin),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Layer, Layers, Trust, merge, parse};

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn asked(path: &str, access: Access) -> String {
        let places = Places {
            home: abs("/home/u"),
            project: abs("/home/u/p"),
            cwd: abs("/home/u/p"),
            own: vec![abs("/home/u/.local/share/enclos")],
        };
        let user = "[files]\nread = ['~/data', '~/.npmrc']\nwrite = ['~/out']\nsockets = ['/srv/db.sock']\n\
            deny = ['~/data/private']\nwith = ['~/lib']\n";
        let project = "[files]\nhide = ['secrets/']\nread = ['~/wanted']\n";
        let layers = Layers {
            user: parse(user, Layer::User).unwrap(),
            project: parse(project, Layer::Project).unwrap(),
            trust: Trust::Unknown,
            flags: Document::default(),
            managed: Document::default(),
        };
        let policy = merge(&layers, &places).unwrap();
        let shown = [Shown {
            path: abs("/usr"),
            access: LentAccess::Read,
            why: "the system".into(),
        }];
        let path = abs(path);
        let verdict = verdict(&policy, &places, &shown, (&path, EntryKind::File), access);
        let yes = if verdict.allowed { "yes" } else { "no" };
        format!("{access:?} {path}: {yes}, {verdict}")
    }

    #[test]
    fn every_answer_names_what_decided() {
        use Access::{Connect, Read, Write};
        let answers = [
            asked("/home/u/p", Read),
            asked("/home/u/p/src/main.rs", Write),
            asked("/home/u/p/secrets/key", Read),
            asked("/home/u/lib/a", Write),
            asked("/home/u/data/a", Read),
            asked("/home/u/data/a", Write),
            asked("/home/u/data/.netrc", Read),
            asked("/home/u/data/private/a", Read),
            asked("/home/u/.npmrc", Read),
            asked("/home/u/out/a", Write),
            asked("/srv/db.sock", Connect),
            asked("/srv/db.sock", Read),
            asked("/home/u/out/db.sock", Connect),
            asked("/home/u/.ssh/id_rsa", Read),
            asked("/run/docker.sock", Connect),
            asked("/home/u/.local/share/enclos/x", Read),
            asked("/usr/bin/git", Read),
            asked("/usr/bin/git", Write),
            asked("/home/u/.bash_logout", Read),
            asked("/home/u/wanted/a", Read),
            asked("/opt/x", Read),
        ];
        insta::assert_snapshot!(answers.join("\n"), @r"
        Read /home/u/p: yes, in the copy: read and written there, the original stays as it is
        Write /home/u/p/src/main.rs: yes, in the copy: read and written there, the original stays as it is
        Read /home/u/p/secrets/key: no, hidden by .enclos.toml:2: secrets/
        Write /home/u/lib/a: yes, in the copy of /home/u/lib (by config.toml:6)
        Read /home/u/data/a: yes, lent by config.toml:2: /home/u/data
        Write /home/u/data/a: no, lent for reading only, by config.toml:2: /home/u/data
        Read /home/u/data/.netrc: no, covered, because it holds credentials of curl, git, in /home/u/data, lent by config.toml:2
        Read /home/u/data/private/a: no, denied by config.toml:5: /home/u/data/private
        Read /home/u/.npmrc: yes, lent by config.toml:2: /home/u/.npmrc
        Write /home/u/out/a: yes, lent by config.toml:3: /home/u/out
        Connect /srv/db.sock: yes, lent by config.toml:4
        Read /srv/db.sock: no, a socket, lent for connecting only, by config.toml:4
        Connect /home/u/out/db.sock: no, in /home/u/out, lent by config.toml:3, but a socket is lent by its own name only (`--socket`)
        Read /home/u/.ssh/id_rsa: no, never lent: SSH keys
        Connect /run/docker.sock: no, never lent: Docker, which can do anything on this machine
        Read /home/u/.local/share/enclos/x: no, never lent: /home/u/.local/share/enclos is Enclos's own
        Read /usr/bin/git: yes, there for every session: the system
        Write /usr/bin/git: no, there for every session to read, not to change: the system
        Read /home/u/.bash_logout: no, not lent: a session has a home of its own
        Read /home/u/wanted/a: no, not lent: a session has a home of its own; asked for by .enclos.toml:3, which is not trusted
        Read /opt/x: no, not lent
        ");
    }
}
