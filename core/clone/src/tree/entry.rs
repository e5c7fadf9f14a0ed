//! Copying one regular file.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use enclos_paths::ProjectPath;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_parent;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::ftruncate;
use rustix::fs::linkat;
use rustix::fs::openat;
use rustix::io::Errno;

use super::Hashing;
use super::attributes;
use super::attributes::Attributes;
use super::contents;
use super::contents::Failed;
use super::contents::Filling;
use super::folder::At;
use super::folder::Worker;
use super::io_error;
use super::links::Name;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::baseline::Skipped;
use crate::clonefile::clone_file_at;
use crate::request::About;
use crate::request::CloneError;

/// Whether a name was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was copied, left out, or is no longer there.
    Done,
    /// It is not a regular file.
    NotAFile,
}

/// A file that was just made in the copy.
enum New {
    Empty(OwnedFd),
    /// It has the contents and attributes of the original already.
    Filled(OwnedFd),
}

impl New {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Empty(fd) | Self::Filled(fd) => fd.as_fd(),
        }
    }
}

/// Whether a file stood still while it was copied.
enum Settled {
    Yes,
    No,
}

/// How often a file that changes while it is copied is copied again.
const ATTEMPTS: u64 = 5;

impl Worker<'_> {
    /// Copies the regular file `name`.
    pub(super) fn file(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
    ) -> Result<Outcome, CloneError> {
        let from = match open_file_at(at.from, name) {
            Ok(from) => from,
            Err(e) => return self.not_opened(at, name, path, e),
        };
        let stat = stat_fd(&from).map_err(|e| self.read_failed(path, e))?;
        if stat.node != Node::File {
            return Ok(Outcome::NotAFile);
        }
        if stat.mount_root {
            self.skip(path.clone(), &stat, Skipped::Mount, About::Mount);
        } else if stat.dataless {
            self.skip(path.clone(), &stat, Skipped::Dataless, About::Dataless);
        } else {
            self.copy_file(at, name, path, from.as_fd(), &stat)?;
        }
        Ok(Outcome::Done)
    }

    fn not_opened(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
        error: io::Error,
    ) -> Result<Outcome, CloneError> {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Ok(Outcome::Done),
            Some(Errno::LOOP | Errno::NXIO | Errno::OPNOTSUPP) => Ok(Outcome::NotAFile),
            Some(Errno::ACCESS | Errno::PERM) => {
                let Some(stat) = self.stat(at, name, path)? else {
                    return Ok(Outcome::Done);
                };
                self.unreadable(path.clone(), &stat, error)?;
                Ok(Outcome::Done)
            }
            _ => Err(self.read_failed(path, error)),
        }
    }

    fn copy_file(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
        from: BorrowedFd<'_>,
        stat: &Stat,
    ) -> Result<(), CloneError> {
        let new = if stat.links > 1 {
            let links = &self.task.links;
            match links.enter(stat, path, || self.create(at, name, path, (from, stat)))? {
                Name::First(new) => new,
                Name::Again(first) => return self.join(at, name, path, stat, first),
            }
        } else {
            self.create(at, name, path, (from, stat))?
        };
        let (stat, hash) = self.fill_steadily(from, &new, path, *stat)?;
        let copy = self.finish_file(from, new.fd(), path, &stat)?;
        self.bytes += stat.size;
        self.record(
            path.clone(),
            Kind::File,
            &stat,
            Presence::Copied(Identity::of(&copy)),
        );
        if let Some(entry) = self.entries.last_mut() {
            entry.hash = hash;
        }
        Ok(())
    }

    fn create(
        &self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
        (from, stat): (BorrowedFd<'_>, &Stat),
    ) -> Result<New, CloneError> {
        if self.task.filling == Filling::Clone {
            let cloned =
                clone_file_at(from, at.to, name).map_err(|e| self.write_failed(path, e))?;
            if let Some(cloned) = cloned {
                return Ok(New::Filled(cloned));
            }
        }
        let mode = Mode::from_raw_mode(attributes::narrow(stat.mode & 0o777));
        let made = openat(at.to, name, NEW, mode).map_err(|e| self.write_failed(path, e))?;
        Ok(New::Empty(made))
    }

    /// Makes `name` another name of the copy that is at `first`.
    fn join(
        &mut self,
        at: At<'_>,
        name: &CStr,
        path: &ProjectPath,
        stat: &Stat,
        first: ProjectPath,
    ) -> Result<(), CloneError> {
        let write = |source| CloneError::Write {
            path: self.task.order.destination.join(path),
            source,
        };
        let (parent, first_name) =
            open_parent(self.task.destination.as_fd(), &first).map_err(|e| write(io_error(e)))?;
        linkat(&parent, first_name, at.to, name, AtFlags::empty())
            .map_err(|e| self.write_failed(path, e))?;
        // What it is in the end is looked up when all names are there.
        let copy = stat_at(at.to, name).map_err(write)?;
        self.joined.push(first);
        self.record(
            path.clone(),
            Kind::File,
            stat,
            Presence::Copied(Identity::of(&copy)),
        );
        Ok(())
    }

    /// Copies the contents, again when they changed meanwhile; gives what the original was for what was copied, and
    /// the hash where one is wanted.
    fn fill_steadily(
        &mut self,
        from: BorrowedFd<'_>,
        new: &New,
        path: &ProjectPath,
        mut stat: Stat,
    ) -> Result<(Stat, Option<[u8; 32]>), CloneError> {
        let to = new.fd();
        let mut attempt = 1;
        loop {
            if attempt > 1 || matches!(new, New::Empty(_)) {
                self.fill_file(from, to, path, &stat)?;
            }
            let hash = self
                .wants_hash(&stat)
                .then(|| contents::hash(to, &mut self.buffer))
                .transpose();
            let hash = hash.map_err(|e| self.write_failed(path, e))?;
            let settled = self
                .is_settled(from, &stat, hash)
                .map_err(|e| self.read_failed(path, e))?;
            if let Settled::Yes = settled {
                return Ok((stat, hash));
            }
            if attempt == ATTEMPTS {
                self.note(path, About::Changing);
                return Ok((stat, hash));
            }
            thread::sleep(Duration::from_millis(attempt));
            attempt += 1;
            stat = stat_fd(from).map_err(|e| self.read_failed(path, e))?;
            ftruncate(to, 0).map_err(|e| self.write_failed(path, e))?;
        }
    }

    fn fill_file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        path: &ProjectPath,
        stat: &Stat,
    ) -> Result<(), CloneError> {
        let filled = contents::fill(from, to, stat, self.task.filling, &mut self.buffer);
        filled.map_err(|e| match e {
            Failed::Read(errno) => self.read_failed(path, errno.into()),
            Failed::Write(errno) => self.write_failed(path, errno),
        })
    }

    fn wants_hash(&self, stat: &Stat) -> bool {
        self.task.order.hashing == Hashing::Every || stat.ctime >= self.task.recent
    }

    /// Whether the original is still what `stat` says, and holds what has `hash`.
    ///
    /// A write moves the times when it begins, and the clock stands still within a tick, so a file that was just
    /// changed is read a second time.
    fn is_settled(
        &mut self,
        from: BorrowedFd<'_>,
        stat: &Stat,
        hash: Option<[u8; 32]>,
    ) -> io::Result<Settled> {
        if stat.ctime >= self.task.recent && hash != Some(contents::hash(from, &mut self.buffer)?) {
            return Ok(Settled::No);
        }
        let after = stat_fd(from)?;
        Ok(if Identity::of(&after) == Identity::of(stat) {
            Settled::Yes
        } else {
            Settled::No
        })
    }

    /// Gives a filled copy its attributes, times and mode, and says what it is then.
    fn finish_file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        path: &ProjectPath,
        stat: &Stat,
    ) -> Result<Stat, CloneError> {
        let attributes = attributes::copy(from, to, &mut self.scratch)
            .map_err(|e| self.write_failed(path, e))?;
        if attributes == Attributes::Lost {
            self.note(path, About::LostAttributes);
        }
        attributes::set_times(to, stat).map_err(|e| self.write_failed(path, e))?;
        let copy = self.stat_copy(to, path)?;
        // A set-id bit lends its owner's rights; on a copy that another one owns it would lend the wrong ones.
        let set_id = if (copy.uid, copy.gid) == (stat.uid, stat.gid) {
            0
        } else {
            0o6000
        };
        let mode = stat.mode & !set_id;
        if copy.mode == mode {
            return Ok(copy);
        }
        attributes::set_mode(to, mode).map_err(|e| self.write_failed(path, e))?;
        self.stat_copy(to, path)
    }

    fn stat_copy(&self, to: BorrowedFd<'_>, path: &ProjectPath) -> Result<Stat, CloneError> {
        stat_fd(to).map_err(|source| CloneError::Write {
            path: self.task.order.destination.join(path),
            source,
        })
    }

    fn read_failed(&self, path: &ProjectPath, source: io::Error) -> CloneError {
        CloneError::Read {
            path: self.task.order.source.join(path),
            source,
        }
    }
}

/// Readable as well, because some copies are hashed.
const NEW: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
