//! Builds the command and does the product's main job with it, on a folder of the person's or on a sample.

use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use serde_json::Value;

use crate::arguments::RunRequest;
use crate::failure::Failure;
use crate::sample;
use crate::sample::Sample;
use crate::setup;
use crate::setup::Purpose;
use crate::step::capture;
use crate::step::perform;
use crate::surroundings::Surroundings;

/// Builds `enclos` and runs it on what `request` names.
///
/// # Errors
/// The build fails, or the command does; its exit code is passed on.
pub(crate) fn run(around: &Surroundings, request: &RunRequest) -> Result<(), Failure> {
    setup::require(around, Purpose::Run)?;
    let enclos = build(around)?;
    if request.folder.is_none() && request.command.is_empty() {
        return tour(around, &enclos);
    }
    let mut command = Command::new(&enclos);
    command.arg("run").args(&request.folder);
    if !request.command.is_empty() {
        command.arg("--").args(&request.command);
    }
    perform(&mut command)
}

/// Builds `enclos` in release.
///
/// # Errors
/// It does not compile.
pub(crate) fn build(around: &Surroundings) -> Result<PathBuf, Failure> {
    perform(&mut around.cargo(&["build", "--quiet", "--release", "--package", "enclos"]))?;
    Ok(target(around)?.join("release/enclos"))
}

/// Where cargo puts what it builds here.
fn target(around: &Surroundings) -> Result<PathBuf, Failure> {
    let printed = capture(&mut around.cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value =
        serde_json::from_slice(&printed).map_err(|_| Failure::Metadata("JSON"))?;
    let target = metadata["target_directory"].as_str();
    target
        .map(PathBuf::from)
        .ok_or(Failure::Metadata("target directory"))
}

/// Shows one session from start to review on a project made for it.
fn tour(around: &Surroundings, enclos: &PathBuf) -> Result<(), Failure> {
    let sample = sample::make(around)?;
    let Sample { folder, session } = &sample;
    say(around, &format!("a small project: {}", folder.display()));
    say(around, "an agent works on a copy of it");
    let mut run = Command::new(enclos);
    run.args(["run", "--id", session])
        .arg(folder)
        .args(["--", "sh", "-c", sample::AGENT]);
    // Without input it asks nothing, and keeps the session for the review below.
    perform(run.stdin(Stdio::null()))?;
    say(around, &format!("what it changed: enclos diff {session}"));
    perform(
        Command::new(enclos)
            .args(["diff", session])
            .stdin(Stdio::null()),
    )?;
    say(around, "nothing has come back yet; you decide");
    let shown = enclos.display();
    println!("    {shown} apply {session}             all of it");
    println!("    {shown} apply {session} README.md   one file");
    println!("    {shown} undo {session}              as it was before");
    println!("    {shown} discard {session}           nothing of it");
    Ok(())
}

fn say(around: &Surroundings, text: &str) {
    eprintln!(
        "\n{} {}",
        around.paint("1;36", "==>"),
        around.paint("1", text)
    );
}
