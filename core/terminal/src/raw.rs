//! Raw mode of the person's terminal, given back whatever happens.

use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::termios::OptionalActions;
use rustix::termios::Termios;

/// The person's terminal in raw mode; dropped, the terminal is as it was.
pub struct RawMode {
    terminal: OwnedFd,
    before: Termios,
}

impl RawMode {
    /// Puts `terminal` into raw mode: every key is delivered as it is typed, nothing is echoed or turned into a signal.
    ///
    /// # Errors
    /// When the descriptor is no terminal or cannot be kept open.
    pub fn enter(terminal: impl AsFd) -> Result<Self, RawModeError> {
        let terminal = rustix::io::fcntl_dupfd_cloexec(terminal, 3).map_err(RawModeError::Keep)?;
        let before = rustix::termios::tcgetattr(&terminal).map_err(RawModeError::NotATerminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(&terminal, OptionalActions::Drain, &raw)
            .map_err(RawModeError::Set)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // The terminal may be gone (its window was closed); there is nobody left to tell.
        let _ = rustix::termios::tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Why raw mode was not entered. The terminal is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RawModeError {
    /// The descriptor could not be duplicated.
    #[error("the terminal's descriptor could not be kept")]
    Keep(#[source] Errno),
    /// The descriptor is not a terminal.
    #[error("not a terminal")]
    NotATerminal(#[source] Errno),
    /// The mode could not be set.
    #[error("the terminal refused raw mode")]
    Set(#[source] Errno),
}
