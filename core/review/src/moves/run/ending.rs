//! The last part of a run: the moves become durable, the record makes them count, and nothing is left over.

use std::collections::BTreeSet;
use std::io;

use enclos_paths::ProjectPath;
use enclos_sys::flush;
use enclos_sys::open::open_folder;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use rustix::fs::AtFlags;
use rustix::fs::unlinkat;

use super::Run;
use crate::Step;
use crate::moves::Record;
use crate::moves::Trouble;
use crate::moves::clear::clear_staging;
use crate::moves::durable::Batch;
use crate::moves::durable::Durable;
use crate::moves::record::Kept;
use crate::moves::takeback::slot_name;

impl Run<'_, '_> {
    pub(super) fn sync_moves(&self) -> Result<(), Trouble> {
        let fail = |e: io::Error| Trouble::for_all("write to", self.place.root, e);
        self.place.at(Step::SyncMoves, None)?.map_err(fail)?;
        if self.durable == Durable::Log {
            // The record goes through the same log, unless it lies elsewhere.
            return if self.keeps_copies {
                flush::through(&self.place.staging).map_err(fail)
            } else {
                Ok(())
            };
        }
        let folders: BTreeSet<Option<ProjectPath>> = self
            .done
            .iter()
            .map(|(unit, task, _)| self.plan.units[*unit].tasks[*task].step.path.parent())
            .collect();
        let mut batch = Batch::new(Durable::Each);
        for folder in folders {
            let opened = match &folder {
                Some(folder) => open_folder(self.place.original.fd(), folder),
                None => Ok(self
                    .place
                    .original
                    .fd()
                    .try_clone_to_owned()
                    .map_err(fail)?),
            };
            // One that is gone by now was removed by this plan.
            if let Ok(opened) = opened {
                batch.add(opened).map_err(fail)?;
            }
        }
        batch.finish(&self.place.staging).map_err(fail)
    }

    /// From here on the apply counts.
    pub(super) fn commit(&mut self) -> Result<(), Trouble> {
        let place = self.place;
        let fail = |e: io::Error| Trouble::for_all("write to", &place.store.path, e);
        place.at(Step::Commit, None)?.map_err(fail)?;
        let text = self.record().text().map_err(|e| fail(e.into()))?;
        place
            .store
            .write_record(place.id, &text, self.store_durable())
            .map_err(fail)?;
        self.counts = true;
        Ok(())
    }

    fn record(&self) -> Record {
        let mut units: Vec<Kept> = Vec::new();
        let mut index = vec![None; self.plan.units.len()];
        for &(unit, task, _) in &self.done {
            let at = *index[unit].get_or_insert_with(|| {
                units.push(Kept {
                    reports: self.plan.units[unit].reports.clone(),
                    moves: Vec::new(),
                });
                units.len() - 1
            });
            units[at]
                .moves
                .push(self.plan.units[unit].tasks[task].step.clone());
        }
        Record {
            kind: self.kind,
            units,
        }
    }

    /// Everything so far counts or was taken back; what is left over is ours. Only a crash keeps this from ending: the
    /// next recovery does what could not be done here.
    pub(super) fn tidy_up(&mut self) -> Result<(), Trouble> {
        let place = self.place;
        if self.counts && !self.keep_displaced()? {
            return Ok(());
        }
        if !self.counts && place.store.drop_kept(place.id).is_err() {
            return Ok(());
        }
        if place.at(Step::RemoveStaging, None)?.is_err() || place.staging_stays.get() {
            return Ok(());
        }
        if clear_staging(place.original, &place.staging_name).is_err() {
            return Ok(());
        }
        if place.at(Step::RemoveJournal, None)?.is_ok() {
            // Not there when nothing came to be moved.
            let _ = place.store.remove_journal();
        }
        Ok(())
    }

    /// Moves what was displaced into the store, with the folder that it is in; false when something had to stay.
    fn keep_displaced(&self) -> Result<bool, Trouble> {
        let place = self.place;
        if place.at(Step::KeepMove, None)?.is_err() {
            return Ok(false);
        }
        if !self.keeps_copies {
            self.drop_unused_slots();
            return Ok(place.keep_staging().is_ok());
        }
        for (unit, task, seen) in &self.done {
            let step = &self.plan.units[*unit].tasks[*task].step;
            if !step.op.displaces() {
                continue;
            }
            let slot = slot_name(step.slot);
            // A copy was made before; what is here is the same unless someone still wrote to it.
            let same = |seen: &Stat, now: &Stat| (seen.size, seen.mtime) == (now.size, now.mtime);
            let is_same = matches!((seen, stat_at(&place.staging, &slot[..])), (Some(seen), Ok(now)) if same(seen, &now));
            if !is_same {
                place.aside(&slot);
            } else if unlinkat(&place.staging, &slot[..], AtFlags::empty()).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was staged for units that stopped is of no use; where it cannot be removed it only takes space.
    fn drop_unused_slots(&self) {
        let stopped = self
            .plan
            .units
            .iter()
            .zip(&self.stopped)
            .filter(|(_, stopped)| stopped.is_some());
        for step in stopped
            .flat_map(|(unit, _)| &unit.tasks)
            .map(|task| &task.step)
        {
            let slot = slot_name(step.slot);
            if step.staged.is_some() && self.place.inode_of(&slot) == step.staged {
                let _ = unlinkat(&self.place.staging, &slot[..], AtFlags::empty());
            }
        }
    }
}
