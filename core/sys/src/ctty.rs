//! A command with a terminal of its own: `setsid` and `TIOCSCTTY`.
//!
//! A program has job control only as the leader of a session whose controlling terminal is its standard input. Linux
//! gives that to whoever opens a terminal first, the BSDs and macOS only to whoever asks; asking works on all of them.
//! This is for driving a program through a terminal from outside, as tests do; the jail's stage asks for itself.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes `command` start a new session whose controlling terminal is its standard input.
///
/// Starting it fails with `ENOTTY` if that is no terminal.
pub fn own_terminal(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe functions may be called. Both calls are plain system calls
    // that take no lock and no memory, and the closure holds nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).map_err(io::Error::from)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn what_is_no_terminal_is_refused() {
        let mut command = Command::new("true");
        let error = own_terminal(command.stdin(Stdio::null()))
            .spawn()
            .unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::NOTTY.raw_os_error())
        );
    }
}
