//! Rules for Rust files: their first words, their length, and what only some of them may do.

use crate::tidy::Violation;
use crate::tidy::mask::Masked;
use crate::tidy::mask::has_word;
use crate::tidy::source::Source;

/// All of them; nothing for other files.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    let Some(rust) = &source.rust else {
        return Vec::new();
    };
    [
        first_words(source),
        length(source),
        tabs(source, rust),
        only_sys_is_unsafe(source, rust),
        platforms(source, rust),
        ambient(source, rust),
    ]
    .concat()
}

/// Files outside of mains that read the machine all the same, each with its reason.
const READS_THE_MACHINE: [(&str, &str); 2] = [
    (
        "core/cli/src/environment.rs",
        "the part of the command's main that reads, in a file of its own",
    ),
    (
        "core/session/src/environment.rs",
        "the clock that mains hand down",
    ),
];

/// Files that ask which platform they are on all the same, each with its reason.
const ASKS_FOR_THE_PLATFORM: [(&str, &str); 2] = [
    (
        "core/clone/src/listing.rs",
        "only one kernel fills the buffer that is kept between folders",
    ),
    (
        "core/sandbox/src/lend/mod.rs",
        "the one place where the platform becomes a value for planners",
    ),
];

fn is_in(table: &[(&str, &str)], source: &Source) -> bool {
    table.iter().any(|(path, _)| *path == source.path)
}

/// A file says first what it promises.
fn first_words(source: &Source) -> Vec<Violation> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![source.violation(
        1,
        "start with `//!`: what this file promises, how it could break, what is not here",
    )]
}

const MOST_LINES: usize = 800;

/// A file can be read in one sitting.
fn length(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().count();
    if lines <= MOST_LINES {
        return Vec::new();
    }
    vec![source.violation(
        0,
        format!("{lines} lines, {MOST_LINES} at most: split it by what it does"),
    )]
}

/// Tabs are written `\t`, or stand in the lines of a string that spans several.
fn tabs(source: &Source, rust: &Masked) -> Vec<Violation> {
    let touches_string =
        |line: usize| rust.ends_in_string[line] || (line > 0 && rust.ends_in_string[line - 1]);
    let lines = source.text.split('\n').enumerate();
    let bad = lines.filter(|(line, text)| text.contains('\t') && !touches_string(*line));
    bad.map(|(line, _)| source.violation(line + 1, "a tab: write `\\t` or spaces"))
        .collect()
}

/// Only one crate talks to the kernel in ways that the compiler cannot check.
fn only_sys_is_unsafe(source: &Source, rust: &Masked) -> Vec<Violation> {
    if source.path.starts_with("core/sys/src/") {
        return Vec::new();
    }
    let words = ["unsafe", "unsafe_code"];
    let lines = rust.lines.iter().enumerate();
    let bad = lines.filter(|(_, line)| words.iter().any(|word| has_word(line, word)));
    bad.map(|(line, _)| {
        source.violation(
            line + 1,
            "`unsafe` belongs in core/sys, behind a safe function",
        )
    })
    .collect()
}

/// Files and folders that exist for one platform, as their names say.
const PLATFORM_NAMES: [&str; 4] = ["linux", "darwin", "macos", "seatbelt"];

/// Platforms differ in files of their own, or in small items side by side: never inside of a function, where nobody
/// sees that half of it is not compiled. A main may exist for one platform only.
fn platforms(source: &Source, rust: &Masked) -> Vec<Violation> {
    let by_name = source
        .path
        .split('/')
        .any(|name| PLATFORM_NAMES.contains(&name.trim_end_matches(".rs")));
    if by_name
        || source.path.starts_with("core/sys/")
        || source.is_main()
        || source.is_for_developers()
        || is_in(&ASKS_FOR_THE_PLATFORM, source)
    {
        return Vec::new();
    }
    let lines = rust
        .shipped()
        .filter(|(_, code)| has_word(code, "target_os"));
    let bad = lines.filter(|(line, _)| !chooses_an_item(&rust.lines, line - 1));
    let message =
        "`target_os` inside of a function or type: use linux.rs and darwin.rs, or twin items";
    bad.map(|(line, _)| source.violation(line, message))
        .collect()
}

const ITEMS: [&str; 9] = [
    "mod", "use", "fn", "const", "static", "type", "struct", "enum", "impl",
];

/// Whether the condition in this line is about a whole item, or is the value of a constant with a name.
fn chooses_an_item(lines: &[String], line: usize) -> bool {
    if has_word(&lines[line], "const") && lines[line].contains("cfg!") {
        return true;
    }
    // A long attribute spans lines.
    let starts = (0..=line).rev().take(4);
    let Some(start) = starts
        .into_iter()
        .find(|&line| lines[line].trim_start().starts_with("#["))
    else {
        return false;
    };
    let text = lines[start..].join("\n");
    let item = without_attributes(&text);
    let words = item.lines().next().unwrap_or_default();
    ITEMS.iter().any(|item| has_word(words, item))
}

