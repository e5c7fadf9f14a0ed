//! A build that works the processor and makes many files, inside and outside of the jail.
//!
//! The build times itself, so neither the clone nor the start counts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::failure::Failure;
use crate::step::line;

/// Compiles everything and prints how many nanoseconds that took.
const BUILD: &str =
    "start=$(date +%s%N); make -j2 >/dev/null || exit 1; echo $(($(date +%s%N) - start))";

const SOURCES: usize = 60;
const FUNCTIONS: usize = 60;

pub(super) fn prepare(arena: &Arena) -> Result<Box<dyn Contest>, Failure> {
    let project = arena.disk.join("build");
    arena.remove(&project)?;
    let failed = |source| Failure::File {
        path: project.clone(),
        source,
    };
    fs::create_dir_all(&project).map_err(failed)?;
    let objects: String = (0..SOURCES).map(|number| format!(" s{number}.o")).collect();
    let makefile = format!("all:{objects}\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n");
    fs::write(project.join("Makefile"), makefile).map_err(failed)?;
    for number in 0..SOURCES {
        fs::write(project.join(format!("s{number}.c")), source(number)).map_err(failed)?;
    }
    Ok(Box::new(Build {
        arena: arena.clone(),
        project,
    }))
}

fn source(number: usize) -> String {
    let function = |at: usize| {
        format!(
            "int f{number}_{at}(int n) {{ int r = {at}; for (int i = 0; i < n; i++) r = r * 31 + snprintf(0, 0, \"%d\", i ^ r); return r; }}\n"
        )
    };
    let functions: String = (0..FUNCTIONS).map(function).collect();
    format!("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n{functions}")
}

struct Build {
    arena: Arena,
    project: PathBuf,
}

impl Contest for Build {
    fn ours(&mut self) -> Result<Duration, Failure> {
        let mut command = self.arena.enclos(&["run", "--discard", "--no-network"]);
        let took = self.told(command.arg(&self.project).args(["--", "sh", "-c", BUILD]))?;
        self.arena.clean()?;
        Ok(took)
    }

    fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
        let copy = self.arena.disk.join("build-outside");
        self.arena.timed(
            Command::new("cp")
                .args(["-a", "--reflink=auto"])
                .arg(&self.project)
                .arg(&copy),
        )?;
        let took = self.told(Command::new("sh").args(["-c", BUILD]).current_dir(&copy))?;
        self.arena.remove(&copy)?;
        Ok(Some(took))
    }
}

impl Build {
    /// How long the build says that it took.
    fn told(&self, command: &mut Command) -> Result<Duration, Failure> {
        let text = self.arena.printed(command)?;
        let number = text.lines().rev().find_map(|line| line.trim().parse().ok());
        let missing = || Failure::Output {
            line: line(command),
            expected: "number of nanoseconds",
        };
        number.map(Duration::from_nanos).ok_or_else(missing)
    }
}
