//! Makes hunks of two texts, and a text of some of the hunks.
//!
//! The promise: all hunks give the new text, none give the old one, and choosing one never changes what another one
//! does. It rests on the diff being the same at every look.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use enclos_paths::ProjectPath;

use crate::Hunk;
use crate::HunkId;
use crate::Line;
use crate::LineKind;
use crate::Lines;
use crate::diff::Change;
use crate::diff::diff;
use crate::hunk::CONTEXT;
use crate::text::lines;

/// The hunks of one file.
#[derive(Debug)]
pub(crate) struct Hunks {
    pub(crate) hunks: Vec<Hunk>,
    /// How many steps it took to find them.
    pub(crate) steps: u64,
    /// How many bytes of lines they hold.
    pub(crate) bytes: u64,
}

/// The hunks that make `new` out of `old`, in the order of the file.
pub(crate) fn hunks(path: &ProjectPath, old: &[u8], new: &[u8]) -> Hunks {
    let (old, new) = (lines(old), lines(new));
    let found = diff(&old, &new);
    let ids = ids(path, &found.changes, &old, &new);
    let mut headings = Headings::default();
    let mut hunks = Vec::with_capacity(ids.len());
    for (at, (change, id)) in found.changes.iter().zip(ids).enumerate() {
        let floor = at
            .checked_sub(1)
            .map_or(0, |before| found.changes[before].old.end());
        let ceiling = found
            .changes
            .get(at + 1)
            .map_or(old.len(), |after| after.old.start as usize);
        hunks.push(Hunk {
            id,
            old: change.old,
            new: change.new,
            lines: with_context(change, &old, &new, floor as usize..ceiling),
            heading: headings.above(&old, change.old.start as usize),
        });
    }
    let bytes = hunks
        .iter()
        .flat_map(|hunk| &hunk.lines)
        .map(|line| line.bytes.len() as u64)
        .sum();
    Hunks {
        hunks,
        steps: found.steps,
        bytes,
    }
}

/// `old` with the `chosen` hunks of what makes it `new`.
///
/// # Errors
/// An id that none of the hunks has.
pub(crate) fn with_chosen(
    path: &ProjectPath,
    old: &[u8],
    new: &[u8],
    chosen: &BTreeSet<HunkId>,
) -> Result<Vec<u8>, HunkId> {
    let (old, new) = (lines(old), lines(new));
    let changes = diff(&old, &new).changes;
    let mut missing = chosen.clone();
    let (mut text, mut at) = (Vec::new(), 0);
    for (change, id) in changes.iter().zip(ids(path, &changes, &old, &new)) {
        if missing.remove(&id) {
            text.extend(old[at..change.old.start as usize].concat());
            text.extend(part(&new, change.new).concat());
            at = change.old.end() as usize;
        }
    }
    text.extend(old[at..].concat());
    match missing.pop_first() {
        Some(id) => Err(id),
        None => Ok(text),
    }
}

/// The id of each change: equal ones are told apart by how many stand before.
fn ids(path: &ProjectPath, changes: &[Change], old: &[&[u8]], new: &[&[u8]]) -> Vec<HunkId> {
    let mut taken = HashSet::with_capacity(changes.len());
    // Where the count goes on, so that a text with very many equal changes is not counted through from the start for
    // each of them.
    let mut next: HashMap<HunkId, u32> = HashMap::new();
    let mut id = |change: &Change| {
        let (removed, added) = (part(old, change.old), part(new, change.new));
        let first = HunkId::of(path, removed, added, 0);
        let occurrence = next.entry(first).or_default();
        // Also keeps two different hunks apart that an agent made so that their short ids are equal.
        loop {
            let id = match *occurrence {
                0 => first,
                later => HunkId::of(path, removed, added, later),
            };
            *occurrence += 1;
            if taken.insert(id) {
                return id;
            }
        }
    };
    changes.iter().map(&mut id).collect()
}

