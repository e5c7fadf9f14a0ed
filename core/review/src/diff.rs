//! Which lines go and which come, in bounded work.
//!
//! The promise: the answer is a valid edit of one text into the other, it is always the same for the same two texts
//! (an approval names hunks by what they hold, so a second look must find the same ones), and the work is bounded
//! whatever the texts are. A clock would give the last but not the second, so work is counted instead: when the count
//! is used up, what is left between two aligned places is shown as replaced.
//!
//! Lines that stand once on both sides are aligned first, because people see those as fixed; between them the shortest
//! edit is searched. See [`Alignment`] for why a merge does both.

mod anchors;
mod shortest;
mod slide;

use std::ops::Range;

use crate::Lines;
use crate::text::Numbering;

/// How two texts are laid beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alignment {
    /// Lines that are unique on both sides first, then the shortest edit.
    Anchored,
    /// The shortest edit alone.
    Shortest,
    /// The shortest edit, searched from the end: among equal lines it keeps the last where the other keeps the first.
    ShortestFromEnd,
}

impl Alignment {
    /// All of them. Where they lead a merge to different results, none is right for sure.
    const ALL: [Self; 3] = [Self::Anchored, Self::Shortest, Self::ShortestFromEnd];
}

/// A run of lines that goes and the run that comes in its place; one of them may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: Lines,
    pub(crate) new: Lines,
}

/// The changes from one text to another.
#[derive(Debug)]
pub(crate) struct Diff {
    /// In order, with at least one line that stays between any two.
    pub(crate) changes: Vec<Change>,
    /// How many steps it took, to share one bound among many texts.
    pub(crate) steps: u64,
}

/// The steps that one pair of texts may take: about a fifth of a second.
const MOST_STEPS: u64 = 40_000_000;

/// The changes that make `new` out of `old`, placed where people expect them.
pub(crate) fn diff(old: &[&[u8]], new: &[&[u8]]) -> Diff {
    let mut found = search(old, new, Alignment::Anchored);
    slide::place(&mut found.changes, old, new);
    found
}

/// The lines that stay beyond doubt, as pairs of positions in both texts.
///
/// Every alignment maps them alike, and no change could be moved to touch them.
pub(crate) fn surely_kept(old: &[&[u8]], new: &[&[u8]]) -> Vec<(u32, u32)> {
    let mut sure: Option<Vec<(u32, u32)>> = None;
    for how in Alignment::ALL {
        let changes = search(old, new, how).changes;
        let untouched = untouched(&changes, &slide::zones(&changes, old, new), old.len());
        sure = Some(match sure {
            None => untouched,
            Some(before) => common(&before, &untouched),
        });
    }
    sure.unwrap_or_default()
}

/// The changes that make `new` out of `old`, as the search found them.
fn search(old: &[&[u8]], new: &[&[u8]], how: Alignment) -> Diff {
    let (start, end) = common_ends(old, new);
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut numbering = Numbering::default();
    let (mut a, mut b) = (numbering.of(old_middle), numbering.of(new_middle));
    if how == Alignment::ShortestFromEnd {
        a.reverse();
        b.reverse();
    }
    let (shared_a, shared_b) = (shared(&a, &b), shared(&b, &a));
    let pick = |all: &[u32], at: &[usize]| at.iter().map(|&at| all[at]).collect::<Vec<_>>();
    let (reduced_a, reduced_b) = (pick(&a, &shared_a), pick(&b, &shared_b));
    let mut search = Search::new(&reduced_a, &reduced_b);
    search.run(how);
    let steps = MOST_STEPS - search.left;
    let mut removed = spread(&search.removed, &shared_a, a.len());
    let mut added = spread(&search.added, &shared_b, b.len());
    if how == Alignment::ShortestFromEnd {
        removed.reverse();
        added.reverse();
    }
    let changes = runs(&removed, &added, start);
    Diff { changes, steps }
}

