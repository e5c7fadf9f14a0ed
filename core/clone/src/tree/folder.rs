//! One worker: takes a folder, makes everything in it, hands its sub-folders on.

use std::ffi::CStr;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_folder_at;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::mkdirat;
use rustix::io::Errno;

use super::Instead;
use super::Job;
use super::Task;
use super::attributes;
use super::attributes::Attributes;
use super::attributes::Scratch;
use super::entry::Outcome;
use super::io_error;
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::baseline::Skipped;
use crate::listing::Listing;
use crate::measure::measure;
use crate::outward::outward;
use crate::place::Place;
use crate::queue::Queue;
use crate::queue::Work;
use crate::request::About;
use crate::request::CloneError;
use crate::request::LeaveOut;
use crate::request::Note;

/// One of the threads that copy.
pub(super) struct Worker<'t> {
    pub(super) task: &'t Task<'t>,
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<Note>,
    /// One name of each file whose copy got a further name.
    pub(super) joined: Vec<ProjectPath>,
    /// Folders whose owner may not enter them, and the mode they get in the end.
    pub(super) modes: Vec<(Place, u32)>,
    pub(super) buffer: Vec<u8>,
    pub(super) scratch: Scratch,
    /// Bytes made since progress was last told.
    pub(super) bytes: u64,
    listing: Listing,
}

/// The folder that is being copied.
#[derive(Clone, Copy)]
pub(super) struct At<'f> {
    pub(super) from: BorrowedFd<'f>,
    pub(super) to: BorrowedFd<'f>,
}

