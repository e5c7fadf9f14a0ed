//! Cloning a large project, against `cp`.
//!
//! What is timed is a whole session that does nothing: its start and its look for changes at the end are in it, so the
//! clone alone is a little faster than the row says.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::bench::tree::Size;
use crate::failure::Failure;

/// Each copy is the first one.
pub(super) fn prepare_first(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    prepare(arena, Leftovers::Deleted)
}

/// Each copy finds the last one's remains.
pub(super) fn prepare_again(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    prepare(arena, Leftovers::Kept)
}

fn prepare(arena: &Arena, leftovers: Leftovers) -> Result<Box<dyn Contest>, Failure> {
    let project = arena.plant("large", Size::LARGE)?;
    arena.sync()?;
    Ok(Box::new(Clone {
        arena: arena.clone(),
        project,
        leftovers,
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leftovers {
    Deleted,
    Kept,
}

struct Clone {
    arena: Arena,
    project: PathBuf,
    leftovers: Leftovers,
}

impl Contest for Clone {
    fn ours(&mut self) -> Result<Duration, Failure> {
        let mut command = self.arena.enclos(&["run", "--discard", "--no-network"]);
        command.arg(&self.project).args(["--", "true"]);
        let took = self.arena.timed(&mut command)?;
        if self.leftovers == Leftovers::Deleted {
            self.arena.clean()?;
        }
        self.arena.sync()?;
        Ok(took)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        let copy = self.arena.disk.join("cp");
        let mut cp = Command::new("cp");
        cp.args(["-a", "--reflink=always"])
            .arg(&self.project)
            .arg(&copy);
        let took = self.arena.timed(&mut cp)?;
        self.arena.remove(&copy)?;
        self.arena.sync()?;
        Ok(Some(took))
    }
}
