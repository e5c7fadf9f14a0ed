//! Looking at what the baseline knows.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_file_at;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;

use super::Candidate;
use super::Difference;
use super::Job;
use super::Now;
use super::ScanError;
use super::Side;
use super::Task;
use super::root_fd;
use crate::baseline::Entry;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::listing::Listing;
use crate::place::Place;
use crate::queue::Queue;
use crate::queue::Work;
use crate::tree;
use crate::trust::Trust;

/// One of the threads that look.
pub(super) struct Worker<'t> {
    pub(super) task: &'t Task<'t>,
    pub(super) found: Vec<Candidate>,
    pub(super) listing: Listing,
    /// For hashing, which few trees need.
    buffer: Vec<u8>,
}

/// The folder whose entries are looked at.
enum Folder {
    Open(OwnedFd),
    /// It is not there, or it is something else now: all that was in it is gone.
    Gone,
    /// Nothing can be said about what is in it.
    Closed,
}

/// The folders on the way to the entry that was looked at last, outermost first: the next one lies in one of them, or in
/// a new one.
#[derive(Default)]
struct Way<'e>(Vec<(&'e [u8], Folder)>);

impl<'e> Way<'e> {
    /// Of deep trees the outer folders are opened again: descriptors are few.
    const LONGEST: usize = 32;

    /// Leaves the folders that `path` does not lie in, and says whether the innermost is the one it lies in directly.
    fn leads_to(&mut self, path: &ProjectPath) -> bool {
        let wanted = folder_of(path);
        while let Some((innermost, _)) = self.0.last() {
            if *innermost == wanted {
                return true;
            }
            if wanted.starts_with(innermost) {
                return false;
            }
            self.0.pop();
        }
        false
    }

    fn push(&mut self, path: &'e ProjectPath, folder: Folder) {
        if self.0.len() == Self::LONGEST {
            self.0.remove(0);
        }
        self.0.push((folder_of(path), folder));
    }

    fn folder(&self) -> Option<&Folder> {
        self.0.last().map(|(_, folder)| folder)
    }
}

/// The path of the folder that `path` lies in, with the slash at its end; empty for the root.
fn folder_of(path: &ProjectPath) -> &[u8] {
    let bytes = path.as_bytes();
    &bytes[..bytes.len() - path.name().len()]
}

impl Work<Job> for Worker<'_> {
    type Error = ScanError;

    fn step(&mut self, job: Job, queue: &Queue<Job>) -> Result<(), ScanError> {
        match job {
            Job::Known(range) => self.look_at_known(range, queue),
            Job::List(place) => self.list(&place, queue),
        }
    }
}

impl<'t> Worker<'t> {
    pub(super) fn new(task: &'t Task<'t>) -> Self {
        Self {
            task,
            found: Vec::new(),
            listing: Listing::default(),
            buffer: Vec::new(),
        }
    }

    fn look_at_known(
        &mut self,
        range: std::ops::Range<usize>,
        queue: &Queue<Job>,
    ) -> Result<(), ScanError> {
        let entries = &self.task.baseline.entries;
        let mut way: Way<'_> = Way::default();
        for at in range {
            let entry = &entries[at];
            if !way.leads_to(&entry.path) {
                let folder = self.open_folder_of(&entry.path)?;
                way.push(&entry.path, folder);
            }
            match way.folder() {
                Some(Folder::Open(dir)) => self.look_at(at, entry, dir.as_fd(), queue)?,
                Some(Folder::Gone) => self.gone(at, entry),
                Some(Folder::Closed) | None => {}
            }
        }
        Ok(())
    }

    fn open_folder_of(&mut self, path: &ProjectPath) -> Result<Folder, ScanError> {
        let parent = path.parent();
        let place = parent.clone().map_or(Place::ROOT, Place::at);
        match (place.open(root_fd(self.task)), parent) {
            (Ok(dir), _) => Ok(Folder::Open(dir)),
            (Err(e), _) if e.is_missing() || matches!(e, OpenError::Link { .. }) => {
                Ok(Folder::Gone)
            }
            (Err(e), Some(parent)) if is_closed(&e) => {
                self.closed(parent);
                Ok(Folder::Closed)
            }
            (Err(e), _) => Err(self.task.look_failed(path, tree::io_error(e))),
        }
    }

    /// Names a folder that cannot be entered, once.
    pub(super) fn closed(&mut self, path: ProjectPath) {
        if self
            .found
            .last()
            .is_some_and(|c| c.path == path && c.difference == Difference::Closed)
        {
            return;
        }
        let before = self.task.baseline.index_of(&path);
        let now = enclos_sys::open::stat_beneath(root_fd(self.task), &path).ok();
        let now = now.map(|stat| Now::of(&stat, Kind::Folder));
        self.found.push(Candidate {
            path,
            before,
            now,
            difference: Difference::Closed,
        });
    }

    fn gone(&mut self, at: usize, entry: &Entry) {
        if self.task.recorded(entry).is_some() {
            let (path, before) = (entry.path.clone(), Some(at));
            self.found.push(Candidate {
                path,
                before,
                now: None,
                difference: Difference::Gone,
            });
        }
    }

