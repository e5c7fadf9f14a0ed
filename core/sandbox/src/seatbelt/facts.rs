//! What the generator has to know: pure data, every path checked where it is made.
//!
//! A rule whose path is not spelt the way the kernel resolves it never matches, without a word; for a deny that is a
//! hole. So a [`PhysicalPath`] is refused unless it is one, and values go into parameters, never into the text.

use std::collections::BTreeSet;
use std::fmt;

use enclos_paths::AbsPath;

/// A path as the kernel resolves it: text, in normal form, through no link of the root folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalPath(String);

impl PhysicalPath {
    /// Checks a path that the caller has resolved with `F_GETPATH` or `realpath`.
    ///
    /// # Errors
    /// Says why no rule could carry it.
    pub fn new(path: &AbsPath) -> Result<Self, PhysicalPathError> {
        let own = || path.clone();
        let text = std::str::from_utf8(path.as_bytes())
            .map_err(|_| PhysicalPathError::NotText { path: own() })?;
        if text.chars().any(char::is_control) {
            return Err(PhysicalPathError::Control { path: own() });
        }
        if text == "/" {
            return Err(PhysicalPathError::Root);
        }
        let first = text[1..].split('/').next().unwrap_or_default();
        if ["tmp", "var", "etc"].contains(&first) {
            return Err(PhysicalPathError::Link {
                path: own(),
                physical: format!("/private{text}"),
            });
        }
        if let Some(rest) = text.strip_prefix("/System/Volumes/Data")
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return Err(PhysicalPathError::Link {
                path: own(),
                physical: format!("/{}", rest.trim_start_matches('/')),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders it lies in, the nearest first, without the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        let ends = self
            .0
            .rmatch_indices('/')
            .map(|(at, _)| at)
            .filter(|at| *at > 0);
        ends.map(|at| Self(self.0[..at].to_owned()))
    }

    /// Whether it is `folder` or lies below it.
    #[must_use]
    pub fn is_within(&self, folder: &Self) -> bool {
        self.0
            .strip_prefix(&folder.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for PhysicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enclos_paths::shown(self.0.as_bytes()).fmt(f)
    }
}

/// Why a path cannot be in a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PhysicalPathError {
    /// Profiles are text.
    #[error("{path} is not UTF-8, and macOS takes only text in a sandbox profile")]
    NotText {
        /// The path.
        path: AbsPath,
    },
    /// A control character could end a line of the profile.
    #[error("{path} holds a control character, which a sandbox profile cannot carry")]
    Control {
        /// The path.
        path: AbsPath,
    },
    /// The root is everything.
    #[error("/ is everything; a sandbox cannot be opened that far")]
    Root,
    /// It goes through a link, so a rule about it would never match.
    #[error("{path} is another name of {physical}; a rule about it would never match")]
    Link {
        /// The path.
        path: AbsPath,
        /// Its resolved form.
        physical: String,
    },
}

/// The mark that the system's log puts on denials of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// Takes 1 to 40 letters, digits and `-`.
    ///
    /// # Errors
    /// Anything else, because the tag is part of the profile's text.
    pub fn new(tag: &str) -> Result<Self, TagError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if (1..=40).contains(&tag.len()) && tag.bytes().all(plain) {
            Ok(Self(tag.to_owned()))
        } else {
            Err(TagError::NotATag {
                tag: tag.to_owned(),
            })
        }
    }

    /// The tag of the session that is called `name`; what a tag cannot hold is a `-` in it.
    #[must_use]
    pub fn of_session(name: &[u8]) -> Self {
        let plain = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(*byte),
            _ => '-',
        };
        let name: String = name.iter().take(32).map(plain).collect();
        Self(format!("enclos-{name}"))
    }

    /// The tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is not a [`Tag`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// It holds something else than letters, digits and `-`, or is too long.
    #[error("`{}` is not a tag of 1 to 40 letters, digits and `-`", enclos_paths::shown(.tag.as_bytes()))]
    NotATag {
        /// The text.
        tag: String,
    },
}

