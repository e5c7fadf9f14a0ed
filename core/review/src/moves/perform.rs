//! Does one move, and looks at what it moved away.

use std::io;
use std::os::fd::AsFd;

use enclos_clone::Identity;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use rustix::fs::AtFlags;
use rustix::fs::unlinkat;

use super::Op;
use super::Task;
use super::Trouble;
use super::names;
use super::names::At;
use super::observe::Observed;
use super::observe::observe;
use super::takeback::Back;
use super::takeback::Place;
use super::takeback::Workplace;
use super::takeback::chmod;
use super::takeback::old_name;
use super::takeback::slot_name;
use crate::Step;
use crate::Stopped;

impl Workplace<'_> {
    /// Does the move of `task`; gives what was moved away, as it was seen.
    ///
    /// # Errors
    /// When it does, the path is as it was, or as someone else left it.
    pub(super) fn perform(&self, task: &Task<'_>) -> Result<Option<Stat>, Trouble> {
        let place = self.place(&task.step.path)?;
        match task.step.op {
            Op::Replace => self.replace(&place, task).map(Some),
            Op::Take => self.take(&place, task).map(Some),
            Op::Put | Op::MakeFolder => self.put(&place, task).map(|()| None),
            Op::RemoveFolder => self.remove_folder(&place, task).map(|()| None),
            Op::SetMode => self.set_mode(&place, task).map(|()| None),
        }
    }

    fn replace(&self, place: &Place, task: &Task<'_>) -> Result<Stat, Trouble> {
        let step = &task.step;
        as_expected(place, task)?;
        let slot = slot_name(step.slot);
        let here = At::new(&self.staging, &slot[..]);
        match self.exchange(step, here, At::new(&place.folder, step.path.name()))? {
            Ok(()) => self.verify(place, task, &slot),
            Err(e) if names::is_unsupported(&e) => self.replace_without_exchange(place, task),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Stopped::ChangedMeanwhile.into()),
            Err(e) => Err(self.trouble("replace it", e)),
        }
    }

    /// For a moment nothing is at the path; then what is staged goes there only if still nothing is.
    fn replace_without_exchange(&self, place: &Place, task: &Task<'_>) -> Result<Stat, Trouble> {
        self.without_exchange.set(true);
        let step = &task.step;
        let (slot, old) = (slot_name(step.slot), old_name(step.slot));
        let there = At::new(&place.folder, step.path.name());
        names::rename_new(there, At::new(&self.staging, &old[..]))
            .map_err(|e| self.trouble("move it away", e))?;
        let stat = self.verify(place, task, &old)?;
        let put = match self.at(Step::Put, Some(&step.path))? {
            Ok(()) => names::rename_new(At::new(&self.staging, &slot[..]), there),
            Err(injected) => Err(injected),
        };
        match put {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.undone(place, task, Stopped::ChangedMeanwhile.into()));
            }
            Err(e) => return Err(self.undone(place, task, self.trouble("replace it", e))),
        }
        names::rename_new(
            At::new(&self.staging, &old[..]),
            At::new(&self.staging, &slot[..]),
        )
        .map_err(|e| self.trouble("name what was there", e))?;
        Ok(stat)
    }

    fn take(&self, place: &Place, task: &Task<'_>) -> Result<Stat, Trouble> {
        let step = &task.step;
        as_expected(place, task)?;
        let slot = slot_name(step.slot);
        let moved = match self.at(Step::Take, Some(&step.path))? {
            Ok(()) => names::rename_new(
                At::new(&place.folder, step.path.name()),
                At::new(&self.staging, &slot[..]),
            ),
            Err(injected) => Err(injected),
        };
        match moved {
            Ok(()) => self.verify(place, task, &slot),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Stopped::ChangedMeanwhile.into()),
            Err(e) => Err(self.trouble("move it away", e)),
        }
    }

    fn put(&self, place: &Place, task: &Task<'_>) -> Result<(), Trouble> {
        let step = &task.step;
        let slot = slot_name(step.slot);
        let moved = match self.at(Step::Put, Some(&step.path))? {
            Ok(()) => names::rename_new(
                At::new(&self.staging, &slot[..]),
                At::new(&place.folder, step.path.name()),
            ),
            Err(injected) => Err(injected),
        };
        match moved {
            Ok(()) if self.is_still(place, &step.path) => Ok(()),
            Ok(()) => Err(self.undone(place, task, Stopped::ChangedMeanwhile.into())),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(Stopped::ChangedMeanwhile.into())
            }
            Err(e) => Err(self.trouble("put it there", e)),
        }
    }

    fn remove_folder(&self, place: &Place, task: &Task<'_>) -> Result<(), Trouble> {
        let removed = match self.at(Step::RemoveFolder, Some(&task.step.path))? {
            Ok(()) => unlinkat(&place.folder, task.step.path.name(), AtFlags::REMOVEDIR)
                .map_err(io::Error::from),
            Err(injected) => Err(injected),
        };
        removed.map_err(|e| match e.kind() {
            io::ErrorKind::DirectoryNotEmpty => Stopped::NotEmpty.into(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Stopped::ChangedMeanwhile.into()
            }
            _ => self.trouble("remove the folder", e),
        })
    }

    fn set_mode(&self, place: &Place, task: &Task<'_>) -> Result<(), Trouble> {
        as_expected(place, task)?;
        let (step, Some(after)) = (&task.step, &task.step.after) else {
            return Ok(());
        };
        let done = match self.at(Step::SetMode, Some(&step.path))? {
            Ok(()) => chmod(place, step, after),
            Err(injected) => Err(injected),
        };
        done.map_err(|e| self.trouble("set its mode", e))?;
        match observe(place.folder.as_fd(), step.path.name()) {
            Ok(Some(found)) if found.state == step.after && self.is_still(place, &step.path) => {
                Ok(())
            }
            _ => Err(self.undone(place, task, Stopped::ChangedMeanwhile.into())),
        }
    }

    /// Looks at what was moved to `name` in staging; when it is not what was reviewed, the move goes straight back.
    fn verify(&self, place: &Place, task: &Task<'_>, name: &str) -> Result<Stat, Trouble> {
        let step = &task.step;
        let seen = match self.at(Step::Verify, Some(&step.path))? {
            Ok(()) => observe(self.staging.as_fd(), name),
            Err(injected) => Err(injected),
        };
        match seen {
            Ok(Some(Observed { state, stat }))
                if state == step.before && self.is_still(place, &step.path) =>
            {
                Ok(stat)
            }
            Ok(_) => Err(self.undone(place, task, Stopped::ChangedMeanwhile.into())),
            Err(e) => Err(self.undone(place, task, self.trouble("read what was there", e))),
        }
    }

    /// Takes the move back because of `why`, which is told unless something worse happened.
    fn undone(&self, place: &Place, task: &Task<'_>, why: Trouble) -> Trouble {
        match self.take_back_at(place, &task.step) {
            Ok(Back::Restored | Back::Nothing | Back::Left(None)) => why,
            Ok(Back::Left(Some(kept))) => Stopped::ChangedTwice { kept }.into(),
            Err(worse) => worse,
        }
    }
}

/// A look before the move spares taking back; it is the look after it that counts.
fn as_expected(place: &Place, task: &Task<'_>) -> Result<(), Stopped> {
    let name = task.step.path.name();
    if let (Some(seen), Ok(stat)) = (task.seen, stat_at(&place.folder, name))
        && Identity::of(&stat) == seen
        && task
            .step
            .before
            .as_ref()
            .is_some_and(|before| before.mode == 0 || before.mode == stat.mode)
    {
        return Ok(());
    }
    let found = observe(place.folder.as_fd(), name).map_err(|source| Stopped::System {
        doing: "read it",
        source,
    })?;
    let is_same = found.is_some_and(|found| found.state == task.step.before);
    if is_same {
        Ok(())
    } else {
        Err(Stopped::ChangedMeanwhile)
    }
}
