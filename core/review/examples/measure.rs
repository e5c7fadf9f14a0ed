//! Measures scan, apply and undo of many small files beside what people use for it.
//!
//! `cargo run --release -p enclos-review --example measure -- FOLDER [FILES [ROUNDS]]` works in a new folder in FOLDER, so that
//! its file system is the one that is measured. Every round does each job once, in turn; medians are printed with
//! their ratio to the baseline of the same run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a tool for developers"
)]

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use enclos_clone::Absence;
use enclos_clone::Baseline;
use enclos_clone::CloneRequest;
use enclos_clone::Entry;
use enclos_clone::LeaveOut;
use enclos_clone::Method;
use enclos_clone::Quiet;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_review::Approval;
use enclos_review::Base;
use enclos_review::Edited;
use enclos_review::Fault;
use enclos_review::Faults;
use enclos_review::NoFaults;
use enclos_review::ScanOptions;
use enclos_review::Step;
use enclos_review::TreeSources;
use enclos_review::UndoRequest;
use enclos_review::Which;

const ROUNDS: usize = 9;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("FOLDER");
    let files = arguments
        .next()
        .map_or(1000, |n| n.parse().expect("a number of files"));
    let world = World::new(Path::new(&folder), files);
    let mut times = Times::default();
    if let Some(rounds) = arguments.next() {
        // For a profiler: nothing but applies and undos.
        return (0..rounds.parse().expect("a number of rounds"))
            .for_each(|_| world.apply_and_undo());
    }
    for round in 0..ROUNDS {
        world.round(round, &mut times);
    }
    times.print();
}

struct World {
    _folder: tempfile::TempDir,
    original: ProjectRoot,
    copy: AbsPath,
    baseline: Baseline,
    at: PathBuf,
}

/// Contents at the start: an undo leaves files of another identity, so the second round asks for them.
struct Start(PathBuf);

impl Base for Start {
    fn content(&self, entry: &Entry, _most: u64) -> Result<Vec<u8>, Absence> {
        fs::read(self.0.join(entry.path.as_path())).map_err(|_| Absence::NotKept)
    }
}

impl World {
    fn new(folder: &Path, files: usize) -> Self {
        let holder = tempfile::tempdir_in(folder).expect("a new folder");
        let at = holder.path().canonicalize().unwrap();
        let original = at.join("original");
        for n in 0..files {
            let path = original.join(format!("folder {}/file {n}.txt", n % 81));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text(n, "old")).unwrap();
        }
        let original = ProjectRoot::from_resolved(AbsPath::new(original).unwrap());
        let copy = AbsPath::new(at.join("copy")).unwrap();
        let request = CloneRequest {
            source: &original,
            destination: &copy,
            method: Method::Auto,
            hidden: &[],
            keep_out: &[],
            leave_out: LeaveOut::Nothing,
            progress: &Quiet,
        };
        let baseline = enclos_clone::clone(&request).expect("a clone").baseline;
        for n in 0..files {
            let path = format!("folder {}/file {n}.txt", n % 81);
            fs::write(copy.as_path().join(path), text(n, "new")).unwrap();
        }
        fs::create_dir(at.join("store")).unwrap();
        run(Command::new("cp")
            .arg("-a")
            .arg(original.path().as_path())
            .arg(at.join("start")));
        Self {
            _folder: holder,
            original,
            copy,
            baseline,
            at,
        }
    }

    fn apply_and_undo(&self) {
        let store = AbsPath::new(self.at.join("store")).unwrap();
        let start = Start(self.at.join("start"));
        let sources = TreeSources {
            original: &self.original,
            copy: &self.copy,
            baseline: &self.baseline,
            base: &start,
        };
        let review = enclos_review::scan(&sources, &ScanOptions::at(0)).expect("a review");
        let approval = Approval::with_risks(&review);
        let phases = Phases(RefCell::new(vec![(Instant::now(), None)]));
        enclos_review::apply(&sources, &review, &approval, &store, &phases).expect("an apply");
        phases.print();
        let request = UndoRequest {
            which: Which::Last,
            paths: Vec::new(),
            edited: Edited::Leave,
        };
        enclos_review::undo(&self.original, &store, &request, &NoFaults).expect("an undo");
    }

    fn round(&self, round: usize, times: &mut Times) {
        let (store, plain) = (
            AbsPath::new(self.at.join("store")).unwrap(),
            self.at.join("plain"),
        );
        run(Command::new("cp")
            .arg("-a")
            .args([self.original.path().as_path(), &plain]));
        let sources = TreeSources {
            original: &self.original,
            copy: &self.copy,
            baseline: &self.baseline,
            base: &Start(self.at.join("start")),
        };

        run(Command::new("sync").arg("-f").arg(&self.at));
        let rsync = measure(|| {
            run(Command::new("rsync")
                .arg("-a")
                .arg(format!("{}/", self.copy))
                .arg(format!("{}/", plain.display())));
            run(&mut Command::new("sync"));
        });
        let git = measure(|| {
            let mut command = Command::new("git");
            command
                .args(["diff", "--no-index"])
                .args([self.original.path().as_path(), self.copy.as_path()]);
            let _ = command.stdout(Stdio::null()).status().expect("git");
        });
        run(Command::new("sync").arg("-f").arg(&self.at));
        let mut review = None;
        let scan = measure(|| {
            review = Some(enclos_review::scan(&sources, &ScanOptions::at(0)).expect("a review"))
        });
        let review = review.unwrap();
        let approval = Approval::with_risks(&review);
        let apply = measure(|| {
            let applied = enclos_review::apply(&sources, &review, &approval, &store, &NoFaults)
                .expect("an apply");
            assert!(applied.record.is_some() && review.files.len() == applied.files.len());
        });
        let request = UndoRequest {
            which: Which::Last,
            paths: Vec::new(),
            edited: Edited::Leave,
        };
        let undo = measure(|| {
            enclos_review::undo(&self.original, &store, &request, &NoFaults).expect("an undo");
        });
        fs::remove_dir_all(&plain).unwrap();
        fs::remove_dir_all(store.as_path().join("undo")).unwrap();
        if round > 0 {
            times.add([rsync, git, scan, apply, undo]);
        }
    }
}

