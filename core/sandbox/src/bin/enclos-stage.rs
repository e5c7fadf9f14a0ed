//! The stage alone, for tests: a small program, so that starting it costs little.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(2).collect();
    enclos_sandbox::stage(&args)
}
