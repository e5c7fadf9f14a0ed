//! Where contests take place: one disk, one release build, and homes that belong to no person.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use std::time::Instant;

use crate::bench::tree;
use crate::bench::tree::Size;
use crate::failure::Failure;
use crate::step::capture;
use crate::step::line;
use crate::step::program;

/// What every job works with.
#[derive(Clone)]
pub(crate) struct Arena {
    /// The release build.
    enclos: PathBuf,
    /// A file system with reflinks, with nothing else on it.
    pub(crate) disk: PathBuf,
    /// How many sessions have a name already: records outlive what they are about.
    named: Rc<Cell<u32>>,
}

impl Arena {
    /// Prepares `disk` for the release build `enclos`.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub(crate) fn open(enclos: PathBuf, disk: &Path) -> Result<Self, Failure> {
        let arena = Self {
            enclos,
            disk: disk.into(),
            named: Rc::default(),
        };
        for folder in ["home", "run", "projects"] {
            let path = arena.disk.join(folder);
            fs::create_dir_all(&path).map_err(|source| Failure::File { path, source })?;
        }
        Ok(arena)
    }

    /// The product with `arguments`, at home on the disk: copies must lie where the project does.
    pub(crate) fn enclos(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.enclos);
        command.args(arguments).env_clear().current_dir(&self.disk);
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh");
        command
            .env("HOME", self.disk.join("home"))
            .env("XDG_RUNTIME_DIR", self.disk.join("run"));
        command
    }

    /// How long `command` takes; what it prints is shown only if it fails.
    ///
    /// # Errors
    /// It cannot be started, or it fails.
    pub(crate) fn timed(&self, command: &mut Command) -> Result<Duration, Failure> {
        let start = Instant::now();
        self.printed(command)?;
        Ok(start.elapsed())
    }

    /// What `command` prints; all of it is shown if it fails.
    ///
    /// # Errors
    /// It cannot be started, or it fails.
    pub(crate) fn printed(&self, command: &mut Command) -> Result<String, Failure> {
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|source| Failure::Spawn {
            program: program(command),
            source,
        })?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(stdout);
        }
        eprint!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        Err(Failure::Command {
            line: line(command),
            status: output.status,
        })
    }

    /// A project called `name` of that size; the one that is there is taken as it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn plant(&self, name: &str, size: Size) -> Result<PathBuf, Failure> {
        let project = self.disk.join("projects").join(name);
        if !project.exists() {
            tree::plant(&project, size)?;
        }
        Ok(project)
    }

    /// A name that no session had before.
    pub(crate) fn session(&self, job: &str) -> String {
        self.named.set(self.named.get() + 1);
        format!("{job}-{}", self.named.get())
    }

    /// Waits until the disk has seen everything.
    ///
    /// # Errors
    /// `sync` fails.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        capture(Command::new("sync").arg("-f").arg(&self.disk)).map(drop)
    }

    /// Deletes what discarded sessions left, and waits for it: no deletion may run beside the next measurement.
    ///
    /// # Errors
    /// The product fails, or what it left running does not end.
    pub(crate) fn clean(&self) -> Result<(), Failure> {
        self.timed(&mut self.enclos(&["clean"]))?;
        let end = Instant::now() + Duration::from_secs(60);
        while self.is_running() {
            if Instant::now() > end {
                return Err(Failure::Bench("a process of enclos does not end"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Whether any process executes the release build.
    fn is_running(&self) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let executables =
            processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
        executables
            .into_iter()
            .any(|executable| executable == self.enclos)
    }

    /// Discards a session and deletes what it left.
    ///
    /// # Errors
    /// The product fails.
    pub(crate) fn forget(&self, session: &str) -> Result<(), Failure> {
        self.timed(&mut self.enclos(&["discard", session]))?;
        self.clean()
    }

    /// Deletes a folder or file, if it is there.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), Failure> {
        capture(Command::new("rm").arg("-rf").arg(path)).map(drop)
    }
}
