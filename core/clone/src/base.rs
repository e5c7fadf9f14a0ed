//! Contents as they were at the start, for files that then changed on both sides.
//!
//! The promise: what is handed out is what the file held when the baseline was taken, or it is said why it is not
//! there; never something else. Each content is kept under the identity that the original had then, taken from the
//! original only while it still has it, and under its final name only when it is whole: a kill at any moment leaves a
//! store that lacks some. It could break by a disk that loses power (a checksum, or the size where blocks are shared).
//!
//! Where files can share blocks every file is kept, at the cost of its name; elsewhere compressed copies of small
//! files that git does not ignore. Deliberately not here: when to record, and in which thread; it is a slow job.

mod frame;
mod kept;
mod record;

use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::AsFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectRoot;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_regular;
use enclos_sys::open::open_root;
use enclos_sys::stat::stat_fd;

pub use self::record::{Ended, Keeping, Recorded};
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::tree::io_error;

/// A folder with the contents at the start of one session.
#[derive(Debug, Clone)]
pub struct BaseStore {
    folder: AbsPath,
    original: ProjectRoot,
}

/// What a file held at the start.
#[derive(Debug)]
#[non_exhaustive]
pub enum BaseContent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The original still holds it: its identity is that of the baseline. Whoever reads it has to make sure that it
    /// still is afterwards, by [`is_unchanged`].
    Original(File),
    /// It is not known any more.
    Absent(Absence),
}

/// Why contents are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Absence {
    /// It was not kept: it changed too early, is ignored or too large, or recording did not get that far.
    NotKept,
    /// It was kept and is damaged.
    Damaged,
    /// It has more bytes than the caller takes.
    TooLarge,
    /// It is no regular file, or was not in the copy.
    NotAFile,
}

impl Absence {
    /// The reason, as the end of a sentence that begins with "there is nothing to compare with, because".
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotKept => "its contents at the start were not kept",
            Self::Damaged => "its contents at the start are damaged",
            Self::TooLarge => "its contents at the start are too large",
            Self::NotAFile => "it was not a file in the copy",
        }
    }
}

/// Why contents could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// The folder of the store cannot be used.
    #[error("cannot use the folder {folder}")]
    Folder {
        /// The folder.
        folder: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The original cannot be opened.
    #[error("cannot open the folder {folder}")]
    Original {
        /// The folder.
        folder: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

impl BaseStore {
    /// The store in `folder`, which need not exist yet, for the contents of `original`.
    #[must_use]
    pub fn new(folder: AbsPath, original: ProjectRoot) -> Self {
        Self { folder, original }
    }

    /// What the file of `entry` held at the start, if that is at most `most` bytes.
    #[must_use]
    pub fn content(&self, entry: &Entry, most: u64) -> BaseContent {
        if entry.kind != Kind::File || matches!(entry.presence, Presence::Skipped(_)) {
            return BaseContent::Absent(Absence::NotAFile);
        }
        if entry.original.size == 0 {
            return BaseContent::Bytes(Vec::new());
        }
        if entry.original.size > most {
            return BaseContent::Absent(Absence::TooLarge);
        }
        match self.original(entry) {
            Some(content) => content,
            None => self.kept(entry),
        }
    }

    /// What the original holds, while it is what it was.
    fn original(&self, entry: &Entry) -> Option<BaseContent> {
        let root = open_root(self.original.path()).ok()?;
        let mut file = open_regular(root.as_fd(), &entry.path).ok()?;
        if !is_unchanged(&file, entry) {
            return None;
        }
        // One that was recorded close to a change is told by its contents alone.
        let Some(hash) = entry.hash else {
            return Some(BaseContent::Original(file));
        };
        let mut bytes = Vec::new();
        file.by_ref()
            .take(entry.original.size)
            .read_to_end(&mut bytes)
            .ok()?;
        (*blake3::hash(&bytes).as_bytes() == hash).then_some(BaseContent::Bytes(bytes))
    }

    fn kept(&self, entry: &Entry) -> BaseContent {
        match self.read_kept(entry) {
            Ok(Some(bytes)) => BaseContent::Bytes(bytes),
            Ok(None) => BaseContent::Absent(Absence::Damaged),
            Err(_) => BaseContent::Absent(Absence::NotKept),
        }
    }

    /// The bytes that were kept; none when they are not what was kept.
    fn read_kept(&self, entry: &Entry) -> io::Result<Option<Vec<u8>>> {
        let folder = open_root(&self.folder).map_err(io_error)?;
        let open = |name: String| open_file_at(folder.as_fd(), name.as_str()).map(File::from);
        let size = entry.original.size;
        let bytes = match open(kept::whole(&entry.original)) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
                bytes
            }
            Err(_) => match frame::read(&mut open(kept::compressed(&entry.original))?, size)? {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
        };
        let is_whole = bytes.len() as u64 == size
            && entry
                .hash
                .is_none_or(|hash| *blake3::hash(&bytes).as_bytes() == hash);
        Ok(is_whole.then_some(bytes))
    }
}

/// Whether the open file still is what the original of `entry` was when the baseline was taken.
#[must_use]
pub fn is_unchanged(file: &File, entry: &Entry) -> bool {
    stat_fd(file).is_ok_and(|stat| Identity::of(&stat) == entry.original)
}
