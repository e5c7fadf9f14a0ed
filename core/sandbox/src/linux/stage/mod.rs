//! What runs first inside a jail: `enclos stage`.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the stage; `args` are what follows the word `stage`. Called first thing in main, before any thread is started.
pub fn stage(args: &[OsString]) -> ExitCode {
    let _ = args;
    ExitCode::from(125)
}
