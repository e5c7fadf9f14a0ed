//! What the folder and its copy looked like at the start, entry by entry.

mod on_disk;

use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::stat::Stat;

pub use self::on_disk::BaselineError;
use crate::changes::Side;

/// What tells one state of a file from another without reading it.
///
/// Compared by equality, never by order: clocks jump, and `mtime` can be set to anything. `ctime` cannot be set from
/// inside the jail, because no clock or inode right is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device the file lies on.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of contents, in nanoseconds since 1970.
    pub mtime: i128,
    /// The time of the last change of contents or inode, in nanoseconds since 1970.
    pub ctime: i128,
}

impl Identity {
    /// The identity of what the kernel describes.
    #[must_use]
    pub fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.dev,
            ino: stat.ino,
            size: stat.size,
            mtime: stat.mtime,
            ctime: stat.ctime,
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link and the bytes it holds.
    Link(PathBuf),
    /// A socket, FIFO or device: named, never copied.
    Special,
}

/// Whether an entry of the original is in the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It was copied; this is the copy's identity right after.
    Copied(Identity),
    /// It lies in a folder that is overlaid rather than copied.
    Overlaid,
    /// It was left out, so its absence is not a deletion and it can be neither shown nor applied.
    Skipped(Skipped),
}

/// Why an entry was left out of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// The policy hides it.
    Hidden,
    /// Another file system is mounted there.
    Mount,
    /// It is a socket, FIFO or device.
    Special,
    /// It could not be read and the person said to leave it out.
    Unreadable,
    /// Its contents are in the cloud and were not fetched (macOS `SF_DATALESS`).
    Dataless,
}

/// One entry at the start of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, below the root.
    pub path: ProjectPath,
    /// What it is.
    pub kind: Kind,
    /// Permission bits with set-id and sticky, as in `st_mode & 0o7777`.
    pub mode: u32,
    /// The owner in the original; the copy of a file that root clones belongs to root.
    pub uid: u32,
    /// The group in the original.
    pub gid: u32,
    /// The number of hard links in the original.
    pub links: u64,
    /// The original's identity when it was copied.
    pub original: Identity,
    /// Whether and how it is in the copy.
    pub presence: Presence,
    /// The BLAKE3 hash of the contents, only where an identity alone could miss a change: files that changed just
    /// before or while they were recorded, and every file on a file system whose `ctime` cannot be trusted.
    pub hash: Option<[u8; 32]>,
}

impl Entry {
    /// Whether `mode` on `side` is the mode that this entry had there.
    ///
    /// A copy may lack the set-id bits of the original: they would lend the rights of whoever made the copy.
    #[must_use]
    pub fn has_mode(&self, mode: u32, side: Side) -> bool {
        const SET_ID: u32 = 0o6000;
        match side {
            Side::Original => mode == self.mode,
            Side::Copy => mode & !SET_ID == self.mode & !SET_ID && mode & SET_ID & !self.mode == 0,
        }
    }
}

/// Every entry of a folder and of its copy at the start of a session, sorted by path.
///
/// The file on disk is private to this module: it has a magic, a version and a checksum, and one that is unknown or
/// damaged is refused in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The folder that was cloned.
    pub source: AbsPath,
    /// When recording ended, in nanoseconds since 1970 by the clock of the file system that holds the copy.
    pub taken: i128,
    /// The entries, sorted by path bytes.
    pub entries: Vec<Entry>,
}

impl Baseline {
    /// The entry at `path`, if there was one.
    #[must_use]
    pub fn get(&self, path: &ProjectPath) -> Option<&Entry> {
        self.entries.get(self.index_of(path)?)
    }

    /// The index of the entry at `path`, if there was one.
    #[must_use]
    pub fn index_of(&self, path: &ProjectPath) -> Option<usize> {
        self.entries
            .binary_search_by(|entry| entry.path.cmp(path))
            .ok()
    }

    /// The part of `entries` that lies strictly below `folder`; all of them for `None`.
    ///
    /// Everything below a folder is in one piece, because `folder/` is a prefix of it and nothing else.
    #[must_use]
    pub fn below(&self, folder: Option<&ProjectPath>) -> &[Entry] {
        let Some(folder) = folder else {
            return &self.entries;
        };
        let mut prefix = folder.as_bytes().to_vec();
        prefix.push(b'/');
        let start = self
            .entries
            .partition_point(|entry| entry.path.as_bytes() < &prefix[..]);
        let inside = self.entries[start..]
            .partition_point(|entry| entry.path.as_bytes().starts_with(&prefix));
        &self.entries[start..start + inside]
    }
}
