//! The baseline of a copy that was made in one go.
//!
//! The copy is what stands still, so it is walked, and the original is looked at beside it. An original that differs
//! by now was changed after the copy was made: it is recorded as something it no longer is, so that every later
//! comparison finds it changed. What is no part of a copy (sockets, pipes) is removed from it.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_root;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;

use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::baseline::Skipped;
use crate::listing::Listing;
use crate::outward::outward;
use crate::place::Place;
use crate::queue;
use crate::queue::Queue;
use crate::queue::Work;
use crate::request::About;
use crate::request::CloneError;
use crate::request::Note;
use crate::request::Progress;
use crate::settle::settle;
use crate::tree::Copied;
use crate::tree::TICKS;
use crate::tree::hash;
use crate::tree::io_error;

/// Records `copy`, a clone of `source` that nobody has touched.
pub(crate) fn record(
    source: &AbsPath,
    copy: &AbsPath,
    progress: &dyn Progress,
) -> Result<Copied, CloneError> {
    let opened = |path: &AbsPath| open_root(path).map_err(io_error);
    let original = opened(source).map_err(|e| CloneError::Source {
        folder: source.clone(),
        source: e,
    })?;
    let write_failed = |source| CloneError::Write {
        path: copy.clone(),
        source,
    };
    let made = opened(copy).map_err(write_failed)?;
    let begun = stat_fd(&made).map_err(write_failed)?.ctime;
    let task = Task {
        source,
        copy,
        original,
        made,
        recent: begun - TICKS,
        progress,
    };
    let crew = (0..queue::workers()).map(|_| Worker::new(&task)).collect();
    let workers = queue::run(vec![Place::ROOT], crew)?;
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for mut worker in workers {
        entries.append(&mut worker.entries);
        notes.append(&mut worker.notes);
    }
    entries.sort_by(|a: &Entry, b| a.path.cmp(&b.path));
    notes.sort();
    let copied = |entry: &Entry| match &entry.presence {
        Presence::Copied(identity) => Some(identity.ctime),
        _ => None,
    };
    let taken = entries.iter().filter_map(copied).fold(begun, i128::max);
    settle(task.made.as_fd(), taken).map_err(write_failed)?;
    Ok(Copied {
        entries,
        notes,
        taken,
    })
}

struct Task<'a> {
    source: &'a AbsPath,
    copy: &'a AbsPath,
    original: OwnedFd,
    made: OwnedFd,
    recent: i128,
    progress: &'a dyn Progress,
}

struct Worker<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    entries: Vec<Entry>,
    notes: Vec<Note>,
    buffer: Vec<u8>,
}

impl Work<Place> for Worker<'_> {
    type Error = CloneError;

    fn step(&mut self, place: Place, queue: &Queue<Place>) -> Result<(), CloneError> {
        let failed = |source| CloneError::Write {
            path: place.below(self.task.copy),
            source,
        };
        let dir = place
            .open(self.task.made.as_fd())
            .map_err(|e| failed(io_error(e)))?;
        // A folder that went away since is one whose entries all did.
        let beside = place.open(self.task.original.as_fd()).ok();
        let mut listing = std::mem::take(&mut self.listing);
        listing.read(dir.as_fd()).map_err(failed)?;
        let mut bytes = 0;
        for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            let Some(path) = place.child(name.to_bytes()) else {
                continue;
            };
            let stat = stat_at(&dir, name).map_err(failed)?;
            let then = beside.as_ref().and_then(|dir| stat_at(dir, name).ok());
            if stat.node == Node::Folder {
                queue.extend([Place::at(path.clone())]);
            }
            bytes += stat.size;
            self.entry(dir.as_fd(), name, path, (&stat, then.as_ref()))?;
        }
        self.task.progress.advanced(listing.len() as u64, bytes);
        self.listing = listing;
        Ok(())
    }
}

