//! `cargo xtask`: everything a person does with this repository, as one command that installs what it needs.
//!
//! It promises that a fresh machine needs nothing else: `run` does the main job, `test` says whether all holds. It
//! breaks when it grows: it is compiled before anything else can start, so it has one small dependency and knows the
//! product only by its command line. Nothing here is shipped.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program talks to a person and to nobody else"
)]

mod arguments;
mod bench;
mod check_macos;
mod failure;
mod manual;
mod run;
mod sample;
mod setup;
mod step;
mod surroundings;
mod tally;
mod test;
mod tidy;

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::arguments::Task;
use crate::failure::Failure;
use crate::surroundings::Surroundings;

fn main() -> ExitCode {
    let around = surroundings();
    let done = arguments::parse(env::args_os().skip(1)).and_then(|task| perform(&around, &task));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{} {failure}", around.paint("1;31", "error:"));
            if let Some(hint) = failure.hint() {
                eprintln!("{} {hint}", around.paint("1", "hint:"));
            }
            failure.exit_code()
        }
    }
}

fn perform(around: &Surroundings, task: &Task) -> Result<(), Failure> {
    match task {
        Task::Help(topic) => {
            print!("{}", manual::text(*topic, around));
            Ok(())
        }
        Task::Setup => setup::everything(around),
        Task::Run(request) => run::run(around, request),
        Task::Test => test::test(around),
        Task::Tidy => tidy::tidy(around),
        Task::CheckMacos(scope) => check_macos::check_macos(around, *scope),
        Task::Bench(request) => bench::bench(around, request),
    }
}

/// The one place that reads the environment.
fn surroundings() -> Surroundings {
    let home = env::var_os("HOME").map(PathBuf::from);
    let given = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // `cargo run` names the manifest's folder as it is now; the compiled-in one may have moved since.
    let manifest = given("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root: PathBuf = manifest.ancestors().nth(2).unwrap_or(Path::new(".")).into();
    let cache = given("ENCLOS_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|place| place.join("enclos")))
        .or_else(|| home.map(|home| home.join(".cache/enclos")))
        .unwrap_or_else(|| root.join("target/cache"));
    Surroundings {
        cargo: env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")),
        os: env::consts::OS,
        path: env::var_os("PATH").unwrap_or_default(),
        ci: env::var_os("CI").is_some_and(|ci| ci == "true"),
        colour: std::io::stderr().is_terminal()
            && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()),
        temp: env::temp_dir(),
        root,
        cache,
    }
}
