//! Bringing a thousand changed files back so that they survive a power cut, against `rsync` and a sync.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::bench::tree::Size;
use crate::failure::Failure;

/// Every file gets a line more.
const CHANGES: &str = r#"for file in d*/e*/f*.txt; do echo changed >> "$file"; done"#;

/// Nothing else writes.
pub(super) fn prepare_quiet(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    Ok(Box::new(Quiet(Apply::prepare(arena)?)))
}

/// Somebody else has just written a lot that the disk has not seen yet.
pub(super) fn prepare_busy(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    Ok(Box::new(Busy(Apply::prepare(arena)?)))
}

struct Quiet(Apply);

impl Contest for Quiet {
    fn ours(&mut self) -> Result<Duration, Failure> {
        self.0.apply(Neighbour::Silent)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        self.0.rsync().map(Some)
    }
}

struct Busy(Apply);

impl Contest for Busy {
    fn ours(&mut self) -> Result<Duration, Failure> {
        self.0.apply(Neighbour::Writing)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        self.0.apply(Neighbour::Silent).map(Some)
    }
}

struct Apply {
    arena: Arena,
    project: PathBuf,
    /// The project as it was.
    before: PathBuf,
    /// The project with the changes.
    after: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Silent,
    Writing,
}

impl Apply {
    fn prepare(arena: &Arena) -> Result<Self, Failure> {
        let project = arena.plant("apply", Size::CHANGES)?;
        let (before, after) = (
            arena.disk.join("apply-before"),
            arena.disk.join("apply-after"),
        );
        for copy in [&before, &after] {
            arena.remove(copy)?;
            arena.timed(Command::new("cp").arg("-a").arg(&project).arg(copy))?;
        }
        arena.timed(Command::new("sh").args(["-c", CHANGES]).current_dir(&after))?;
        Ok(Self {
            arena: arena.clone(),
            project,
            before,
            after,
        })
    }

    /// A new session with the changes, then the time to apply them.
    fn apply(&self, neighbour: Neighbour) -> Result<Duration, Failure> {
        self.restore()?;
        let session = self.arena.session("apply");
        let mut run = self
            .arena
            .enclos(&["run", "--id", &session, "--no-network"]);
        self.arena
            .timed(run.arg(&self.project).args(["--", "sh", "-c", CHANGES]))?;
        self.arena.sync()?;
        if neighbour == Neighbour::Writing {
            self.write_a_lot()?;
        }
        let took = self
            .arena
            .timed(&mut self.arena.enclos(&["apply", &session]))?;
        self.arena.remove(&self.arena.disk.join("noise"))?;
        self.arena.forget(&session)?;
        Ok(took)
    }

    fn rsync(&self) -> Result<Duration, Failure> {
        self.restore()?;
        let script = r#"rsync -a "$1"/ "$2"/ && sync -f "$2""#;
        let mut sh = Command::new("sh");
        sh.args(["-c", script, "sh"])
            .arg(&self.after)
            .arg(&self.project);
        self.arena.timed(&mut sh)
    }

    /// The project as it was, on disk.
    fn restore(&self) -> Result<(), Failure> {
        let mut rsync = Command::new("rsync");
        rsync
            .args(["-a", "--delete", "--checksum"])
            .arg(self.before.join(""))
            .arg(self.project.join(""));
        self.arena.timed(&mut rsync)?;
        self.arena.sync()
    }

    /// 500 MB that only memory has seen.
    fn write_a_lot(&self) -> Result<(), Failure> {
        let path = self.arena.disk.join("noise");
        let failed = |source| Failure::File {
            path: path.clone(),
            source,
        };
        let mut file = File::create(&path).map_err(failed)?;
        let block = vec![0x5a; 1 << 20];
        for _ in 0..500 {
            file.write_all(&block).map_err(failed)?;
        }
        Ok(())
    }
}
