//! What a command of a session on macOS is before it is the command: `enclos stage`.
//!
//! The promise: the command is executed only after this process has entered the sandbox of its order, and holds its three
//! standard streams and nothing else. It is an executed program with one thread, so nothing of it has to be safe between
//! fork and exec. What goes wrong is told over the socket, which executing the command closes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use enclos_sys::darwin::sandbox;
use enclos_sys::inherit;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use super::order::{Order, Reply, Step};
use crate::spawned::Refusal;
use crate::{Command, program};

/// Runs the stage; `_args` are what follows the word `stage`. Called first thing in main, before any thread is started
/// and any descriptor opened.
pub fn stage(_args: &[OsString]) -> ExitCode {
    let Ok([control]) = inherit::take_over() else {
        return FAILED;
    };
    let mut control = File::from(control);
    let mut bytes = Vec::new();
    let order = control
        .read_to_end(&mut bytes)
        .and_then(|_| Order::decode(&bytes));
    let Ok(order) = order else { return FAILED };
    let reply = match enter(&order) {
        Ok(()) => become_command(&order.command, &mut control),
        Err(reply) => reply,
    };
    // Whoever gave the order sees by the end of the socket that it was not carried out.
    let _ = say(&mut control, &reply);
    FAILED
}

/// Nobody sees it: the launcher has been told, or is gone.
const FAILED: ExitCode = ExitCode::FAILURE;

fn say(control: &mut File, reply: &Reply) -> io::Result<()> {
    control.write_all(&reply.encode()?)
}

/// Takes the terminal and enters the sandbox.
fn enter(order: &Order) -> Result<(), Reply> {
    let failed = |step| move |errno: Errno| not_entered(step, &errno.into(), String::new());
    if let Some(terminal) = terminal(&order.command) {
        rustix::process::ioctl_tiocsctty(terminal).map_err(failed(Step::Terminal))?;
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::setrlimit(Resource::Core, none).map_err(failed(Step::Limits))?;
    rustix::process::umask(Mode::from_bits_truncate(
        // The type that holds it differs between systems; the bits are below 0o777.
        (order.command.umask & 0o777).try_into().unwrap_or_default(),
    ));
    crate::seatbelt::darwin::enter(&order.profile, &order.params).map_err(|error| {
        let said = error.to_string();
        match error {
            sandbox::EnterError::Nested { source }
            | sandbox::EnterError::Rejected { source, .. } => {
                not_entered(Step::Sandbox, &source, said)
            }
            _ => not_entered(Step::Sandbox, &Errno::INVAL.into(), said),
        }
    })
}

fn not_entered(step: Step, source: &io::Error, said: String) -> Reply {
    Reply::NotEntered {
        step,
        said,
        errno: errno_of(source),
    }
}

/// The first standard stream that is the terminal.
fn terminal(command: &Command) -> Option<BorrowedFd<'static>> {
    command.stdio.terminal()?;
    let streams = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ];
    let piped = command.stdio.piped();
    streams
        .into_iter()
        .zip(piped)
        .find_map(|(fd, piped)| (!piped).then_some(fd))
}

/// Executes the command; returns only what failed.
fn become_command(command: &Command, control: &mut File) -> Reply {
    let refused = |refusal, error: &io::Error| Reply::Refused {
        refusal,
        errno: errno_of(error),
    };
    if let Err(error) = std::env::set_current_dir(command.cwd.as_path()) {
        return refused(Refusal::WorkingFolder, &error);
    }
    let program = match program::find(command) {
        Ok(program) => program,
        Err((refusal, error)) => return refused(refusal, &error),
    };
    if let Err(error) = say(control, &Reply::Entered) {
        return refused(Refusal::Resources, &error);
    }
    let words = command.argv.split_first();
    let mut execute = std::process::Command::new(program);
    if let Some((name, arguments)) = words {
        execute.arg0(name).args(arguments);
    }
    // A script whose first line names no interpreter is given to the shell, as `execvp` does.
    let error = execute
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .exec();
    refused(Refusal::CannotExecute, &error)
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())
}
