//! A whole session that does nothing, against a bare bubblewrap.

use std::process::Command;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::bench::tree::Size;
use crate::failure::Failure;

pub(super) fn prepare(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    let project = arena.plant("start", Size::SMALL)?;
    Ok(Box::new(Start {
        arena: arena.clone(),
        project,
    }))
}

struct Start {
    arena: Arena,
    project: std::path::PathBuf,
}

impl Contest for Start {
    fn ours(&mut self) -> Result<Duration, Failure> {
        let run = ["run", "--discard", "--no-network"];
        let mut command = self.arena.enclos(&run);
        command.arg(&self.project).args(["--", "true"]);
        let took = self.arena.timed(&mut command)?;
        self.arena.clean()?;
        Ok(took)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        let mut bwrap = Command::new("bwrap");
        bwrap.args([
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "true",
        ]);
        self.arena.timed(&mut bwrap).map(Some)
    }
}
