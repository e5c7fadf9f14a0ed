//! Where a walk is: the root itself, or a path below it.

use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_folder;
use enclos_sys::open::reopen;

/// A folder in a tree; unlike a [`ProjectPath`] it can be the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(Option<ProjectPath>);

impl Place {
    /// The root of the tree.
    pub(crate) const ROOT: Self = Self(None);

    /// The folder `path` below the root.
    pub(crate) fn at(path: ProjectPath) -> Self {
        Self(Some(path))
    }

    /// The path below the root; none for the root.
    pub(crate) fn path(&self) -> Option<&ProjectPath> {
        self.0.as_ref()
    }

    /// The path of `name` in this folder; none when a file system hands out a name that cannot be one.
    pub(crate) fn child(&self, name: &[u8]) -> Option<ProjectPath> {
        match &self.0 {
            None => ProjectPath::new(name).ok(),
            Some(path) => path.join(name).ok(),
        }
    }

    /// The absolute path, for messages.
    pub(crate) fn below(&self, root: &AbsPath) -> AbsPath {
        match &self.0 {
            None => root.clone(),
            Some(path) => root.join(path),
        }
    }

    /// Opens the folder below the open folder `root`, with a reading position of its own.
    pub(crate) fn open(&self, root: BorrowedFd<'_>) -> Result<OwnedFd, OpenError> {
        match &self.0 {
            None => reopen(root),
            Some(path) => open_folder(root, path),
        }
    }
}
