//! Copying a whole tree, folder by folder, several at a time.
//!
//! The promise: what the copy shows is what the original showed, file by file at one moment each; nothing of the
//! original is written, followed out of it or waited for; and every entry is recorded on both sides. It could break
//! by a name that changes its kind between listing and opening (looked at again after opening), by a file written
//! while it is copied (identity compared before and after, copied again), and by a path that is too long for the
//! kernel (only names relative to an open folder are used).
//!
//! Deliberately not here: which method to use, what to hide and what to overlay; that is decided before.

mod attributes;
mod contents;
mod entry;
mod folder;
mod links;

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_parent;
use enclos_sys::open::open_root;
use enclos_sys::open::stat_beneath;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_fd;
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Presence;
use crate::place::Place;
use crate::queue;
use crate::request::CloneError;
use crate::request::LeaveOut;
use crate::request::Note;
use crate::request::Progress;
use crate::settle::settle;

pub(crate) use self::attributes::narrow;
pub(crate) use self::attributes::times;
pub(crate) use self::contents::Filling;
pub(crate) use self::contents::fill;
pub(crate) use self::contents::hash;
use self::folder::Worker;
use self::links::Links;

/// What to copy and how, all decided.
pub(crate) struct Order<'a> {
    /// The original.
    pub(crate) source: &'a AbsPath,
    /// The copy, which does not exist yet.
    pub(crate) destination: &'a AbsPath,
    /// How files get their contents.
    pub(crate) filling: Filling,
    /// What happens to some entries instead of being copied.
    pub(crate) instead: HashMap<ProjectPath, Instead>,
    /// What to do with what cannot be read.
    pub(crate) leave_out: LeaveOut,
    /// Which files are hashed.
    pub(crate) hashing: Hashing,
    /// Told how far it is.
    pub(crate) progress: &'a dyn Progress,
}

/// What happens to an entry instead of being copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// It is left out and noted as hidden.
    Hidden,
    /// It is left out because it is ours.
    KeptOut,
    /// An empty folder is made, over which the original will be overlaid.
    Overlaid,
}

/// Which files are hashed because their identity alone could miss a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hashing {
    /// Those that changed just before or after the clone began.
    Recent,
    /// Every file, because a file system involved has no `ctime` to trust.
    Every,
}

/// A copied tree.
pub(crate) struct Copied {
    /// All entries, sorted by path.
    pub(crate) entries: Vec<Entry>,
    /// What the person should know, sorted by path.
    pub(crate) notes: Vec<Note>,
    /// When the last entry was written, by the clock of the copy's file system.
    pub(crate) taken: i128,
}

/// Two ticks of the slowest clock that file systems take times from (250 Hz), in nanoseconds.
pub(crate) const TICKS: i128 = 8_000_000;

/// Copies the tree.
pub(crate) fn copy(order: &Order<'_>) -> Result<Copied, CloneError> {
    let source = open_root(order.source).map_err(|e| CloneError::Source {
        folder: order.source.clone(),
        source: io_error(e),
    })?;
    let destination = make_root(order.destination)?;
    let write_failed = |source| CloneError::Write {
        path: order.destination.clone(),
        source,
    };
    let started = stat_fd(&destination).map_err(write_failed)?.ctime;
    let task = Task {
        order,
        source,
        destination,
        links: Links::new(),
        recent: started - TICKS,
        filling: order.filling.at(started),
    };
    let first = stat_fd(&task.source).map_err(|source| CloneError::Read {
        path: order.source.clone(),
        source,
    })?;
    let crew = (0..queue::workers()).map(|_| Worker::new(&task)).collect();
    let job = Job {
        place: Place::ROOT,
        stat: first,
    };
    let workers = queue::run(vec![job], crew)?;
    gather(&task, workers)
}

/// A folder whose counterpart exists in the copy and that has to be filled.
struct Job {
    place: Place,
    /// What its parent saw.
    stat: Stat,
}

/// What all workers share.
struct Task<'a> {
    order: &'a Order<'a>,
    source: OwnedFd,
    destination: OwnedFd,
    links: Links,
    /// Files with a `ctime` from here on are hashed.
    recent: i128,
    /// How files get their contents, now that the clock is known.
    filling: Filling,
}

fn make_root(destination: &AbsPath) -> Result<OwnedFd, CloneError> {
    let failed = |errno: Errno| match errno {
        Errno::EXIST => CloneError::DestinationExists {
            destination: destination.clone(),
        },
        errno => CloneError::Write {
            path: destination.clone(),
            source: errno.into(),
        },
    };
    rustix::fs::mkdir(destination.as_path(), Mode::RWXU).map_err(failed)?;
    open_root(destination).map_err(|e| CloneError::Write {
        path: destination.clone(),
        source: io_error(e),
    })
}

