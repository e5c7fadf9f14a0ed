//! `enclos run [FOLDER] [-- COMMAND...]`

use std::io::IsTerminal;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use enclos_api::changes_apply;
use enclos_api::changes_discard;
use enclos_api::run;
use enclos_api::run::Ask;
use enclos_api::run::Attended;
use enclos_api::run::Draft;
use enclos_api::run::LeaveOut;
use enclos_api::run::Left;
use enclos_api::run::OnExit;
use enclos_api::run::Prepared;
use enclos_api::run::Request;
use enclos_api::run::Size;
use enclos_api::run::StreamKind;
use enclos_api::run::Streams;
use enclos_api::run::Watched;
use enclos_api::run::policy::Flags;
use enclos_api::run::policy::Scope;
use enclos_api::session_diff;
use enclos_api::session_forget;
use enclos_api::wire::ApplyReq;
use enclos_api::wire::Diff;
use enclos_api::wire::DiffReq;
use enclos_api::wire::DiscardReq;
use enclos_paths::AbsPath;

use super::attach;
use super::print;
use super::say;
use super::trust;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::prompt;
use crate::prompt::Answer;
use crate::show;
use crate::show::Bar;
use crate::show::Direction;
use crate::show::Paint;
use crate::show::Style;
use crate::show::short;

pub(super) fn run(api: &Api, args: &RunArgs) -> Result<ExitCode, Failure> {
    let draft = draft(api, args)?;
    if args.dry_run {
        return Ok(print(&describe(api, &draft)));
    }
    let asks =
        draft.request.on_exit.is_none() && draft.policy.on_exit.value == run::policy::OnExit::Ask;
    let bar = Bar::new();
    let prepared = run::prepare(&api.environment, draft, &bar);
    bar.finish();
    let prepared = prepared?;
    announce(api, &prepared);
    let id = prepared.record.id.to_string();
    let on_exit = prepared.record.on_exit;
    let place = run::start_supervisor(&api.environment, &prepared.held)?;
    drop(prepared);
    if args.detach {
        return Ok(print(&format!("{id}\n")));
    }
    match attach::join(&place)? {
        Left::Exited(exit) => {
            conclude(api, &id, on_exit, asks)?;
            Ok(ExitCode::from(exit.code()))
        }
        Left::NotStarted(refusal, exit) => {
            // Nothing ran, so there is nothing to keep.
            session_forget(api, &id)?;
            let error = Error::new(Code::Request, refusal.to_string());
            Err(Failure::from(
                error.untouched("The original is untouched, and the copy was discarded."),
            )
            .exits(exit.code()))
        }
        left @ Left::Detached => Ok(attach::finish(&id, left)),
    }
}

fn draft(api: &Api, args: &RunArgs) -> Result<Draft, Failure> {
    let request = request(api, args)?;
    let attended = request.attended;
    let draft = Draft::new(&api.environment, request.clone(), &Terminal)?;
    let waits = !draft.policy.pending.is_empty() || draft.policy.changed.is_some();
    if !waits || args.dry_run {
        return Ok(draft);
    }
    if attended == Attended::No {
        say(&trust::not_given(&draft));
        return Ok(draft);
    }
    if trust::ask(api, draft.project.path())? {
        Ok(Draft::new(&api.environment, request, &Terminal)?)
    } else {
        Ok(draft)
    }
}

fn request(api: &Api, args: &RunArgs) -> Result<Request, Failure> {
    let clone_method = match &args.clone_method {
        None => None,
        Some(name) => Some(run::policy::CloneMethod::from_name(name).ok_or_else(|| {
            Error::new(
                Code::Request,
                format!(
                    "`{}` is not a way to copy",
                    enclos_paths::shown(name.as_bytes())
                ),
            )
            .untouched("Nothing was started.")
            .hint(format!(
                "one of: {}",
                run::policy::CloneMethod::NAMES.join(", ")
            ))
        })?),
    };
    let flags = Flags {
        read: args.read.clone(),
        write: args.write.clone(),
        with: args.with.clone(),
        socket: args.socket.clone(),
        hide: args.hide.clone(),
        env: args.env.clone(),
        no_network: args.no_network,
        no_local: args.no_local,
        no_history: args.no_history,
        clone_method,
        scope: None,
        on_exit: None,
    };
    let on_exit = match (args.apply.as_deref(), args.discard) {
        (Some("all"), _) => Some(OnExit::ApplyAll),
        (Some(_), _) => Some(OnExit::Apply),
        (None, true) => Some(OnExit::Discard),
        (None, false) => None,
    };
    let there = prompt::somebody_is_there() && !args.detach;
    Ok(Request {
        folder: api.environment.cwd.resolve(&args.folder),
        command: args.command.clone(),
        id: args
            .id
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(Error::from)?,
        flags,
        streams: if args.detach {
            Streams::DETACHED
        } else {
            streams()
        },
        attended: if there { Attended::Yes } else { Attended::No },
        watched: if args.detach {
            Watched::No
        } else {
            Watched::Yes
        },
        leave_out: if args.leave_out_unreadable {
            LeaveOut::Unreadable
        } else {
            LeaveOut::Nothing
        },
        on_exit,
    })
}

