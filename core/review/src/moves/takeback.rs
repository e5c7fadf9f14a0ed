//! Where moves are done, and how one is taken back.
//!
//! Taking back looks before and after: only what the machine itself put at a path, unchanged, is moved away from there.
//! What cannot go back to its path, because someone put something else there, is kept in the store. The same code
//! serves a move that just went wrong and one that a crash left behind; it finds out by itself whether the move was
//! done at all.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_folder_at;
use enclos_sys::open::open_parent;
use enclos_sys::open::stat_beneath;
use enclos_sys::stat::Node;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::mkdirat;
use rustix::fs::renameat;
use rustix::fs::unlinkat;

use super::Inode;
use super::Move;
use super::Op;
use super::Store;
use super::Trouble;
use super::attributes;
use super::injected;
use super::names;
use super::names::At;
use super::observe::observe;
use super::stage;
use super::store::SLOTS;
use crate::Faults;
use crate::FileState;
use crate::RecordId;
use crate::Step;
use crate::Stopped;
use crate::held::prefixes;
use crate::source::Tree;

/// The original, its staging folder, and the store.
pub(crate) struct Workplace<'a> {
    pub(crate) original: &'a Tree,
    pub(crate) root: &'a AbsPath,
    pub(crate) store: &'a Store,
    pub(crate) faults: &'a dyn Faults,
    pub(crate) id: RecordId,
    pub(crate) staging: OwnedFd,
    pub(crate) staging_name: String,
    /// Set when an exchange was not possible.
    pub(crate) without_exchange: Cell<bool>,
    /// Set when something of the person's could not be moved out of staging, which therefore has to stay.
    pub(crate) staging_stays: Cell<bool>,
}

/// The folder that a path lies in, held open.
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    inode: (u64, u64),
}

/// Why taking back did not work.
enum Failure {
    Io(io::Error),
    Trouble(Trouble),
}

impl<E: Into<io::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// What came of taking a move back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Back {
    /// It had not been done, or is not there any more.
    Nothing,
    /// The path is as it was.
    Restored,
    /// The path holds something else by now and was left. A version that the move had moved away is here.
    Left(Option<AbsPath>),
}

