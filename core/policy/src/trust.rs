//! Whether a person has agreed to what a project's file asks for, and to exactly which bytes.
//!
//! Trust is given to a hash, so any edit takes it back: an agent that changes `.enclos.toml` gains nothing, and what
//! the trusted version narrowed keeps counting until the person has looked. Remembering hashes and asking the person
//! are the caller's; nothing here is stored.

use std::fmt;
use std::str::FromStr;

use crate::document::{Document, Effect, Statement};
use crate::origin::Sourced;

/// BLAKE3 of a project file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrustHash([u8; 32]);

impl TrustHash {
    /// Hashes a file's bytes as they are on disk.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first 12 hex digits, for people to tell two versions apart; never for comparing.
    #[must_use]
    pub fn short(&self) -> String {
        let mut all = self.to_string();
        all.truncate(12);
        all
    }
}

impl fmt::Display for TrustHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TrustHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustHash({})", self.short())
    }
}

impl FromStr for TrustHash {
    type Err = TrustHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match blake3::Hash::from_hex(text) {
            Ok(hash) => Ok(Self(*hash.as_bytes())),
            Err(source) => Err(TrustHashError::NotHex { source }),
        }
    }
}

/// Why a text is not a [`TrustHash`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TrustHashError {
    /// It is not 64 hex digits.
    #[error("a trusted version is recorded as 64 hex digits")]
    NotHex {
        /// What is wrong with it.
        #[source]
        source: blake3::HexError,
    },
}

/// Where the person stands on the project's file as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The person agreed to exactly these bytes.
    Trusted,
    /// The person agreed to another version. Also when the file is gone since.
    Changed {
        /// That version, read again from the copy that was kept; what it narrows goes on counting.
        trusted: Document,
    },
    /// The person has never been asked.
    #[default]
    Unknown,
}

/// What became of a project's file since the person agreed to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Asked for now and not before.
    pub asks_more: Vec<Sourced<Statement>>,
    /// Asked for before and not now.
    pub asks_less: Vec<Sourced<Statement>>,
    /// Kept from the session now and not before.
    pub narrows_more: Vec<Sourced<Statement>>,
    /// Kept from the session before and not now: to agree to the new version is to give this up.
    pub narrows_less: Vec<Sourced<Statement>>,
}

impl Changes {
    /// Compares what two versions state; order and spelling of the file do not matter.
    #[must_use]
    pub fn between(trusted: &Document, now: &Document) -> Self {
        let beyond = |a: &Document, b: &Document, effect| a.beyond(b, effect).cloned().collect();
        Self {
            asks_more: beyond(now, trusted, Effect::Widens),
            asks_less: beyond(trusted, now, Effect::Widens),
            narrows_more: beyond(now, trusted, Effect::Narrows),
            narrows_less: beyond(trusted, now, Effect::Narrows),
        }
    }

    /// Whether the versions mean the same to a person: only comments, order or preferences differ.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Layer;

    #[test]
    fn a_hash_is_shown_short_and_read_back_whole() {
        let hash = TrustHash::of(b"[files]\n");
        assert_eq!(hash.short().len(), 12);
        assert_eq!(hash.to_string().parse::<TrustHash>().unwrap(), hash);
        assert!(
            hash.short().parse::<TrustHash>().is_err(),
            "a short form names no version"
        );
        assert_ne!(hash, TrustHash::of(b"[files]\n\n"), "every byte counts");
    }

    #[test]
    fn a_lost_narrowing_is_part_of_the_change() {
        let read = |text| crate::parse(text, Layer::Project).unwrap();
        let trusted = read("[files]\nhide = ['a', 'b']\nread = ['~/x']\n");
        let now = read("# moved\n[files]\nread = ['~/y', '~/x']\nhide = ['b']\n");
        let changes = Changes::between(&trusted, &now);
        let said = |list: &[Sourced<Statement>]| {
            list.iter().map(|s| s.value.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(said(&changes.asks_more), ["read ~/y"]);
        assert_eq!(said(&changes.narrows_less), ["hide a"]);
        assert!(changes.asks_less.is_empty() && changes.narrows_more.is_empty());
        assert!(Changes::between(&trusted, &trusted).is_empty());
    }
}
