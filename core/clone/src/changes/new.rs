//! Listing folders that moved, for names that the baseline does not know.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::stat::Node;
use enclos_sys::stat::stat_at;

use super::Candidate;
use super::Difference;
use super::Job;
use super::ScanError;
use super::known::Worker;
use super::known::is_closed;
use super::root_fd;
use crate::place::Place;
use crate::queue::Queue;
use crate::tree::io_error;

/// New folders with a longer path, or deeper down, are not entered. The length is twice what any call of the kernel takes
/// (`PATH_MAX`); and as each path is held whole and walked from the root, a chain of folders that costs its maker nothing
/// would otherwise take all of our memory and hours.
const LONGEST: usize = 8192;
const DEEPEST: usize = 2048;

fn is_endless(path: &ProjectPath) -> bool {
    path.as_bytes().len() >= LONGEST || path.components().count() >= DEEPEST
}

impl Worker<'_> {
    pub(super) fn list(&mut self, place: &Place, queue: &Queue<Job>) -> Result<(), ScanError> {
        let failed = |source| ScanError::Look {
            path: place.below(self.task.path),
            source,
        };
        let dir = match (place.open(root_fd(self.task)), place.path()) {
            (Ok(dir), _) => dir,
            // It went away since its parent was looked at; what it held is gone with it.
            (Err(e), _) if e.is_missing() || matches!(e, OpenError::Link { .. }) => return Ok(()),
            (Err(e), Some(path)) if is_closed(&e) => {
                self.closed(path.clone());
                return Ok(());
            }
            (Err(e), _) => return Err(failed(io_error(e))),
        };
        let mut listing = std::mem::take(&mut self.listing);
        listing.read(dir.as_fd()).map_err(failed)?;
        let known = self.task.baseline.below(place.path());
        for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            let Some(path) = place.child(name.to_bytes()) else {
                continue;
            };
            if known
                .binary_search_by(|entry| entry.path.cmp(&path))
                .is_ok()
            {
                continue;
            }
            let Ok(stat) = stat_at(&dir, name) else {
                continue;
            };
            if stat.node == Node::Folder && is_endless(&path) {
                self.closed(path);
                continue;
            }
            if stat.node == Node::Folder {
                queue.extend([Job::List(Place::at(path.clone()))]);
            }
            let now = Some(self.now(dir.as_fd(), OsStr::from_bytes(name.to_bytes()), &stat));
            self.found.push(Candidate {
                path,
                before: None,
                now,
                difference: Difference::Added,
            });
        }
        self.listing = listing;
        Ok(())
    }
}
