//! Waiting for a child to be buried, or for something to be heard.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use crate::Exit;

/// Buries our child, which has ended or is about to.
pub(super) fn reap(pid: Pid) -> Exit {
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            Ok(Some((_, status))) => return Exit::of(status),
            _ => return Exit::Killed,
        }
    }
}

/// Waits for at most `patience` (forever without) until `fd` can be read.
pub(super) fn is_ready(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<bool> {
    let deadline = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        match rustix::event::poll(&mut fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            result => return Ok(result? > 0),
        }
    }
}