    fn look_at(
        &mut self,
        at: usize,
        entry: &Entry,
        dir: BorrowedFd<'_>,
        queue: &Queue<Job>,
    ) -> Result<(), ScanError> {
        let name = entry.path.name();
        let Some(recorded) = self.task.recorded(entry) else {
            return self.look_at_absent(at, entry, dir);
        };
        let stat = match stat_at(dir, name) {
            Ok(stat) => stat,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.gone(at, entry);
                return Ok(());
            }
            Err(e) => return Err(self.task.look_failed(&entry.path, e)),
        };
        let is_same = self.task.devices.is_same(recorded, &stat);
        let trusted = self.task.trust == Trust::Identity && !self.task.is_close_call(entry);
        if is_same && trusted {
            return Ok(());
        }
        let difference = match (&entry.kind, stat.node) {
            (Kind::Folder, Node::Folder) => {
                if self.task.is_listed(entry) {
                    queue.extend([Job::List(Place::at(entry.path.clone()))]);
                }
                self.metadata(entry, &stat)
            }
            (Kind::Link(target), Node::Link) => {
                let now =
                    read_link_at(dir, name).map_err(|e| self.task.look_failed(&entry.path, e))?;
                if now == *target {
                    self.owner(entry, &stat)
                } else {
                    Some(Difference::Contents)
                }
            }
            (Kind::File, Node::File) => self.file(entry, &stat, dir, is_same)?,
            (_, Node::Folder) => {
                // All that is in it is new.
                queue.extend([Job::List(Place::at(entry.path.clone()))]);
                Some(Difference::Kind)
            }
            _ => Some(Difference::Kind),
        };
        if let Some(difference) = difference {
            let now = self.now(dir, name, &stat);
            self.found.push(Candidate {
                path: entry.path.clone(),
                before: Some(at),
                now: Some(now),
                difference,
            });
        }
        Ok(())
    }

    /// Something that was left out of the copy, or is overlaid: it is news only when it is in the copy after all.
    fn look_at_absent(
        &mut self,
        at: usize,
        entry: &Entry,
        dir: BorrowedFd<'_>,
    ) -> Result<(), ScanError> {
        if self.task.side == Side::Original || entry.presence == Presence::Overlaid {
            return Ok(());
        }
        match stat_at(dir, entry.path.name()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(self.task.look_failed(&entry.path, e)),
            Ok(stat) => {
                let now = Some(self.now(dir, entry.path.name(), &stat));
                let (path, before) = (entry.path.clone(), Some(at));
                self.found.push(Candidate {
                    path,
                    before,
                    now,
                    difference: Difference::Added,
                });
                Ok(())
            }
        }
    }

    fn file(
        &mut self,
        entry: &Entry,
        stat: &Stat,
        dir: BorrowedFd<'_>,
        is_same: bool,
    ) -> Result<Option<Difference>, ScanError> {
        let Some(recorded) = entry.hash else {
            // Without a hash there is nothing to compare with but what cannot be trusted here.
            let trusted = self.task.trust == Trust::Identity;
            return Ok(if is_same && trusted {
                None
            } else {
                Some(Difference::Contents)
            });
        };
        if stat.size != entry.original.size {
            return Ok(Some(Difference::Contents));
        }
        match self.hash(dir, entry.path.name()) {
            Ok(Some(now)) if now == recorded => Ok(self.metadata(entry, stat)),
            Ok(_) => Ok(Some(Difference::Contents)),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(Some(Difference::Contents)),
            Err(e) => Err(self.task.look_failed(&entry.path, e)),
        }
    }

    /// The hash of the file; none when it is no longer a regular file.
    fn hash(&mut self, dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<[u8; 32]>> {
        let file = match open_file_at(dir, name) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Err(e),
            Err(_) => return Ok(None),
        };
        if stat_fd(&file)?.node != Node::File {
            return Ok(None);
        }
        self.buffer.resize(256 * 1024, 0);
        Ok(Some(tree::hash(&file, &mut self.buffer)?))
    }

    fn metadata(&self, entry: &Entry, stat: &Stat) -> Option<Difference> {
        if entry.has_mode(stat.mode, self.task.side) {
            self.owner(entry, stat)
        } else {
            Some(Difference::Metadata)
        }
    }

    fn owner(&self, entry: &Entry, stat: &Stat) -> Option<Difference> {
        let differs =
            self.task.side == Side::Original && (entry.uid, entry.gid) != (stat.uid, stat.gid);
        differs.then_some(Difference::Metadata)
    }

    /// Describes what is at `name` now, which `stat` has seen.
    pub(super) fn now(
        &self,
        dir: BorrowedFd<'_>,
        name: impl rustix::path::Arg,
        stat: &Stat,
    ) -> Now {
        let kind = match stat.node {
            Node::File => Kind::File,
            Node::Folder => Kind::Folder,
            // One that is no link any more leads nowhere, and is found as what it is by the next look.
            Node::Link => Kind::Link(read_link_at(dir, name).unwrap_or_default()),
            Node::Socket | Node::Fifo | Node::Device => Kind::Special,
        };
        Now::of(stat, kind)
    }
}

/// Whether the folder is there, but may not be entered.
pub(super) fn is_closed(error: &OpenError) -> bool {
    match error {
        OpenError::Mount { .. } => true,
        OpenError::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}
