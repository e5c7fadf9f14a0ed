//! The `enclos` command: reads the world once, finds out what is asked for, says what happened.
//!
//! One file per subcommand in `commands`; what people see is made in `show`. A few hidden uses of the same executable
//! are told apart before anything else is looked at, because they start often and must start fast: the stage that runs
//! first inside a jail, the supervisor of a session, and two that work on folders in the background.

mod args;
mod commands;
mod environment;
mod failure;
mod prompt;
mod show;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use enclos_api::run::SUPERVISE;
use enclos_paths::AbsPath;

use crate::failure::Failure;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let _own_name = args.next();
    let first = args.next();
    match first.as_deref().and_then(|word| word.to_str()) {
        Some("stage") => return enclos_api::run::stage(args),
        Some(SUPERVISE) => return supervise(args),
        Some(enclos_api::run::DELETE) => return on_folders(args, enclos_api::run::delete_trash),
        Some(enclos_api::run::KEEP_BASE) => return on_folders(args, enclos_api::run::keep_base),
        _ => {}
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match commands::execute(args) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Wrong usage is a failure of Enclos, so it exits like one; help and version are answers.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed stream leaves nobody to tell.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(Failure::CODE)
    } else {
        ExitCode::SUCCESS
    }
}

fn supervise(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut path = || AbsPath::new(args.next()?).ok();
    let (Some(session), Some(runtime)) = (path(), path()) else {
        return ExitCode::from(Failure::CODE);
    };
    match enclos_api::run::supervise_main(session, &runtime) {
        Ok(()) => ExitCode::SUCCESS,
        // Standard error is the session's log.
        Err(error) => Failure::from(enclos_api::Error::internal(&error)).report(),
    }
}

/// The uses of this executable that work on folders, unseen.
fn on_folders(
    args: impl Iterator<Item = OsString>,
    work: fn(&AbsPath) -> Result<(), enclos_api::Error>,
) -> ExitCode {
    let folders: Vec<AbsPath> = args.filter_map(|path| AbsPath::new(path).ok()).collect();
    let done = folders.iter().filter(|folder| work(folder).is_ok()).count();
    if done == folders.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(Failure::CODE)
    }
}
