//! `enclos trust [FOLDER]`: what a project's file asks for, what changed, and the person's word.

use std::fmt::Write;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use enclos_api::run::Draft;
use enclos_api::run::config;
use enclos_api::run::policy::Flags;
use enclos_api::run::policy::Policy;
use enclos_paths::AbsPath;

use super::print;
use crate::args::TrustArgs;
use crate::failure::Failure;
use crate::prompt;
use crate::prompt::Answer;
use crate::show::Paint;
use crate::show::Style;

pub(super) fn trust(api: &Api, args: &TrustArgs) -> Result<ExitCode, Failure> {
    let project = folder(api, args)?;
    let Some(asked) = Asked::read(api, &project)? else {
        return Ok(print(&format!(
            "{project} has no {}, so there is nothing to agree to.\n",
            config::PROJECT_FILE
        )));
    };
    if asked.is_nothing() {
        return Ok(print("It asks for nothing that you have not agreed to.\n"));
    }
    let agreed = if args.yes || !prompt::somebody_is_there() {
        print(&asks(&asked.policy, Style::for_output()));
        if !args.yes {
            let error = Error::new(Code::NeedsTrust, "nobody is there to agree")
                .untouched("Nothing was agreed to.");
            return Err(error
                .hint("agree without being asked: enclos trust --yes")
                .into());
        }
        true
    } else {
        asked.ask()
    };
    if agreed {
        asked.agree(api, &project)?;
    }
    Ok(print(if agreed {
        "Agreed.\n"
    } else {
        "Not agreed. Sessions work without what it asks for.\n"
    }))
}

/// Shows what a project's file asks for, asks the person, and records a yes.
pub(super) fn ask(api: &Api, project: &AbsPath) -> Result<bool, Failure> {
    let Some(asked) = Asked::read(api, project)? else {
        return Ok(false);
    };
    let agreed = asked.ask();
    if agreed {
        asked.agree(api, project)?;
    }
    Ok(agreed)
}

/// A project's file as it was read once: what is shown is what is agreed to.
struct Asked {
    text: Vec<u8>,
    policy: Policy,
}

impl Asked {
    fn read(api: &Api, project: &AbsPath) -> Result<Option<Self>, Failure> {
        let Some(text) = config::project_text(project)? else {
            return Ok(None);
        };
        let flags = Flags::default()
            .document(project)
            .map_err(|error| Error::internal(&error))?;
        let policy = config::load_from(&api.environment, project, Some(&text), flags)?;
        Ok(Some(Self { text, policy }))
    }

    fn is_nothing(&self) -> bool {
        self.policy.pending.is_empty() && self.policy.changed.is_none()
    }

    fn ask(&self) -> bool {
        let answers = [
            Answer {
                key: 'n',
                words: "no, work without",
            },
            Answer {
                key: 'y',
                words: "yes, agree",
            },
        ];
        prompt::ask(
            &format!("{}Agree?", asks(&self.policy, Style::for_errors())),
            &answers,
        ) == 'y'
    }

    fn agree(&self, api: &Api, project: &AbsPath) -> Result<(), Failure> {
        Ok(config::agree(&api.environment, project, &self.text)?)
    }
}

/// What is said when nobody can be asked.
pub(super) fn not_given(draft: &Draft) -> String {
    let number = draft.policy.pending.len();
    let project = draft.project.path();
    format!(
        "enclos: {}/{} asks for {number} things that are not given; see them: enclos trust {project}\n",
        project,
        config::PROJECT_FILE
    )
}

fn folder(api: &Api, args: &TrustArgs) -> Result<AbsPath, Failure> {
    let path = api.environment.cwd.resolve(&args.folder);
    let real = std::fs::canonicalize(&path)
        .ok()
        .and_then(|path| AbsPath::new(path).ok());
    real.ok_or_else(|| Error::new(Code::Request, format!("{path} is not there")).into())
}

fn asks(policy: &Policy, style: Style) -> String {
    let mut text = format!("{} asks to:\n", config::PROJECT_FILE);
    for pending in &policy.pending {
        let _ = writeln!(
            text,
            "  {}  {}",
            style.paint(Paint::Warn, &pending.value.to_string()),
            style.paint(Paint::Dim, &pending.origin.to_string())
        );
    }
    if let Some(changes) = &policy.changed {
        text.push_str("It changed since you agreed to it:\n");
        let mut each = |sign: &str,
                        paint,
                        list: &[enclos_api::run::policy::Sourced<
            enclos_api::run::policy::Statement,
        >]| {
            for statement in list {
                let _ = writeln!(
                    text,
                    "  {}",
                    style.paint(paint, &format!("{sign} {}", statement.value))
                );
            }
        };
        each("+", Paint::Added, &changes.asks_more);
        each("-", Paint::Removed, &changes.asks_less);
        each("+", Paint::Added, &changes.narrows_more);
        each("- no longer:", Paint::Removed, &changes.narrows_less);
    }
    text
}
