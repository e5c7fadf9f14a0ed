//! What the upper layer of an overlay says was changed.
//!
//! The layer holds what was written, and marks for what was removed: a character device 0/0, or an empty file with a
//! `whiteout` attribute (kernel documentation, `overlayfs.rst`). The attributes are named `user.overlay.` where a user
//! mounted it and `trusted.overlay.` where root did. Everything in it is an agent's, so nothing is followed or opened.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_root;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use rustix::fs::AtFlags;

use crate::baseline::Kind;
use crate::changes::Now;
use crate::changes::ScanError;
use crate::listing::Listing;
use crate::place::Place;
use crate::queue;
use crate::queue::Queue;
use crate::queue::Work;
use crate::tree::io_error;

/// What an upper layer holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerChanges {
    /// What was changed, sorted by path.
    pub entries: Vec<LayerEntry>,
    /// The space that was written, in bytes.
    pub bytes: u64,
}

/// One change in an upper layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerEntry {
    /// Where it is, below the overlaid folder.
    pub path: ProjectPath,
    /// What was done.
    pub change: LayerChange,
}

/// What was done to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerChange {
    /// It was written, or its mode changed, or it is a folder on the way to something that was.
    Written(Now),
    /// It was removed.
    Removed,
    /// It is a folder that was removed and made anew: nothing of the original's shows through.
    Replaced(Now),
}

/// Walks the upper layer `upper` of an overlay whose processes are gone or stopped.
///
/// # Errors
/// When the layer or something in it cannot be looked at.
pub fn overlay_changes(upper: &AbsPath) -> Result<LayerChanges, ScanError> {
    let root = open_root(upper).map_err(|e| ScanError::Root {
        folder: upper.clone(),
        source: io_error(e),
    })?;
    let task = Task { path: upper, root };
    let crew = (0..queue::workers()).map(|_| Worker::new(&task)).collect();
    let workers = queue::run(vec![Place::ROOT], crew)?;
    let bytes = workers.iter().map(|worker| worker.bytes).sum();
    let mut entries: Vec<LayerEntry> = workers
        .into_iter()
        .flat_map(|worker| worker.entries)
        .collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(LayerChanges { entries, bytes })
}

struct Task<'a> {
    path: &'a AbsPath,
    root: OwnedFd,
}

struct Worker<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    entries: Vec<LayerEntry>,
    bytes: u64,
}

impl Work<Place> for Worker<'_> {
    type Error = ScanError;

    fn step(&mut self, place: Place, queue: &Queue<Place>) -> Result<(), ScanError> {
        let failed = |source| ScanError::Look {
            path: place.below(self.task.path),
            source,
        };
        let dir = place
            .open(self.task.root.as_fd())
            .map_err(|e| failed(io_error(e)))?;
        let mut listing = std::mem::take(&mut self.listing);
        listing.read(dir.as_fd()).map_err(failed)?;
        for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            let Some(path) = place.child(name.to_bytes()) else {
                continue;
            };
            let Ok(stat) = stat_at(&dir, name) else {
                continue;
            };
            let change = look(dir.as_fd(), name, &stat);
            if matches!(change, LayerChange::Written(_) | LayerChange::Replaced(_))
                && stat.node == Node::Folder
            {
                queue.extend([Place::at(path.clone())]);
            }
            if stat.node == Node::File {
                self.bytes += stat.blocks.saturating_mul(512);
            }
            self.entries.push(LayerEntry { path, change });
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
            bytes: 0,
        }
    }
}

fn look(dir: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> LayerChange {
    let kind = match stat.node {
        Node::Device if is_whiteout_device(dir, name) => return LayerChange::Removed,
        Node::File
            if stat.size == 0
                && has(
                    dir,
                    name,
                    ["user.overlay.whiteout", "trusted.overlay.whiteout"],
                ) =>
        {
            return LayerChange::Removed;
        }
        Node::Folder if has(dir, name, ["user.overlay.opaque", "trusted.overlay.opaque"]) => {
            return LayerChange::Replaced(Now::of(stat, Kind::Folder));
        }
        Node::File => Kind::File,
        Node::Folder => Kind::Folder,
        Node::Link => Kind::Link(read_link_at(dir, name).unwrap_or_default()),
        Node::Socket | Node::Fifo | Node::Device => Kind::Special,
    };
    LayerChange::Written(Now::of(stat, kind))
}

/// No driver has the number 0/0, so it means nothing else.
fn is_whiteout_device(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    let device = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_rdev);
    device.is_ok_and(|device| device == 0)
}

/// Whether a file or folder has one of the attributes.
fn has(dir: BorrowedFd<'_>, name: &CStr, attributes: [&str; 2]) -> bool {
    let Ok(fd) = open_file_at(dir, name) else {
        return false;
    };
    let mut value = [0; 8];
    attributes
        .iter()
        .any(|attribute| rustix::fs::fgetxattr(&fd, *attribute, &mut value).is_ok())
}
