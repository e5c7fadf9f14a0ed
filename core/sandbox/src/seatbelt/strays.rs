//! Which processes belong to a session: pure decisions over a table of processes.
//!
//! macOS has no namespace that dies, no control group and no reaper for orphans, so a process that leaves its group
//! and loses its parent is found only by what it still carries: its sandbox, its terminal, its folder, its start
//! time. The promise is narrower than on Linux and said so: whoever carries none of these is named by nobody, but
//! keeps its sandbox for life and finds the way out closed. A process of the person's own is never taken: it would
//! have to be in a sandbox and on the session's terminal or in its folders.

use std::collections::BTreeSet;

use enclos_paths::AbsPath;

/// A process, by number and start time, so that a number that is handed out again is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it started, seconds and microseconds of the wall clock.
    pub started: (u64, u64),
}

/// A process as a scan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Which one it is.
    pub id: Identity,
    /// Its parent's number.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its user.
    pub uid: u32,
    /// The device of its controlling terminal.
    pub terminal: Option<u32>,
    /// Its working folder, when it could be asked.
    pub folder: Option<AbsPath>,
    /// Whether it is in a sandbox.
    pub sandboxed: bool,
    /// What it is doing.
    pub activity: Activity,
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or could.
    Running,
    /// A signal has stopped it.
    Stopped,
    /// It is ending and executes nothing of its own any more. It counts as gone, but may have left children.
    Ending,
}

/// What marks the processes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The user they run as.
    pub uid: u32,
    /// The first process of the session; all others started later.
    pub first: Identity,
    /// The session's terminals.
    pub terminals: BTreeSet<u32>,
    /// The session's folders: copies, home, temporary folder.
    pub folders: Vec<AbsPath>,
    /// Processes that are never taken: the supervisor and whoever started it.
    pub spared: BTreeSet<i32>,
}

/// The processes of a session seen so far. Once seen, a process stays a member until it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    marks: Marks,
    seen: BTreeSet<Identity>,
}

/// What one scan of the table showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// Members that no scan before has seen.
    pub fresh: Vec<Identity>,
    /// All members that are there.
    pub alive: Vec<Identity>,
}

impl Members {
    /// Starts with the first process of the session.
    #[must_use]
    pub fn new(marks: Marks) -> Self {
        Self {
            seen: [marks.first].into(),
            marks,
        }
    }

    /// Adds another process that was started in the session, and its terminal. As long as the terminal is a mark it must
    /// be kept open, or its number is handed out again and the processes of another session bear the mark.
    pub fn join(&mut self, id: Identity, terminal: Option<u32>) {
        self.seen.insert(id);
        self.marks.terminals.extend(terminal);
    }

    /// A terminal is no mark any more; who was found by it stays a member.
    pub fn leave(&mut self, terminal: u32) {
        self.marks.terminals.remove(&terminal);
    }

    /// Finds the members in a table: those seen before, their descendants and groups, and whoever carries the marks.
    pub fn scan(&mut self, table: &[Process]) -> Round {
        let before = self.seen.clone();
        loop {
            let known: BTreeSet<Identity> = table
                .iter()
                .map(|p| p.id)
                .filter(|id| self.seen.contains(id))
                .collect();
            let pids: BTreeSet<i32> = known.iter().map(|id| id.pid).collect();
            let groups: BTreeSet<i32> = table
                .iter()
                .filter(|p| known.contains(&p.id))
                .map(|p| p.group)
                .collect();
            let joins = |p: &&Process| {
                let kin = pids.contains(&p.parent) || groups.contains(&p.group);
                !known.contains(&p.id) && self.may_be(p) && (kin || self.is_marked(p))
            };
            let new: Vec<Identity> = table.iter().filter(joins).map(|p| p.id).collect();
            if new.is_empty() {
                break;
            }
            self.seen.extend(new);
        }
        let alive: Vec<Identity> = table
            .iter()
            .filter(|p| p.activity != Activity::Ending)
            .map(|p| p.id)
            .filter(|id| self.seen.contains(id))
            .collect();
        let alive: Vec<Identity> = alive
            .into_iter()
            .filter(|id| !self.marks.spared.contains(&id.pid))
            .collect();
        let fresh = alive
            .iter()
            .copied()
            .filter(|id| !before.contains(id))
            .collect();
        Round { fresh, alive }
    }

    /// What every member is: the person's, in a sandbox, younger than the session, and nobody spared.
    fn may_be(&self, process: &Process) -> bool {
        process.sandboxed
            && process.uid == self.marks.uid
            && process.id.pid > 1
            && process.id.started >= self.marks.first.started
            && !self.marks.spared.contains(&process.id.pid)
    }

