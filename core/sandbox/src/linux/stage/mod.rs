//! What runs first inside a jail: `enclos stage`.
//!
//! The promise: a command is started only after this process has given up every right the plan takes away, and no
//! descriptor of anyone reaches a command but the three it is meant to have. It is an executed program with one thread,
//! so nothing of it has to be safe between fork and exec. As process 1 of the pid namespace it ends everyone by ending,
//! and it ends when the command does or when the launcher's end of the socket closes. It cannot be traced or read by
//! the jailed processes: it is marked as not dumpable, which also hides the executable behind its /proc entry.

mod confine;
mod hold;
mod inner;
mod outer;
mod program;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the stage; `args` are what follows the word `stage`. Called first thing in main, before any thread is started
/// and any descriptor opened.
pub fn stage(args: &[OsString]) -> ExitCode {
    let failure = match args.first().and_then(|word| word.to_str()) {
        Some("inner") => inner::run().err(),
        Some("outer") => Some(outer::run()),
        _ => Some("this is for Enclos itself".to_owned()),
    };
    let Some(failure) = failure else {
        return ExitCode::SUCCESS;
    };
    // The launcher reads this when it is told nothing by the socket.
    let _ = writeln!(std::io::stderr(), "enclos stage: {failure}");
    ExitCode::from(125)
}
