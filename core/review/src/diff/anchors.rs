//! Lines that stand exactly once on both sides, in an order that both share.

use super::Part;

/// Finds anchors; keeps its tables between calls so that each call costs only its own part.
pub(super) struct Anchors {
    /// By line number: how often it stands in the part on each side, and where last.
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    in_a: u32,
    in_b: u32,
    at_b: usize,
}

impl Anchors {
    pub(super) fn new(a: &[u32], b: &[u32]) -> Self {
        let most = a.iter().chain(b).max().map_or(0, |&n| n as usize + 1);
        let seen = vec![Seen::default(); most];
        Self { seen }
    }

    /// The longest list of lines, unique on both sides of `part`, that stand in the same order on both; as positions
    /// in the whole texts. Empty also when `left` is used up.
    pub(super) fn find(
        &mut self,
        a: &[u32],
        b: &[u32],
        part: &Part,
        left: &mut u64,
    ) -> Vec<(usize, usize)> {
        let cost = 2 * (part.a.len() + part.b.len()) as u64;
        if *left < cost {
            *left = 0;
            return Vec::new();
        }
        *left -= cost;
        for at in part.b.clone() {
            let seen = &mut self.seen[b[at] as usize];
            seen.in_b += 1;
            seen.at_b = at;
        }
        for at in part.a.clone() {
            self.seen[a[at] as usize].in_a += 1;
        }
        let unique = |at: usize| {
            let seen = self.seen[a[at] as usize];
            (seen.in_a == 1 && seen.in_b == 1).then_some((at, seen.at_b))
        };
        let pairs: Vec<_> = part.a.clone().filter_map(unique).collect();
        a[part.a.clone()]
            .iter()
            .chain(&b[part.b.clone()])
            .for_each(|&n| self.seen[n as usize] = Seen::default());
        longest_rising(&pairs)
    }
}

/// The longest part of `pairs` whose second members rise (patience sorting: O(n log n)).
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Each pile's top is the index of a pair; `below` links it to the top of the pile before it at that time.
    let mut tops: Vec<usize> = Vec::new();
    let mut below = vec![usize::MAX; pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let pile = tops.partition_point(|&top| pairs[top].1 < pair.1);
        if pile > 0 {
            below[at] = tops[pile - 1];
        }
        if pile == tops.len() {
            tops.push(at);
        } else {
            tops[pile] = at;
        }
    }
    let mut longest = Vec::with_capacity(tops.len());
    let mut at = tops.last().copied().unwrap_or(usize::MAX);
    while let Some(&pair) = pairs.get(at) {
        longest.push(pair);
        at = below[at];
    }
    longest.reverse();
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_moved_are_not_anchors_against_the_order() {
        let (a, b) = ([1, 2, 3, 4, 5, 9, 9], [5, 1, 2, 9, 4, 3]);
        let part = Part { a: 0..7, b: 0..6 };
        let found = Anchors::new(&a, &b).find(&a, &b, &part, &mut 1000);
        assert_eq!(found, [(0, 1), (1, 2), (3, 4)], "1, 2, 4; 9 is not unique");
    }

    #[test]
    fn without_work_left_there_are_none() {
        let part = Part { a: 0..1, b: 0..1 };
        assert_eq!(Anchors::new(&[1], &[1]).find(&[1], &[1], &part, &mut 3), []);
    }
}