struct Search<'a> {
    a: &'a [u32],
    b: &'a [u32],
    removed: Vec<bool>,
    added: Vec<bool>,
    left: u64,
    todo: Vec<(Part, Alignment)>,
}

/// A part of both texts that is still to be aligned.
#[derive(Debug, Clone)]
struct Part {
    a: Range<usize>,
    b: Range<usize>,
}

impl<'a> Search<'a> {
    fn new(a: &'a [u32], b: &'a [u32]) -> Self {
        let (removed, added) = (vec![false; a.len()], vec![false; b.len()]);
        Self {
            a,
            b,
            removed,
            added,
            left: MOST_STEPS,
            todo: Vec::new(),
        }
    }

    fn run(&mut self, how: Alignment) {
        let all = Part {
            a: 0..self.a.len(),
            b: 0..self.b.len(),
        };
        let mut anchors = anchors::Anchors::new(self.a, self.b);
        let mut shortest = shortest::Shortest::new();
        self.todo.push((all, how));
        while let Some((part, how)) = self.todo.pop() {
            let part = self.trim(part);
            if part.a.is_empty() || part.b.is_empty() {
                self.replace(part);
                continue;
            }
            let found = match how {
                Alignment::Anchored => anchors.find(self.a, self.b, &part, &mut self.left),
                Alignment::Shortest | Alignment::ShortestFromEnd => Vec::new(),
            };
            if !found.is_empty() {
                self.split_at(part, &found);
            } else if let Some((x, y)) = shortest.middle(
                &self.a[part.a.clone()],
                &self.b[part.b.clone()],
                &mut self.left,
            ) {
                let (x, y) = (part.a.start + x, part.b.start + y);
                self.todo.push((
                    Part {
                        a: x..part.a.end,
                        b: y..part.b.end,
                    },
                    Alignment::Shortest,
                ));
                self.todo.push((
                    Part {
                        a: part.a.start..x,
                        b: part.b.start..y,
                    },
                    Alignment::Shortest,
                ));
            } else {
                self.replace(part);
            }
        }
    }

    /// Takes equal lines off both ends.
    fn trim(&mut self, part: Part) -> Part {
        let (a, b) = (&self.a[part.a.clone()], &self.b[part.b.clone()]);
        let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        let (a, b) = (&a[start..], &b[start..]);
        let end = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(x, y)| x == y)
            .count();
        self.left = self.left.saturating_sub((start + end) as u64);
        Part {
            a: part.a.start + start..part.a.end - end,
            b: part.b.start + start..part.b.end - end,
        }
    }

    fn replace(&mut self, part: Part) {
        self.removed[part.a].fill(true);
        self.added[part.b].fill(true);
    }

    /// Leaves the parts between aligned lines to do, the first on top.
    fn split_at(&mut self, part: Part, aligned: &[(usize, usize)]) {
        let (mut a_end, mut b_end) = (part.a.end, part.b.end);
        for &(x, y) in aligned.iter().rev() {
            self.todo.push((
                Part {
                    a: x + 1..a_end,
                    b: y + 1..b_end,
                },
                Alignment::Anchored,
            ));
            (a_end, b_end) = (x, y);
        }
        self.todo.push((
            Part {
                a: part.a.start..a_end,
                b: part.b.start..b_end,
            },
            Alignment::Anchored,
        ));
    }
}

/// Where the lines of `these` are that also stand in `those`. The others go or come in any case, and searching among
/// them would be most of the work for texts that have little in common.
fn shared(these: &[u32], those: &[u32]) -> Vec<usize> {
    let most = these
        .iter()
        .chain(those)
        .max()
        .map_or(0, |&n| n as usize + 1);
    let mut known = vec![false; most];
    those.iter().for_each(|&n| known[n as usize] = true);
    (0..these.len())
        .filter(|&at| known[these[at] as usize])
        .collect()
}

