//! How much there is to copy, so that it can be said before and compared with what is free.
//!
//! Folders that may be overlaid are measured apart, each with the first thing in it that would make an overlay fail.
//! What cannot be read counts as nothing here, and is found when it is copied.

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
use enclos_sys::stat::Stat;
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

/// One part of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// What there is to copy.
    pub(crate) size: Size,
    /// Something that keeps it from being overlaid: a mount, or what belongs to somebody else.
    pub(crate) obstacle: Option<ProjectPath>,
}

/// A tree in parts.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// All that is not in a part of its own.
    pub(crate) rest: Part,
    /// The folders that were measured apart.
    pub(crate) apart: Vec<(ProjectPath, Part)>,
}

/// Measures `root` without what `instead` treats otherwise.
pub(crate) fn measure(
    root: &AbsPath,
    instead: &HashMap<ProjectPath, Instead>,
) -> Result<Size, OpenError> {
    survey(root, instead, &|_| false).map(|survey| survey.rest.size)
}

/// Measures `root` without what `instead` treats otherwise, and apart each outermost folder that `is_apart`.
pub(crate) fn survey(
    root: &AbsPath,
    instead: &HashMap<ProjectPath, Instead>,
    is_apart: &(dyn Fn(&ProjectPath) -> bool + Sync),
) -> Result<Survey, OpenError> {
    let root = open_root(root)?;
    let task = Task {
        root,
        instead,
        is_apart,
        us: us(),
        seen: Mutex::default(),
        apart: Mutex::default(),
    };
    let crew = (0..queue::workers()).map(|_| Worker {
        task: &task,
        listing: Listing::default(),
        parts: HashMap::new(),
    });
    let Ok(workers) = queue::run(
        vec![Job {
            place: Place::ROOT,
            part: None,
        }],
        crew.collect(),
    );
    let mut parts: HashMap<Option<usize>, Part> = HashMap::new();
    for (number, part) in workers.into_iter().flat_map(|worker| worker.parts) {
        parts.entry(number).or_default().add(part);
    }
    let folders = task
        .apart
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let apart = folders.into_iter().enumerate();
    let apart = apart
        .map(|(at, path)| (path, parts.remove(&Some(at)).unwrap_or_default()))
        .collect();
    Ok(Survey {
        rest: parts.remove(&None).unwrap_or_default(),
        apart,
    })
}

/// The user and group that we are, and that a mapped user of ours can be.
pub(crate) fn us() -> (u32, u32) {
    (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    )
}

impl Part {
    fn add(&mut self, other: Self) {
        self.size = self.size.plus(other.size);
        // The first in order, so that the answer does not depend on which thread was faster.
        self.obstacle = match (self.obstacle.take(), other.obstacle) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

impl Size {
    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            files: self.files + other.files,
        }
    }
}

struct Task<'a> {
    root: OwnedFd,
    instead: &'a HashMap<ProjectPath, Instead>,
    is_apart: &'a (dyn Fn(&ProjectPath) -> bool + Sync),
    /// The user and group that we are.
    us: (u32, u32),
    /// Files with several names that were counted.
    seen: Mutex<HashSet<(u64, u64)>>,
    /// The folders that are measured apart, by number.
    apart: Mutex<Vec<ProjectPath>>,
}

struct Job {
    place: Place,
    /// The number of the part that it belongs to; none for the rest.
    part: Option<usize>,
}

struct Worker<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    parts: HashMap<Option<usize>, Part>,
}

impl Work<Job> for Worker<'_> {
    type Error = std::convert::Infallible;

    fn step(&mut self, job: Job, queue: &Queue<Job>) -> Result<(), Self::Error> {
        let Ok(dir) = job.place.open(self.task.root.as_fd()) else {
            return Ok(());
        };
        let mut listing = std::mem::take(&mut self.listing);
        if listing.read(dir.as_fd()).is_ok() {
            for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
                let Some(path) = job.place.child(name.to_bytes()) else {
                    continue;
                };
                if let Ok(stat) = stat_at(&dir, name) {
                    self.count(path, &stat, job.part, queue);
                }
            }
        }
        self.listing = listing;
        Ok(())
    }
}

impl Worker<'_> {
    fn count(&mut self, path: ProjectPath, stat: &Stat, number: Option<usize>, queue: &Queue<Job>) {
        let task = self.task;
        let mut number = number;
        if number.is_none() && stat.node == Node::Folder && (task.is_apart)(&path) {
            let mut apart = task.apart.lock().unwrap_or_else(PoisonError::into_inner);
            number = Some(apart.len());
            apart.push(path.clone());
        }
        let part = self.parts.entry(number).or_default();
        if stat.mount_root || (stat.uid, stat.gid) != task.us || task.instead.contains_key(&path) {
            let first = part.obstacle.as_ref().is_none_or(|other| path < *other);
            if first {
                part.obstacle = Some(path.clone());
            }
        }
        if stat.mount_root || task.instead.contains_key(&path) {
            return;
        }
        match stat.node {
            Node::Folder => queue.extend([Job {
                place: Place::at(path),
                part: number,
            }]),
            Node::File if stat.links == 1 || task.is_new((stat.dev, stat.ino)) => {
                part.size.files += 1;
                part.size.bytes += stat.blocks.saturating_mul(512);
            }
            _ => {}
        }
    }
}

impl Task<'_> {
    fn is_new(&self, inode: (u64, u64)) -> bool {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(inode)
    }
}
