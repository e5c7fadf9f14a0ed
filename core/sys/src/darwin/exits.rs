//! A descriptor that can be waited for and becomes readable when a process has ended: a queue of kernel events.
//!
//! `EVFILT_PROC` with `NOTE_EXIT`, `kqueue(2)`. A queue can itself be given to `poll(2)`. The process need not be a
//! child, and hearing of its end does not bury it. A process that has ended before it is watched is not heard of, so a
//! child is watched before it is given a reason to end.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::io::FdFlags;
use rustix::process::Pid;

/// Hears of the end of processes.
#[derive(Debug)]
pub struct Exits(OwnedFd);

impl Exits {
    /// Hears of nobody yet.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        let queue = kqueue()?;
        rustix::io::fcntl_setfd(&queue, FdFlags::CLOEXEC)?;
        Ok(Self(queue))
    }

    /// Hears of the end of `pid` from now on.
    ///
    /// # Errors
    /// `ESRCH` when it has ended already.
    pub fn watch(&self, pid: Pid) -> io::Result<()> {
        let filter = EventFilter::Proc {
            pid,
            flags: ProcessEvents::EXIT,
        };
        let change = Event::new(
            filter,
            EventFlags::ADD | EventFlags::ONESHOT,
            std::ptr::null_mut(),
        );
        let mut none: [MaybeUninit<Event>; 0] = [];
        // SAFETY: the only event names a process, not a descriptor.
        unsafe { kevent(&self.0, &[change], &mut none, Some(Duration::ZERO)) }?;
        Ok(())
    }

    /// Who has ended since this was last asked; never waits. A child among them may have to be waited for yet: the event
    /// comes a moment before the kernel has put it to rest.
    #[must_use]
    pub fn ended(&self) -> Vec<Pid> {
        let mut ended = Vec::new();
        loop {
            let mut space = [const { MaybeUninit::<Event>::uninit() }; 8];
            // SAFETY: no event is added.
            let heard = unsafe { kevent(&self.0, &[], &mut space, Some(Duration::ZERO)) };
            let Ok((heard, _)) = heard else { return ended };
            if heard.is_empty() {
                return ended;
            }
            ended.extend(heard.iter().filter_map(|event| match event.filter() {
                EventFilter::Proc { pid, .. } => Some(pid),
                _ => None,
            }));
        }
    }
}

impl AsFd for Exits {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::event::{PollFd, PollFlags, Timespec};

    use super::*;

    fn is_readable(exits: &Exits, milliseconds: i64) -> bool {
        let mut fds = [PollFd::new(exits, PollFlags::IN)];
        let moment = Timespec {
            tv_sec: 0,
            tv_nsec: milliseconds * 1_000_000,
        };
        rustix::event::poll(&mut fds, Some(&moment)).unwrap() > 0
    }

    #[test]
    fn an_end_is_heard_until_it_is_asked_for() {
        let exits = Exits::new().unwrap();
        let mut child = Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        exits.watch(Pid::from_child(&child)).unwrap();
        assert!(!is_readable(&exits, 50));
        drop(child.stdin.take());
        assert!(is_readable(&exits, 900));
        assert!(is_readable(&exits, 0), "looking does not forget it");
        assert_eq!(exits.ended(), [Pid::from_child(&child)]);
        assert!(!is_readable(&exits, 50));
        assert!(
            child.wait().unwrap().success(),
            "hearing of it does not bury it"
        );
    }

    #[test]
    fn who_is_gone_cannot_be_watched() {
        let exits = Exits::new().unwrap();
        let mut child = Command::new("/usr/bin/true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        child.wait().unwrap();
        assert_eq!(
            exits.watch(pid).unwrap_err().raw_os_error(),
            Some(libc::ESRCH)
        );
    }
}