/// What follows the attributes at the start of `code`.
fn without_attributes(code: &str) -> &str {
    let mut rest = code.trim_start();
    while rest.starts_with("#[") {
        let mut depth = 0_usize;
        let closes = |c: char| {
            depth = if c == '[' {
                depth + 1
            } else {
                depth - usize::from(c == ']')
            };
            c == ']' && depth == 0
        };
        let Some(end) = rest.find(closes) else {
            return "";
        };
        rest = rest[end + 1..].trim_start();
    }
    rest
}

/// What reads the machine behind its caller's back.
const AMBIENT: [&str; 6] = [
    "std::env",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "env::var",
    "env::current_dir",
];

/// Only mains read the environment, the clock and the home; they pass values down.
fn ambient(source: &Source, rust: &Masked) -> Vec<Violation> {
    if source.is_main() || source.is_for_developers() || is_in(&READS_THE_MACHINE, source) {
        return Vec::new();
    }
    let of_line = |(line, code): (usize, &str)| {
        // Setting is no reading: a process that exists to run another one does it.
        let reads = !code.contains("env::set_current_dir");
        let what = AMBIENT
            .into_iter()
            .find(|what| reads && has_word(code, what))?;
        Some(source.violation(
            line,
            format!("`{what}` outside of a main: take the value as a parameter"),
        ))
    };
    rust.shipped().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEAD: &str = "//! Head.\n";

    fn found(path: &str, code: &str) -> Vec<(usize, String)> {
        let violations = check(&Source::new(path, &format!("{HEAD}{code}")));
        violations
            .into_iter()
            .map(|violation| (violation.line, violation.message))
            .collect()
    }

    const NONE: [usize; 0] = [];

    fn lines(path: &str, code: &str) -> Vec<usize> {
        found(path, code)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn a_clean_file_breaks_nothing() {
        assert_eq!(found("core/clone/src/lib.rs", "fn f() {}\n"), []);
    }

    #[test]
    fn a_file_without_a_head_is_found() {
        let violations = check(&Source::new("core/clone/src/lib.rs", "fn f() {}\n"));
        assert_eq!(violations.len(), 1, "{violations:?}");
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(
            lines("core/clone/src/lib.rs", &"\n".repeat(MOST_LINES - 1)),
            NONE
        );
        assert_eq!(
            lines("core/clone/src/lib.rs", &"\n".repeat(MOST_LINES)),
            [0]
        );
    }

    #[test]
    fn tabs_are_found_unless_a_string_spans_lines() {
        assert_eq!(lines("core/clone/src/lib.rs", "\tf();\n"), [2]);
        assert_eq!(
            lines(
                "core/clone/src/lib.rs",
                "let makefile = \"all:\n\tcc\n\";\n"
            ),
            NONE
        );
    }

    #[test]
    fn unsafe_is_found_outside_of_sys() {
        let code = "fn f() { unsafe { g() } }\n";
        assert_eq!(lines("core/clone/src/lib.rs", code), [2]);
        assert_eq!(
            lines("core/clone/src/lib.rs", "#![allow(unsafe_code)]\n"),
            [2]
        );
        assert_eq!(lines("core/sys/src/lib.rs", code), NONE);
        assert_eq!(
            lines("core/clone/src/lib.rs", "// unsafe\nlet s = \"unsafe\";\n"),
            NONE
        );
    }

    #[test]
    fn platforms_differ_in_files_and_items() {
        let field = "struct S {\n    #[cfg(target_os = \"linux\")]\n    f: u8,\n}\n";
        assert_eq!(lines("core/clone/src/lib.rs", field), [3]);
        let branch = "fn f() {\n    if cfg!(target_os = \"linux\") {}\n}\n";
        assert_eq!(lines("core/clone/src/lib.rs", branch), [3]);
        for path in [
            "clone/src/linux.rs",
            "sandbox/src/seatbelt/plan.rs",
            "sys/src/lib.rs",
        ] {
            assert_eq!(lines(&format!("core/{path}"), branch), NONE, "{path}");
        }
        for item in [
            "#[path = \"linux.rs\"]\nmod os;\n",
            "pub(crate) fn f() {}\n",
        ] {
            let picks = format!("#[cfg(target_os = \"linux\")]\n{item}");
            assert_eq!(lines("core/clone/src/lib.rs", &picks), NONE, "{item}");
        }
    }

    #[test]
    fn every_exception_has_a_reason_and_a_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (path, why) in READS_THE_MACHINE.iter().chain(&ASKS_FOR_THE_PLATFORM) {
            assert!(
                root.join(path).is_file() && !why.is_empty(),
                "{path}: remove what is not needed any more"
            );
        }
    }

    #[test]
    fn the_machine_is_read_in_mains_only() {
        for code in [
            "let home = std::env::var(\"HOME\");\n",
            "let now = SystemTime::now();\n",
            "use std::env;\n",
        ] {
            assert_eq!(lines("core/session/src/registry.rs", code), [2], "{code}");
            assert_eq!(lines("core/cli/src/main.rs", code), NONE, "{code}");
            assert_eq!(
                lines(
                    "core/session/src/registry.rs",
                    &format!("#[cfg(test)]\nmod tests {{\n{code}}}\n")
                ),
                NONE
            );
        }
        assert_eq!(
            lines(
                "core/session/src/registry.rs",
                "fn f(now: std::time::SystemTime) {}\n"
            ),
            NONE
        );
    }
}
