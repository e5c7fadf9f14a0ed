//! The values a policy is made of, each checked once where it is made.
//!
//! A value of one of these types is well formed; it is not yet allowed. What may not be here: anything that looks at
//! a disk, so a [`WrittenPath`] is resolved lexically and whoever acts on it must resolve links and ask
//! [`may_lend`](crate::may_lend) again.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use enclos_paths::{AbsPath, shown};

/// A path as a person wrote it: absolute, below home (`~`, `~/x`), or relative.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WrittenPath(PathBuf);

impl WrittenPath {
    /// Checks that `path` can name a file at all.
    ///
    /// # Errors
    /// Refuses what is empty, holds NUL, or names another person's home (`~name`).
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, WrittenPathError> {
        let path = path.into();
        let bytes = path.as_os_str().as_bytes();
        match bytes {
            [] => Err(WrittenPathError::Empty),
            _ if bytes.contains(&0) => Err(WrittenPathError::Nul(path)),
            [b'~', next, ..] if *next != b'/' => Err(WrittenPathError::OtherHome(path)),
            _ => Ok(Self(path)),
        }
    }

    /// The absolute path meant, with `~` as `home` and a relative path starting at `from`. Links are not followed.
    #[must_use]
    pub fn resolve(&self, home: &AbsPath, from: &AbsPath) -> AbsPath {
        match self.0.strip_prefix("~") {
            Ok(below) => home.resolve(below),
            Err(_) => from.resolve(&self.0),
        }
    }

    /// Whether what it means depends on where it is written.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        !self.0.starts_with("~") && self.0.is_relative()
    }

    /// The path as written.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for WrittenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(self.0.as_os_str().as_bytes()).fmt(f)
    }
}

impl fmt::Debug for WrittenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WrittenPath({self})")
    }
}

/// Why a text is not a [`WrittenPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrittenPathError {
    /// There is nothing in it.
    #[error("an empty path names nothing")]
    Empty,
    /// It holds a NUL byte.
    #[error("{} holds a NUL byte", shown(.0.as_os_str().as_bytes()))]
    Nul(PathBuf),
    /// It names the home of somebody else.
    #[error("{} names another person's home; write the whole path", shown(.0.as_os_str().as_bytes()))]
    OtherHome(PathBuf),
}

/// The name of an environment variable: letters, digits and `_`, not starting with a digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvName(Box<str>);

/// Names that the jail itself needs to have its own values in.
const OWN_NAMES: [&str; 8] = [
    "CFFIXED_USER_HOME",
    "HOME",
    "LOGNAME",
    "OLDPWD",
    "PWD",
    "TMPDIR",
    "USER",
    "ZDOTDIR",
];

