//! Cloning by `clonefile` (macOS): the whole folder in one call, or file by file.
//!
//! One call clones the tree as it is at one moment (APFS). It takes everything or nothing, so it is used only when
//! nothing has to be left out; a file whose contents are in the cloud, or another volume, makes it fail, and then each
//! file is cloned by itself. A clone keeps times and attributes, drops set-id bits, and carries over the flags that
//! forbid changing a file, which are named. See `clonefile(2)`.

#[cfg(target_os = "macos")]
#[path = "clonefile/darwin.rs"]
mod platform;
#[cfg(not(target_os = "macos"))]
#[path = "clonefile/elsewhere.rs"]
mod platform;
mod record;

pub(crate) use self::platform::available;
pub(crate) use self::platform::clone_file_at;
pub(crate) use self::platform::clone_folder;
pub(crate) use self::record::record;

use std::io;

use enclos_paths::AbsPath;

/// Makes `destination`, which does not exist, a copy-on-write copy of the folder `source`, in one go (macOS); false where
/// that is not possible, and then nothing was made.
///
/// Nothing is recorded of what is in it, and what forbids changing a file in `source` does so in the copy. For folders
/// that are none of a project's, such as caches.
///
/// # Errors
/// What the kernel says.
pub fn clone_whole(source: &AbsPath, destination: &AbsPath) -> io::Result<bool> {
    Ok(clone_folder(source, destination)? == Whole::Cloned)
}

/// What came of cloning a whole folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// It is there.
    Cloned,
    /// It cannot be cloned in one go; nothing was made.
    NotInOne,
}
