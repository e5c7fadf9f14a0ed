//! Starts a program with its own streams.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use enclos_sys::spawn::Spawn;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, Winsize};

use crate::Command;
use crate::spawned::Refusal;

/// A command that was executed.
pub(super) struct Started {
    pub(super) pid: Pid,
    /// The other end of its terminal.
    pub(super) terminal: Option<OwnedFd>,
}

/// Opens nothing as all three standard streams, so that whatever was there is closed and the numbers are taken.
pub(super) fn occupy_standard_streams() -> io::Result<()> {
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(())
}

/// Starts `command`; `pipes` are those of its standard streams that are no terminal, in order.
pub(super) fn start(command: &Command, pipes: &[OwnedFd]) -> Result<Started, (Refusal, io::Error)> {
    rustix::process::umask(Mode::from_raw_mode(command.umask & 0o777));
    std::env::set_current_dir(command.cwd.as_path())
        .map_err(|error| (Refusal::WorkingFolder, error))?;
    let program = crate::program::find(command)?;
    let terminal = match command.stdio.terminal() {
        None => None,
        Some((rows, cols)) => {
            Some(open_terminal(rows, cols).map_err(|error| (Refusal::Resources, error))?)
        }
    };
    let (terminal, name) = terminal.unzip();
    let piped = command.stdio.piped();
    let numbers = (0..)
        .zip(piped)
        .filter_map(|(number, piped)| piped.then_some(number));
    let descriptors = pipes.iter().map(AsFd::as_fd).zip(numbers).collect();
    let failed = |error: io::Error| {
        let resources = [Errno::AGAIN, Errno::NOMEM, Errno::NFILE, Errno::MFILE];
        match Errno::from_io_error(&error) {
            Some(errno) if resources.contains(&errno) => (Refusal::Resources, error),
            _ => (Refusal::CannotExecute, error),
        }
    };
    let mut spawn = prepare(command, &program).map_err(failed)?;
    spawn.terminal = name;
    spawn.descriptors = descriptors;
    let pid = match spawn.start() {
        // A script without a first line that names its interpreter: a shell would run it itself.
        Err(error) if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
            let script = spawn.program.clone();
            spawn.program = SHELL.to_owned();
            spawn.argv.splice(..1, [SHELL.to_owned(), script]);
            spawn.start()
        }
        result => result,
    };
    Ok(Started {
        pid: pid.map_err(failed)?,
        terminal,
    })
}

const SHELL: &std::ffi::CStr = c"/bin/sh";

fn prepare<'a>(command: &Command, program: &Path) -> io::Result<Spawn<'a>> {
    let word = |bytes: Vec<u8>| CString::new(bytes).map_err(io::Error::from);
    let pair = |(name, value): &(OsString, OsString)| {
        word([name.as_bytes(), b"=", value.as_bytes()].concat())
    };
    Ok(Spawn {
        program: word(program.as_os_str().as_bytes().to_vec())?,
        argv: command
            .argv
            .iter()
            .map(|arg| word(arg.clone().into_vec()))
            .collect::<Result<_, _>>()?,
        env: command.env.iter().map(pair).collect::<Result<_, _>>()?,
        terminal: None,
        descriptors: Vec::new(),
    })
}

/// Opens a terminal of the jail's own; the slave's name is one inside, so `tty` and `/dev/tty` work.
fn open_terminal(rows: u16, cols: u16) -> io::Result<(OwnedFd, CString)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::unlockpt(&ours)?;
    let size = Winsize {
        ws_row: rows,
        ws_col: cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&ours, size)?;
    let mut modes = rustix::termios::tcgetattr(&ours)?;
    // So that erasing a character erases all of its bytes.
    modes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&ours, OptionalActions::Now, &modes)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    Ok((ours, name))
}
