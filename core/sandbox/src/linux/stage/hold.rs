//! Holds every process of the jail still, and lets them go on so that none of them notices.
//!
//! The kernel signals everyone in one go, so a process that is just being made is stopped with its maker. What was
//! stopped before stays stopped afterwards. Letting go starts with the children: a shell that continues before its
//! job would see a stopped job and take the terminal back. It cannot break by being wrong about a process: only when
//! each thread has been seen stopped does it say so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use enclos_sys::children::signal_everyone;
use rustix::process::{Pid, Signal};

/// Everyone, held still.
#[derive(Debug)]
pub(super) struct Held {
    /// Who was stopped before.
    before: BTreeSet<i32>,
}

/// How long stopping may take. A process that waits for a disk stops when the disk has answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long is waited before everyone is let go for a moment: a maker of a process cannot stop while the made one,
/// which is stopped already, has not executed its program (vfork).
const TURN: Duration = Duration::from_millis(200);

/// Holds everyone still; none when somebody would not stop, and then everyone goes on.
pub(super) fn still() -> Option<Held> {
    let held = Held {
        before: processes()
            .into_iter()
            .filter(|p| p.is_stopped())
            .map(|p| p.pid)
            .collect(),
    };
    let started = Instant::now();
    let mut turn = started;
    signal_everyone(Signal::STOP).ok();
    while !processes().iter().all(Process::is_stopped) {
        if started.elapsed() > PATIENCE {
            held.release();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
        if turn.elapsed() > TURN {
            held.let_go();
            std::thread::sleep(Duration::from_millis(20));
            turn = Instant::now();
            signal_everyone(Signal::STOP).ok();
        }
    }
    Some(held)
}

impl Held {
    /// Lets everyone go on who was not stopped before.
    pub(super) fn release(self) {
        self.let_go();
    }

    fn let_go(&self) {
        let mut processes = processes();
        let parents: BTreeMap<i32, i32> = processes
            .iter()
            .map(|process| (process.pid, process.parent))
            .collect();
        processes.sort_by_key(|process| std::cmp::Reverse(depth(&parents, process.pid)));
        for process in processes
            .iter()
            .filter(|process| !self.before.contains(&process.pid))
        {
            if let Some(pid) = Pid::from_raw(process.pid) {
                // Who is gone needs not go on.
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
    }
}

/// How many parents a process has; bounded, because the list is not of one moment.
fn depth(parents: &BTreeMap<i32, i32>, mut pid: i32) -> u32 {
    let mut depth = 0;
    while let Some(parent) = parents.get(&pid).filter(|_| depth < 4096) {
        pid = *parent;
        depth += 1;
    }
    depth
}

#[derive(Debug)]
struct Process {
    pid: i32,
    parent: i32,
    /// The state letters of its threads, proc_pid_stat(5).
    threads: Vec<u8>,
}

impl Process {
    fn is_stopped(&self) -> bool {
        self.threads
            .iter()
            .all(|state| matches!(state, b'T' | b't' | b'Z' | b'X'))
    }
}

/// Everyone but the stage.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != 1).filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let (_, parent) = state(&format!("/proc/{pid}/stat"))?;
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let threads = tasks
        .flatten()
        .filter_map(|task| state(&format!("{}/stat", task.path().display())));
    Some(Process {
        pid,
        parent,
        threads: threads.map(|(state, _)| state).collect(),
    })
}

/// The state and the parent; the name before them is in parentheses and may hold anything.
fn state(path: &str) -> Option<(u8, i32)> {
    let text = fs::read(path).ok()?;
    let after = text.iter().rposition(|&b| b == b')')?;
    let mut fields = text[after + 1..]
        .split(|&b| b == b' ')
        .filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    Some((state, parent))
}
