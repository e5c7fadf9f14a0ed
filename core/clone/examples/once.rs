//! Clones one folder once and looks for changes, to look at with `perf` and `strace`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to measure with"
)]

use enclos_clone::CloneRequest;
use enclos_clone::Quiet;
use enclos_clone::Side;
use enclos_clone::changes;
use enclos_paths::AbsPath;
use enclos_paths::ProjectRoot;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let source = ProjectRoot::from_resolved(AbsPath::new(arguments.next().unwrap()).unwrap());
    let copy = AbsPath::new(arguments.next().unwrap()).unwrap();
    let method = arguments
        .next()
        .as_deref()
        .unwrap_or("auto")
        .parse()
        .unwrap();
    let request = CloneRequest {
        source: &source,
        destination: &copy,
        method,
        hidden: &[],
        keep_out: &[],
        leave_out: enclos_clone::LeaveOut::Nothing,
        progress: &Quiet,
    };
    let begun = std::time::Instant::now();
    let cloned = enclos_clone::clone(&request).unwrap();
    println!(
        "{} by {} in {:?}",
        cloned.baseline.entries.len(),
        cloned.method,
        begun.elapsed()
    );
    for _ in 0..arguments.next().map_or(0, |text| text.parse().unwrap()) {
        let begun = std::time::Instant::now();
        let found = changes(&cloned.baseline, &copy, Side::Copy).unwrap().len();
        println!("found {found} in {:?}", begun.elapsed());
    }
}