impl Work<Job> for Worker<'_> {
    type Error = CloneError;

    fn step(&mut self, job: Job, queue: &Queue<Job>) -> Result<(), CloneError> {
        let before = self.entries.len();
        let to = self.open_copy(&job.place)?;
        match self.open_original(&job.place)? {
            Some((from, stat)) => {
                self.fill(
                    &job.place,
                    At {
                        from: from.as_fd(),
                        to: to.as_fd(),
                    },
                    queue,
                )?;
                self.close(job.place, Some(from.as_fd()), to.as_fd(), &stat)?;
            }
            // It went away after its parent was listed: it was there at the start, and is empty here.
            None => self.close(job.place, None, to.as_fd(), &job.stat)?,
        }
        let made = (self.entries.len() - before) as u64;
        self.task
            .order
            .progress
            .advanced(made, std::mem::take(&mut self.bytes));
        Ok(())
    }

    fn finish(&mut self) {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

impl<'t> Worker<'t> {
    /// Files up to this size are copied in one piece.
    const BUFFER: usize = 256 * 1024;

    pub(super) fn new(task: &'t Task<'t>) -> Self {
        Self {
            task,
            entries: Vec::new(),
            notes: Vec::new(),
            joined: Vec::new(),
            modes: Vec::new(),
            buffer: vec![0; Self::BUFFER],
            scratch: Scratch::default(),
            bytes: 0,
            listing: Listing::default(),
        }
    }

    fn open_copy(&self, place: &Place) -> Result<OwnedFd, CloneError> {
        place
            .open(self.task.destination.as_fd())
            .map_err(|e| CloneError::Write {
                path: place.below(self.task.order.destination),
                source: io_error(e),
            })
    }

    /// Opens the folder in the original; none when it is no longer there or no longer a folder.
    fn open_original(&self, place: &Place) -> Result<Option<(OwnedFd, Stat)>, CloneError> {
        let failed = |source| CloneError::Read {
            path: place.below(self.task.order.source),
            source,
        };
        let from = match place.open(self.task.source.as_fd()) {
            Ok(fd) => fd,
            Err(e) if e.is_missing() || matches!(e, OpenError::Link { .. }) => return Ok(None),
            Err(e) => return Err(failed(io_error(e))),
        };
        // Before the listing: a name that comes or goes while we list moves the folder's time after this one.
        let stat = stat_fd(&from).map_err(failed)?;
        Ok(Some((from, stat)))
    }

    fn fill(&mut self, place: &Place, at: At<'_>, queue: &Queue<Job>) -> Result<(), CloneError> {
        let mut listing = std::mem::take(&mut self.listing);
        listing.read(at.from).map_err(|source| CloneError::Read {
            path: place.below(self.task.order.source),
            source,
        })?;
        for (name, hint) in (0..listing.len()).filter_map(|i| listing.get(i)) {
            let Some(path) = place.child(name.to_bytes()) else {
                continue;
            };
            self.child(at, (name, hint), path, queue)?;
        }
        self.listing = listing;
        Ok(())
    }

    fn child(
        &mut self,
        at: At<'_>,
        (name, hint): (&CStr, FileType),
        path: ProjectPath,
        queue: &Queue<Job>,
    ) -> Result<(), CloneError> {
        let instead = &self.task.order.instead;
        if !instead.is_empty()
            && let Some(&instead) = instead.get(&path)
        {
            return self.instead(at, name, path, instead);
        }
        // Most entries are files, and opening one tells all that a look would.
        if hint == FileType::RegularFile && self.file(at, name, &path)? == Outcome::Done {
            return Ok(());
        }
        self.look(at, name, path, queue)
    }

    fn look(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: ProjectPath,
        queue: &Queue<Job>,
    ) -> Result<(), CloneError> {
        let Some(stat) = self.stat(at, name, &path)? else {
            return Ok(());
        };
        if stat.mount_root {
            self.skip(path, &stat, Skipped::Mount, About::Mount);
            return Ok(());
        }
        match stat.node {
            Node::Folder => self.folder(at, name, path, stat, queue),
            Node::Link => self.link(at, name, path, &stat),
            // One that is something else again by now changes faster than we look, and is left for the next look.
            Node::File => self.file(at, name, &path).map(drop),
            Node::Socket | Node::Fifo | Node::Device => {
                self.skip(path, &stat, Skipped::Special, About::Special);
                Ok(())
            }
        }
    }

    /// What is at `name`; none when it went away after it was listed.
    pub(super) fn stat(
        &self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
    ) -> Result<Option<Stat>, CloneError> {
        match stat_at(at.from, name) {
            Ok(stat) => Ok(Some(stat)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(CloneError::Read {
                path: self.task.order.source.join(path),
                source,
            }),
        }
    }

    fn folder(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: ProjectPath,
        stat: Stat,
        queue: &Queue<Job>,
    ) -> Result<(), CloneError> {
        if stat.dataless {
            self.skip(path, &stat, Skipped::Dataless, About::Dataless);
            return Ok(());
        }
        match open_folder_at(at.from, OsStr::from_bytes(name.to_bytes())) {
            Ok(_readable) => {}
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                return self.unreadable(path, &stat, e);
            }
            // A mount that only opening tells (macOS).
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
                self.skip(path, &stat, Skipped::Mount, About::Mount);
                return Ok(());
            }
            // Gone, or something else by now: the next look at the original finds that.
            Err(_) => return Ok(()),
        }
        self.make_folder(at, name, &path, &stat)?;
        queue.extend([Job {
            place: Place::at(path),
            stat,
        }]);
        Ok(())
    }

    fn make_folder(
        &self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
        stat: &Stat,
    ) -> Result<(), CloneError> {
        let mode = Mode::from_raw_mode(attributes::narrow(stat.mode & 0o777)) | Mode::RWXU;
        mkdirat(at.to, name, mode).map_err(|e| self.write_failed(path, e))
    }

    /// Gives a folder that is filled its attributes, mode and times, and records it.
    fn close(
        &mut self,
        place: Place,
        from: Option<BorrowedFd<'_>>,
        to: BorrowedFd<'_>,
        stat: &Stat,
    ) -> Result<(), CloneError> {
        let failed = |e: Errno| CloneError::Write {
            path: place.below(self.task.order.destination),
            source: e.into(),
        };
        let mut attributes = Attributes::None;
        if let Some(from) = from {
            attributes = attributes::copy(from, to, &mut self.scratch).map_err(failed)?;
        }
        let mode = stat.mode;
        if mode & 0o500 == 0o500 {
            attributes::set_mode(to, mode).map_err(failed)?;
        } else {
            self.modes.push((place.clone(), mode));
        }
        attributes::set_times(to, stat).map_err(failed)?;
        let copy = stat_fd(to).map_err(|source| CloneError::Write {
            path: place.below(self.task.order.destination),
            source,
        })?;
        let Some(path) = place.path() else {
            return Ok(());
        };
        if attributes == Attributes::Lost {
            self.note(path, About::LostAttributes);
        }
        self.record(
            path.clone(),
            Kind::Folder,
            stat,
            Presence::Copied(Identity::of(&copy)),
        );
        Ok(())
    }

    fn link(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: ProjectPath,
        stat: &Stat,
    ) -> Result<(), CloneError> {
        let target = match read_link_at(at.from, name) {
            Ok(target) => target,
            // Gone, or something else by now: the next look at the original finds that.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
                ) =>
            {
                return Ok(());
            }
            Err(source) => {
                return Err(CloneError::Read {
                    path: self.task.order.source.join(&path),
                    source,
                });
            }
        };
        rustix::fs::symlinkat(&target, at.to, name).map_err(|e| self.write_failed(&path, e))?;
        let times = attributes::times(stat);
        rustix::fs::utimensat(at.to, name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|e| self.write_failed(&path, e))?;
        let copy = stat_at(at.to, name).map_err(|source| CloneError::Write {
            path: self.task.order.destination.join(&path),
            source,
        })?;
        if let Some(lend) = outward(&path, &target, self.task.order.source) {
            self.note(
                &path,
                About::OutwardLink {
                    target: target.clone(),
                    lend,
                },
            );
        }
        self.record(
            path,
            Kind::Link(target),
            stat,
            Presence::Copied(Identity::of(&copy)),
        );
        Ok(())
    }

    fn instead(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: ProjectPath,
        instead: Instead,
    ) -> Result<(), CloneError> {
        let Some(stat) = self.stat(at, name, &path)? else {
            return Ok(());
        };
        match instead {
            Instead::Hidden => self.skip(path, &stat, Skipped::Hidden, About::Hidden),
            Instead::KeptOut => self.skip(path, &stat, Skipped::Hidden, About::KeptOut),
            Instead::Overlaid => {
                self.make_folder(at, name, &path, &stat)?;
                self.record(path, Kind::Folder, &stat, Presence::Overlaid);
            }
        }
        Ok(())
    }

    /// Something that may not be read: an error, or left out.
    pub(super) fn unreadable(
        &mut self,
        path: ProjectPath,
        stat: &Stat,
        source: io::Error,
    ) -> Result<(), CloneError> {
        match self.task.order.leave_out {
            LeaveOut::Nothing => Err(CloneError::Unreadable {
                path: self.task.order.source.join(&path),
                source,
            }),
            LeaveOut::Unreadable => {
                self.skip(path, stat, Skipped::Unreadable, About::Unreadable);
                Ok(())
            }
        }
    }

    pub(super) fn skip(&mut self, path: ProjectPath, stat: &Stat, why: Skipped, about: About) {
        let kind = match stat.node {
            Node::File => Kind::File,
            Node::Folder => Kind::Folder,
            // Where a link leads is of no interest when it is not in the copy.
            Node::Link => Kind::Link(PathBuf::new()),
            Node::Socket | Node::Fifo | Node::Device => Kind::Special,
        };
        self.note(&path, about);
        self.record(path, kind, stat, Presence::Skipped(why));
    }

    pub(super) fn note(&mut self, path: &ProjectPath, about: About) {
        self.notes.push(Note {
            path: path.clone(),
            about,
        });
    }

    pub(super) fn record(
        &mut self,
        path: ProjectPath,
        kind: Kind,
        stat: &Stat,
        presence: Presence,
    ) {
        self.entries.push(Entry {
            path,
            kind,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            links: stat.links,
            original: Identity::of(stat),
            presence,
            hash: None,
        });
    }

    /// The error for something that could not be written; a full disk is told with what would be needed.
    pub(super) fn write_failed(&self, path: &ProjectPath, errno: Errno) -> CloneError {
        let order = self.task.order;
        let path = order.destination.join(path);
        if !matches!(errno, Errno::NOSPC | Errno::DQUOT) {
            return CloneError::Write {
                path,
                source: errno.into(),
            };
        }
        let fs = rustix::fs::fstatvfs(&self.task.destination);
        // Some file systems make room for files as they need it, and then say zero of both.
        if fs
            .as_ref()
            .is_ok_and(|fs| fs.f_files > 0 && fs.f_favail == 0)
        {
            return CloneError::NoFiles { path };
        }
        let needed = measure(order.source, &order.instead).map_or(0, |size| size.bytes);
        let free = fs.map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        CloneError::NoSpace { path, needed, free }
    }
}
