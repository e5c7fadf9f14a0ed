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

/// What came of cloning a whole folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// It is there.
    Cloned,
    /// It cannot be cloned in one go; nothing was made.
    NotInOne,
}