impl Workplace<'_> {
    /// Asks the faults before a step; an injected error is given back as the system's own.
    pub(crate) fn at(
        &self,
        step: Step,
        path: Option<&ProjectPath>,
    ) -> Result<io::Result<()>, Trouble> {
        injected(self.faults.at(step, path))
    }

    /// Opens the folder that `path` lies in.
    pub(crate) fn place(&self, path: &ProjectPath) -> Result<Place, Stopped> {
        let folder = match open_parent(self.original.fd(), path) {
            Ok((folder, _)) => folder,
            Err(OpenError::Link { .. } | OpenError::Mount { .. }) => return Err(Stopped::Behind),
            // The kernel says of a link where a folder is wanted only that it is no folder.
            Err(e) if e.is_missing() && self.is_behind_link(path) => return Err(Stopped::Behind),
            Err(e) if e.is_missing() => return Err(Stopped::NoFolder),
            Err(OpenError::Io { source, .. }) => {
                return Err(Stopped::System {
                    doing: "open its folder",
                    source,
                });
            }
            Err(other) => {
                return Err(Stopped::System {
                    doing: "open its folder",
                    source: io::Error::other(other),
                });
            }
        };
        let stat = stat_fd(&folder).map_err(|source| Stopped::System {
            doing: "look at its folder",
            source,
        })?;
        Ok(Place {
            folder,
            inode: (stat.dev, stat.ino),
        })
    }

    fn is_behind_link(&self, path: &ProjectPath) -> bool {
        let is_link = |folder: ProjectPath| {
            stat_beneath(self.original.fd(), &folder).is_ok_and(|stat| stat.node == Node::Link)
        };
        prefixes(path).filter(|prefix| prefix != path).any(is_link)
    }

    /// Whether the folder of `path` is still the one that was opened.
    pub(crate) fn is_still(&self, place: &Place, path: &ProjectPath) -> bool {
        self.place(path).is_ok_and(|now| now.inode == place.inode)
    }

    /// Takes `step` back if it was done, in the folder that its path has now.
    pub(crate) fn take_back(&self, step: &Move) -> Result<Back, Trouble> {
        match self.place(&step.path) {
            Ok(place) => self.take_back_at(&place, step),
            Err(_) if self.is_undone(step) => Ok(Back::Nothing),
            // Nothing of ours can be reached there; what was moved away must not be lost.
            Err(_) => self.set_aside(step),
        }
    }

    /// Whether staging shows that the move was not done, or that there is nothing to take back.
    fn is_undone(&self, step: &Move) -> bool {
        let slot = slot_name(step.slot);
        match step.op {
            Op::Replace => self.inode_of(&slot) == step.staged && !self.holds(&old_name(step.slot)),
            Op::Put | Op::MakeFolder => self.holds(&slot),
            Op::Take => !self.holds(&slot),
            Op::RemoveFolder | Op::SetMode => true,
        }
    }

    /// As [`Workplace::take_back`] in a folder that is held open.
    pub(crate) fn take_back_at(&self, place: &Place, step: &Move) -> Result<Back, Trouble> {
        if let Err(source) = self.at(Step::TakeBack, Some(&step.path))? {
            return Err(self.trouble("take back a move in", source));
        }
        let back = match step.op {
            Op::Replace if self.holds(&old_name(step.slot)) => {
                self.back_without_exchange(place, step)
            }
            Op::Replace => self.back_replace(place, step),
            Op::Put => self.back_put(place, step),
            Op::Take => self.back_take(place, step),
            Op::MakeFolder => back_make_folder(place, step),
            Op::RemoveFolder => back_remove_folder(place, step),
            Op::SetMode => back_set_mode(place, step),
        };
        match back {
            Ok(Back::Left(None)) if step.op.displaces() => self.set_aside(step),
            Ok(back) => Ok(back),
            Err(Failure::Io(source)) => Err(self.trouble("take back a move in", source)),
            Err(Failure::Trouble(trouble)) => Err(trouble),
        }
    }

    /// Moves what a step moved away into the store, so that it survives the staging folder.
    fn set_aside(&self, step: &Move) -> Result<Back, Trouble> {
        for name in [slot_name(step.slot), old_name(step.slot)] {
            if self.holds(&name) && self.inode_of(&name) != step.staged {
                return Ok(Back::Left(Some(self.aside(&name))));
            }
        }
        Ok(Back::Left(None))
    }

    /// Moves `name` from staging into the store. Where that is not possible it stays, and so does staging.
    pub(crate) fn aside(&self, name: &str) -> AbsPath {
        let in_staging = self.root.resolve(format!("{}/{name}", self.staging_name));
        let moved = self.store.aside().and_then(|(folder, path)| {
            let kept = format!("{}-{name}", self.id.0);
            stage::move_over(At::new(&self.staging, name), At::new(&folder, &kept))?;
            Ok(path.resolve(kept))
        });
        moved.unwrap_or_else(|_| {
            self.staging_stays.set(true);
            in_staging
        })
    }

    /// Moves staging with all that is in it into the store: what was displaced is kept.
    pub(crate) fn keep_staging(&self) -> io::Result<()> {
        let kept = self.store.kept(self.id)?;
        Ok(renameat(
            self.original.fd(),
            &self.staging_name,
            &kept,
            SLOTS,
        )?)
    }

    fn back_replace(&self, place: &Place, step: &Move) -> Result<Back, Failure> {
        let slot = slot_name(step.slot);
        if !self.holds(&slot) || self.inode_of(&slot) == step.staged {
            return Ok(Back::Nothing);
        }
        if !is_ours(place, step)? {
            return Ok(Back::Left(None));
        }
        let (here, there) = (
            At::new(&self.staging, &slot[..]),
            At::new(&place.folder, step.path.name()),
        );
        match self.exchange(step, here, there).map_err(Failure::Trouble)? {
            Err(e) if names::is_unsupported(&e) => {
                names::rename_new(here, At::new(&self.staging, &old_name(step.slot)[..]))?;
                return self.back_without_exchange(place, step);
            }
            result => result?,
        }
        let came = observe(self.staging.as_fd(), &slot[..])?;
        if came.is_some_and(|came| (Some(came.stat.ino), &came.state) == (step.staged, &step.after))
        {
            return Ok(Back::Restored);
        }
        // Someone wrote there between the look and the exchange: theirs is the newer.
        names::exchange(here, there)?;
        Ok(Back::Left(None))
    }

    /// Two names trade places, unless a fault says that the file system cannot.
    pub(crate) fn exchange(
        &self,
        step: &Move,
        here: At<'_, &str>,
        there: At<'_, &OsStr>,
    ) -> Result<io::Result<()>, Trouble> {
        Ok(match self.at(Step::Exchange, Some(&step.path))? {
            Ok(()) => names::exchange(here, there),
            Err(injected) => Err(injected),
        })
    }

    /// What was there waits under a second name in staging.
    fn back_without_exchange(&self, place: &Place, step: &Move) -> Result<Back, Failure> {
        let (slot, old) = (slot_name(step.slot), old_name(step.slot));
        let there = At::new(&place.folder, step.path.name());
        if !self.holds(&slot) {
            if !is_ours(place, step)? {
                return Ok(Back::Left(None));
            }
            names::rename_new(there, At::new(&self.staging, &slot[..]))?;
        }
        match names::rename_new(At::new(&self.staging, &old[..]), there) {
            Ok(()) => Ok(Back::Restored),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(Back::Left(None)),
            Err(e) => Err(e.into()),
        }
    }

    fn back_put(&self, place: &Place, step: &Move) -> Result<Back, Failure> {
        let slot = slot_name(step.slot);
        if self.holds(&slot) {
            return Ok(Back::Nothing);
        }
        if !is_ours(place, step)? {
            return Ok(Back::Left(None));
        }
        let (here, there) = (
            At::new(&self.staging, &slot[..]),
            At::new(&place.folder, step.path.name()),
        );
        names::rename_new(there, here)?;
        let came = observe(self.staging.as_fd(), &slot[..])?;
        if came.is_some_and(|came| (Some(came.stat.ino), &came.state) == (step.staged, &step.after))
        {
            return Ok(Back::Restored);
        }
        match names::rename_new(here, there) {
            Ok(()) => Ok(Back::Left(None)),
            Err(_) => Ok(Back::Left(Some(self.aside(&slot)))),
        }
    }

    fn back_take(&self, place: &Place, step: &Move) -> Result<Back, Failure> {
        let slot = slot_name(step.slot);
        if !self.holds(&slot) {
            return Ok(Back::Nothing);
        }
        match names::rename_new(
            At::new(&self.staging, &slot[..]),
            At::new(&place.folder, step.path.name()),
        ) {
            Ok(()) => Ok(Back::Restored),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(Back::Left(None)),
            Err(e) => Err(e.into()),
        }
    }

    pub(crate) fn trouble(&self, doing: &'static str, source: io::Error) -> Trouble {
        Trouble::of(doing, self.root, source)
    }

    /// Whether staging holds `name`.
    pub(crate) fn holds(&self, name: &str) -> bool {
        stat_at(&self.staging, name).is_ok()
    }

    pub(crate) fn inode_of(&self, name: &str) -> Option<Inode> {
        stat_at(&self.staging, name).ok().map(|stat| stat.ino)
    }
}

