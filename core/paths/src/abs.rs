//! An absolute path in normal form.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use crate::ProjectPath;
use crate::ProjectPathError;
use crate::shown;

/// An absolute path without `.`, `..`, doubled or trailing slashes, and without NUL.
///
/// Normal form is lexical: links are not resolved. Two equal `AbsPath`s name the same file; two different ones may.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(PathBuf);

impl AbsPath {
    /// Takes `path`, which must be absolute and free of `..`, and brings it to normal form.
    ///
    /// # Errors
    /// Says which rule the path breaks; the path is in the error.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, AbsPathError> {
        let path = path.as_ref();
        let bytes = path.as_os_str().as_bytes();
        if bytes.first() != Some(&b'/') {
            return Err(AbsPathError::Relative(path.into()));
        }
        if bytes.contains(&0) {
            return Err(AbsPathError::Nul(path.into()));
        }
        let mut normal = PathBuf::from("/");
        for part in bytes.split(|&b| b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return Err(AbsPathError::Parent(path.into())),
                name => normal.push(OsStr::from_bytes(name)),
            }
        }
        Ok(Self(normal))
    }

    /// Resolves `path` against `self` lexically: an absolute `path` replaces it, `..` goes up and stops at `/`.
    ///
    /// This is for paths that a person typed. Where a link may be crossed, the result must be resolved and compared
    /// by the caller before it is trusted.
    #[must_use]
    pub fn resolve(&self, path: impl AsRef<Path>) -> Self {
        let mut at = PathBuf::from("/");
        let joined = self.0.join(path);
        for part in joined.components() {
            match part {
                std::path::Component::ParentDir => {
                    at.pop();
                }
                std::path::Component::Normal(name) => at.push(name),
                _ => {}
            }
        }
        Self(at)
    }

    /// The path below `self` that `inner` names.
    #[must_use]
    pub fn join(&self, inner: &ProjectPath) -> Self {
        Self(self.0.join(inner.as_path()))
    }

    /// The child called `name`, a single normal component.
    ///
    /// # Errors
    /// Refuses a name that is empty, `.`, `..`, or holds a slash or NUL.
    pub fn child(&self, name: impl AsRef<OsStr>) -> Result<Self, ProjectPathError> {
        let one = ProjectPath::new(name.as_ref().as_bytes())?;
        if one.components().count() != 1 {
            return Err(ProjectPathError::NotOneName(
                shown(name.as_ref().as_bytes()).to_string(),
            ));
        }
        Ok(self.join(&one))
    }

    /// The folder this path lies in; none for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|p| Self(p.to_path_buf()))
    }

    /// The last component; none for `/`.
    #[must_use]
    pub fn name(&self) -> Option<&OsStr> {
        self.0.file_name()
    }

    /// Whether `self` is `folder` or lies below it, lexically.
    #[must_use]
    pub fn is_within(&self, folder: &AbsPath) -> bool {
        self.0.starts_with(&folder.0)
    }

    /// What is left of `self` below `folder`; none when it is not strictly below.
    #[must_use]
    pub fn below(&self, folder: &AbsPath) -> Option<ProjectPath> {
        let rest = self.0.strip_prefix(&folder.0).ok()?;
        ProjectPath::new(rest.as_os_str().as_bytes()).ok()
    }

    /// The path for the standard library and system calls.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The bytes of the path.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }
}

/// Why a path is not an [`AbsPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AbsPathError {
    /// It does not start with a slash.
    #[error("{} is not an absolute path", shown(.0.as_os_str().as_bytes()))]
    Relative(PathBuf),
    /// It holds a `..` component.
    #[error("{} holds a `..`", shown(.0.as_os_str().as_bytes()))]
    Parent(PathBuf),
    /// It holds a NUL byte, which no system call can carry.
    #[error("{} holds a NUL byte", shown(.0.as_os_str().as_bytes()))]
    Nul(PathBuf),
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for AbsPath {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(self.as_bytes()).fmt(f)
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AbsPath({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_form_drops_what_means_nothing() {
        assert_eq!(
            AbsPath::new("/a//b/./c/").unwrap().as_path(),
            Path::new("/a/b/c")
        );
        assert_eq!(AbsPath::new("/").unwrap().as_path(), Path::new("/"));
    }

    #[test]
    fn what_could_escape_is_refused() {
        assert!(
            matches!(AbsPath::new("a"), Err(AbsPathError::Relative(_))),
            "relative"
        );
        assert!(
            matches!(AbsPath::new("/a/../b"), Err(AbsPathError::Parent(_))),
            "parent"
        );
        assert!(
            matches!(AbsPath::new("/a\0b"), Err(AbsPathError::Nul(_))),
            "NUL"
        );
    }

    #[test]
    fn resolve_goes_up_and_stops_at_the_root() {
        let at = AbsPath::new("/home/u/p").unwrap();
        assert_eq!(at.resolve("../q").to_string(), "/home/u/q");
        assert_eq!(at.resolve("../../../../../q").to_string(), "/q");
        assert_eq!(at.resolve("/x/./y").to_string(), "/x/y");
    }

    #[test]
    fn within_compares_whole_components() {
        let ab = AbsPath::new("/a/b").unwrap();
        assert!(
            AbsPath::new("/a/b/c").unwrap().is_within(&ab),
            "a child is within"
        );
        assert!(
            !AbsPath::new("/a/bc").unwrap().is_within(&ab),
            "a longer name is not"
        );
        assert_eq!(
            AbsPath::new("/a/b/c")
                .unwrap()
                .below(&ab)
                .unwrap()
                .as_bytes(),
            b"c"
        );
        assert_eq!(ab.below(&ab), None, "a folder is not below itself");
    }

    #[test]
    fn child_takes_one_name_only() {
        let a = AbsPath::new("/a").unwrap();
        assert_eq!(a.child("b").unwrap().to_string(), "/a/b");
        for bad in ["", ".", "..", "b/c"] {
            assert!(a.child(bad).is_err(), "{bad:?} is not one name");
        }
    }
}
