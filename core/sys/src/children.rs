//! What the first process of a pid namespace needs: to hear of ended children, and to signal everyone.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::FromRawFd;
use std::os::fd::OwnedFd;

use rustix::process::Signal;

/// Becomes readable when a child has ended.
#[derive(Debug)]
pub struct ChildEnded(OwnedFd);

impl ChildEnded {
    /// Blocks `SIGCHLD` for the calling thread, from now on to be read here. A child must be started with an empty
    /// signal mask (see [`crate::spawn`]), or it inherits the block.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn watch() -> io::Result<Self> {
        let mut set = std::mem::MaybeUninit::uninit();
        // SAFETY: the set is initialised by `sigemptyset` before it is used; the mask is the calling thread's own.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor for us.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Forgets what was heard so far; to be called before children are waited for, so that none is missed.
    pub fn clear(&self) {
        let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut record).is_ok_and(|n| n > 0) {}
    }
}

impl AsFd for ChildEnded {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends `signal` to every process that the caller may signal, except itself and the first of its pid namespace.
///
/// Only the first process of a pid namespace of its own may call this; for any other it would reach the person's own
/// processes, so it is refused.
///
/// # Errors
/// `EPERM` when the caller is not process 1; `ESRCH` when there is no one else.
pub fn signal_everyone(signal: Signal) -> io::Result<()> {
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    // SAFETY: plain numbers.
    if unsafe { libc::kill(-1, signal.as_raw()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_process_one_may_signal_everyone() {
        let error = signal_everyone(Signal::CONT).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn an_ended_child_is_heard() {
        let ended = ChildEnded::watch().unwrap();
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let mut fds = [rustix::event::PollFd::new(
            &ended,
            rustix::event::PollFlags::IN,
        )];
        // The signal goes to the process: a thread of the test runner that does not block it may take it. So only the
        // calls are exercised here; that one arrives is shown by the stage, which has one thread.
        let moment = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 50_000_000,
        };
        rustix::event::poll(&mut fds, Some(&moment)).unwrap();
        child.wait().unwrap();
        ended.clear();
        assert_eq!(
            rustix::event::poll(&mut fds, Some(&rustix::event::Timespec::default())).unwrap(),
            0
        );
    }
}
