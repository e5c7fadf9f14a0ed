//! A path inside a project, and the project's own folder.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::AbsPath;
use crate::shown;

/// A path below a project's root: one or more normal components joined by `/`, any bytes but `/` and NUL in each.
///
/// It cannot be absolute and cannot hold `..`, so joining it to a root stays below that root unless a link on disk
/// leads elsewhere; following links is refused by the openers in `sys`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectPath(Box<[u8]>);

impl ProjectPath {
    /// Checks `bytes` and takes them as they are.
    ///
    /// # Errors
    /// Says which rule is broken: empty, absolute, an empty, `.` or `..` component, or NUL.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, ProjectPathError> {
        let bytes = bytes.as_ref();
        let say = || shown(bytes).to_string();
        if bytes.is_empty() {
            return Err(ProjectPathError::Empty);
        }
        if bytes[0] == b'/' {
            return Err(ProjectPathError::Absolute(say()));
        }
        if bytes.contains(&0) {
            return Err(ProjectPathError::Nul(say()));
        }
        if bytes
            .split(|&b| b == b'/')
            .any(|part| matches!(part, b"" | b"." | b".."))
        {
            return Err(ProjectPathError::NotNormal(say()));
        }
        Ok(Self(bytes.into()))
    }

    /// The path for the standard library; always relative.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The bytes, `/` between components.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The components from the outermost in.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &OsStr> {
        self.0.split(|&b| b == b'/').map(OsStr::from_bytes)
    }

    /// The last component.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        let start = self
            .0
            .iter()
            .rposition(|&b| b == b'/')
            .map_or(0, |at| at + 1);
        OsStr::from_bytes(&self.0[start..])
    }

    /// The folder this lies in; none directly below the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let at = self.0.iter().rposition(|&b| b == b'/')?;
        Some(Self(self.0[..at].into()))
    }

    /// The path of `name` below this one.
    ///
    /// # Errors
    /// As [`ProjectPath::new`] for the joined bytes.
    pub fn join(&self, name: impl AsRef<[u8]>) -> Result<Self, ProjectPathError> {
        let mut bytes = self.0.to_vec();
        bytes.push(b'/');
        bytes.extend_from_slice(name.as_ref());
        Self::new(bytes)
    }

    /// Whether this is `folder` or lies below it.
    #[must_use]
    pub fn is_within(&self, folder: &ProjectPath) -> bool {
        self.0
            .strip_prefix(folder.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }
}

/// Why bytes are not a [`ProjectPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectPathError {
    /// There is nothing in it.
    #[error("an empty path names nothing")]
    Empty,
    /// It starts with a slash.
    #[error("{0} is absolute, not inside the project")]
    Absolute(String),
    /// A component is empty, `.` or `..`.
    #[error("{0} holds an empty, `.` or `..` component")]
    NotNormal(String),
    /// It holds a NUL byte.
    #[error("{0} holds a NUL byte")]
    Nul(String),
    /// It holds a slash where a single name is wanted.
    #[error("{0} is not a single name")]
    NotOneName(String),
}

impl AsRef<Path> for ProjectPath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(&self.0).fmt(f)
    }
}

impl fmt::Debug for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProjectPath({self})")
    }
}

/// A folder that a session may clone: absolute, with links resolved by whoever made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectRoot(AbsPath);

impl ProjectRoot {
    /// Takes a path that the caller has resolved (`realpath`) and seen to be a folder.
    #[must_use]
    pub fn from_resolved(path: AbsPath) -> Self {
        Self(path)
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &AbsPath {
        &self.0
    }

    /// The absolute path of something inside.
    #[must_use]
    pub fn join(&self, inner: &ProjectPath) -> AbsPath {
        self.0.join(inner)
    }
}

impl fmt::Display for ProjectRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_escape_is_refused() {
        for bad in ["", "/a", "..", "a/../b", "a//b", "a/", "./a", "a\0"] {
            assert!(ProjectPath::new(bad).is_err(), "{bad:?} must be refused");
        }
    }

    #[test]
    fn names_that_are_not_text_are_kept() {
        let path = ProjectPath::new(b"caf\xe9/\xff").unwrap();
        assert_eq!(path.as_bytes(), b"caf\xe9/\xff");
        assert_eq!(path.name().as_bytes(), b"\xff");
        assert_eq!(path.parent().unwrap().as_bytes(), b"caf\xe9");
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_below_its_root(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(inner) = ProjectPath::new(&bytes) {
                let root = AbsPath::new("/r/o").unwrap();
                let joined = root.join(&inner);
                prop_assert!(joined.is_within(&root));
                prop_assert_eq!(joined.below(&root), Some(inner.clone()));
                prop_assert_eq!(AbsPath::new(joined.as_path()).unwrap(), joined);
            }
        }
    }
}