/// The marks of the searched lines at their places among `len`; lines that were not searched are marked.
fn spread(marks: &[bool], places: &[usize], len: usize) -> Vec<bool> {
    let mut all = vec![true; len];
    places
        .iter()
        .zip(marks)
        .for_each(|(&at, &mark)| all[at] = mark);
    all
}

/// The runs of marked lines, `offset` lines further down.
fn runs(removed: &[bool], added: &[bool], offset: usize) -> Vec<Change> {
    let run = |marks: &[bool]| marks.iter().take_while(|&&marked| marked).count();
    let mut changes = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < removed.len() || y < added.len() {
        let (gone, come) = (run(&removed[x..]), run(&added[y..]));
        if gone + come > 0 {
            changes.push(Change {
                old: span(x + offset, gone),
                new: span(y + offset, come),
            });
        }
        x += gone + 1;
        y += come + 1;
    }
    changes
}

/// The lines that lie in no zone of a change.
fn untouched(changes: &[Change], zones: &[Range<u32>], old_len: usize) -> Vec<(u32, u32)> {
    let mut pairs = Vec::with_capacity(old_len);
    let (mut x, mut y) = (0, 0);
    let mut free = 0;
    for (change, zone) in changes.iter().zip(zones) {
        pairs.extend((x..zone.start).zip(y..).filter(|(x, _)| *x >= free));
        (x, y) = (change.old.end(), change.new.end());
        free = zone.end;
    }
    let end = u32::try_from(old_len).unwrap_or(u32::MAX);
    pairs.extend((x..end).zip(y..).filter(|(x, _)| *x >= free));
    pairs
}

/// What two rising lists have in common.
fn common(one: &[(u32, u32)], other: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut rest = other.iter().peekable();
    let mut both = Vec::with_capacity(one.len());
    for pair in one {
        while rest.next_if(|next| *next < pair).is_some() {}
        if rest.peek() == Some(&pair) {
            both.push(*pair);
        }
    }
    both
}

fn common_ends(old: &[&[u8]], new: &[&[u8]]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(x, y)| x == y).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    (start, end)
}