impl EnvName {
    /// Checks `name`.
    ///
    /// # Errors
    /// Refuses what no shell could use, and names that Enclos sets itself inside.
    pub fn new(name: &str) -> Result<Self, EnvNameError> {
        let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty()
            || !name.chars().all(plain)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(EnvNameError::NotAName { name: name.into() });
        }
        if OWN_NAMES.contains(&name) || name.starts_with("ENCLOS_") {
            return Err(EnvNameError::Own { name: name.into() });
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not an [`EnvName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvNameError {
    /// It is not letters, digits and `_`.
    #[error("`{}` cannot be the name of a variable: letters, digits and `_` only, no digit first", shown(.name.as_bytes()))]
    NotAName {
        /// The text found.
        name: String,
    },
    /// Inside, the variable belongs to Enclos.
    #[error("`{name}` is set by Enclos inside a session and cannot be given")]
    Own {
        /// The variable.
        name: String,
    },
}

/// The value of an environment variable. It may well be a secret, so it is not printed by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvValue(OsString);

impl EnvValue {
    /// Takes any bytes but NUL.
    ///
    /// # Errors
    /// A NUL byte, which an environment cannot carry.
    pub fn new(value: impl Into<OsString>) -> Result<Self, EnvValueError> {
        let value = value.into();
        if value.as_bytes().contains(&0) {
            Err(EnvValueError::Nul)
        } else {
            Ok(Self(value))
        }
    }

    /// The value.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

impl fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnvValue({} bytes)", self.0.len())
    }
}

/// Why bytes are not an [`EnvValue`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvValueError {
    /// They hold a NUL byte.
    #[error("the value of a variable cannot hold a NUL byte")]
    Nul,
}

/// Makes an enum of names that a person can write: text to value, value to text, and the list for messages.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// The names a person can write.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The value that `name` stands for.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// The name as a person writes it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// What may leave the machine. There is one mode until sessions have a proxy.
    Network {
        /// Nothing may.
        None = "none",
    }
}

named! {
    /// Which way of copying is wanted.
    CloneMethod {
        /// The best one that the file system offers and that keeps every promise.
        Auto = "auto",
        /// The whole folder in one call, on APFS.
        Clonefile = "clonefile",
        /// A reflink per file.
        Reflink = "reflink",
        /// Tracked and not ignored files copied, heavy ignored folders overlaid.
        Hybrid = "hybrid",
        /// An overlay over the living original: later edits of the original are visible inside.
        Overlay = "overlay",
        /// Plain copies.
        Copy = "copy",
    }
}

named! {
    /// How much of a repository goes in when the folder is part of one.
    Scope {
        /// The whole repository.
        Repository = "repository",
        /// The folder alone.
        Folder = "folder",
    }
}

named! {
    /// How much of the repository's past is visible inside.
    History {
        /// All of it.
        Full = "full",
        /// One commit that holds the present tree.
        None = "none",
    }
}

named! {
    /// What happens to the changes when the command ends.
    OnExit {
        /// The person is asked; without a terminal the changes are kept.
        Ask = "ask",
        /// Changes that need no second look are applied.
        Apply = "apply",
        /// The copy is discarded.
        Discard = "discard",
        /// The changes are kept for a later review.
        Keep = "keep",
    }
}

/// Whether programs of this machine can be reached over loopback from inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Local {
    /// As far as the platform allows it.
    Reachable,
    /// Not at all.
    Closed,
}

/// Reads a length of time: whole numbers with `d`, `h`, `m` or `s`, largest unit first (`90s`, `1h30m`).
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
    let mut rest = text;
    let mut left: &[(char, u64)] = &UNITS;
    let mut seconds: u64 = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .filter(|&at| at > 0)?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].chars().next()?;
        let at = left.iter().position(|&(letter, _)| letter == unit)?;
        seconds = seconds.checked_add(number.checked_mul(left[at].1)?)?;
        left = &left[at + 1..];
        rest = &rest[digits + unit.len_utf8()..];
    }
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// Writes a length of time so that [`parse_duration`] reads it back.
#[must_use]
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3_600, 'h'),
        (seconds / 60 % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let text: String = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    #[test]
    fn a_written_path_means_home_root_or_where_it_is_written() {
        let meant = |text: &str| {
            WrittenPath::new(text)
                .unwrap()
                .resolve(&abs("/home/u"), &abs("/p"))
                .to_string()
        };
        assert_eq!(meant("~"), "/home/u");
        assert_eq!(meant("~/a/../b"), "/home/u/b");
        assert_eq!(meant("/x"), "/x");
        assert_eq!(meant("../lib"), "/lib");
        assert_eq!(
            meant("./~"),
            "/p/~",
            "a file that is called ~ can still be named"
        );
    }

    #[test]
    fn what_cannot_name_a_file_is_refused() {
        assert_eq!(WrittenPath::new(""), Err(WrittenPathError::Empty));
        assert!(matches!(
            WrittenPath::new("a\0b"),
            Err(WrittenPathError::Nul(_))
        ));
        assert!(matches!(
            WrittenPath::new("~root/x"),
            Err(WrittenPathError::OtherHome(_))
        ));
    }

    #[test]
    fn variable_names_are_checked() {
        assert!(EnvName::new("RUST_LOG").is_ok());
        for bad in ["", "1A", "A-B", "A=B", "É", "A\0"] {
            assert!(
                matches!(EnvName::new(bad), Err(EnvNameError::NotAName { .. })),
                "{bad:?}"
            );
        }
        for own in ["HOME", "ENCLOS_SESSION"] {
            assert!(
                matches!(EnvName::new(own), Err(EnvNameError::Own { .. })),
                "{own}"
            );
        }
    }

    #[test]
    fn a_value_is_not_printed() {
        assert_eq!(
            format!("{:?}", EnvValue::new("hunter2").unwrap()),
            "EnvValue(7 bytes)"
        );
    }

    #[test]
    fn lengths_of_time_are_whole_units_largest_first() {
        assert_eq!(parse_duration("1h30m"), Some(Duration::from_secs(5_400)));
        assert_eq!(parse_duration("90s"), Some(Duration::from_secs(90)));
        for bad in [
            "",
            "0s",
            "5",
            "h",
            "1m1h",
            "1m1m",
            "-1s",
            "1 h",
            "99999999999999999999d",
            "1é",
        ] {
            assert_eq!(parse_duration(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_length_of_time_is_read_back(seconds in 1u64..10_000_000) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}") {
            let _ = parse_duration(&text);
            let _ = WrittenPath::new(text.as_str());
            let _ = EnvName::new(&text);
        }
    }
}
