//! The merge against what is known to be right, and against git's.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::Config;
use proptest::test_runner::TestRng;
use proptest::test_runner::TestRunner;

use super::*;

fn clean(base: &str, ours: &str, theirs: &str) -> Option<String> {
    match merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()) {
        Merged::Clean(text) => Some(String::from_utf8(text).unwrap()),
        Merged::Conflict(_) => None,
    }
}

#[test]
fn edits_apart_from_each_other_fit_together() {
    assert_eq!(
        clean("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").as_deref(),
        Some("A\nb\nC\n")
    );
    assert_eq!(
        clean("a\r\nb\r\nc", "a\r\nb\r\nC", "A\r\nb\r\nc").as_deref(),
        Some("A\r\nb\r\nC")
    );
}

#[test]
fn the_same_edit_on_both_sides_counts_once() {
    assert_eq!(
        clean("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nD\n").as_deref(),
        Some("a\nB\nc\nD\n")
    );
}

#[test]
fn edits_that_touch_are_a_conflict_with_its_place() {
    let Merged::Conflict(regions) = merge(b"a\nb\nc\n", b"X\na\nB\nc\n", b"a\nb\nC\n") else {
        panic!("edits of neighbouring lines must not be called clean")
    };
    let lines = |start, count| Lines { start, count };
    assert_eq!(
        regions,
        [Region {
            base: lines(1, 2),
            ours: lines(2, 2),
            theirs: lines(1, 2),
        }]
    );
}

#[test]
fn an_edit_that_could_stand_where_the_other_is_is_a_conflict() {
    // The person adds a third "x"; the agent changes the line after them. Where the third one goes is anyone's guess.
    assert_eq!(
        clean("a\nx\nx\nb\nc\n", "a\nx\nx\nx\nb\nc\n", "A\nx\nx\nb\nc\n"),
        None
    );
    assert_eq!(
        clean("a\nx\nx\nb\nc\n", "a\nx\nx\nx\nb\nc\n", "a\nx\nx\nb\nC\n").as_deref(),
        Some("a\nx\nx\nx\nb\nC\n")
    );
}

/// One step of an edit script over a base of numbered lines.
#[derive(Debug, Clone)]
enum Edited {
    Keep,
    Drop,
    Change(u8),
    Insert(u8),
}

fn script(lines: usize) -> impl Strategy<Value = Vec<Edited>> {
    let edit = prop_oneof![
        8 => Just(Edited::Keep),
        1 => Just(Edited::Drop),
        1 => (0..4_u8).prop_map(Edited::Change),
        1 => (0..4_u8).prop_map(Edited::Insert),
    ];
    prop::collection::vec(edit, lines)
}

fn run(base: &[String], script: &[Edited]) -> String {
    let mut text = String::new();
    for (line, edit) in base.iter().zip(script) {
        match edit {
            Edited::Keep => text += line,
            Edited::Drop => {}
            Edited::Change(n) => text += &format!("new {n}\n"),
            Edited::Insert(n) => text += &format!("{line}new {n}\n"),
        }
    }
    text
}

/// A base with few or many equal lines, two edits of it, and perhaps no newline at an end.
fn triple() -> impl Strategy<Value = [String; 3]> {
    (1..24_usize, prop_oneof![Just(3_u32), Just(8), Just(1000)]).prop_flat_map(|(lines, kinds)| {
        let base = prop::collection::vec(
            (0..kinds).prop_map(|n| {
                if n == 0 {
                    "\n".into()
                } else {
                    format!("line {n}\n")
                }
            }),
            lines,
        );
        (
            base,
            script(lines),
            script(lines),
            prop::array::uniform3(prop::bool::weighted(0.1)),
        )
            .prop_map(|(base, ours, theirs, cut)| {
                let mut texts = [base.concat(), run(&base, &ours), run(&base, &theirs)];
                for (text, cut) in texts.iter_mut().zip(cut) {
                    if cut {
                        text.pop();
                    }
                }
                texts
            })
    })
}

proptest! {
    #[test]
    fn who_is_ours_and_who_is_theirs_does_not_matter([base, ours, theirs] in triple()) {
        prop_assert_eq!(clean(&base, &ours, &theirs), clean(&base, &theirs, &ours));
    }

    #[test]
    fn edits_of_lines_far_from_each_other_are_all_there(mine in prop::collection::btree_set(0..20_usize, 0..6), his in prop::collection::btree_set(0..20_usize, 0..6)) {
        let line = |at: usize, who: &str| format!("{at}{who}\n");
        let edited = |sets: [(&std::collections::BTreeSet<usize>, &str); 2]| (0..100).map(|at| {
            let who = sets.iter().find(|(set, _)| at % 5 == 2 && set.contains(&(at / 5))).map_or("", |(_, who)| who);
            line(at, who)
        }).collect::<String>();
        let none = std::collections::BTreeSet::new();
        let his: std::collections::BTreeSet<_> = his.difference(&mine).copied().collect();
        let base = edited([(&none, ""), (&none, "")]);
        let ours = edited([(&mine, " mine"), (&none, "")]);
        let theirs = edited([(&none, ""), (&his, " his")]);
        prop_assert_eq!(clean(&base, &ours, &theirs), Some(edited([(&mine, " mine"), (&his, " his")])));
    }
}

/// What git makes of the same three texts: none when it sees a conflict.
fn git(folder: &Path, texts: &[String; 3]) -> Option<Vec<u8>> {
    for (name, text) in ["base", "ours", "theirs"].iter().zip(texts) {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "ours", "base", "theirs"])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git must be installed to run this test");
    match output.status.code() {
        Some(0) => Some(output.stdout),
        Some(1..=127) => None,
        other => panic!(
            "git merge-file ended with {other:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

#[test]
fn no_result_ever_differs_from_gits() {
    let folder = tempfile::tempdir().unwrap();
    let cases = std::env::var("ENCLOS_MERGE_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1500);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let (mut both, mut careful, mut bold) = (0, 0, 0);
    for _ in 0..cases {
        let texts = triple().new_tree(&mut runner).unwrap().current();
        let [base, ours, theirs] = &texts;
        match (git(folder.path(), &texts), clean(base, ours, theirs)) {
            (Some(git), Some(ours)) => {
                assert_eq!(
                    String::from_utf8_lossy(&git),
                    ours,
                    "both call it clean: {texts:#?}"
                );
                both += 1;
            }
            (Some(_), None) => careful += 1,
            (None, Some(_)) => bold += 1,
            (None, None) => {}
        }
    }
    println!("{cases} triples: both clean {both}, only git {careful}, only here {bold}");
    assert!(both > careful, "most of what git merges is merged here too");
}