fn with_context(
    change: &Change,
    old: &[&[u8]],
    new: &[&[u8]],
    room: std::ops::Range<usize>,
) -> Vec<Line> {
    let (start, end) = (change.old.start as usize, change.old.end() as usize);
    let before = &old[start.saturating_sub(CONTEXT as usize).max(room.start)..start];
    let after = &old[end..(end + CONTEXT as usize).min(room.end)];
    let parts = [
        (before, LineKind::Context),
        (part(old, change.old), LineKind::Removed),
        (part(new, change.new), LineKind::Added),
        (after, LineKind::Context),
    ];
    parts
        .iter()
        .flat_map(|(lines, kind)| lines.iter().map(|line| made(*kind, line)))
        .collect()
}

fn made(kind: LineKind, line: &[u8]) -> Line {
    let bare = line.strip_suffix(b"\n");
    Line {
        kind,
        bytes: bare.unwrap_or(line).into(),
        newline_at_end: bare.is_some(),
    }
}

fn part<'a, 'b>(all: &'a [&'b [u8]], at: Lines) -> &'a [&'b [u8]] {
    &all[at.start as usize..at.end() as usize]
}

/// Finds headings; each line is looked at once however many hunks there are.
#[derive(Default)]
struct Headings {
    looked: usize,
    last: Option<usize>,
}

impl Headings {
    /// The longest heading that is kept, in bytes; git cuts at the same length.
    const LONGEST: usize = 80;

