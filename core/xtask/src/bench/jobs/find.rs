//! Finding what changed in a large project, against `rsync` without writing.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::bench::tree::Size;
use crate::failure::Failure;

/// What an agent does: a line more in every 500th file.
const CHANGES: &str =
    r#"ls d*/e*/f*[05]00.txt | while read -r file; do echo changed >> "$file"; done"#;

pub(super) fn prepare(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    let project = arena.plant("large", Size::LARGE)?;
    let session = arena.session("find");
    let mut run = arena.enclos(&["run", "--id", &session, "--no-network"]);
    arena.timed(run.arg(&project).args(["--", "sh", "-c", CHANGES]))?;
    let copy = arena.disk.join("find-copy");
    arena.timed(
        Command::new("cp")
            .args(["-a", "--reflink=always"])
            .arg(&project)
            .arg(&copy),
    )?;
    arena.timed(Command::new("sh").args(["-c", CHANGES]).current_dir(&copy))?;
    arena.sync()?;
    Ok(Box::new(Find {
        arena: arena.clone(),
        session,
        copy,
        project,
    }))
}

struct Find {
    arena: Arena,
    session: String,
    copy: PathBuf,
    project: PathBuf,
}

impl Contest for Find {
    fn ours(&mut self) -> Result<Duration, Failure> {
        self.arena
            .timed(&mut self.arena.enclos(&["diff", &self.session, "--stat"]))
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        let mut rsync = Command::new("rsync");
        // A slash at the end of both: what is in them is compared.
        rsync
            .args(["-rlpn", "--delete"])
            .arg(self.copy.join(""))
            .arg(self.project.join(""));
        self.arena.timed(&mut rsync).map(Some)
    }
}

impl Drop for Find {
    fn drop(&mut self) {
        let _ = self.arena.forget(&self.session);
        let _ = self.arena.remove(&self.copy);
    }
}
