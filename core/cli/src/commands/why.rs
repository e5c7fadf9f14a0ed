//! `enclos why ID | PATH`

use std::fmt::Write;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use enclos_api::run::config;
use enclos_api::run::policy;
use enclos_api::run::policy::Access;
use enclos_api::run::policy::EntryKind;
use enclos_api::run::policy::Flags;
use enclos_paths::AbsPath;

use super::print;
use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::show::Paint;
use crate::show::Style;
use crate::show::short;

pub(super) fn why(api: &Api, args: &WhyArgs) -> Result<ExitCode, Failure> {
    let text = args.what.to_str();
    let looks_like_id = text.is_some_and(|text| {
        !text.contains('/') && !text.starts_with('.') && !text.starts_with('~')
    });
    let path = api.environment.cwd.resolve(&args.what);
    if looks_like_id && path.as_path().symlink_metadata().is_err() {
        return session(api, text.unwrap_or_default());
    }
    about_path(api, &path)
}

/// What a session may do and what could not be enforced.
fn session(api: &Api, id: &str) -> Result<ExitCode, Failure> {
    let found = api.find(id)?;
    let home = &api.environment.user.home;
    let style = Style::for_output();
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        let _ = writeln!(
            text,
            "{}  {what}",
            style.paint(Paint::Strong, &format!("{name:8}"))
        );
    };
    for tree in &found.record.trees {
        line(
            "copy",
            format!(
                "{} ({}), in {}",
                short(&tree.original.to_string(), home),
                tree.method,
                short(&tree.copy.to_string(), home)
            ),
        );
    }
    line(
        "network",
        "none: a loopback of its own and nothing else".to_owned(),
    );
    if found.record.gaps.is_empty() {
        line(
            "enforced",
            "files, network and processes, in full".to_owned(),
        );
    }
    for gap in &found.record.gaps {
        line("gap", gap.clone());
    }
    Ok(print(&text))
}

/// What a path is to a session of the project that the current folder belongs to.
fn about_path(api: &Api, path: &AbsPath) -> Result<ExitCode, Failure> {
    let cwd = std::fs::canonicalize(&api.environment.cwd)
        .ok()
        .and_then(|path| AbsPath::new(path).ok());
    let cwd =
        cwd.ok_or_else(|| Error::new(Code::Machine, "the current folder is not there any more"))?;
    let project = enclos_api::run::project_of(&cwd)?;
    let flags = Flags::default()
        .document(&project)
        .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    let policy = config::load(&api.environment, &project, flags)?;
    let places = config::places(&api.environment, &project);
    let kind = if path.as_path().is_dir() {
        EntryKind::Folder
    } else {
        EntryKind::File
    };
    let style = Style::for_output();
    let mut text = format!(
        "{}, for a session of {}\n",
        path,
        short(&project.to_string(), &api.environment.user.home)
    );
    for (name, access) in [
        ("read", Access::Read),
        ("write", Access::Write),
        ("connect", Access::Connect),
    ] {
        let verdict = policy::verdict(&policy, &places, &[], (path, kind), access);
        let answer = if verdict.allowed {
            style.paint(Paint::Good, "yes")
        } else {
            style.paint(Paint::Bad, "no ")
        };
        let _ = writeln!(text, "  {name:8} {answer}  {verdict}");
    }
    Ok(print(&text))
}
