//! Measures cloning and finding changes against `cp` and `rsync`, side by side on one XFS.
//!
//! `cargo run --release -p enclos-clone --example measure [files] [rounds]`, as root. Ratios count, not times: the
//! machine is shared, so the runs alternate and medians are shown.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a program to measure with"
)]

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

use enclos_clone::Baseline;
use enclos_clone::CloneRequest;
use enclos_clone::Method;
use enclos_clone::Quiet;
use enclos_clone::Side;
use enclos_paths::AbsPath;
use enclos_paths::ProjectRoot;
use enclos_testkit::LoopFs;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<usize>().unwrap());
    let files = arguments.next().unwrap_or(50_000);
    let rounds = arguments.next().unwrap_or(7);
    let fs = LoopFs::xfs_of(8 << 30).unwrap();
    let source = fs.path().join("source");
    let bytes = generate(&source, files);
    settle();
    println!("{files} files, {} MB", bytes / 1_000_000);
    let clone = cloning(fs.path(), &source, rounds);
    let find = finding(fs.path(), &source, rounds);
    println!("clone {clone}, find {find}");
}

/// Makes a tree like a project with its packages: many small files, few large ones, some attributes.
fn generate(root: &Path, files: usize) -> u64 {
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut bytes = 0;
    let mut folder = root.to_path_buf();
    for file in 0..files {
        if file % 52 == 0 {
            folder = root.join(format!("part{}/package{}", file / 2600, file / 52));
            if next(3) == 0 {
                folder = folder.join("lib/inner");
            }
            fs::create_dir_all(&folder).unwrap();
        }
        let size = match next(1000) {
            0..700 => 100 + next(4000),
            700..960 => 4_000 + next(12_000),
            960..998 => 16_000 + next(50_000),
            _ => 200_000 + next(400_000),
        };
        let contents: Vec<u8> = (0..size)
            .map(|i| (i.wrapping_mul(size ^ 0x9e37_79b9) >> 13) as u8)
            .collect();
        fs::write(folder.join(format!("file{file}.js")), contents).unwrap();
        bytes += size;
    }
    bytes
}

fn cloning(place: &Path, source: &Path, rounds: usize) -> String {
    let (copy, manifest) = (place.join("copy"), place.join("baseline"));
    let (mut theirs, mut ours, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(timed(|| {
            run(Command::new("cp")
                .args(["-a", "--reflink=always"])
                .arg(source)
                .arg(&copy))
        }));
        clear(&copy);
        let mut baseline = None;
        ours.push(timed(|| baseline = Some(clone(source, &copy))));
        written.push(timed(|| baseline.unwrap().write(&abs(&manifest)).unwrap()));
        clear(&copy);
    }
    show("cp -a --reflink=always", &theirs);
    show("clone", &ours);
    show("baseline written", &written);
    ratio(&theirs, &[&ours, &written])
}

fn finding(place: &Path, source: &Path, rounds: usize) -> String {
    let (copy, manifest) = (place.join("copy"), place.join("baseline"));
    let baseline = clone(source, &copy);
    baseline.write(&abs(&manifest)).unwrap();
    settle();
    let every = baseline.entries.len() / 100;
    let files = baseline
        .entries
        .iter()
        .filter(|entry| entry.original.size > 0 && entry.links == 1);
    let changed: Vec<PathBuf> = files
        .step_by(every)
        .map(|entry| copy.join(&entry.path))
        .collect();
    for path in changed.iter().filter(|path| path.is_file()) {
        fs::write(path, "changed by somebody").unwrap();
    }
    let (mut theirs, mut loaded, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 * rounds {
        let (mut from, mut to) = (
            copy.clone().into_os_string(),
            source.to_path_buf().into_os_string(),
        );
        from.push("/");
        to.push("/");
        theirs.push(timed(|| {
            run(Command::new("rsync")
                .args(["-rlpn", "--delete"])
                .arg(from)
                .arg(to))
        }));
        let mut baseline = None;
        loaded.push(timed(|| {
            baseline = Some(Baseline::read(&abs(&manifest)).unwrap())
        }));
        let baseline = baseline.unwrap();
        let mut found = 0;
        ours.push(timed(|| {
            found = enclos_clone::changes(&baseline, &abs(&copy), Side::Copy)
                .unwrap()
                .len()
        }));
        assert!(found > 90, "found {found}");
    }
    show("rsync -rlpn --delete", &theirs);
    show("baseline read", &loaded);
    show("changes found", &ours);
    ratio(&theirs, &[&loaded, &ours])
}

fn show(what: &str, times: &[Duration]) {
    let times: Vec<u128> = times.iter().map(Duration::as_millis).collect();
    println!("{what}: {times:?} ms");
}

/// By medians, and by the best runs.
fn ratio(theirs: &[Duration], ours: &[&[Duration]]) -> String {
    let of = |pick: fn(&[Duration]) -> Duration| {
        ours.iter()
            .map(|times| pick(times).as_secs_f64())
            .sum::<f64>()
            / pick(theirs).as_secs_f64()
    };
    format!("{:.2} x (best runs {:.2} x)", of(median), of(best))
}

fn clone(source: &Path, copy: &Path) -> Baseline {
    let request = CloneRequest {
        source: &ProjectRoot::from_resolved(abs(source)),
        destination: &abs(copy),
        method: Method::Reflink,
        hidden: &[],
        keep_out: &[],
        leave_out: enclos_clone::LeaveOut::Nothing,
        progress: &Quiet,
    };
    enclos_clone::clone(&request).unwrap().baseline
}

fn clear(copy: &Path) {
    fs::remove_dir_all(copy).unwrap();
    settle();
}

/// Lets nothing of one run be paid for by the next.
fn settle() {
    rustix::fs::sync();
    std::thread::sleep(Duration::from_millis(300));
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}");
}

fn timed(act: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    act();
    begun.elapsed()
}

/// The best run of each: on a machine that others use, what a run takes when it is left alone.
fn best(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

fn abs(path: &Path) -> AbsPath {
    AbsPath::new(path).unwrap()
}
