//! The name of a session: short, typeable, safe in a path.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::Serialize;

/// A session's name: 1 to 40 lower-case letters, digits and inner dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// The longest name.
    pub const MAX: usize = 40;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The stem that a project's sessions share: its folder's name in the alphabet of session names.
    #[must_use]
    pub fn stem(folder: &str) -> String {
        let mut stem = String::new();
        for c in folder.chars().flat_map(char::to_lowercase) {
            if c.is_ascii_alphanumeric() {
                stem.push(c);
            } else if !stem.is_empty() && !stem.ends_with('-') {
                stem.push('-');
            }
        }
        stem.truncate(Self::MAX - 8);
        let stem = stem.trim_matches('-');
        if stem.is_empty() {
            "folder".to_owned()
        } else {
            stem.to_owned()
        }
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;

    fn from_str(text: &str) -> Result<Self, SessionIdError> {
        let bad = |why| {
            Err(SessionIdError {
                text: text.to_owned(),
                why,
            })
        };
        if text.is_empty() || text.len() > Self::MAX {
            return bad(BadId::Length);
        }
        if !text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return bad(BadId::Alphabet);
        }
        if text.starts_with('-') || text.ends_with('-') {
            return bad(BadId::Dash);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;

    fn try_from(text: String) -> Result<Self, SessionIdError> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no session name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a session name: {why}", enclos_paths::shown(.text.as_bytes()))]
pub struct SessionIdError {
    /// What was given.
    pub text: String,
    /// Which rule it breaks.
    pub why: BadId,
}

/// The rules of session names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadId {
    /// Too short or too long.
    #[error("it must have 1 to 40 characters")]
    Length,
    /// A character that is not allowed.
    #[error("only a-z, 0-9 and - may be in it")]
    Alphabet,
    /// A dash at an end.
    #[error("it must not start or end with -")]
    Dash,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        for bad in ["", "..", "a/b", "A", "-a", "a-", "a b", &"x".repeat(41)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?} must be refused");
        }
        assert_eq!("web-12".parse::<SessionId>().unwrap().as_str(), "web-12");
    }

    #[test]
    fn stems_come_from_any_folder_name() {
        assert_eq!(SessionId::stem("My App_2"), "my-app-2");
        assert_eq!(SessionId::stem("日本"), "folder");
        assert!(
            SessionId::stem(&"x".repeat(100))
                .parse::<SessionId>()
                .is_ok()
        );
    }
}
