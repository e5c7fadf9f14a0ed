//! What may be lent to a session at all, whoever asks for it.
//!
//! A path that is protected, or that holds something protected, is refused rather than lent with holes in it: a hole
//! that is forgotten is a leak, a refusal that is wrong is a question. Names are compared without regard to case,
//! and `/private/var` is `/var`, so that another spelling of the same folder does not pass. The check is lexical.
//! It keeps its promise only when it is asked twice: about the path as written, and about what it resolves to.

use enclos_paths::AbsPath;

use crate::layers::Places;
use crate::protected::{PROTECTED, Protected, Refuses, SOCKETS, Spot};

/// How something is to be lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lending {
    /// To be read.
    Read,
    /// To be read and written.
    Write,
    /// To be copied and reviewed with the project.
    With,
    /// One Unix socket, to connect to.
    Socket,
}

/// Answers whether `path` may be lent.
///
/// # Errors
/// Says what the path is or holds that is never lent.
pub fn may_lend(path: &AbsPath, lending: Lending, places: &Places) -> Result<(), LendRefused> {
    let own_path = || path.clone();
    if is_or_holds(path, &places.home) {
        return Err(LendRefused::Home {
            path: own_path(),
            home: places.home.clone(),
        });
    }
    for own in &places.own {
        if is_or_holds(path, own) || is_or_holds(own, path) {
            return Err(LendRefused::Own {
                path: own_path(),
                own: own.clone(),
            });
        }
    }
    if is_or_holds(path, &places.project) {
        return Err(LendRefused::HoldsProject {
            path: own_path(),
            project: places.project.clone(),
        });
    }
    if lending != Lending::Socket && is_or_holds(&places.project, path) {
        return Err(LendRefused::InProject { path: own_path() });
    }
    match protection(path, lending, &places.home) {
        Some((row, Relation::Within)) => Err(LendRefused::Protected {
            path: own_path(),
            row,
        }),
        Some((row, Relation::Holds)) => Err(LendRefused::HoldsProtected {
            path: own_path(),
            row,
        }),
        None => Ok(()),
    }
}

/// Why a path is never lent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LendRefused {
    /// It is the home, or holds it.
    #[error("{path} holds the whole of {home}; name the folders that the session needs")]
    Home {
        /// What was to be lent.
        path: AbsPath,
        /// The person's home.
        home: AbsPath,
    },
    /// It is, holds or lies in a folder of Enclos's own.
    #[error("{path} reaches {own}, which Enclos keeps to itself")]
    Own {
        /// What was to be lent.
        path: AbsPath,
        /// The folder of Enclos.
        own: AbsPath,
    },
    /// It holds the original, which is never visible inside.
    #[error("{path} holds the original {project}, which stays out of the session")]
    HoldsProject {
        /// What was to be lent.
        path: AbsPath,
        /// The project's folder.
        project: AbsPath,
    },
    /// It is part of the project.
    #[error("{path} is part of the project and so in the copy already")]
    InProject {
        /// What was to be lent.
        path: AbsPath,
    },
    /// It is protected, or lies in something that is.
    #[error("{path} is {}: {}", .row.refuses, .row.what)]
    Protected {
        /// What was to be lent.
        path: AbsPath,
        /// The row of the table that protects it.
        row: &'static Protected,
    },
    /// Something protected lies in it.
    #[error("{path} is {} as a whole, it holds {} ({}); name the folders that the session needs", .row.refuses, .row.spot, .row.what)]
    HoldsProtected {
        /// What was to be lent.
        path: AbsPath,
        /// The row of the table that protects it.
        row: &'static Protected,
    },
}

/// The row that `path` is or lies in, for `lending` it.
pub(crate) fn protected_by(
    path: &AbsPath,
    lending: Lending,
    home: &AbsPath,
) -> Option<&'static Protected> {
    match protection(path, lending, home) {
        Some((row, Relation::Within)) => Some(row),
        _ => None,
    }
}

