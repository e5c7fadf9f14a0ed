//! The baseline of a folder that is overlaid as a whole: every entry, none of them copied.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_root;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::Mode;
use rustix::io::Errno;

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
use crate::tree::Copied;
use crate::tree::Instead;
use crate::tree::io_error;

/// Makes an empty folder at `destination`, to be mounted over, and records what `source` holds.
pub(crate) fn record(
    source: &AbsPath,
    destination: &AbsPath,
    instead: &HashMap<ProjectPath, Instead>,
) -> Result<Copied, CloneError> {
    let root = open_root(source).map_err(|e| CloneError::Source {
        folder: source.clone(),
        source: io_error(e),
    })?;
    rustix::fs::mkdir(destination.as_path(), Mode::RWXU).map_err(|errno| match errno {
        Errno::EXIST => CloneError::DestinationExists {
            destination: destination.clone(),
        },
        errno => CloneError::Write {
            path: destination.clone(),
            source: errno.into(),
        },
    })?;
    let made = open_root(destination).map_err(io_error).and_then(stat_fd);
    let taken = made
        .map_err(|source| CloneError::Write {
            path: destination.clone(),
            source,
        })?
        .ctime;
    let task = Task {
        path: source,
        root,
        instead,
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
    Ok(Copied {
        entries,
        notes,
        taken,
    })
}

struct Task<'a> {
    path: &'a AbsPath,
    root: OwnedFd,
    instead: &'a HashMap<ProjectPath, Instead>,
}

struct Worker<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    entries: Vec<Entry>,
    notes: Vec<Note>,
}

impl Work<Place> for Worker<'_> {
    type Error = CloneError;

    fn step(&mut self, place: Place, queue: &Queue<Place>) -> Result<(), CloneError> {
        let failed = |source| CloneError::Read {
            path: place.below(self.task.path),
            source,
        };
        let dir = match place.open(self.task.root.as_fd()) {
            Ok(dir) => dir,
            Err(e) if e.is_missing() => return Ok(()),
            Err(e) => return Err(failed(io_error(e))),
        };
        let mut listing = std::mem::take(&mut self.listing);
        listing.read(dir.as_fd()).map_err(failed)?;
        for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            let Some(path) = place.child(name.to_bytes()) else {
                continue;
            };
            let Ok(stat) = stat_at(&dir, name) else {
                continue;
            };
            let kind = match stat.node {
                Node::File => Kind::File,
                Node::Folder => Kind::Folder,
                Node::Link => Kind::Link(read_link_at(&dir, name).unwrap_or_default()),
                Node::Socket | Node::Fifo | Node::Device => Kind::Special,
            };
            let presence = self.presence(&path, &kind);
            if kind == Kind::Folder && presence == Presence::Overlaid {
                queue.extend([Place::at(path.clone())]);
            }
            let (mode, uid, gid, links) = (stat.mode, stat.uid, stat.gid, stat.links);
            let original = Identity::of(&stat);
            self.entries.push(Entry {
                path,
                kind,
                mode,
                uid,
                gid,
                links,
                original,
                presence,
                hash: None,
            });
        }
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
        }
    }

    fn presence(&mut self, path: &ProjectPath, kind: &Kind) -> Presence {
        let (about, presence) = match (self.task.instead.get(path), kind) {
            (Some(Instead::Hidden), _) => (About::Hidden, Presence::Skipped(Skipped::Hidden)),
            (Some(Instead::KeptOut), _) => (About::KeptOut, Presence::Skipped(Skipped::Hidden)),
            (_, Kind::Special) => (About::Special, Presence::Skipped(Skipped::Special)),
            (_, Kind::Link(target)) => match outward(path, target, self.task.path) {
                Some(lend) => (
                    About::OutwardLink {
                        target: target.clone(),
                        lend,
                    },
                    Presence::Overlaid,
                ),
                None => return Presence::Overlaid,
            },
            _ => return Presence::Overlaid,
        };
        self.notes.push(Note {
            path: path.clone(),
            about,
        });
        presence
    }
}
