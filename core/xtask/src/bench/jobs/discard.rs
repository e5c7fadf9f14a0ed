//! How soon `discard` of a large copy answers.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::bench::tree::Size;
use crate::failure::Failure;

pub(super) fn prepare(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    let project = arena.plant("large", Size::LARGE)?;
    Ok(Box::new(Discard {
        arena: arena.clone(),
        project,
    }))
}

struct Discard {
    arena: Arena,
    project: PathBuf,
}

impl Contest for Discard {
    fn ours(&mut self) -> Result<Duration, Failure> {
        let session = self.arena.session("discard");
        // It changes something: a session that changed nothing is discarded by itself.
        let mut run = self
            .arena
            .enclos(&["run", "--id", &session, "--no-network"]);
        self.arena
            .timed(run.arg(&self.project).args(["--", "touch", "new"]))?;
        self.arena.sync()?;
        let took = self
            .arena
            .timed(&mut self.arena.enclos(&["discard", &session]))?;
        self.arena.clean()?;
        Ok(took)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        Ok(None)
    }
}
