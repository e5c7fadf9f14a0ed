//! The first part of a run: everything new is written and durable, and nothing of the person's was touched.

use std::io;
use std::os::fd::AsFd;

use super::Run;
use super::Settled;
use crate::FileKind;
use crate::Step;
use crate::Stopped;
use crate::moves::Source;
use crate::moves::Trouble;
use crate::moves::durable::Batch;
use crate::moves::durable::Durable;
use crate::moves::names::At;
use crate::moves::stage;
use crate::moves::stage::Staged;
use crate::moves::stage::Stager;
use crate::moves::takeback::slot_name;
use crate::scan::crew;

/// From so many moves on they are staged several at a time.
const MANY: usize = 64;

/// How many are staged at a time; each keeps a file open.
const TOGETHER: usize = 128;

impl Run<'_, '_> {
    pub(super) fn stage(&mut self) -> Result<(), Trouble> {
        let mut batch = Batch::new(self.durable);
        let order = self.order.clone();
        // Few are staged one by one; of many, so many at a time as may be open at once.
        let together = if order.len() < MANY { 1 } else { TOGETHER };
        for part in order.chunks(together) {
            self.stage_part(part, &mut batch)?;
        }
        self.keep_copies()?;
        let stopped = &self.stopped;
        self.order.retain(|&(unit, _)| stopped[unit].is_none());
        if self.order.is_empty() {
            return Ok(());
        }
        let fail = |e: io::Error| Trouble::for_all("write to", self.place.root, e);
        self.place.at(Step::SyncStaged, None)?.map_err(fail)?;
        match self.store_durable() {
            // The journal is the next flush.
            Durable::Log => batch.arrive().map_err(fail),
            Durable::Each => batch.finish(&self.place.staging).map_err(fail),
        }
    }

    fn stage_part(&mut self, part: &[(usize, usize)], batch: &mut Batch) -> Result<(), Trouble> {
        let place = self.place;
        let stager = Stager {
            original: place.original,
            root: place.root,
            staging: place.staging.as_fd(),
        };
        let mut wanted = Vec::with_capacity(part.len());
        for &(unit, task) in part {
            if self.stopped[unit].is_some() {
                continue;
            }
            let of = &self.plan.units[unit].tasks[task];
            if of.step.op.stages() && !matches!(of.source, Source::Twin(_)) {
                let allowed = place.at(Step::Stage, Some(&of.step.path))?;
                match self.settle(unit, allowed.map_err(|e| place.trouble("write it", e)))? {
                    Settled::GoesOn => wanted.push((unit, task)),
                    Settled::Stopped => {}
                }
            }
        }
        let units = &self.plan.units;
        let staged = crew::each(&wanted, |&(unit, task)| {
            stager.stage(&units[unit].tasks[task])
        });
        for ((unit, task), staged) in wanted.into_iter().zip(staged) {
            let noted = staged.and_then(|staged| self.note(unit, task, staged, batch));
            self.settle(unit, noted)?;
        }
        for &(unit, task) in part {
            if self.stopped[unit].is_some() {
                continue;
            }
            let tasks = &mut self.plan.units[unit].tasks;
            if let Source::Twin(twin) = tasks[task].source {
                let twin = tasks[twin].step.clone();
                let linked = stager.twin(&mut tasks[task].step, &twin);
                self.settle(unit, linked)?;
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        unit: usize,
        task: usize,
        staged: Staged,
        batch: &mut Batch,
    ) -> Result<(), Trouble> {
        let task = &mut self.plan.units[unit].tasks[task];
        task.step.staged = Some(staged.inode);
        task.step.after = Some(staged.state);
        task.lost = staged.lost;
        match staged.file {
            Some(file) => batch
                .add(file)
                .map_err(|e| self.place.trouble("write it", e)),
            None => Ok(()),
        }
    }

    /// Copies what will be moved away, where the store lies on another file system.
    fn keep_copies(&mut self) -> Result<(), Trouble> {
        if !self.keeps_copies {
            return Ok(());
        }
        let place = self.place;
        let fail = |e| Trouble::of("copy what is there", &place.store.path, e);
        let slots = place.store.make_slots(place.id).map_err(fail)?;
        let mut batch = Batch::new(Durable::Each);
        for (unit, task) in self.order.clone() {
            let step = &self.plan.units[unit].tasks[task].step;
            if self.stopped[unit].is_some() || !step.op.displaces() {
                continue;
            }
            let copied = match place.at(Step::KeepCopy, Some(&step.path))? {
                Ok(()) => stage::copy_over(
                    place.original,
                    &step.path,
                    At::new(&slots, &slot_name(step.slot)[..]),
                    &mut batch,
                ),
                Err(injected) => Err(injected),
            };
            let expected = step.before.as_ref().and_then(|before| match before.kind {
                FileKind::File { size, hash } => Some((size, hash)),
                _ => None,
            });
            let result = copied
                .map_err(fail)
                .and_then(|copied| match copied == expected {
                    true => Ok(()),
                    false => Err(Stopped::ChangedMeanwhile.into()),
                });
            self.settle(unit, result)?;
        }
        batch.finish(&slots).map_err(fail)
    }
}
