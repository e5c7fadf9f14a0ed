//! Where a review reads: the original, the frozen copy, and the contents at the start.
//!
//! The promise: nothing outside the two folders is ever read, whatever links, pipes or mounts lie in them, because
//! every open goes through `enclos_sys::open`; and what was read is what was there, because a file is looked at before
//! and after. The copy must be frozen (its processes gone or stopped); a file that moves all the same is named.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_clone::Absence;
use enclos_clone::BaseContent;
use enclos_clone::BaseStore;
use enclos_clone::Baseline;
use enclos_clone::Entry;
use enclos_clone::is_unchanged;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_regular;
use enclos_sys::open::open_root;
use enclos_sys::open::stat_beneath;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_fd;

use crate::ContentHash;
use crate::FileKind;
use crate::FileState;

/// What a review compares.
#[derive(Clone, Copy)]
pub struct TreeSources<'a> {
    /// The folder that was cloned.
    pub original: &'a ProjectRoot,
    /// The frozen copy.
    pub copy: &'a AbsPath,
    /// What both looked like at the start.
    pub baseline: &'a Baseline,
    /// Contents at the start.
    pub base: &'a dyn Base,
}

/// Contents at the start of the session, where they are still known.
pub trait Base: Sync {
    /// The bytes of `entry`'s file at the start, if they are at most `most`.
    ///
    /// # Errors
    /// Why they are not known; a conflict is then shown two-way and says so.
    fn content(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, Absence>;
}

impl Base for BaseStore {
    fn content(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, Absence> {
        let mut file = match BaseStore::content(self, entry, most) {
            BaseContent::Bytes(bytes) => return Ok(bytes),
            BaseContent::Original(file) => file,
            BaseContent::Absent(absence) => return Err(absence),
            _ => return Err(Absence::NotKept),
        };
        let mut bytes = Vec::new();
        let read = file.by_ref().take(most + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > most {
            return Err(Absence::TooLarge);
        }
        match read {
            Ok(_) if is_unchanged(&file, entry) => Ok(bytes),
            _ => Err(Absence::NotKept),
        }
    }
}

/// No contents were kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBase;

impl Base for NoBase {
    fn content(&self, _entry: &Entry, _most: u64) -> Result<Vec<u8>, Absence> {
        Err(Absence::NotKept)
    }
}

/// A folder held open, below which everything is read.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
}

/// A regular file that was read whole.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stat: Stat,
}

/// Why a path could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read {path}")]
    Read {
        path: ProjectPath,
        #[source]
        source: std::io::Error,
    },
    /// It is a socket, pipe or device.
    #[error("{path} is a socket, pipe or device")]
    Special { path: ProjectPath },
    /// It changed between the first look and the last.
    #[error("{path} changed while it was read")]
    Moving { path: ProjectPath },
    /// It is bigger than the caller takes.
    #[error("{path} has {size} bytes, more than the {most} that are read at once")]
    TooBig {
        path: ProjectPath,
        size: u64,
        most: u64,
    },
}

impl Tree {
    pub(crate) fn open(root: &AbsPath) -> Result<Self, OpenError> {
        open_root(root).map(|root| Self { root })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// What is at `path`; none when nothing is, or when something on the way is no folder.
    pub(crate) fn stat(&self, path: &ProjectPath) -> Result<Option<Stat>, OpenError> {
        match stat_beneath(self.fd(), path) {
            Ok(stat) => Ok(Some(stat)),
            Err(e) if e.is_missing() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The bytes of the regular file `path`, which must not have more than `most`.
    pub(crate) fn read(&self, path: &ProjectPath, most: u64) -> Result<Contents, LookError> {
        let mut file = open_regular(self.fd(), path)?;
        let fail = |source| LookError::Read {
            path: path.clone(),
            source,
        };
        let stat = stat_fd(&file).map_err(fail)?;
        if stat.size > most {
            return Err(LookError::TooBig {
                path: path.clone(),
                size: stat.size,
                most,
            });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        file.by_ref()
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        unmoved(
            path,
            &stat,
            &stat_fd(&file).map_err(fail)?,
            bytes.len() as u64,
        )?;
        Ok(Contents { bytes, stat })
    }

    /// The hash of the regular file `path`, whatever its size, in little memory.
    pub(crate) fn hash(&self, path: &ProjectPath) -> Result<(ContentHash, Stat), LookError> {
        let mut file = open_regular(self.fd(), path)?;
        let fail = |source| LookError::Read {
            path: path.clone(),
            source,
        };
        let stat = stat_fd(&file).map_err(fail)?;
        let (hash, read) = hash_of(&mut file, stat.size).map_err(fail)?;
        unmoved(path, &stat, &stat_fd(&file).map_err(fail)?, read)?;
        Ok((hash, stat))
    }
}

impl FileState {
    /// A link's own bits mean nothing, and systems differ in what they say of them.
    pub(crate) fn new(kind: FileKind, stat: &Stat) -> Self {
        let mode = if matches!(kind, FileKind::Link { .. }) {
            0
        } else {
            stat.mode
        };
        Self { kind, mode }
    }
}

/// A buffer for reading a file of that size: small files, which are most, should not pay for large ones.
pub(crate) fn buffer_for(size: u64) -> Vec<u8> {
    const LARGEST: u64 = 128 * 1024;
    vec![0; usize::try_from((size + 1).clamp(512, LARGEST)).unwrap_or(512)]
}

/// Hashes everything that `file`, which is about that size, still gives, and counts it.
pub(crate) fn hash_of(file: &mut impl Read, size: u64) -> std::io::Result<(ContentHash, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = buffer_for(size);
    let mut count = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((ContentHash(*hasher.finalize().as_bytes()), count)),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                count += n as u64;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn unmoved(path: &ProjectPath, before: &Stat, after: &Stat, read: u64) -> Result<(), LookError> {
    let same = (before.size, before.mtime, before.ctime) == (after.size, after.mtime, after.ctime);
    if same && read == after.size {
        Ok(())
    } else {
        Err(LookError::Moving { path: path.clone() })
    }
}