/// What a profile is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The mark on denials in the log.
    pub tag: Tag,
    /// The copies: read, written, executed.
    pub trees: Vec<PhysicalPath>,
    /// The session's own home.
    pub home: PhysicalPath,
    /// The session's own temporary folder. Short: a socket's path has 103 bytes.
    pub tmp: PhysicalPath,
    /// What is lent, to read and execute.
    pub readable: Vec<PhysicalPath>,
    /// What is lent, to write as well.
    pub writable: Vec<PhysicalPath>,
    /// Files in lent folders that hold credentials.
    pub covered: Vec<PhysicalPath>,
    /// Unix sockets that are lent.
    pub sockets: Vec<PhysicalPath>,
    /// What stays closed whatever is lent: the original, Enclos's own folders, key folders. A copy may lie inside.
    pub protected: Vec<PhysicalPath>,
    /// The developer folder as `xcode-select -p` names it, resolved.
    pub developer: Option<PhysicalPath>,
    /// The session's terminal, `/dev/ttysNNN`.
    pub terminal: Option<PhysicalPath>,
    /// What of the network is there.
    pub network: Network,
    /// Services of the system beyond the usual.
    pub services: BTreeSet<Service>,
}

/// What of the network a session has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Network {
    /// The port on loopback that our proxy listens on; none: nothing leaves.
    pub proxy: Option<u16>,
    /// Loopback otherwise.
    pub loopback: Loopback,
}

/// What of this machine's loopback a session has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Loopback {
    /// Nothing.
    #[default]
    Closed,
    /// Its own servers, and with them every service of this machine but those on `denied` ports: the language has no
    /// rule that tells a session's own server from another. Its servers accept from the local network, too.
    Open {
        /// Ports that listen when the session starts, and those of known services.
        denied: BTreeSet<u16>,
    },
}

/// A service of the system that is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Changes of files, for watchers of development servers.
    FileEvents,
    /// Certificates as the system judges them.
    SystemTrust,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn physical(bytes: &[u8]) -> Result<PhysicalPath, PhysicalPathError> {
        PhysicalPath::new(&AbsPath::new(OsStr::from_bytes(bytes)).unwrap())
    }

    #[test]
    fn only_paths_that_a_rule_can_match_are_taken() {
        assert_eq!(
            physical(b"/Users/u/p \"q\"\\").unwrap().as_str(),
            "/Users/u/p \"q\"\\"
        );
        assert!(physical(b"/tmpfiles").is_ok() && physical(b"/System/Volumes/DataX").is_ok());
        let said = |bytes: &[u8]| physical(bytes).unwrap_err().to_string();
        insta::assert_snapshot!(said(b"/caf\xe9"), @r"/caf\xe9 is not UTF-8, and macOS takes only text in a sandbox profile");
        insta::assert_snapshot!(said(b"/a\nb"), @r"/a\nb holds a control character, which a sandbox profile cannot carry");
        insta::assert_snapshot!(said(b"/"), @"/ is everything; a sandbox cannot be opened that far");
        insta::assert_snapshot!(said(b"/tmp/x"), @"/tmp/x is another name of /private/tmp/x; a rule about it would never match");
        insta::assert_snapshot!(said(b"/System/Volumes/Data/Users/u"), @"/System/Volumes/Data/Users/u is another name of /Users/u; a rule about it would never match");
    }

    #[test]
    fn a_tag_cannot_carry_a_rule() {
        assert!(Tag::new("enclos-1f").is_ok());
        let odd = Tag::of_session("café \"1\")\n and so on, and so on, and so on".as_bytes());
        assert_eq!(odd.as_str(), "enclos-caf----1----and-so-on--and-so-on");
        assert!(Tag::new(odd.as_str()).is_ok());
        for bad in ["", "a\")", "a b", "é", &"x".repeat(41)] {
            assert!(Tag::new(bad).is_err(), "{bad:?}");
        }
    }
}
