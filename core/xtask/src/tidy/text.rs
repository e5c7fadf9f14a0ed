//! Rules for every text file: its name, its line ends, and words that have no place in it.

use crate::tidy::Violation;
use crate::tidy::mask::has_word;
use crate::tidy::source::Source;

/// All of them.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    [
        name(source),
        line_ends(source),
        notes(source),
        strangers(source),
    ]
    .concat()
}

/// Names under which anything could be kept, so that in the end everything is.
const SAYS_NOTHING: [&str; 8] = [
    "util", "utils", "helper", "helpers", "manager", "common", "misc", "service",
];

/// A file or folder is called after what it holds.
fn name(source: &Source) -> Vec<Violation> {
    let names = source
        .path
        .split('/')
        .map(|name| name.split('.').next().unwrap_or(name));
    let bad = names.filter(|name| SAYS_NOTHING.contains(name));
    bad.map(|name| source.violation(0, format!("`{name}` says nothing about what is in it")))
        .collect()
}

/// Lines end where their text ends; inside a string the end is content.
fn line_ends(source: &Source) -> Vec<Violation> {
    let in_string = |line: usize| {
        source
            .rust
            .as_ref()
            .is_some_and(|rust| rust.ends_in_string[line])
    };
    let lines = source.text.split('\n').enumerate();
    let bad = lines.filter(|(line, text)| text.ends_with([' ', '\t', '\r']) && !in_string(*line));
    bad.map(|(line, _)| source.violation(line + 1, "white space at the end of the line"))
        .collect()
}

/// Split, so that this file does not break its own rule.
const NOTES: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// What is to be done is done, or has an issue.
fn notes(source: &Source) -> Vec<Violation> {
    let of_line = |(line, text): (usize, &str)| {
        let note = NOTES.into_iter().find(|note| has_word(text, note))?;
        Some(source.violation(line + 1, format!("`{note}`: do it now, or open an issue")))
    };
    source
        .text
        .lines()
        .enumerate()
        .filter_map(of_line)
        .collect()
}

/// What means something only on one machine, in somebody's notes or on a registry's web site; split as above.
const STRANGERS: [&str; 11] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("deb.debian", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("repo1.maven", ".org"),
    concat!("/work/", "main"),
    concat!("/work/", "shared"),
    concat!("shared/", "facts"),
    concat!("HAZ", "ARDS"),
];

/// A reader of the repository must be able to follow every reference.
fn strangers(source: &Source) -> Vec<Violation> {
    let of_line = |(line, text): (usize, &str)| {
        // The lock file names where each package comes from; that is its purpose.
        let is_origin = source.name() == "Cargo.lock" && text.starts_with("source = ");
        let stranger = STRANGERS
            .into_iter()
            .find(|stranger| !is_origin && text.contains(stranger))?;
        Some(source.violation(
            line + 1,
            format!("`{stranger}` means nothing to a reader of this repository"),
        ))
    };
    source
        .text
        .lines()
        .enumerate()
        .filter_map(of_line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text))
            .into_iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn a_clean_file_breaks_nothing() {
        assert_eq!(
            lines("core/clone/src/lib.rs", "//! Copies.\n\nfn f() {}\n"),
            NONE
        );
    }

    #[test]
    fn names_that_say_nothing_are_found_in_files_and_folders() {
        assert_eq!(lines("core/clone/src/utils.rs", ""), [0]);
        assert_eq!(lines("core/clone/tests/common/mod.rs", ""), [0]);
        assert_eq!(lines("core/clone/src/commonality.rs", ""), NONE);
    }

    #[test]
    fn white_space_at_line_ends_is_found_outside_of_strings() {
        assert_eq!(lines("a.rs", "a; \nb;\t\n\"c \nd\"; \n"), [1, 2, 4]);
        assert_eq!(lines("a.md", "a \nb\r\n"), [1, 2]);
    }

    #[test]
    fn notes_to_oneself_are_found_as_whole_words() {
        for note in NOTES {
            assert_eq!(
                lines("a.rs", &format!("x\n// {note}: later")),
                [2],
                "{note}"
            );
            assert_eq!(
                lines("a.sh", &format!("mktemp -d a.{note}{note}")),
                NONE,
                "part of a word"
            );
        }
    }

    #[test]
    fn strangers_are_found_and_the_lock_file_may_name_origins() {
        for stranger in STRANGERS {
            assert_eq!(lines("a.md", &format!("see {stranger}")), [1], "{stranger}");
        }
        let origin = format!(
            "source = \"registry+https://github.com/rust-lang/{}-index\"",
            STRANGERS[0]
        );
        assert_eq!(lines("Cargo.lock", &origin), NONE);
        assert_eq!(lines("Cargo.toml", &origin), [1]);
    }
}
