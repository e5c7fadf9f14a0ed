//! Who has to be stopped so that a session stands still, and in which order it goes on: pure decisions over a table.
//!
//! A table is not of one moment, so standing still is believed only when one whole look has found nobody who runs and
//! nobody who was not known before: a stopped process makes no new ones.

use std::collections::{BTreeMap, BTreeSet};

use super::{Activity, Identity, Process, Round};

/// The members of `round` that are not stopped yet, in the table that the round was made from.
#[must_use]
pub fn running(table: &[Process], round: &Round) -> Vec<Identity> {
    let alive: BTreeSet<Identity> = round.alive.iter().copied().collect();
    table
        .iter()
        .filter(|process| process.activity == Activity::Running && alive.contains(&process.id))
        .map(|process| process.id)
        .collect()
}

/// Whether nobody runs and nobody came to light in this look.
#[must_use]
pub fn is_still(table: &[Process], round: &Round) -> bool {
    round.fresh.is_empty() && running(table, round).is_empty()
}

/// The members of `round` without `stopped`, who were stopped before anybody was held; children come before their parents:
/// a shell that goes on before its job would see a stopped job and take the terminal back.
#[must_use]
pub fn children_first(
    table: &[Process],
    round: &Round,
    stopped: &BTreeSet<Identity>,
) -> Vec<Identity> {
    let parents: BTreeMap<i32, i32> = table
        .iter()
        .map(|process| (process.id.pid, process.parent))
        .collect();
    let mut order: Vec<Identity> = round
        .alive
        .iter()
        .copied()
        .filter(|id| !stopped.contains(id))
        .collect();
    order.sort_by_key(|id| std::cmp::Reverse(depth(&parents, id.pid)));
    order
}

/// The members of `round` that a signal has stopped already.
#[must_use]
pub fn stopped(table: &[Process], round: &Round) -> BTreeSet<Identity> {
    let alive: BTreeSet<Identity> = round.alive.iter().copied().collect();
    table
        .iter()
        .filter(|process| process.activity == Activity::Stopped && alive.contains(&process.id))
        .map(|process| process.id)
        .collect()
}

/// How many parents a process has; bounded, because the table is not of one moment and may hold a circle.
fn depth(parents: &BTreeMap<i32, i32>, mut pid: i32) -> u32 {
    let mut depth = 0;
    while let Some(parent) = parents.get(&pid).filter(|_| depth < 4096) {
        pid = *parent;
        depth += 1;
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, activity: Activity) -> Process {
        Process {
            id: Identity {
                pid,
                started: (1, 0),
            },
            parent,
            group: pid,
            uid: 501,
            terminal: None,
            folder: None,
            sandboxed: true,
            activity,
        }
    }

    fn all(table: &[Process]) -> Round {
        Round {
            fresh: Vec::new(),
            alive: table.iter().map(|process| process.id).collect(),
        }
    }

    fn pids(ids: impl IntoIterator<Item = Identity>) -> Vec<i32> {
        ids.into_iter().map(|id| id.pid).collect()
    }

    #[test]
    fn a_session_is_still_when_one_look_finds_nobody_running_and_nobody_new() {
        let running = process(1, 0, Activity::Running);
        let held = process(2, 1, Activity::Stopped);
        let table = [running, held.clone()];
        assert_eq!(pids(super::running(&table, &all(&table))), [1]);
        assert!(!is_still(&table, &all(&table)));
        let table = [held];
        assert!(is_still(&table, &all(&table)));
        let with_a_new_one = Round {
            fresh: vec![table[0].id],
            ..all(&table)
        };
        assert!(!is_still(&table, &with_a_new_one), "it may have brothers");
    }

    #[test]
    fn others_do_not_count() {
        let table = [process(1, 0, Activity::Running)];
        assert!(is_still(&table, &Round::default()));
    }

    #[test]
    fn children_go_on_before_their_parents_and_who_was_stopped_before_stays_so() {
        let table = [
            process(10, 1, Activity::Stopped),
            process(11, 10, Activity::Stopped),
            process(12, 11, Activity::Stopped),
            process(13, 10, Activity::Stopped),
        ];
        let before = [table[3].id].into();
        let order = children_first(&table, &all(&table), &before);
        assert_eq!(pids(order), [12, 11, 10]);
        assert_eq!(pids(stopped(&table, &all(&table))), [10, 11, 12, 13]);
    }

    #[test]
    fn a_table_that_goes_in_a_circle_ends() {
        let table = [
            process(10, 11, Activity::Stopped),
            process(11, 10, Activity::Stopped),
        ];
        assert_eq!(
            children_first(&table, &all(&table), &BTreeSet::new()).len(),
            2
        );
    }
}
