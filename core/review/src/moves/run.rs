//! Carries a plan out, from an empty staging folder to an empty staging folder.
//!
//! In order: stage everything; make it durable; write the journal; move; look a last time; make the moves durable;
//! write the record, from which on it counts; move what was displaced into the store; tidy up. Up to the record
//! everything can be taken back, and is when the disk is full or the store fails.

mod ending;
mod staging;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;

use enclos_paths::AbsPath;
use enclos_sys::open::open_folder_at;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::mkdirat;
use rustix::fs::renameat;
use rustix::fs::unlinkat;
use rustix::io::Errno;

use super::Kind;
use super::Need;
use super::Op;
use super::Plan;
use super::Store;
use super::Trouble;
use super::clear::clear_staging;
use super::durable::Durable;
use super::journal::Journal;
use super::takeback::Back;
use super::takeback::Workplace;
use super::takeback::slot_name;
use crate::Faults;
use crate::Lost;
use crate::RecordId;
use crate::Step;
use crate::Stopped;
use crate::source::Tree;

/// What a run did.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None when nothing was moved.
    pub(crate) record: Option<RecordId>,
    /// What became of each unit, in the order of the plan.
    pub(crate) units: Vec<Result<Vec<Lost>, Stopped>>,
    pub(crate) without_exchange: bool,
}

/// Carries out `plan` in the original at `root`.
pub(crate) fn run(
    original: &Tree,
    root: &AbsPath,
    store: &Store,
    plan: Plan<'_>,
    how: (Kind, &dyn Faults),
) -> Result<Ended, Trouble> {
    let (kind, faults) = how;
    let id = store
        .next()
        .map_err(|e| Trouble::for_all("read", &store.path, e))?;
    let place = open_workplace(original, root, store, id, faults)?;
    let mut run = Run::new(&place, plan, kind)?;
    match run.until_it_counts() {
        Ok(()) => {}
        Err(Trouble::Crash) => return Err(Trouble::Crash),
        Err(trouble) => {
            run.give_up()?;
            return Err(trouble);
        }
    }
    run.tidy_up()?;
    Ok(run.ended())
}

fn open_workplace<'a>(
    original: &'a Tree,
    root: &'a AbsPath,
    store: &'a Store,
    id: RecordId,
    faults: &'a dyn Faults,
) -> Result<Workplace<'a>, Trouble> {
    let staging_name = store.staging_name(id);
    let fail = |e: io::Error| Trouble::for_all("make the working folder in", root, e);
    super::injected(faults.at(Step::MakeStaging, None))?.map_err(fail)?;
    // What is left there was never moved anywhere: a journal would have been found.
    clear_staging(original, &staging_name).map_err(fail)?;
    mkdirat(original.fd(), &staging_name, Mode::RWXU).map_err(|e| fail(e.into()))?;
    let staging = open_folder_at(original.fd(), staging_name.as_ref()).map_err(fail)?;
    Ok(Workplace {
        original,
        root,
        store,
        faults,
        id,
        staging,
        staging_name,
        without_exchange: false.into(),
        staging_stays: false.into(),
    })
}

struct Run<'a, 'p> {
    place: &'a Workplace<'a>,
    plan: Plan<'p>,
    kind: Kind,
    durable: Durable,
    /// The units and tasks in the order in which they are done.
    order: Vec<(usize, usize)>,
    /// What was done, and what was moved away, as it was seen.
    done: Vec<(usize, usize, Option<Stat>)>,
    stopped: Vec<Option<Stopped>>,
    /// Whether the store lies on another file system, so that what the person has is copied before anything moves.
    keeps_copies: bool,
    counts: bool,
}