/// What the caller's standard streams are.
pub(super) fn streams() -> Streams {
    let kind = |is_terminal: bool| {
        if is_terminal {
            StreamKind::Terminal
        } else {
            StreamKind::Pipe
        }
    };
    let size = [
        Size::of(std::io::stdin()),
        Size::of(std::io::stdout()),
        Size::of(std::io::stderr()),
    ];
    let size = size
        .into_iter()
        .find(|size| *size != Size::DEFAULT)
        .unwrap_or(Size::DEFAULT);
    Streams {
        input: kind(std::io::stdin().is_terminal()),
        output: kind(std::io::stdout().is_terminal()),
        errors: kind(std::io::stderr().is_terminal()),
        rows: size.rows,
        cols: size.cols,
    }
}

struct Terminal;

impl Ask for Terminal {
    fn scope(&self, folder: &AbsPath, root: &AbsPath) -> Scope {
        let question = format!("{folder} lies in the repository {root}. What should be copied?");
        let answers = [
            Answer {
                key: 'r',
                words: "the whole repository",
            },
            Answer {
                key: 'f',
                words: "only this folder",
            },
        ];
        if prompt::ask(&question, &answers) == 'f' {
            Scope::Folder
        } else {
            Scope::Repository
        }
    }
}

/// What the session is, before the command takes the terminal.
fn announce(api: &Api, prepared: &Prepared) {
    let style = Style::for_errors();
    let record = &prepared.record;
    let Some(project) = record.project() else {
        return;
    };
    let folder = short(&project.original.to_string(), &api.environment.user.home);
    let mut text = format!(
        "{} {} works on a copy of {folder} ({}). Network: none.\n",
        style.paint(Paint::Dim, "enclos:"),
        style.paint(Paint::Name, record.id.as_str()),
        project.method,
    );
    let say_each = std::io::stderr().is_terminal();
    for note in prepared.notes.iter().filter(|_| say_each).take(NOTES) {
        text.push_str(&format!(
            "{} {}\n",
            style.paint(Paint::Dim, "       "),
            note.note
        ));
    }
    if say_each && prepared.notes.len() > NOTES {
        text.push_str(&format!(
            "{} and {} more\n",
            style.paint(Paint::Dim, "       "),
            prepared.notes.len() - NOTES
        ));
    }
    say(&text);
}

/// How many notes about single entries are shown before the rest is a number.
const NOTES: usize = 8;

/// The end of a session: what changed, and what becomes of it.
fn conclude(api: &Api, id: &str, on_exit: OnExit, asks: bool) -> Result<(), Failure> {
    let style = Style::for_errors();
    let diff = session_diff(
        api,
        &DiffReq {
            id: id.to_owned(),
            paths: Vec::new(),
            names_only: true,
        },
    )?;
    if is_unchanged(&diff) {
        session_forget(api, id)?;
        say(&format!(
            "{} Nothing changed; the copy was discarded.\n",
            style.paint(Paint::Dim, "enclos:")
        ));
        return Ok(());
    }
    match on_exit {
        OnExit::Apply => return apply(api, id, Everything::Safe),
        OnExit::ApplyAll => return apply(api, id, Everything::All),
        OnExit::Discard => return discard(api, id),
        OnExit::Keep => {}
    }
    say(&show::stat(&diff, style));
    say(&show::summary(&diff, style));
    if asks && prompt::somebody_is_there() {
        decide(api, id)
    } else {
        keep(id, style)
    }
}

