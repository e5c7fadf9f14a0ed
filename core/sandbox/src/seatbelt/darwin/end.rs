//! Holds the processes of a session still, lets them go on, and ends them: looks, signals, looks again.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use enclos_paths::AbsPath;
use enclos_sys::darwin::{processes, sandbox};

use crate::seatbelt::{Activity, Identity, Members, Process, still};

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
        activity: match entry.state {
            processes::State::Running => Activity::Running,
            processes::State::Stopped => Activity::Stopped,
            processes::State::Ending => Activity::Ending,
        },
    };
    Ok(processes::all()?.into_iter().map(one).collect())
}

/// Sends a signal, by its number on macOS, to every member.
///
/// # Errors
/// The kernel does not list processes.
pub fn signal(members: &mut Members, number: i32) -> io::Result<()> {
    send(&members.scan(&table()?).alive, number);
    Ok(())
}

/// Stops every member where it is; gives those that were stopped before. None when somebody does not stop before
/// `limit` is over, and then all go on.
///
/// # Errors
/// The kernel does not list processes.
pub fn hold(members: &mut Members, limit: Duration) -> io::Result<Option<BTreeSet<Identity>>> {
    let start = Instant::now();
    let seen = table()?;
    let before = still::stopped(&seen, &members.scan(&seen));
    loop {
        let seen = table()?;
        let round = members.scan(&seen);
        if still::is_still(&seen, &round) {
            return Ok(Some(before));
        }
        if start.elapsed() > limit {
            release(members, &before)?;
            return Ok(None);
        }
        send(&still::running(&seen, &round), STOP);
        std::thread::sleep(ROUND);
    }
}

/// Lets every member go on but those that were stopped `before`.
///
/// # Errors
/// The kernel does not list processes.
pub fn release(members: &mut Members, before: &BTreeSet<Identity>) -> io::Result<()> {
    let seen = table()?;
    let round = members.scan(&seen);
    send(&still::children_first(&seen, &round, before), CONTINUE);
    Ok(())
}

/// Ends every member: stops all until nobody runs and nobody is new, then kills them, until none is left or `limit` is
/// over. Who does not stop in half of that time is killed running. What is returned is still there and has to be
/// named to the person.
///
/// # Errors
/// The kernel does not list processes.
pub fn end(members: &mut Members, limit: Duration) -> io::Result<Vec<Identity>> {
    let start = Instant::now();
    loop {
        let seen = table()?;
        let round = members.scan(&seen);
        if round.alive.is_empty() || start.elapsed() > limit {
            return Ok(round.alive);
        }
        if still::is_still(&seen, &round) || start.elapsed() > limit / 2 {
            send(&round.alive, KILL);
        } else {
            send(&still::running(&seen, &round), STOP);
        }
        std::thread::sleep(ROUND);
    }
}

fn send(to: &[Identity], number: i32) {
    for id in to {
        // A process that cannot be signalled is in the next look again, and named at the end.
        let _ = processes::signal(id.pid, id.started, number);
    }
}

/// Between two looks.
const ROUND: Duration = Duration::from_millis(5);

// Numbers of signals on macOS, from `<sys/signal.h>`.
const KILL: i32 = 9;
const STOP: i32 = 17;
/// Lets a stopped process go on.
pub const CONTINUE: i32 = 19;