impl<'a, 'p> Run<'a, 'p> {
    fn new(place: &'a Workplace<'a>, mut plan: Plan<'p>, kind: Kind) -> Result<Self, Trouble> {
        let fail = |e: io::Error| Trouble::for_all("write to", &place.store.path, e);
        let order = order(&plan);
        for (slot, &(unit, task)) in order.iter().enumerate() {
            plan.units[unit].tasks[task].step.slot = u32::try_from(slot).unwrap_or(u32::MAX);
        }
        let kept = place.store.make_kept(place.id).map_err(fail)?;
        let keeps_copies = is_elsewhere(place, &kept).map_err(fail)?;
        let stopped = plan.units.iter().map(|_| None).collect();
        let durable = Durable::of(&place.staging);
        Ok(Self {
            place,
            plan,
            kind,
            durable,
            order,
            done: Vec::new(),
            stopped,
            keeps_copies,
            counts: false,
        })
    }

    fn until_it_counts(&mut self) -> Result<(), Trouble> {
        self.stage()?;
        if self.order.is_empty() {
            return Ok(());
        }
        self.write_journal()?;
        self.perform()?;
        self.look_a_last_time()?;
        if self.done.is_empty() {
            return Ok(());
        }
        self.sync_moves()?;
        self.commit()
    }

    /// How what is written to the store is made durable: together with the moves only where one log carries both.
    fn store_durable(&self) -> Durable {
        if self.keeps_copies {
            Durable::Each
        } else {
            self.durable
        }
    }

    fn write_journal(&self) -> Result<(), Trouble> {
        let place = self.place;
        let fail = |e: io::Error| Trouble::for_all("write to", &place.store.path, e);
        place.at(Step::WriteJournal, None)?.map_err(fail)?;
        let text = Journal::text(place.id, &place.staging_name, &self.plan, &self.order)
            .map_err(|e| fail(e.into()))?;
        place
            .store
            .write_journal(&text, self.store_durable())
            .map_err(fail)
    }

    fn perform(&mut self) -> Result<(), Trouble> {
        for (unit, task) in self.order.clone() {
            if self.stopped[unit].is_some() {
                continue;
            }
            match self.place.perform(&self.plan.units[unit].tasks[task]) {
                Ok(stat) => self.done.push((unit, task, stat)),
                failed => {
                    self.settle(unit, failed.map(|_| ()))?;
                    self.take_unit_back(unit)?;
                }
            }
        }
        self.drop_unused_folders()
    }

    /// Someone may hold a file open and still write to it after it was moved away: then that is their newest version,
    /// and it goes back. What they do to the path itself from now on is as if they did it after the apply.
    fn look_a_last_time(&mut self) -> Result<(), Trouble> {
        self.place
            .at(Step::LastLook, None)?
            .map_err(|e| self.place.trouble("look at what was moved", e))?;
        let written: BTreeSet<usize> = self
            .done
            .iter()
            .filter(|done| !self.is_quiet(done))
            .map(|(unit, ..)| *unit)
            .collect();
        for unit in written {
            self.stopped[unit] = Some(Stopped::ChangedMeanwhile);
            self.take_unit_back(unit)?;
        }
        Ok(())
    }

    fn is_quiet(&self, (unit, task, seen): &(usize, usize, Option<Stat>)) -> bool {
        let Some(seen) = seen else { return true };
        let slot = slot_name(self.plan.units[*unit].tasks[*task].step.slot);
        let same = |now: Stat| {
            (seen.ino, seen.size, seen.mtime, seen.mode) == (now.ino, now.size, now.mtime, now.mode)
        };
        stat_at(&self.place.staging, slot).is_ok_and(same)
    }

    /// Takes everything back, because the whole cannot be done. Where that fails the journal stays, and the next
    /// recovery tries again.
    fn give_up(&mut self) -> Result<(), Trouble> {
        while let Some(&(unit, task, _)) = self.done.last() {
            match self
                .place
                .take_back(&self.plan.units[unit].tasks[task].step)
            {
                Ok(_) => self.done.truncate(self.done.len() - 1),
                Err(Trouble::Unit(stopped)) => return Err(Trouble::NotTakenBack(stopped)),
                Err(trouble) => return Err(trouble),
            }
        }
        self.tidy_up()
    }

