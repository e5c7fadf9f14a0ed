//! The subcommands, one file each.

mod apply;
mod attach;
mod clean;
mod completions;
mod diff;
mod discard;
mod doctor;
mod init;
mod run;
mod sessions;
mod shell;
mod trust;
mod undo;
mod why;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use serde_json::to_string_pretty;

use crate::args::Args;
use crate::args::Command;
use crate::environment;
use crate::failure::Failure;

/// Does what was asked for.
pub(crate) fn execute(args: Args) -> Result<ExitCode, Failure> {
    let command = match args.command {
        Some(command) => command,
        None => Args::try_parse_from(["enclos", "run"])
            .ok()
            .and_then(|args| args.command)
            .ok_or_else(nothing_to_do)?,
    };
    if let Command::Completions(args) = &command {
        return completions::completions(args);
    }
    let api = Api::open(environment::read()?)?;
    match command {
        Command::Run(args) => run::run(&api, &args),
        Command::Sessions(args) => sessions::sessions(&api, &args),
        Command::Diff(args) => diff::diff(&api, &args),
        Command::Apply(args) => apply::apply(&api, &args),
        Command::Undo(args) => undo::undo(&api, &args),
        Command::Discard(args) => discard::discard(&api, &args),
        Command::Attach(args) => attach::attach(&api, &args.id),
        Command::Shell(args) => shell::shell(&api, &args.id),
        Command::Stop(args) => attach::stop(&api, &args.id),
        Command::Resume(args) => attach::resume(&api, &args.id),
        Command::Why(args) => why::why(&api, &args),
        Command::Trust(args) => trust::trust(&api, &args),
        Command::Init(args) => init::init(&api, &args),
        Command::Doctor(args) => doctor::doctor(&api, &args),
        Command::Clean => clean::clean(&api),
        Command::Completions(args) => completions::completions(&args),
    }
}

fn nothing_to_do() -> Failure {
    Error::new(Code::Internal, "there is nothing to do").into()
}

/// Prints to standard output; a reader that has left is no failure.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    ExitCode::SUCCESS
}

/// Says something to the person without mixing it into the output.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn print_json(value: &impl serde::Serialize) -> Result<ExitCode, Failure> {
    let text =
        to_string_pretty(value).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    Ok(print(&format!("{text}\n")))
}

/// Paths as the api takes them: text. A name that is not UTF-8 is chosen through the folder it lies in.
fn paths(paths: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let text = |path: &PathBuf| path.to_str().map(str::to_owned).ok_or_else(|| path.clone());
    paths
        .iter()
        .map(text)
        .collect::<Result<_, _>>()
        .map_err(|path| {
            let shown = enclos_paths::shown(path.as_os_str().as_encoded_bytes()).to_string();
            Error::new(Code::Request, format!("{shown} is not UTF-8"))
                .hint("name the folder it lies in")
                .into()
        })
}