    fn is_marked(&self, process: &Process) -> bool {
        let on_terminal = process
            .terminal
            .is_some_and(|terminal| self.marks.terminals.contains(&terminal));
        let inside = |folder: &AbsPath| self.marks.folders.iter().any(|own| folder.is_within(own));
        on_terminal || process.folder.as_ref().is_some_and(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Identity = Identity {
        pid: 100,
        started: (50, 0),
    };

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn members() -> Members {
        Members::new(Marks {
            uid: 501,
            first: FIRST,
            terminals: [7].into(),
            folders: vec![abs("/Users/u/.enclos.noindex/p")],
            spared: [90, 91].into(),
        })
    }

    /// A sandboxed process of the person, child of `parent`, its own group, elsewhere.
    fn process(pid: i32, parent: i32) -> Process {
        Process {
            id: Identity {
                pid,
                started: (60, 0),
            },
            parent,
            group: pid,
            uid: 501,
            terminal: None,
            folder: None,
            sandboxed: true,
            activity: Activity::Running,
        }
    }

    fn first() -> Process {
        Process {
            id: FIRST,
            ..process(100, 90)
        }
    }

    fn pids(ids: &[Identity]) -> Vec<i32> {
        ids.iter().map(|id| id.pid).collect()
    }

    #[test]
    fn descendants_and_their_groups_are_members() {
        let in_group = Process {
            group: 102,
            ..process(104, 1)
        };
        let table = [
            first(),
            process(101, 100),
            process(102, 101),
            process(103, 1),
            in_group,
        ];
        let round = members().scan(&table);
        assert_eq!(
            pids(&round.alive),
            [100, 101, 102, 104],
            "103 carries nothing"
        );
        assert_eq!(pids(&round.fresh), [101, 102, 104]);
    }

    #[test]
    fn a_daemon_that_left_is_found_by_folder_or_terminal() {
        let in_copy = Process {
            folder: Some(abs("/Users/u/.enclos.noindex/p/src")),
            ..process(200, 1)
        };
        let on_terminal = Process {
            terminal: Some(7),
            ..process(201, 1)
        };
        let elsewhere = Process {
            folder: Some(abs("/Users/u/.enclos.noindex/p2")),
            ..process(202, 1)
        };
        let child = process(203, 200);
        let round = members().scan(&[in_copy, on_terminal, elsewhere, child]);
        assert_eq!(
            pids(&round.alive),
            [200, 201, 203],
            "the first process may be gone"
        );
    }

    #[test]
    fn the_persons_own_processes_are_never_taken() {
        let folder = Some(abs("/Users/u/.enclos.noindex/p"));
        let open = Process {
            sandboxed: false,
            folder: folder.clone(),
            ..process(300, 1)
        };
        let older = Process {
            id: Identity {
                pid: 301,
                started: (49, 9),
            },
            folder: folder.clone(),
            ..process(301, 1)
        };
        let other = Process {
            uid: 0,
            folder: folder.clone(),
            ..process(302, 100)
        };
        let spared = Process {
            folder,
            terminal: Some(7),
            ..process(91, 100)
        };
        let launchd = Process {
            terminal: Some(7),
            ..process(1, 0)
        };
        let round = members().scan(&[first(), open, older, other, spared, launchd]);
        assert_eq!(pids(&round.alive), [100]);
    }

    #[test]
    fn a_member_stays_one_after_its_parent_is_gone() {
        let mut members = members();
        members.scan(&[first(), process(101, 100)]);
        let round = members.scan(&[process(101, 1), process(105, 101)]);
        assert_eq!(pids(&round.alive), [101, 105]);
        assert_eq!(pids(&round.fresh), [105]);
        assert_eq!(members.scan(&[]), Round::default());
    }

    #[test]
    fn a_shell_that_was_started_beside_the_command_is_a_member_with_its_terminal() {
        let mut members = members();
        members.join(process(400, 90).id, Some(8));
        let on_its_terminal = Process {
            terminal: Some(8),
            ..process(401, 1)
        };
        let round = members.scan(&[first(), process(400, 90), on_its_terminal.clone()]);
        assert_eq!(pids(&round.alive), [100, 400, 401]);

        members.leave(8);
        let of_another_session = Process {
            terminal: Some(8),
            ..process(402, 1)
        };
        let round = members.scan(&[first(), on_its_terminal, of_another_session]);
        assert_eq!(
            pids(&round.alive),
            [100, 401],
            "the number was handed out again"
        );
    }

    #[test]
    fn who_is_ending_is_gone_but_what_it_started_is_not() {
        let ending = Process {
            activity: Activity::Ending,
            ..first()
        };
        let round = members().scan(&[ending, process(101, 100)]);
        assert_eq!(pids(&round.alive), [101]);
    }

    #[test]
    fn a_number_that_is_handed_out_again_is_another_process() {
        let mut members = members();
        members.scan(&[first(), process(101, 100)]);
        let reused = Process {
            id: Identity {
                pid: 101,
                started: (99, 0),
            },
            sandboxed: false,
            ..process(101, 1)
        };
        assert!(members.scan(&[reused]).alive.is_empty());
    }
}
