//! The end of a session: asking, ending, burying, and who is left.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::running::{PATIENCE, Running};
use super::waiting::{is_ready, reap};
use crate::seatbelt::darwin;
use crate::{Exit, Signal, WaitError};

impl Running {
    /// Waits until the command has ended, and ends what it left behind.
    ///
    /// # Errors
    /// Only when the kernel refuses to wait or lists no processes.
    pub fn wait(&mut self) -> Result<Exit, WaitError> {
        is_ready(self.gone.as_fd(), None).map_err(WaitError::Wait)?;
        self.finish()
    }

    /// Like [`Running::wait`] but returns none when the command still runs.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn try_wait(&mut self) -> Result<Option<Exit>, WaitError> {
        let gone = is_ready(self.gone.as_fd(), Some(Duration::ZERO)).map_err(WaitError::Wait)?;
        gone.then(|| self.finish()).transpose()
    }

    /// Asks every process to end, waits `grace` in all, then kills those that are found.
    ///
    /// It is asked as the command expects it: on a terminal by the hangup that closing one sends, else by the
    /// terminate signal; a quarter of the grace later by the other one, as shells ignore the latter.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn stop(&mut self, grace: Duration) -> Result<Exit, WaitError> {
        let (first, then) = match self.on_terminal {
            true => (Signal::Hangup, Signal::Terminate),
            false => (Signal::Terminate, Signal::Hangup),
        };
        for (signal, patience) in [(first, grace / 4), (then, grace - grace / 4)] {
            if patience.is_zero() || self.signal_everyone(signal).is_err() {
                break;
            }
            if is_ready(self.gone.as_fd(), Some(patience)).map_err(WaitError::Wait)? {
                break;
            }
        }
        self.finish()
    }

    /// The numbers of processes that are still there although the session has ended, to be named to the person.
    #[must_use]
    pub fn left(&self) -> Vec<i32> {
        self.left.iter().map(|id| id.pid).collect()
    }

    /// Ends everybody who is found, and buries our children.
    fn finish(&mut self) -> Result<Exit, WaitError> {
        if !self.over {
            match darwin::end(&mut self.members, PATIENCE) {
                Ok(left) => self.left = left,
                Err(error) => {
                    self.kill_groups();
                    return Err(WaitError::Wait(error));
                }
            }
            self.see_off();
            self.over = self.exits.contains_key(&0);
        }
        Ok(self.exits.get(&0).copied().unwrap_or(Exit::Killed))
    }

    /// Buries whoever of our children has ended.
    pub(super) fn bury(&mut self) {
        let ended = self.news.ended();
        let of = |pid| move |(id, own): (&u32, &Pid)| (*own == pid).then_some(*id);
        for pid in ended {
            if let Some(id) = self.alive.iter().find_map(of(pid)) {
                self.alive.remove(&id);
                self.exits.insert(id, reap(pid));
                self.let_go_of_terminal(id);
            }
        }
    }

    /// A shell has ended, and what it left behind on its terminal is found by that once more. The command's own stays
    /// until everybody has been ended.
    fn let_go_of_terminal(&mut self, id: u32) {
        let Some((device, _)) = self.terminals.get(&id).filter(|_| id != 0) else {
            return;
        };
        if let Ok(table) = darwin::table() {
            self.members.scan(&table);
            self.members.leave(*device);
            self.terminals.remove(&id);
        }
    }

    /// Waits a moment for our children, who have been killed. One whose terminal nobody reads cannot end before it is
    /// read; it is buried when that is heard.
    fn see_off(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        self.bury();
        while !self.alive.is_empty() && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if is_ready(self.news.as_fd(), Some(left)).is_err() {
                return;
            }
            self.bury();
        }
    }

    /// What can be done without a list of processes.
    fn kill_groups(&self) {
        for pid in self.alive.values() {
            // It fails only when nobody of the group is left.
            let _ = rustix::process::kill_process_group(*pid, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.finish();
    }
}

/// How long our own children may take to be buried once they are killed.
const FAREWELL: Duration = Duration::from_secs(1);