/// How a path stands to a protected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// It is the protected path or lies in it.
    Within,
    /// The protected path lies in it.
    Holds,
}

/// Other people's homes are protected as one's own is: root could read them.
const HOMES: [&str; 3] = ["/home/*", "/users/*", "/root"];

fn protection(
    path: &AbsPath,
    lending: Lending,
    home: &AbsPath,
) -> Option<(&'static Protected, Relation)> {
    let path = folded(path);
    let home = folded(home);
    let table: &mut dyn Iterator<Item = &'static Protected> = match lending {
        Lending::Socket => &mut SOCKETS
            .iter()
            .chain(PROTECTED.iter().filter(|row| !row.only_sockets)),
        _ => &mut PROTECTED.iter(),
    };
    let mut held = None;
    for row in table {
        if row.refuses == Refuses::Writing && lending != Lending::Write {
            continue;
        }
        match strongest(row, &path, &home) {
            Some(Relation::Within) => return Some((row, Relation::Within)),
            Some(Relation::Holds) if held.is_none() => held = Some((row, Relation::Holds)),
            _ => {}
        }
    }
    held
}

fn strongest(row: &Protected, path: &[Vec<u8>], home: &[Vec<u8>]) -> Option<Relation> {
    match row.spot {
        Spot::Root(spot) => relation(&pattern(spot), path),
        Spot::Home(spot) => {
            let own = std::iter::once(home.to_vec());
            let mut bases = own.chain(HOMES.iter().map(|base| pattern(base)));
            bases.find_map(|base| relation(&[base, pattern(spot)].concat(), path))
        }
    }
}

/// Compares component by component; `*` in a pattern stands for any run of bytes in one name.
fn relation(pattern: &[Vec<u8>], path: &[Vec<u8>]) -> Option<Relation> {
    let same = pattern
        .iter()
        .zip(path)
        .all(|(wanted, name)| name_matches(wanted, name));
    let relation = if path.len() >= pattern.len() {
        Relation::Within
    } else {
        Relation::Holds
    };
    same.then_some(relation)
}

/// Compares one name; both are in lower case already.
pub(crate) fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = pattern.iter().position(|&b| b == b'*') else {
        return pattern == name;
    };
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
}

fn pattern(text: &str) -> Vec<Vec<u8>> {
    text.split('/')
        .filter(|part| !part.is_empty())
        .map(|part| part.to_lowercase().into_bytes())
        .collect()
}

/// The components of a path in lower case, with `/private` taken off where macOS puts `/tmp`, `/var` and `/etc`.
fn folded(path: &AbsPath) -> Vec<Vec<u8>> {
    let parts = path
        .as_bytes()
        .split(|&b| b == b'/')
        .filter(|part| !part.is_empty());
    let mut parts: Vec<Vec<u8>> = parts.map(lower).collect();
    let aliased = parts
        .get(1)
        .is_some_and(|name| [&b"tmp"[..], b"var", b"etc"].contains(&name.as_slice()));
    if aliased && parts[0] == b"private" {
        parts.remove(0);
    }
    if parts.first().is_some_and(|name| name == b"var")
        && parts.get(1).is_some_and(|name| name == b"run")
    {
        parts.remove(0);
    }
    parts
}