/// The name in staging of what a move stages or moves away.
pub(crate) fn slot_name(slot: u32) -> String {
    slot.to_string()
}

/// The name in staging of what was there, while a replacement is done without exchange.
pub(crate) fn old_name(slot: u32) -> String {
    format!("{slot}.old")
}

/// Whether the path still holds what the move put there, unchanged.
fn is_ours(place: &Place, step: &Move) -> io::Result<bool> {
    let found = observe(place.folder.as_fd(), step.path.name())?;
    Ok(found.is_some_and(|found| Some(found.stat.ino) == step.staged && found.state == step.after))
}

fn back_make_folder(place: &Place, step: &Move) -> Result<Back, Failure> {
    let name = step.path.name();
    match stat_at(&place.folder, name) {
        Ok(stat) if Some(stat.ino) == step.staged => {}
        Ok(_) => return Ok(Back::Left(None)),
        Err(_) => return Ok(Back::Nothing),
    }
    match unlinkat(&place.folder, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(Back::Restored),
        Err(_) => Ok(Back::Left(None)),
    }
}

fn back_remove_folder(place: &Place, step: &Move) -> Result<Back, Failure> {
    let name = step.path.name();
    if stat_at(&place.folder, name).is_ok() {
        return Ok(Back::Nothing);
    }
    mkdirat(&place.folder, name, Mode::RWXU)?;
    let folder = open_folder_at(place.folder.as_fd(), name)?;
    let (stat, parent) = (stat_fd(&folder)?, stat_fd(&place.folder)?);
    let mode = step.before.as_ref().map_or(0o755, |before| before.mode);
    attributes::fresh(folder.as_fd(), &stat, (place.folder.as_fd(), &parent), mode)?;
    Ok(Back::Restored)
}

fn back_set_mode(place: &Place, step: &Move) -> Result<Back, Failure> {
    match (
        observe(place.folder.as_fd(), step.path.name())?,
        &step.before,
    ) {
        (Some(found), Some(before)) if found.state == step.after => {
            chmod(place, step, before)?;
            Ok(Back::Restored)
        }
        (Some(found), _) if found.state == step.before => Ok(Back::Nothing),
        _ => Ok(Back::Left(None)),
    }
}

/// Gives a file or folder the mode of `wanted`, without following a link.
pub(super) fn chmod(place: &Place, step: &Move, wanted: &FileState) -> io::Result<()> {
    let fd = match stat_at(&place.folder, step.path.name())?.node {
        Node::Folder => open_folder_at(place.folder.as_fd(), step.path.name())?,
        _ => open_file_at(place.folder.as_fd(), step.path.name())?,
    };
    attributes::set_mode(fd.as_fd(), wanted.mode)
}
