//! `enclos completions SHELL`

use std::process::ExitCode;

use clap::CommandFactory;

use super::print;
use crate::args::Args;
use crate::args::CompletionsArgs;
use crate::failure::Failure;

pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "enclos", &mut script);
    Ok(print(&String::from_utf8_lossy(&script)))
}
