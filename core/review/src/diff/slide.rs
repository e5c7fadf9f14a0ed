//! Where to show a change that could stand in several places.
//!
//! When a line is added between two equal ones, either can be called the new one. People expect a function with the
//! blank line after it, not the end of one and the start of the next; so among all places the one is taken whose edges
//! are indented least, after a blank line if there is one.

use std::ops::Range;

use super::Change;
use crate::Lines;

/// How many places are weighed; git looks at as many.
const MOST_PLACES: u32 = 100;

/// Moves each pure insertion or removal to where people expect it; changes that meet on the way become one.
pub(super) fn place(changes: &mut Vec<Change>, old: &[&[u8]], new: &[&[u8]]) {
    let mut placed: Vec<Change> = Vec::with_capacity(changes.len());
    let mut rest = std::mem::take(changes).into_iter().peekable();
    while let Some(mut change) = rest.next() {
        let Some(lines) = side(&change, old, new) else {
            placed.push(change);
            continue;
        };
        let floor = placed.last().map_or(0, |before| own(before, &change).end());
        let up = room_above(own(&change, &change), lines, floor);
        if up > 0
            && own(&change, &change).start - up == floor
            && let Some(before) = placed.last_mut()
        {
            *before = join(*before, moved(change, -i64::from(up)));
            continue;
        }
        let ceiling = rest
            .peek()
            .map_or(count(lines), |after| own(after, &change).start);
        let down = room_below(own(&change, &change), lines, ceiling);
        if down > 0
            && own(&change, &change).end() + down == ceiling
            && let Some(after) = rest.peek_mut()
        {
            *after = join(moved(change, i64::from(down)), *after);
            continue;
        }
        let best = best_place(own(&change, &change), lines, up, down);
        change = moved(change, best);
        placed.push(change);
    }
    *changes = placed;
}

/// The old lines, for each change, that it touches in any of its places, up to its neighbours.
pub(super) fn zones(changes: &[Change], old: &[&[u8]], new: &[&[u8]]) -> Vec<Range<u32>> {
    let zone = |at: usize| {
        let change = &changes[at];
        let Some(lines) = side(change, old, new) else {
            return change.old.start..change.old.end();
        };
        let floor = at
            .checked_sub(1)
            .map_or(0, |before| own(&changes[before], change).end());
        let ceiling = changes
            .get(at + 1)
            .map_or(count(lines), |after| own(after, change).start);
        let up = room_above(own(change, change), lines, floor);
        let down = room_below(own(change, change), lines, ceiling);
        change.old.start - up..change.old.end() + down
    };
    (0..changes.len()).map(zone).collect()
}

/// The lines that a pure insertion or removal is made of; none for a replacement, which has one place only.
fn side<'a, 'b>(
    change: &Change,
    old: &'a [&'b [u8]],
    new: &'a [&'b [u8]],
) -> Option<&'a [&'b [u8]]> {
    match (change.old.count, change.new.count) {
        (0, _) => Some(new),
        (_, 0) => Some(old),
        _ => None,
    }
}

/// The range of `of` on the side on which `change` has its lines.
fn own(of: &Change, change: &Change) -> Lines {
    if change.old.count == 0 {
        of.new
    } else {
        of.old
    }
}

fn room_above(run: Lines, lines: &[&[u8]], floor: u32) -> u32 {
    let most = run.start - floor;
    (0..most)
        .take_while(|up| line(lines, run.start - up - 1) == line(lines, run.end() - up - 1))
        .count() as u32
}

fn room_below(run: Lines, lines: &[&[u8]], ceiling: u32) -> u32 {
    let most = ceiling - run.end();
    (0..most)
        .take_while(|down| line(lines, run.start + down) == line(lines, run.end() + down))
        .count() as u32
}

fn best_place(run: Lines, lines: &[&[u8]], up: u32, down: u32) -> i64 {
    let lowest = i64::from(down);
    let highest = (-i64::from(up)).max(lowest - i64::from(MOST_PLACES));
    let weight = |by: i64| {
        let edge = |at: u32| u32::try_from(i64::from(at) + by).unwrap_or(0);
        edge_weight(lines, edge(run.start)) + edge_weight(lines, edge(run.end()))
    };
    (highest..=lowest)
        .min_by_key(|&by| (weight(by), -by))
        .unwrap_or(0)
}

/// How unlikely it is that something starts at line `at`.
fn edge_weight(lines: &[&[u8]], at: u32) -> usize {
    if at == 0 || at >= count(lines) {
        return 0;
    }
    let after_blank = line(lines, at - 1).trim_ascii().is_empty();
    let here = line(lines, at);
    let blank = here.trim_ascii().is_empty();
    let indent = here
        .iter()
        .map(|&b| if b == b'\t' { 8 } else { 1 })
        .zip(here)
        .take_while(|(_, b)| matches!(b, b' ' | b'\t'))
        .map(|(width, _)| width)
        .sum::<usize>();
    let closes = matches!(here.trim_ascii_start().first(), Some(b'}' | b')' | b']'));
    2 * indent + 8 * usize::from(closes) + 6 * usize::from(blank) + 4 * usize::from(!after_blank)
}

fn moved(change: Change, by: i64) -> Change {
    let shift = |lines: Lines| Lines {
        start: u32::try_from(i64::from(lines.start) + by).unwrap_or(0),
        count: lines.count,
    };
    Change {
        old: shift(change.old),
        new: shift(change.new),
    }
}

/// Two changes that touch, as one.
fn join(first: Change, second: Change) -> Change {
    let both = |a: Lines, b: Lines| Lines {
        start: a.start,
        count: b.end() - a.start,
    };
    Change {
        old: both(first.old, second.old),
        new: both(first.new, second.new),
    }
}

fn line<'b>(lines: &[&'b [u8]], at: u32) -> &'b [u8] {
    lines[at as usize]
}

fn count(lines: &[&[u8]]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}
