//! What can be wrong with a file, said so that it can be put right.
//!
//! One line a problem, in the form editors jump to: `config.toml:3:1: unknown key ...; did you mean ...`. Text that
//! comes from the file is shown through `enclos_paths::shown`, so a hostile file cannot draw on the terminal.

use std::fmt;

use enclos_paths::shown;

use crate::hide::HidePatternError;
use crate::origin::Layer;
use crate::values::{EnvNameError, EnvValueError, WrittenPathError};

/// All problems of one file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Vec<Problem>);

impl ParseError {
    /// None when there is nothing wrong.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|p| (p.line, p.column));
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// The problems in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// One problem and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{layer}:{line}:{column}: {kind}")]
pub struct Problem {
    /// Whose file it is.
    pub layer: Layer,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    #[source]
    pub kind: ProblemKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// It is larger than anything a person writes.
    #[error("the file has {bytes} bytes, at most {most} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most that is read.
        most: usize,
    },
    /// It is not text.
    #[error("the file is not UTF-8 text from here on")]
    NotText,
    /// It is not TOML.
    #[error("{}", shown(.source.message().as_bytes()))]
    Syntax {
        /// What the TOML parser says.
        source: Box<toml::de::Error>,
    },
    /// A key that does not exist.
    #[error("unknown key `{}`{}", shown(.found.as_bytes()), hint('`', .nearest.as_deref(), .allowed))]
    UnknownKey {
        /// The key with its table, as written.
        found: String,
        /// The key that was probably meant, with its table.
        nearest: Option<String>,
        /// The keys of this table.
        allowed: &'static [&'static str],
    },
    /// A value of the wrong type.
    #[error("`{key}` is {found}, wanted {wanted}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What is there, with its article.
        found: &'static str,
        /// What has to be there.
        wanted: &'static str,
    },
    /// A value that is not one of the names a key takes.
    #[error("`{key}` cannot be \"{}\"{}", shown(.found.as_bytes()), hint('"', *.nearest, .allowed))]
    UnknownValue {
        /// The key.
        key: &'static str,
        /// What is there.
        found: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
        /// The names it takes.
        allowed: &'static [&'static str],
    },
    /// A network mode that needs the proxy, which this version does not have.
    #[error(
        "`network.mode` cannot be \"{found}\" in this version, which has no network at all; use \"none\" or leave it out"
    )]
    NetworkNotYet {
        /// The mode.
        found: &'static str,
    },
    /// A length of time that is not one.
    #[error("`{key}` cannot be \"{}\"; write a length of time such as \"90s\", \"45m\" or \"1h30m\"", shown(.found.as_bytes()))]
    Duration {
        /// The key.
        key: &'static str,
        /// What is there.
        found: String,
    },
    /// A format of a later or unknown version.
    #[error("the file is written for version {} of this format, this Enclos reads version {}", shown(.found.as_bytes()), crate::parse::VERSION)]
    Version {
        /// The version found.
        found: String,
    },
    /// A path that cannot be one.
    #[error("`{key}`: {source}")]
    Path {
        /// The key.
        key: &'static str,
        /// Why.
        source: WrittenPathError,
    },
    /// A relative path in a file that belongs to no folder in particular.
    #[error("`{key}`: `{}` is relative, and this file belongs to no project; start it with `/` or `~/`", shown(.found.as_bytes()))]
    RelativePath {
        /// The key.
        key: &'static str,
        /// The path.
        found: String,
    },
    /// A pattern that cannot be one.
    #[error("`files.hide`: {source}")]
    Pattern {
        /// Why.
        source: HidePatternError,
    },
    /// A name that no variable can have.
    #[error("`{key}`: {source}")]
    EnvName {
        /// The key.
        key: &'static str,
        /// Why.
        source: EnvNameError,
    },
    /// A value that no variable can have.
    #[error("`env.set`: {source}")]
    EnvValue {
        /// Why.
        source: EnvValueError,
    },
    /// The machine owner's file holds something that does not restrict.
    #[error(
        "`{key}` does not restrict what a session can do (\"{asked}\"), and a managed policy may only restrict"
    )]
    ManagedWidens {
        /// The key.
        key: &'static str,
        /// What the statement asks for, in words.
        asked: String,
    },
}

/// "; did you mean x?" or "; allowed are x, y and z".
struct Hint<'a> {
    quote: char,
    nearest: Option<&'a str>,
    allowed: &'a [&'a str],
}

fn hint<'a>(quote: char, nearest: Option<&'a str>, allowed: &'a [&'a str]) -> Hint<'a> {
    Hint {
        quote,
        nearest,
        allowed,
    }
}

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = self.quote;
        if let Some(nearest) = self.nearest {
            return write!(f, "; did you mean {quote}{nearest}{quote}?");
        }
        for (at, name) in self.allowed.iter().enumerate() {
            let before = match at {
                0 if self.allowed.len() == 1 => "; allowed is ",
                0 => "; allowed are ",
                _ if at + 1 == self.allowed.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}{quote}{name}{quote}")?;
        }
        Ok(())
    }
}