fn decide(api: &Api, id: &str) -> Result<(), Failure> {
    let answers = [
        Answer {
            key: 'k',
            words: "keep for review",
        },
        Answer {
            key: 'r',
            words: "review now",
        },
        Answer {
            key: 'a',
            words: "apply",
        },
        Answer {
            key: 'd',
            words: "discard",
        },
    ];
    loop {
        match prompt::ask(&format!("What becomes of {id}?"), &answers) {
            'a' => return apply(api, id, Everything::Safe),
            'd' => return discard(api, id),
            'r' => {
                let diff = session_diff(
                    api,
                    &DiffReq {
                        id: id.to_owned(),
                        paths: Vec::new(),
                        names_only: false,
                    },
                )?;
                print(&show::diff(&diff, Style::for_output()));
            }
            _ => return keep(id, Style::for_errors()),
        }
    }
}

/// How much an apply without names takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Everything {
    Safe,
    All,
}

fn apply(api: &Api, id: &str, everything: Everything) -> Result<(), Failure> {
    let request = ApplyReq {
        id: id.to_owned(),
        all: everything == Everything::All,
        ..ApplyReq::default()
    };
    let applied = changes_apply(api, &request)?;
    say(&show::applied(
        &applied,
        Direction::Applied,
        &api.environment.user.home,
        Style::for_errors(),
    ));
    Ok(())
}

fn discard(api: &Api, id: &str) -> Result<(), Failure> {
    changes_discard(
        api,
        &DiscardReq {
            id: id.to_owned(),
            now: false,
        },
    )?;
    say(&format!("Discarded {id}.\n"));
    Ok(())
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "one of several ends with the same shape"
)]
fn keep(id: &str, style: Style) -> Result<(), Failure> {
    let name = |text: &str| style.paint(Paint::Name, &format!("enclos {text} {id}"));
    say(&format!(
        "Kept for review: {}   {}   {}\n",
        name("diff"),
        name("apply"),
        name("discard")
    ));
    Ok(())
}

fn is_unchanged(diff: &Diff) -> bool {
    diff.trees.iter().all(|tree| {
        tree.files.is_empty()
            && tree.folders.is_empty()
            && tree.git_files == 0
            && tree.notes.is_empty()
    })
}

/// What `--dry-run` says.
fn describe(api: &Api, draft: &Draft) -> String {
    let home = &api.environment.user.home;
    let style = Style::for_output();
    let mut text = format!(
        "Would copy {} and run ",
        short(&draft.project.path().to_string(), home)
    );
    match draft.request.command.as_slice() {
        [] => text.push_str(&format!("{} in the copy.\n", api.environment.user.shell)),
        command => {
            let words: Vec<String> = command
                .iter()
                .map(|word| enclos_paths::shown(word.as_encoded_bytes()).to_string())
                .collect();
            text.push_str(&format!("`{}` in the copy.\n", words.join(" ")));
        }
    }
    let mut line = |name: &str, what: String| {
        text.push_str(&format!(
            "  {}  {what}\n",
            style.paint(Paint::Strong, &format!("{name:9}"))
        ))
    };
    line("method", draft.policy.clone_method.value.name().to_owned());
    line("network", "none".to_owned());
    for lent in &draft.policy.lent {
        let access = if lent.value.access == run::policy::LentAccess::Write {
            "write"
        } else {
            "read"
        };
        line(
            access,
            format!(
                "{} ({})",
                short(&lent.value.path.to_string(), home),
                lent.origin
            ),
        );
    }
    for with in &draft.policy.with {
        line(
            "with",
            format!("{} ({})", short(&with.value.to_string(), home), with.origin),
        );
    }
    if let Some(repository) = &draft.repository {
        for outside in &repository.outside {
            line(
                "git",
                format!("{} is copied too", short(&outside.to_string(), home)),
            );
        }
        for unverified in &repository.unverified {
            line(
                "git",
                format!(
                    "{} is left out: it does not point back to the project",
                    short(&unverified.to_string(), home)
                ),
            );
        }
    }
    for pending in &draft.policy.pending {
        line(
            "waits",
            format!("{} ({}): enclos trust", pending.value, pending.origin),
        );
    }
    text
}
