//! Taking contents from the original, while it still is what the baseline says.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_regular;
use enclos_sys::open::open_root;
use enclos_sys::open::reopen;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::BaseError;
use super::BaseStore;
use super::frame;
use super::is_unchanged;
use super::kept;
use crate::baseline::Baseline;
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::ignored::Ignored;
use crate::listing::Listing;
use crate::reflink::Sharing;
use crate::reflink::sharing;
use crate::tree::Filling;
use crate::tree::fill;
use crate::tree::hash;
use crate::tree::io_error;

/// Up to this size a file is kept where blocks cannot be shared.
const LARGEST: u64 = 256 * 1024;

/// So much is kept in all where blocks cannot be shared, compressed.
const MOST: u64 = 200 * 1024 * 1024;

/// What recording came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// How contents are kept.
    pub keeping: Keeping,
    /// The files whose contents are kept, now or from an earlier try.
    pub files: u64,
    /// The space that their contents take, in bytes; none where blocks are shared.
    pub bytes: u64,
    /// Whether all was looked at.
    pub ended: Ended,
}

/// How contents are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Every file, sharing its blocks with the original.
    Shared,
    /// Small files that git does not ignore, compressed.
    Compressed,
}

/// Whether all was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All that is to be kept is.
    Complete,
    /// The caller said stop; the next try goes on.
    Stopped,
    /// There was no more room, on the disk or in what may be used.
    Full,
}

impl BaseStore {
    /// Keeps the contents of what `baseline` knows, most wanted first; goes on where an earlier try was stopped or
    /// killed. Ends soon after `stop` is set.
    ///
    /// What can no longer be had is left away, and said when it is asked for.
    ///
    /// # Errors
    /// When the folder of the store or the original cannot be opened.
    pub fn record(&self, baseline: &Baseline, stop: &AtomicBool) -> Result<Recorded, BaseError> {
        let mut recorder = self.recorder()?;
        remove_partial(recorder.store.as_fd());
        let mut ended = Ended::Complete;
        for entry in recorder.wanted(self.original.path(), baseline) {
            if stop.load(Ordering::Relaxed) {
                ended = Ended::Stopped;
                break;
            }
            match recorder.keep(entry) {
                Ok(()) => {}
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    ended = Ended::Full;
                    break;
                }
                // One file less, which is said when it is asked for.
                Err(_) => {}
            }
        }
        Ok(Recorded {
            keeping: recorder.keeping(),
            files: recorder.files,
            bytes: recorder.bytes,
            ended,
        })
    }

    /// Keeps `contents` as what a file held that now has `identity` in the original.
    ///
    /// For a review that applied a change and goes on from there.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put(&self, identity: &Identity, contents: &[u8]) -> Result<(), BaseError> {
        let failed = |errno: Errno| BaseError::Folder {
            folder: self.folder.clone(),
            source: errno.into(),
        };
        let store = self.open_store()?;
        let mut packed = Vec::new();
        frame::write(&mut packed, contents).map_err(|e| failed(errno(e)))?;
        let partial = Partial::new(store.as_fd()).map_err(failed)?;
        write_all(&partial.file, &packed).map_err(failed)?;
        partial.keep_as(&kept::compressed(identity)).map_err(failed)
    }

    fn open_store(&self) -> Result<OwnedFd, BaseError> {
        let failed = |source| BaseError::Folder {
            folder: self.folder.clone(),
            source,
        };
        match rustix::fs::mkdir(self.folder.as_path(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
        open_root(&self.folder).map_err(|e| failed(io_error(e)))
    }

    fn recorder(&self) -> Result<Recorder, BaseError> {
        let store = self.open_store()?;
        let original = open_root(self.original.path()).map_err(|e| BaseError::Original {
            folder: self.original.path().clone(),
            source: io_error(e),
        })?;
        let share = match sharing(self.original.path(), &self.folder) {
            Sharing::Works(_) => Some(Filling::Share {
                above: 0,
                written_by: i128::MAX,
            }),
            Sharing::Not(_) | Sharing::Nothing => None,
        };
        Ok(Recorder {
            store,
            original,
            share,
            files: 0,
            bytes: 0,
            buffer: vec![0; 256 * 1024],
        })
    }
}

struct Recorder {
    store: OwnedFd,
    original: OwnedFd,
    /// How to share blocks, where that works.
    share: Option<Filling>,
    files: u64,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Recorder {
    fn keeping(&self) -> Keeping {
        if self.share.is_some() {
            Keeping::Shared
        } else {
            Keeping::Compressed
        }
    }

    /// What is to be kept, files that people write before those that programs make.
    fn wanted<'b>(&self, original: &AbsPath, baseline: &'b Baseline) -> Vec<&'b Entry> {
        let is_file = |entry: &&Entry| {
            entry.kind == Kind::File
                && !matches!(entry.presence, Presence::Skipped(_))
                && entry.original.size > 0
        };
        let mut rules = Ignored::of(original);
        let is_git = |path: &ProjectPath| path.components().any(|name| name == ".git");
        let (written, made): (Vec<&Entry>, Vec<&Entry>) = baseline
            .entries
            .iter()
            .filter(is_file)
            .partition(|e| !is_git(&e.path) && !rules.file(&e.path));
        match self.keeping() {
            Keeping::Shared => written.into_iter().chain(made).collect(),
            Keeping::Compressed => written
                .into_iter()
                .filter(|e| e.original.size <= LARGEST)
                .collect(),
        }
    }

    fn keep(&mut self, entry: &Entry) -> Result<(), Errno> {
        let name = match self.keeping() {
            Keeping::Shared => kept::whole(&entry.original),
            Keeping::Compressed => kept::compressed(&entry.original),
        };
        if let Ok(stat) = stat_at(&self.store, name.as_str()) {
            return self.count(stat.size);
        }
        let Ok(file) = open_regular(self.original.as_fd(), &entry.path) else {
            return Ok(());
        };
        if !is_unchanged(&file, entry) {
            return Ok(());
        }
        let partial = Partial::new(self.store.as_fd())?;
        let is_right = match self.share {
            Some(filling) => share(&file, &partial.file, entry, filling, &mut self.buffer)?,
            None => compress(file.try_clone().map_err(errno)?, &partial.file, entry)?,
        };
        // It still was what the baseline says when all was taken, so all is from then.
        if !is_right || !is_unchanged(&file, entry) {
            return Ok(());
        }
        let size = stat_fd(&partial.file).map_err(errno)?.size;
        partial.keep_as(&name)?;
        self.count(size)
    }

    /// Counts what is kept; no space when it is as much as may be used.
    fn count(&mut self, size: u64) -> Result<(), Errno> {
        self.files += 1;
        if self.keeping() == Keeping::Shared {
            return Ok(());
        }
        self.bytes += size;
        if self.bytes >= MOST {
            Err(Errno::NOSPC)
        } else {
            Ok(())
        }
    }
}

