//! Brings two edits of one text together, or says where they meet.
//!
//! The promise: a merge that is called clean is beyond doubt. A line of the base counts as kept by a side only when
//! every way to lay the texts beside each other maps it to the same line; all between two such lines is one edit.
//! Edits of the two sides that touch are a conflict unless they come to the same. So where lines repeat, a merge may
//! ask once too often, but it never quietly makes something that neither side wrote. The tests hold it against git's
//! on generated texts.

use crate::Lines;
use crate::Region;
use crate::diff::Change;
use crate::diff::surely_kept;
use crate::text::lines;

/// What comes of two edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merged {
    /// They fit together.
    Clean(Vec<u8>),
    /// They meet in these places.
    Conflict(Vec<Region>),
}

/// Merges the person's `ours` and the agent's `theirs`, which both came from `base`.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merged {
    if ours == theirs || theirs == base {
        return Merged::Clean(ours.to_vec());
    }
    if ours == base {
        return Merged::Clean(theirs.to_vec());
    }
    let sides = Sides {
        base: lines(base),
        ours: lines(ours),
        theirs: lines(theirs),
    };
    sides.merge()
}

struct Sides<'a> {
    base: Vec<&'a [u8]>,
    ours: Vec<&'a [u8]>,
    theirs: Vec<&'a [u8]>,
}

/// One edit of one side.
#[derive(Debug, Clone)]
struct Edit {
    change: Change,
    side: Side,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

impl Sides<'_> {
    fn merge(&self) -> Merged {
        let mut edits = self.edits(&self.ours, Side::Ours);
        edits.extend(self.edits(&self.theirs, Side::Theirs));
        edits.sort_by_key(|edit| (edit.change.old.start, edit.change.old.end()));
        let (mut text, mut conflicts) = (Vec::new(), Vec::new());
        let (mut at, mut drift) = (0, Drift::default());
        for group in touching(&edits) {
            let region = region(group, &drift);
            text.extend(self.base[at as usize..region.base.start as usize].concat());
            at = region.base.end();
            match self.settle(group, &region) {
                Some(lines) => text.extend(lines.concat()),
                None => conflicts.push(region),
            }
            drift.pass(group);
        }
        text.extend(self.base[at as usize..].concat());
        if conflicts.is_empty() {
            Merged::Clean(text)
        } else {
            Merged::Conflict(conflicts)
        }
    }

    fn edits(&self, new: &[&[u8]], side: Side) -> Vec<Edit> {
        let changes = between(&surely_kept(&self.base, new), self.base.len(), new.len());
        changes
            .into_iter()
            .map(|change| Edit { change, side })
            .collect()
    }

    /// The lines that the edits of a group come to; none when they disagree.
    fn settle(&self, group: &[Edit], region: &Region) -> Option<&[&[u8]]> {
        let pick = |side: Side| group.iter().any(|edit| edit.side == side);
        let (ours, theirs) = (
            part(&self.ours, region.ours),
            part(&self.theirs, region.theirs),
        );
        match (pick(Side::Ours), pick(Side::Theirs)) {
            (_, false) => Some(ours),
            (false, true) => Some(theirs),
            (true, true) => (ours == theirs).then_some(ours),
        }
    }
}

/// What lies between kept lines, as changes.
fn between(kept: &[(u32, u32)], old_len: usize, new_len: usize) -> Vec<Change> {
    let end = (count(old_len), count(new_len));
    let (mut x, mut y) = (0, 0);
    let mut changes = Vec::new();
    for &(next_x, next_y) in kept.iter().chain([&end]) {
        if (x, y) != (next_x, next_y) {
            changes.push(Change {
                old: Lines {
                    start: x,
                    count: next_x - x,
                },
                new: Lines {
                    start: y,
                    count: next_y - y,
                },
            });
        }
        (x, y) = (next_x + 1, next_y + 1);
    }
    changes
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Groups of edits that touch. Edits are sorted by where they start; those of one side never touch each other.
fn touching(edits: &[Edit]) -> Vec<&[Edit]> {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < edits.len() {
        let mut end = start + 1;
        let mut reach = edits[start].change.old.end();
        while end < edits.len() && edits[end].change.old.start <= reach {
            reach = reach.max(edits[end].change.old.end());
            end += 1;
        }
        groups.push(&edits[start..end]);
        start = end;
    }
    groups
}

/// How far each side's line numbers are from the base's, behind the edits so far.
#[derive(Debug, Default)]
struct Drift {
    ours: i64,
    theirs: i64,
}

impl Drift {
    fn pass(&mut self, group: &[Edit]) {
        for edit in group {
            let grown = i64::from(edit.change.new.count) - i64::from(edit.change.old.count);
            match edit.side {
                Side::Ours => self.ours += grown,
                Side::Theirs => self.theirs += grown,
            }
        }
    }
}

/// The smallest part of all three texts that holds the edits of a group.
fn region(group: &[Edit], before: &Drift) -> Region {
    let start = group
        .iter()
        .map(|edit| edit.change.old.start)
        .min()
        .unwrap_or(0);
    let end = group
        .iter()
        .map(|edit| edit.change.old.end())
        .max()
        .unwrap_or(start);
    let mut after = Drift {
        ours: before.ours,
        theirs: before.theirs,
    };
    after.pass(group);
    let on = |from: i64, to: i64| {
        let at = |line: u32, drift: i64| u32::try_from(i64::from(line) + drift).unwrap_or(0);
        Lines {
            start: at(start, from),
            count: at(end, to).saturating_sub(at(start, from)),
        }
    };
    Region {
        base: Lines {
            start,
            count: end - start,
        },
        ours: on(before.ours, after.ours),
        theirs: on(before.theirs, after.theirs),
    }
}

fn part<'a, 'b>(all: &'a [&'b [u8]], at: Lines) -> &'a [&'b [u8]] {
    &all[at.start as usize..at.end() as usize]
}

#[cfg(test)]
mod tests;