fn lower(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

/// Whether `outer` is `inner` or holds it, in any spelling.
pub(crate) fn is_or_holds(outer: &AbsPath, inner: &AbsPath) -> bool {
    let (outer, inner) = (folded(outer), folded(inner));
    inner.starts_with(&outer)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(std::ffi::OsStr::from_bytes(path.as_bytes())).unwrap()
    }

    fn places() -> Places {
        Places {
            home: abs("/home/u"),
            project: abs("/home/u/code/p"),
            cwd: abs("/home/u/code/p"),
            own: vec![
                abs("/home/u/.local/share/enclos"),
                abs("/run/user/1000/enclos"),
            ],
        }
    }

    fn refused(path: &str, lending: Lending) -> String {
        may_lend(&abs(path), lending, &places()).map_or_else(|e| e.to_string(), |()| "lent".into())
    }

    #[test]
    fn folders_for_work_are_lent() {
        for path in [
            "/home/u/datasets",
            "/home/u/code/lib",
            "/srv/data",
            "/tmp/data",
            "/nix/store",
            "/etc/hosts",
        ] {
            assert_eq!(refused(path, Lending::Read), "lent", "{path}");
        }
        assert_eq!(refused("/home/u/datasets", Lending::Write), "lent");
        assert_eq!(refused("/home/u/code/lib", Lending::With), "lent");
        assert_eq!(
            refused("/run/postgresql/.s.PGSQL.5432", Lending::Socket),
            "lent"
        );
    }

    #[test]
    fn what_is_protected_is_refused_by_name_and_by_what_holds_it() {
        insta::assert_snapshot!(refused("/home/u/.ssh/id_ed25519", Lending::Read), @"/home/u/.ssh/id_ed25519 is never lent: SSH keys");
        insta::assert_snapshot!(refused("/home/u/.config", Lending::Read), @"/home/u/.config is never lent as a whole, it holds ~/.config/op (the session of 1Password); name the folders that the session needs");
        insta::assert_snapshot!(refused("/home/u", Lending::Read), @"/home/u holds the whole of /home/u; name the folders that the session needs");
        insta::assert_snapshot!(refused("/", Lending::Read), @"/ holds the whole of /home/u; name the folders that the session needs");
        insta::assert_snapshot!(refused("/home/u/code", Lending::Read), @"/home/u/code holds the original /home/u/code/p, which stays out of the session");
        insta::assert_snapshot!(refused("/home/u/code/p/src", Lending::Read), @"/home/u/code/p/src is part of the project and so in the copy already");
        insta::assert_snapshot!(refused("/home/u/.local/share", Lending::Read), @"/home/u/.local/share reaches /home/u/.local/share/enclos, which Enclos keeps to itself");
        insta::assert_snapshot!(refused("/nix", Lending::Read), @"/nix is never lent as a whole, it holds /nix/var (the daemon of Nix, which fetches from the network); name the folders that the session needs");
        insta::assert_snapshot!(refused("/proc/1", Lending::Read), @"/proc/1 is never lent: processes of the machine");
        insta::assert_snapshot!(refused("/var/run/docker.sock", Lending::Socket), @"/var/run/docker.sock is never lent: Docker, which can do anything on this machine");
    }

    #[test]
    fn another_spelling_does_not_pass() {
        for path in [
            "/home/u/.SSH",
            "/HOME/u/.ssh",
            "/home/other/.ssh",
            "/root/.gnupg",
            "/Users/Other/Library/Keychains",
            "/private/etc/shadow",
            "/private/var/run/user/1000",
            "/System/Volumes/Data/Users/u/x",
            "/run/user/1000/bus",
        ] {
            assert_ne!(refused(path, Lending::Read), "lent", "{path}");
        }
    }

    #[test]
    fn a_place_that_runs_programs_outside_is_read_but_not_written() {
        for path in [
            "/home/u/.local/bin",
            "/home/u/.gitconfig",
            "/opt/homebrew",
            "/usr/local/lib",
        ] {
            assert_eq!(refused(path, Lending::Read), "lent", "{path}");
            assert_ne!(refused(path, Lending::Write), "lent", "{path}");
        }
    }

    #[test]
    fn sockets_that_are_a_way_out_are_refused() {
        for path in [
            "/run/docker.sock",
            "/home/u/.docker/run/docker.sock",
            "/tmp/ssh-AbCd/agent.17",
            "/run/user/1000/bus",
            "/run/user/1000/gnupg/S.gpg-agent",
            "/run/user/1000/wayland-0",
            "/tmp/.X11-unix/X0",
            "/nix/var/nix/daemon-socket/socket",
            "/private/tmp/com.apple.launchd.abc/Listeners",
        ] {
            assert_ne!(refused(path, Lending::Socket), "lent", "{path}");
        }
    }
}