    fn above(&mut self, lines: &[&[u8]], at: usize) -> Option<Box<[u8]>> {
        let starts = |line: &[u8]| {
            line.first()
                .is_some_and(|&b| b.is_ascii_alphabetic() || b == b'_' || b == b'$')
        };
        if let Some(found) = lines[self.looked..at].iter().rposition(|line| starts(line)) {
            self.last = Some(self.looked + found);
        }
        self.looked = at;
        let line = lines[self.last?].trim_ascii_end();
        Some(line[..line.len().min(Self::LONGEST)].into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path() -> ProjectPath {
        ProjectPath::new("src/a.rs").unwrap()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec![
            &b"a\n"[..],
            b"b\r\n",
            b"\n",
            b"c\xff\n",
            b"d\n",
            b"e\n",
        ]);
        let end = prop::sample::select(vec![&b""[..], b"end"]);
        (prop::collection::vec(line, 0..30), end)
            .prop_map(|(lines, end)| [&lines.concat(), end].concat())
    }

    fn id_set(hunks: &[Hunk]) -> BTreeSet<HunkId> {
        hunks.iter().map(|hunk| hunk.id).collect()
    }

    proptest! {
        #[test]
        fn all_give_the_new_text_and_none_the_old(old in text(), new in text()) {
            let all = hunks(&path(), &old, &new).hunks;
            prop_assert_eq!(id_set(&all).len(), all.len(), "each has its own id");
            prop_assert_eq!(with_chosen(&path(), &old, &new, &id_set(&all)).unwrap(), new.clone());
            prop_assert_eq!(with_chosen(&path(), &old, &new, &BTreeSet::new()).unwrap(), old);
        }

        #[test]
        fn some_now_and_the_rest_later_give_the_same(old in text(), new in text(), mask in any::<u32>()) {
            let all = hunks(&path(), &old, &new).hunks;
            let some: BTreeSet<_> = all.iter().enumerate().filter(|(at, _)| mask >> (at % 32) & 1 == 1).map(|(_, hunk)| hunk.id).collect();
            let partly = with_chosen(&path(), &old, &new, &some).unwrap();
            let rest = id_set(&hunks(&path(), &partly, &new).hunks);
            prop_assert_eq!(with_chosen(&path(), &partly, &new, &rest).unwrap(), new);
        }
    }

    #[test]
    fn an_id_stays_when_other_hunks_come_and_go() {
        let base = b"one\ntwo\nthree\nfour\nfive\nsix\n";
        let both = hunks(&path(), base, b"ONE\ntwo\nthree\nfour\nfive\nSIX\n").hunks;
        let one = hunks(&path(), base, b"one\ntwo\nthree\nfour\nfive\nSIX\n").hunks;
        assert_eq!(both.len(), 2);
        assert_eq!(
            both[1].id, one[0].id,
            "the first hunk is gone, the second keeps its name"
        );
        let applied = hunks(
            &path(),
            b"ONE\ntwo\nthree\nfour\nfive\nsix\n",
            b"ONE\ntwo\nthree\nfour\nfive\nSIX\n",
        )
        .hunks;
        assert_eq!(
            both[1].id, applied[0].id,
            "the first hunk was applied, the second keeps its name"
        );
        let elsewhere = hunks(
            &ProjectPath::new("src/b.rs").unwrap(),
            base,
            b"ONE\ntwo\nthree\nfour\nfive\nsix\n",
        )
        .hunks;
        assert_ne!(
            both[0].id, elsewhere[0].id,
            "another file's hunk has another name"
        );
    }

    #[test]
    fn equal_hunks_have_names_of_their_own() {
        let found = hunks(&path(), b"x\n1\nx\n2\nx\n", b"y\n1\ny\n2\ny\n").hunks;
        assert_eq!(id_set(&found).len(), 3);
        let last = BTreeSet::from([found[2].id]);
        assert_eq!(
            with_chosen(&path(), b"x\n1\nx\n2\nx\n", b"y\n1\ny\n2\ny\n", &last).unwrap(),
            b"x\n1\nx\n2\ny\n"
        );
    }

    #[test]
    fn very_many_equal_hunks_are_named_in_one_pass() {
        // Counting each of them through from the start takes five thousand million hashes: hours.
        let old: String = (0..100_000).map(|n| format!("{n}\n")).collect();
        let new = old.replace('\n', "\nagain\n");
        let found = hunks(&path(), old.as_bytes(), new.as_bytes()).hunks;
        assert_eq!(found.len(), 100_000);
        assert_eq!(id_set(&found).len(), found.len());
    }

    #[test]
    fn line_endings_and_the_last_newline_are_kept_and_said() {
        let found = hunks(&path(), b"a\r\nb", b"a\nb\n").hunks;
        let shown: Vec<_> = found[0]
            .lines
            .iter()
            .map(|line| (line.kind, &line.bytes[..], line.newline_at_end))
            .collect();
        assert_eq!(
            shown,
            [
                (LineKind::Removed, &b"a\r"[..], true),
                (LineKind::Removed, b"b", false),
                (LineKind::Added, b"a", true),
                (LineKind::Added, b"b", true),
            ]
        );
    }

    #[test]
    fn context_stops_at_the_neighbours() {
        let found = hunks(
            &path(),
            b"fn a() {\n1\n2\n3\n4\n5\n",
            b"fn a() {\nI\n2\n3\nIV\n5\n",
        )
        .hunks;
        let kinds = |hunk: &Hunk| {
            hunk.lines
                .iter()
                .map(|line| (line.kind, line.bytes.to_vec()))
                .collect::<Vec<_>>()
        };
        let context = |text: &str| (LineKind::Context, text.as_bytes().to_vec());
        assert_eq!(kinds(&found[0])[3..], [context("2"), context("3")]);
        assert_eq!(kinds(&found[1])[..2], [context("2"), context("3")]);
        assert_eq!(found[0].heading.as_deref(), Some(&b"fn a() {"[..]));
    }

    #[test]
    fn a_hunk_that_is_not_there_is_named() {
        let other = HunkId::parse("0123456789").unwrap();
        assert_eq!(
            with_chosen(&path(), b"a\n", b"b\n", &BTreeSet::from([other])),
            Err(other)
        );
    }
}
