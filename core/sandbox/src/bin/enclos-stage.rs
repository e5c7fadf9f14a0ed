//! The stage alone, for tests: a small program, so that starting it costs little.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(2).collect();
    enclos_sandbox::stage(&args)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::from(125)
}
