//! How much there is to copy, so that it can be said before and compared with what is free.

use std::collections::HashMap;
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::PoisonError;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_root;
use enclos_sys::stat::Node;
use enclos_sys::stat::stat_at;

use crate::listing::Listing;
use crate::place::Place;
use crate::queue;
use crate::queue::Queue;
use crate::queue::Work;
use crate::tree::Instead;

/// What there is to copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// The space that the files take, in bytes; holes take none, and a file with several names counts once.
    pub(crate) bytes: u64,
    /// The number of regular files.
    pub(crate) files: u64,
}

/// Measures `root` without what happens to be treated otherwise. What cannot be read counts as nothing, and is found
/// when it is copied.
pub(crate) fn measure(
    root: &AbsPath,
    instead: &HashMap<ProjectPath, Instead>,
) -> Result<Size, OpenError> {
    let task = Task {
        root: open_root(root)?,
        instead,
        seen: Mutex::default(),
    };
    let crew = (0..queue::workers()).map(|_| Worker {
        task: &task,
        listing: Listing::default(),
        size: Size::default(),
    });
    let Ok(workers) = queue::run(vec![Place::ROOT], crew.collect());
    let add = |a: Size, b: Size| Size {
        bytes: a.bytes + b.bytes,
        files: a.files + b.files,
    };
    Ok(workers
        .iter()
        .fold(Size::default(), |sum, worker| add(sum, worker.size)))
}

struct Task<'a> {
    root: OwnedFd,
    instead: &'a HashMap<ProjectPath, Instead>,
    /// Files with several names that were counted.
    seen: Mutex<HashSet<(u64, u64)>>,
}

struct Worker<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    size: Size,
}

impl Work<Place> for Worker<'_> {
    type Error = std::convert::Infallible;

    fn step(&mut self, place: Place, queue: &Queue<Place>) -> Result<(), Self::Error> {
        let Ok(dir) = place.open(self.task.root.as_fd()) else {
            return Ok(());
        };
        let mut listing = std::mem::take(&mut self.listing);
        if listing.read(dir.as_fd()).is_ok() {
            for name in (0..listing.len())
                .filter_map(|i| listing.get(i))
                .map(|(name, _)| name)
            {
                let Some(path) = place.child(name.to_bytes()) else {
                    continue;
                };
                let Ok(stat) = stat_at(&dir, name) else {
                    continue;
                };
                if stat.mount_root || self.task.instead.contains_key(&path) {
                    continue;
                }
                match stat.node {
                    Node::Folder => queue.extend([Place::at(path)]),
                    Node::File if stat.links == 1 || self.is_new((stat.dev, stat.ino)) => {
                        self.size.files += 1;
                        self.size.bytes += stat.blocks.saturating_mul(512);
                    }
                    _ => {}
                }
            }
        }
        self.listing = listing;
        Ok(())
    }
}

impl Worker<'_> {
    fn is_new(&self, inode: (u64, u64)) -> bool {
        self.task
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(inode)
    }
}