    /// Notes that a unit stopped; passes on what stops everything.
    fn settle(&mut self, unit: usize, result: Result<(), Trouble>) -> Result<Settled, Trouble> {
        match result {
            Ok(()) => Ok(Settled::GoesOn),
            Err(Trouble::Unit(stopped)) => {
                self.stopped[unit] = Some(stopped);
                Ok(Settled::Stopped)
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn take_unit_back(&mut self, unit: usize) -> Result<(), Trouble> {
        while let Some(last) = self.done.iter().rposition(|(of, ..)| *of == unit) {
            let task = self.done[last].1;
            let back = self
                .place
                .take_back(&self.plan.units[unit].tasks[task].step)?;
            self.done.remove(last);
            if let Back::Left(Some(kept)) = back {
                self.stopped[unit] = Some(Stopped::ChangedTwice { kept });
            }
        }
        Ok(())
    }

    /// A folder that was made for files of which none came is not left behind.
    fn drop_unused_folders(&mut self) -> Result<(), Trouble> {
        let made: Vec<usize> = self
            .done
            .iter()
            .map(|(unit, ..)| *unit)
            .filter(|&unit| self.is_way(unit))
            .collect();
        for unit in made.into_iter().rev() {
            let folder = &self.plan.units[unit].tasks[0].step.path;
            let is_used = self.done.iter().any(|&(of, task, _)| {
                let path = &self.plan.units[of].tasks[task].step.path;
                path != folder && path.is_within(folder)
            });
            if !is_used {
                self.take_unit_back(unit)?;
            }
        }
        Ok(())
    }

    fn is_way(&self, unit: usize) -> bool {
        let unit = &self.plan.units[unit];
        unit.need == Need::May && unit.tasks.iter().any(|task| task.step.op == Op::MakeFolder)
    }

    fn ended(self) -> Ended {
        let lost = |unit: &super::Unit<'_>| {
            unit.tasks
                .iter()
                .flat_map(|task| task.lost.clone())
                .collect()
        };
        let units = self
            .plan
            .units
            .iter()
            .zip(self.stopped)
            .map(|(unit, stopped)| stopped.map_or_else(|| Ok(lost(unit)), Err));
        Ended {
            record: self.counts.then_some(self.place.id),
            units: units.collect(),
            without_exchange: self.place.without_exchange.get(),
        }
    }
}

/// Whether a unit goes on.
enum Settled {
    GoesOn,
    Stopped,
}

/// Files go first, so that their folders can; folders come before what goes into them; modes last, because a folder
/// that may not be written to would refuse its own contents.
fn order(plan: &Plan<'_>) -> Vec<(usize, usize)> {
    let all = plan
        .units
        .iter()
        .enumerate()
        .flat_map(|(unit, of)| (0..of.tasks.len()).map(move |task| (unit, task)));
    let mut order: Vec<_> = all.collect();
    let step = |&(unit, task): &(usize, usize)| &plan.units[unit].tasks[task].step;
    let phase = |op: Op| match op {
        Op::Take => 0,
        Op::RemoveFolder => 1,
        Op::MakeFolder => 2,
        Op::Replace | Op::Put => 3,
        Op::SetMode => 4,
    };
    order.sort_by(|a, b| {
        let (a, b) = (step(a), step(b));
        let deepest_first = matches!(a.op, Op::RemoveFolder | Op::SetMode);
        let by_path = if deepest_first {
            b.path.cmp(&a.path)
        } else {
            a.path.cmp(&b.path)
        };
        phase(a.op).cmp(&phase(b.op)).then(by_path)
    });
    order
}

/// Whether names cannot be moved from staging into the store. Only trying tells: one file system can be mounted twice,
/// and some refuse within themselves.
fn is_elsewhere(place: &Workplace<'_>, kept: &impl AsFd) -> io::Result<bool> {
    const PROBE: &str = "probe";
    mkdirat(&place.staging, PROBE, Mode::RWXU)?;
    let moved = renameat(&place.staging, PROBE, kept, PROBE);
    match moved {
        Ok(()) => unlinkat(kept, PROBE, AtFlags::REMOVEDIR)?,
        Err(_) => unlinkat(&place.staging, PROBE, AtFlags::REMOVEDIR)?,
    }
    match moved {
        Ok(()) => Ok(false),
        Err(Errno::XDEV) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}
