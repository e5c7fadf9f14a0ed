//! Ends the processes of a session: looks, stops, looks again, kills.

use std::io;
use std::time::{Duration, Instant};

use enclos_paths::AbsPath;
use enclos_sys::darwin::{processes, sandbox};

use crate::seatbelt::{Identity, Members, Process};

/// The table of processes as it is now, a process at a time.
///
/// # Errors
/// The kernel does not list processes.
pub fn table() -> io::Result<Vec<Process>> {
    let one = |entry: processes::Entry| Process {
        id: Identity {
            pid: entry.pid,
            started: entry.started,
        },
        parent: entry.parent,
        group: entry.group,
        uid: entry.uid,
        terminal: entry.terminal,
        folder: processes::working_folder(entry.pid).and_then(|path| AbsPath::new(path).ok()),
        sandboxed: sandbox::is_sandboxed(entry.pid),
    };
    Ok(processes::all()?.into_iter().map(one).collect())
}

/// Ends every member: stops whoever is new until nobody is, then kills all, until none is left or `limit` is over.
/// What is returned is still there and has to be named to the person.
///
/// # Errors
/// The kernel does not list processes.
pub fn end(members: &mut Members, limit: Duration) -> io::Result<Vec<Identity>> {
    let start = Instant::now();
    loop {
        let round = members.scan(&table()?);
        if round.alive.is_empty() || start.elapsed() > limit {
            return Ok(round.alive);
        }
        // A stopped process makes no new ones, so the round that finds nobody new has found everybody it can.
        let (signal, to) = match round.fresh.as_slice() {
            [] => (libc_signal::KILL, &round.alive),
            fresh => (libc_signal::STOP, &fresh.to_vec()),
        };
        for id in to {
            // A process that cannot be signalled is in the next round again, and named at the end.
            let _ = processes::signal(id.pid, id.started, signal);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers of signals on macOS, from `<sys/signal.h>`.
mod libc_signal {
    pub(super) const KILL: i32 = 9;
    pub(super) const STOP: i32 = 17;
}
