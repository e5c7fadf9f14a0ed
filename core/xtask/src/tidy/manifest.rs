//! Rules for cargo's files: where dependencies come from, and what every crate inherits.

use crate::tidy::Violation;
use crate::tidy::source::Source;

/// All of them; nothing for other files.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    match (source.path.as_str(), source.name()) {
        ("Cargo.toml", _) => [members(source), from_git(source, "git =")].concat(),
        (_, "Cargo.toml") => [inherits(source), from_git(source, "git =")].concat(),
        ("Cargo.lock", _) => from_git(source, "git+"),
        _ => Vec::new(),
    }
}

/// The list of members is the map of the tree, so each has its sentence.
fn members(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().enumerate();
    let members = lines
        .skip_while(|(_, line)| !line.starts_with("members"))
        .skip(1)
        .take_while(|(_, line)| *line != "]");
    let bad = members.filter(|(_, line)| {
        let comment = line.split_once('#').map(|(_, comment)| comment.trim());
        line.trim_start().starts_with('"') && comment.is_none_or(str::is_empty)
    });
    bad.map(|(line, _)| source.violation(line + 1, "say in a comment what this crate is"))
        .collect()
}

/// What a registry serves is the same for everyone and stays there.
fn from_git(source: &Source, sign: &str) -> Vec<Violation> {
    let bad = source
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(sign));
    bad.map(|(line, _)| source.violation(line + 1, "a dependency from a git repository"))
        .collect()
}

/// Lints, licence and edition are decided once.
fn inherits(source: &Source) -> Vec<Violation> {
    let wanted = [
        ("lints", "[lints]\nworkspace = true"),
        ("licence", "license.workspace = true"),
        ("edition", "edition.workspace = true"),
    ];
    let missing = wanted
        .into_iter()
        .filter(|(_, text)| !source.text.contains(text));
    missing
        .map(|(what, _)| source.violation(0, format!("inherit the {what} of the workspace")))
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
    fn a_member_without_a_sentence_is_found() {
        let text = "[workspace]\nmembers = [\n    \"core/a\", # does a\n    \"core/b\",\n    \"core/c\", #\n]\n";
        assert_eq!(lines("Cargo.toml", text), [4, 5]);
    }

    #[test]
    fn git_dependencies_are_found() {
        assert_eq!(
            lines("Cargo.toml", "x = { git = \"https://example.com/x\" }\n"),
            [1]
        );
        assert_eq!(
            lines("Cargo.lock", "source = \"git+https://example.com/x\"\n"),
            [1]
        );
    }

    #[test]
    fn a_crate_that_goes_its_own_way_is_found() {
        let inherits =
            "edition.workspace = true\nlicense.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_eq!(lines("core/a/Cargo.toml", inherits), NONE);
        assert_eq!(
            lines(
                "core/a/Cargo.toml",
                "edition = \"2024\"\nlicense.workspace = true\n"
            ),
            [0, 0]
        );
    }
}
