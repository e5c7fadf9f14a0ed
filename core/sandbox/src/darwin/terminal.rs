//! A terminal for a command.
//!
//! The other end is opened here and stays open until the command has it: the first to open it sets its modes back to
//! the system's, and a size can be given to it only while it is open.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, Winsize};

/// Both ends of a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    /// Ours.
    pub(super) ours: OwnedFd,
    /// The command's.
    pub(super) theirs: OwnedFd,
    /// The path of the command's.
    pub(super) path: AbsPath,
    /// Its number, as the table of processes shows it.
    pub(super) device: u32,
}

/// Opens a terminal of this size.
///
/// # Errors
/// What the kernel says.
pub(super) fn open(rows: u16, cols: u16) -> io::Result<Terminal> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name: CString = rustix::pty::ptsname(&ours, Vec::new())?;
    // The supervisor leads a session without a terminal; this one must not become its own.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&*name, flags, Mode::empty())?;
    let size = Winsize {
        ws_row: rows,
        ws_col: cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&theirs, size)?;
    let mut modes = rustix::termios::tcgetattr(&theirs)?;
    // So that erasing a character erases all of its bytes.
    modes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    let device = rustix::fs::fstat(&theirs)?.st_rdev.cast_unsigned();
    let path = AbsPath::new(OsStr::from_bytes(name.to_bytes()))
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Terminal {
        ours,
        theirs,
        path,
        device,
    })
}