/// Notes when each kind of step began.
struct Phases(RefCell<Vec<(Instant, Option<Step>)>>);

impl Faults for Phases {
    fn at(&self, step: Step, _path: Option<&ProjectPath>) -> Result<(), Fault> {
        // Between two exchanges lies a look at what came out.
        let step = if step == Step::Verify {
            Step::Exchange
        } else {
            step
        };
        if self
            .0
            .borrow()
            .last()
            .is_some_and(|(_, last)| *last != Some(step))
        {
            self.0.borrow_mut().push((Instant::now(), Some(step)));
        }
        Ok(())
    }
}

impl Phases {
    fn print(&self) {
        self.0.borrow_mut().push((Instant::now(), None));
        let all = self.0.borrow();
        let phase = |pair: &[(Instant, Option<Step>)]| {
            format!(
                "{:?} {:.1}",
                pair[0].1,
                (pair[1].0 - pair[0].0).as_secs_f64() * 1000.0
            )
        };
        println!(
            "{}",
            all.windows(2).map(phase).collect::<Vec<_>>().join(", ")
        );
    }
}

#[derive(Default)]
struct Times(Vec<[Duration; 5]>);

impl Times {
    fn add(&mut self, round: [Duration; 5]) {
        self.0.push(round);
    }

    fn print(&self) {
        let names = [
            "rsync -a + sync",
            "git diff --no-index",
            "scan with hunks",
            "apply",
            "undo",
        ];
        let base = [0, 1, 1, 0, 0];
        let median = |job: usize| {
            let mut all: Vec<_> = self.0.iter().map(|round| round[job]).collect();
            all.sort();
            all[all.len() / 2].as_secs_f64() * 1000.0
        };
        for (job, name) in names.iter().enumerate() {
            println!(
                "{name:22} {:8.1} ms  {:.2} x",
                median(job),
                median(job) / median(base[job])
            );
        }
    }
}

fn text(n: usize, kind: &str) -> String {
    let mut text = String::new();
    for line in 0..120 {
        let kind = if line % 40 == 7 { kind } else { "same" };
        let _ = writeln!(
            text,
            "line {line} of file {n}, which is the {kind} one of many like it"
        );
    }
    text
}

/// The time that passed, or with PROCESSOR set the time that this program worked, whatever else the machine does.
fn measure(work: impl FnOnce()) -> Duration {
    let worked = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(
            now.tv_sec.unsigned_abs(),
            u32::try_from(now.tv_nsec).unwrap(),
        )
    };
    let (began, before) = (Instant::now(), worked());
    work();
    if std::env::var_os("PROCESSOR").is_some() {
        worked() - before
    } else {
        began.elapsed()
    }
}

fn run(command: &mut Command) {
    assert!(
        command.status().expect("a program").success(),
        "{command:?}"
    );
}
