//! Where a value comes from, kept beside it to the end.
//!
//! `enclos why` answers with the file and line that decided. That promise breaks as soon as a value travels without
//! its origin, so every value of a [`Document`](crate::Document) and of a [`Policy`](crate::Policy) is a [`Sourced`].

use std::fmt;

/// One of the four places a policy is put together from, weakest preference first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The machine owner's file; it may only restrict.
    Managed,
    /// The person's own file.
    User,
    /// The project's file, which anybody who can write to the project can write.
    Project,
    /// The command line of this run.
    Flags,
}

impl Layer {
    /// What the layer's file is called in messages.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Managed => "policy.toml",
            Self::User => "config.toml",
            Self::Project => ".enclos.toml",
            Self::Flags => "the command line",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file_name())
    }
}

/// Where one value was stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Nobody stated it; Enclos has it so.
    Default,
    /// A line of one of the files.
    File {
        /// Whose file it is.
        layer: Layer,
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: u32,
    },
    /// A line of the version of the project's file that the person agreed to, while another version is on disk.
    TrustedFile {
        /// The line, from 1.
        line: u32,
    },
    /// An option of the command line, with its dashes: `--read`.
    Flag(&'static str),
}

impl Origin {
    /// The layer that stated the value; none for a default.
    #[must_use]
    pub fn layer(self) -> Option<Layer> {
        match self {
            Self::Default => None,
            Self::File { layer, .. } => Some(layer),
            Self::TrustedFile { .. } => Some(Layer::Project),
            Self::Flag(_) => Some(Layer::Flags),
        }
    }
}

impl fmt::Display for Origin {
    /// As people look it up: `.enclos.toml:4`, `--hide`, `the default`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File { layer, line, .. } => write!(f, "{layer}:{line}"),
            Self::TrustedFile { line } => write!(f, "{}:{line} as you trusted it", Layer::Project),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it was stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it was stated.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// Puts `value` and `origin` together.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// `value` as Enclos has it when nobody says otherwise.
    pub fn default_of(value: T) -> Self {
        Self {
            value,
            origin: Origin::Default,
        }
    }
}
