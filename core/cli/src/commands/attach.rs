//! `enclos attach ID`, `enclos stop ID`, `enclos resume ID`

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use enclos_api::run;
use enclos_api::run::Connection;
use enclos_api::run::Leader;
use enclos_api::run::Left;
use enclos_api::run::SocketPlace;
use enclos_api::run::Standard;
use enclos_api::session_stop;
use enclos_api::wire::StopReq;

use super::print;
use super::say;
use crate::failure::Failure;
use crate::show::Paint;
use crate::show::Style;

/// Connects this terminal to a running session.
pub(super) fn attach(api: &Api, id: &str) -> Result<ExitCode, Failure> {
    let found = api.find(id)?;
    if !found.alive {
        let error = Error::new(Code::Request, format!("{} is not running", found.record.id));
        return Err(error
            .hint(format!(
                "start its command again in the same copy: enclos resume {}",
                found.record.id
            ))
            .into());
    }
    Ok(finish(
        found.record.id.as_str(),
        join(&run::place(api, &found))?,
    ))
}

/// Ends every process of a session.
pub(super) fn stop(api: &Api, id: &str) -> Result<ExitCode, Failure> {
    let stopped = session_stop(api, &StopReq { id: id.to_owned() })?;
    Ok(print(&format!(
        "Stopped {}. Its copy is as it was left.\n",
        stopped.session
    )))
}

/// Starts a session's command again in the same copy.
pub(super) fn resume(api: &Api, id: &str) -> Result<ExitCode, Failure> {
    let found = api.find(id)?;
    let place = run::resume(api, &found, super::run::streams())?;
    Ok(finish(found.record.id.as_str(), join(&place)?))
}

/// Connects the caller's three streams to a session's command until it ends or the person leaves.
pub(super) fn join(place: &SocketPlace) -> Result<Left, Failure> {
    stay(run::connect(place)?)
}

/// The same with a shell of the caller's own beside the command.
pub(super) fn join_shell(place: &SocketPlace) -> Result<Left, Failure> {
    stay(run::connect_shell(place, super::run::streams())?)
}

fn stay(connection: Connection) -> Result<Left, Failure> {
    let style = Style::for_errors();
    for gap in connection.gaps() {
        say(&format!(
            "{} not enforced: {gap}\n",
            style.paint(Paint::Warn, "enclos:")
        ));
    }
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let standard = Standard {
        input: input.as_fd(),
        output: output.as_fd(),
        errors: errors.as_fd(),
    };
    Ok(connection.stay(standard, Leader::default())?)
}

/// Says what remains and gives the exit code.
pub(super) fn finish(id: &str, left: Left) -> ExitCode {
    match left {
        Left::Exited(exit) => {
            if std::io::stderr().is_terminal() {
                say(&format!(
                    "enclos: {id} ended. See what it changed: enclos diff {id}\n"
                ));
            }
            ExitCode::from(exit.code())
        }
        Left::Detached => {
            say(&format!(
                "\r\nenclos: {id} goes on. Come back: enclos attach {id}\n"
            ));
            ExitCode::SUCCESS
        }
        Left::NotStarted(refusal, exit) => {
            Failure::from(Error::new(Code::Request, refusal.to_string()))
                .exits(exit.code())
                .report()
        }
    }
}