/// Brings together what the workers have, and does what can only be done when all is there.
fn gather(task: &Task<'_>, workers: Vec<Worker<'_>>) -> Result<Copied, CloneError> {
    let mut entries = Vec::with_capacity(workers.iter().map(|w| w.entries.len()).sum());
    let (mut notes, mut joined, mut modes) = (Vec::new(), Vec::new(), Vec::new());
    for mut worker in workers {
        entries.append(&mut worker.entries);
        notes.append(&mut worker.notes);
        joined.append(&mut worker.joined);
        modes.append(&mut worker.modes);
    }
    // Each worker has sorted its own part, and a stable sort takes sorted runs as they are.
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    notes.sort();
    look_again_at_links(task, &mut entries, joined)?;
    close_folders(task, &mut entries, modes)?;
    let write_failed = |source| CloneError::Write {
        path: task.order.destination.clone(),
        source,
    };
    let taken = stat_fd(&task.destination).map_err(write_failed)?.ctime;
    let taken = entries.iter().filter_map(copied_at).fold(taken, i128::max);
    settle(task.destination.as_fd(), taken).map_err(write_failed)?;
    Ok(Copied {
        entries,
        notes,
        taken,
    })
}

fn copied_at(entry: &Entry) -> Option<i128> {
    match &entry.presence {
        Presence::Copied(identity) => Some(identity.ctime),
        _ => None,
    }
}

/// Each further name moved the `ctime` of the copy, so what was recorded under the earlier names is out of date.
fn look_again_at_links(
    task: &Task<'_>,
    entries: &mut [Entry],
    joined: Vec<ProjectPath>,
) -> Result<(), CloneError> {
    if joined.is_empty() {
        return Ok(());
    }
    let mut now = HashMap::new();
    for path in joined {
        let stat = stat_copy(task, &path)?;
        now.insert(stat.ino, (Identity::of(&stat), None));
    }
    let mut several: Vec<&mut Entry> = entries.iter_mut().filter(|entry| entry.links > 1).collect();
    // Only the first name was read, so only it may have a hash.
    for entry in &several {
        if let Some((_, hash)) = copy_number(entry).and_then(|number| now.get_mut(&number)) {
            *hash = hash.or(entry.hash);
        }
    }
    for entry in &mut several {
        if let Some(&(identity, hash)) = copy_number(entry).and_then(|number| now.get(&number)) {
            entry.presence = Presence::Copied(identity);
            entry.hash = hash;
        }
    }
    Ok(())
}

fn copy_number(entry: &Entry) -> Option<u64> {
    match &entry.presence {
        Presence::Copied(identity) => Some(identity.ino),
        _ => None,
    }
}

/// Takes the last rights from folders that their owner may not enter; no sooner, because we had to.
fn close_folders(
    task: &Task<'_>,
    entries: &mut [Entry],
    mut modes: Vec<(Place, u32)>,
) -> Result<(), CloneError> {
    // Inner folders first.
    modes.sort_by(|a, b| b.0.cmp(&a.0));
    for (place, mode) in modes {
        let path = place.below(task.order.destination);
        let failed = |errno: Errno| CloneError::Write {
            path: path.clone(),
            source: errno.into(),
        };
        let mode = Mode::from_raw_mode(attributes::narrow(mode));
        let Some(inner) = place.path() else {
            rustix::fs::fchmod(&task.destination, mode).map_err(failed)?;
            continue;
        };
        let (parent, name) =
            open_parent(task.destination.as_fd(), inner).map_err(|e| CloneError::Write {
                path: path.clone(),
                source: io_error(e),
            })?;
        rustix::fs::chmodat(&parent, name, mode, rustix::fs::AtFlags::empty()).map_err(failed)?;
        let stat = stat_copy(task, inner)?;
        if let Ok(at) = entries.binary_search_by(|entry| entry.path.cmp(inner)) {
            entries[at].presence = Presence::Copied(Identity::of(&stat));
        }
    }
    Ok(())
}

fn stat_copy(task: &Task<'_>, path: &ProjectPath) -> Result<Stat, CloneError> {
    stat_beneath(task.destination.as_fd(), path).map_err(|e| CloneError::Write {
        path: task.order.destination.join(path),
        source: io_error(e),
    })
}

/// The plain error inside an [`enclos_sys::open::OpenError`]; the path is in ours already.
pub(crate) fn io_error(error: enclos_sys::open::OpenError) -> io::Error {
    use enclos_sys::open::OpenError;
    match error {
        OpenError::Io { source, .. }
        | OpenError::Root { source, .. }
        | OpenError::Again { source } => source,
        OpenError::Missing { .. } => Errno::NOENT.into(),
        OpenError::Link { .. } => Errno::LOOP.into(),
        OpenError::Mount { .. } => Errno::XDEV.into(),
        OpenError::NotFolder { .. } => Errno::NOTDIR.into(),
        other => io::Error::other(other),
    }
}