/// Texts are limited to far less than 2^32 bytes before they get here.
fn span(start: usize, count: usize) -> Lines {
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Lines {
        start: small(start),
        count: small(count),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::lines;

    fn changes_of(old: &str, new: &str) -> Vec<(String, String)> {
        let (old, new) = (lines(old.as_bytes()), lines(new.as_bytes()));
        let text = |all: &[&[u8]], at: Lines| {
            String::from_utf8(all[at.start as usize..at.end() as usize].concat()).unwrap()
        };
        let diff = diff(&old, &new);
        diff.changes
            .iter()
            .map(|c| (text(&old, c.old), text(&new, c.new)))
            .collect()
    }

    fn check(old: &[&[u8]], new: &[&[u8]], changes: &[Change]) {
        let (mut made, mut at) = (Vec::new(), 0);
        for (index, change) in changes.iter().enumerate() {
            assert!(
                index == 0 || change.old.start > at,
                "a line stays between two changes: {changes:?}"
            );
            made.extend_from_slice(&old[at as usize..change.old.start as usize]);
            assert_eq!(
                made.len(),
                change.new.start as usize,
                "both sides agree where a change is"
            );
            made.extend_from_slice(&new[change.new.start as usize..change.new.end() as usize]);
            at = change.old.end();
        }
        made.extend_from_slice(&old[at as usize..]);
        assert_eq!(made, new, "the changes make the new text");
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just("a\n"),
            Just("b\n"),
            Just("  c\n"),
            Just("\n"),
            Just("}\r\n"),
            Just("d\n"),
            Just("e\n")
        ];
        (
            prop::collection::vec(line, 0..40),
            prop_oneof![Just(""), Just("end")],
        )
            .prop_map(|(lines, end)| (lines.concat() + end).into_bytes())
    }

    proptest! {
        #[test]
        fn every_answer_is_an_edit_and_always_the_same(old in text(), new in text()) {
            let (old, new) = (lines(&old), lines(&new));
            let found = diff(&old, &new).changes;
            check(&old, &new, &found);
            prop_assert_eq!(&diff(&old, &new).changes, &found, "a second look finds the same");
            for how in Alignment::ALL {
                check(&old, &new, &search(&old, &new, how).changes);
            }
            for (x, y) in surely_kept(&old, &new) {
                prop_assert_eq!(old[x as usize], new[y as usize]);
            }
        }

        #[test]
        fn the_shortest_edit_is_the_shortest(old in text(), new in text()) {
            let (old, new) = (lines(&old), lines(&new));
            let found = search(&old, &new, Alignment::Shortest);
            let edits: u32 = found.changes.iter().map(|c| c.old.count + c.new.count).sum();
            // The textbook table: the longest common subsequence.
            let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
            for (i, a) in old.iter().enumerate() {
                for (j, b) in new.iter().enumerate() {
                    table[i + 1][j + 1] = if a == b { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
                }
            }
            prop_assert_eq!(edits as usize, old.len() + new.len() - 2 * table[old.len()][new.len()]);
        }
    }

    #[test]
    fn a_new_function_is_shown_whole() {
        let old = "fn a() {\n    x\n}\n\nfn c() {\n    x\n}\n";
        let new = "fn a() {\n    x\n}\n\nfn b() {\n    x\n}\n\nfn c() {\n    x\n}\n";
        assert_eq!(
            changes_of(old, new),
            [(String::new(), "fn b() {\n    x\n}\n\n".into())]
        );
    }

    #[test]
    fn texts_made_to_be_slow_are_answered_soon() {
        let mut state = 1_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut make = |line: &mut dyn FnMut(u64, usize) -> String| {
            let mut text = String::new();
            let mut at = 0;
            while text.len() < 1_000_000 {
                text += &line(random(), at);
                at += 1;
            }
            text.into_bytes()
        };
        let pairs: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
            (
                "unrelated",
                make(&mut |r, _| format!("{r}\n")),
                make(&mut |r, _| format!("{r}\n")),
            ),
            (
                "two different lines",
                make(&mut |r, _| format!("{}\n", r % 2)),
                make(&mut |r, _| format!("{}\n", r % 2)),
            ),
            (
                "a hundred different lines",
                make(&mut |r, _| format!("{}\n", r % 100)),
                make(&mut |r, _| format!("{}\n", r % 100)),
            ),
            (
                "neighbours swapped",
                make(&mut |_, n| format!("{n}\n")),
                make(&mut |_, n| format!("{}\n", n ^ 1)),
            ),
            (
                "mostly blank",
                make(&mut |r, _| {
                    if r % 9 == 0 {
                        format!("{}\n", r % 5000)
                    } else {
                        "\n".into()
                    }
                }),
                make(&mut |r, _| {
                    if r % 9 == 0 {
                        format!("{}\n", r % 5000)
                    } else {
                        "\n".into()
                    }
                }),
            ),
            (
                "one long line",
                vec![b'a'; 1_000_000],
                vec![b'b'; 1_000_000],
            ),
        ];
        for (name, old, new) in pairs {
            let began = processor_time();
            let (old, new) = (lines(&old), lines(&new));
            let found = diff(&old, &new);
            let took = processor_time() - began;
            println!(
                "{name}: {took} s, {} steps, {} changes",
                found.steps,
                found.changes.len()
            );
            assert!(found.steps <= MOST_STEPS, "{name}");
            // Unoptimised code is some ten times slower than what people run.
            let bound = if cfg!(debug_assertions) { 20 } else { 1 };
            assert!(took < bound, "{name} took {took} s");
        }
    }

    /// The seconds that this thread has worked; a busy machine makes it wait, which is not counted.
    fn processor_time() -> i64 {
        rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec
    }
}
