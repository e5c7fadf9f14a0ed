//! How a jailed command ended, and what can be sent to one that runs; the same on every system.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
    /// The jail was killed before the command's own end was seen.
    Killed,
}

impl Exit {
    /// What a wait for a process said.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub(crate) fn of(status: rustix::process::WaitStatus) -> Self {
        let number = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(number(code)),
            (None, Some(signal)) => Self::Signal(number(signal)),
            (None, None) => Self::Killed,
        }
    }

    /// The exit code as a shell shows it: the command's own, or 128 and the signal.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128_u8.saturating_add(signal),
            Self::Killed => 137,
        }
    }
}

/// A signal that may be passed on to a jailed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The terminal went away.
    Hangup,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Please end.
    Terminate,
}