impl<'a> Worker<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        Self {
            task,
            listing: Listing::default(),
            entries: Vec::new(),
            notes: Vec::new(),
            buffer: vec![0; 256 * 1024],
        }
    }

    fn entry(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        path: ProjectPath,
        (copy, original): (&Stat, Option<&Stat>),
    ) -> Result<(), CloneError> {
        let failed = |source| CloneError::Write {
            path: self.task.copy.join(&path),
            source,
        };
        let mut presence = Presence::Copied(Identity::of(copy));
        let kind = match copy.node {
            Node::File => Kind::File,
            Node::Folder => Kind::Folder,
            Node::Link => Kind::Link(read_link_at(dir, name).map_err(failed)?),
            Node::Socket | Node::Fifo | Node::Device => {
                rustix::fs::unlinkat(dir, name, AtFlags::empty()).map_err(|e| failed(e.into()))?;
                presence = Presence::Skipped(Skipped::Special);
                Kind::Special
            }
        };
        let unchanged = original.filter(|original| is_as_cloned(original, copy));
        let is_recent = unchanged.is_some_and(|original| original.ctime >= self.task.recent);
        let hash = if is_recent && kind == Kind::File {
            Some(self.hash(dir, name).map_err(failed)?)
        } else {
            None
        };
        self.notes
            .extend(about(&path, &kind, copy, self.task.source));
        let seen = original.unwrap_or(copy);
        self.entries.push(Entry {
            path,
            kind,
            mode: seen.mode,
            uid: seen.uid,
            gid: seen.gid,
            links: seen.links,
            original: unchanged.map_or_else(|| no_longer(copy), Identity::of),
            presence,
            hash,
        });
        Ok(())
    }

    fn hash(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> std::io::Result<[u8; 32]> {
        let file = enclos_sys::open::open_file_at(dir, name)?;
        Ok(hash(&file, &mut self.buffer)?)
    }
}

/// Whether the original still is what was cloned, as far as a clone keeps it.
fn is_as_cloned(original: &Stat, copy: &Stat) -> bool {
    (original.node, original.size, original.mtime) == (copy.node, copy.size, copy.mtime)
}

/// The identity of something that no file can have any more: it had the copy's contents, and no number.
fn no_longer(copy: &Stat) -> Identity {
    Identity {
        dev: 0,
        ino: 0,
        size: copy.size,
        mtime: copy.mtime,
        ctime: 0,
    }
}

fn about(path: &ProjectPath, kind: &Kind, copy: &Stat, source: &AbsPath) -> Option<Note> {
    let about = match kind {
        Kind::Special => About::Special,
        Kind::Link(target) => About::OutwardLink {
            target: target.clone(),
            lend: outward(path, target, source)?,
        },
        _ if copy.immutable => About::Immutable,
        _ => return None,
    };
    Some(Note {
        path: path.clone(),
        about,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::Quiet;
    use crate::Side;
    use crate::baseline::Baseline;
    use crate::changes;

    #[test]
    fn a_copy_that_something_else_made_is_recorded_like_one_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::new(folder.path().join(name)).unwrap();
        let (source, copy) = (at("source"), at("copy"));
        fs::create_dir_all(source.as_path().join("a/b")).unwrap();
        for (name, text) in [("a/b/file", "x"), ("early", "y"), ("late", "z")] {
            fs::write(source.as_path().join(name), text).unwrap();
        }
        let pipe = source.as_path().join("fifo");
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/etc", source.as_path().join("link")).unwrap();
        let status = Command::new("cp")
            .arg("-a")
            .args([source.as_path(), copy.as_path()])
            .status()
            .unwrap();
        assert!(status.success());
        fs::write(
            source.as_path().join("late"),
            "changed after the copy was made",
        )
        .unwrap();
        fs::remove_file(source.as_path().join("early")).unwrap();

        let Copied {
            entries,
            notes,
            taken,
        } = record(&source, &copy, &Quiet).unwrap();
        let baseline = Baseline {
            source: source.clone(),
            taken,
            entries,
        };
        assert!(
            !copy.as_path().join("fifo").exists(),
            "a pipe is no part of a copy"
        );
        assert_eq!(changes(&baseline, &copy, Side::Copy).unwrap(), []);
        let found = changes(&baseline, &source, Side::Original).unwrap();
        let found: Vec<_> = found.iter().map(|c| c.path.to_string()).collect();
        assert_eq!(
            found,
            ["early", "late"],
            "what changed between the copy and the look"
        );
        let notes: Vec<_> = notes.iter().map(|note| note.path.to_string()).collect();
        assert_eq!(notes, ["fifo", "link"]);
    }
}