/// Shares the blocks of `file`; false when they are not what the baseline knows.
fn share(
    file: &File,
    partial: &OwnedFd,
    entry: &Entry,
    filling: Filling,
    buffer: &mut [u8],
) -> Result<bool, Errno> {
    let stat = stat_fd(file).map_err(errno)?;
    fill(file.as_fd(), partial.as_fd(), &stat, filling, buffer).map_err(|failed| failed.errno())?;
    match entry.hash {
        Some(known) => Ok(hash(partial, buffer)? == known),
        None => Ok(true),
    }
}

/// A file that is not whole yet, under a name that nobody else uses; removed unless it is kept.
///
/// A review may put contents while recording still goes on in another process.
struct Partial<'s> {
    store: BorrowedFd<'s>,
    name: String,
    file: OwnedFd,
}

impl<'s> Partial<'s> {
    fn new(store: BorrowedFd<'s>) -> Result<Self, Errno> {
        let us = rustix::process::getpid().as_raw_pid();
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for number in 0..u32::MAX {
            let name = format!("{}{us}-{number}", kept::PARTIAL);
            match rustix::fs::openat(store, name.as_str(), flags, Mode::RUSR | Mode::WUSR) {
                Err(Errno::EXIST) => {}
                opened => {
                    return Ok(Self {
                        store,
                        file: opened?,
                        name,
                    });
                }
            }
        }
        Err(Errno::EXIST)
    }

    /// Gives the file the name under which it is kept.
    fn keep_as(self, name: &str) -> Result<(), Errno> {
        rustix::fs::renameat(self.store, self.name.as_str(), self.store, name)
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(self.store, self.name.as_str(), AtFlags::empty());
    }
}

/// Removes what a kill left behind. Somebody who is at work on one then fails to keep it, and nothing wrong is kept.
fn remove_partial(store: BorrowedFd<'_>) {
    let mut listing = Listing::default();
    let Ok(()) = reopen(store)
        .map_err(io_error)
        .and_then(|dir| listing.read(dir.as_fd()))
    else {
        return;
    };
    for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
        if name.to_bytes().starts_with(kept::PARTIAL.as_bytes()) {
            let _ = rustix::fs::unlinkat(store, name, AtFlags::empty());
        }
    }
}

/// Compresses `file`; false when it does not hold what the baseline knows.
fn compress(file: File, partial: &OwnedFd, entry: &Entry) -> Result<bool, Errno> {
    let mut contents = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut contents)
        .map_err(errno)?;
    if contents.len() as u64 != entry.original.size
        || entry
            .hash
            .is_some_and(|known| *blake3::hash(&contents).as_bytes() != known)
    {
        return Ok(false);
    }
    let mut packed = Vec::new();
    frame::write(&mut packed, &contents).map_err(errno)?;
    write_all(partial, &packed)?;
    Ok(true)
}

fn write_all(to: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    File::from(to.try_clone().map_err(errno)?)
        .write_all(bytes)
        .map_err(errno)
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
