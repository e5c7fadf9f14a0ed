//! What an apply did, and what a session left at its end, in a few lines.

use std::fmt::Write;

use enclos_api::wire::Applied;
use enclos_api::wire::Change;
use enclos_api::wire::Diff;
use enclos_api::wire::LeftWhy;
use enclos_api::wire::Standing;
use enclos_paths::AbsPath;

use super::Paint;
use super::Style;
use super::count;
use super::short;

/// Whether files came or went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Applied,
    Undone,
}

/// What an apply or an undo did.
pub(crate) fn applied(
    applied: &Applied,
    direction: Direction,
    home: &AbsPath,
    style: Style,
) -> String {
    let mut text = String::new();
    for line in &applied.recovered {
        let _ = writeln!(text, "{}", style.paint(Paint::Warn, line));
    }
    let done = applied.files.iter().filter(|file| file.applied).count() as u64;
    let mut originals: Vec<&str> = applied
        .files
        .iter()
        .map(|file| file.original.as_str())
        .collect();
    originals.dedup();
    let to = originals
        .iter()
        .map(|original| short(original, home))
        .collect::<Vec<_>>()
        .join(", ");
    match (direction, done) {
        (Direction::Applied, 0) => text.push_str("Nothing was applied.\n"),
        (Direction::Undone, 0) => text.push_str("Nothing was put back.\n"),
        (Direction::Applied, _) => {
            let undo = style.paint(Paint::Name, &format!("enclos undo {}", applied.session));
            let _ = writeln!(
                text,
                "{} Take it back: {undo}",
                style.paint(
                    Paint::Good,
                    &format!("Applied {} to {to}.", count(done, "file"))
                )
            );
        }
        (Direction::Undone, _) => {
            let what = format!("Put {} back in {to}.", count(done, "file"));
            let _ = writeln!(text, "{}", style.paint(Paint::Good, &what));
        }
    }
    for file in &applied.files {
        match (&file.note, file.applied) {
            (Some(note), true) => {
                let _ = writeln!(text, "  {}: {note}", file.path);
            }
            (note, false) => {
                let note = note.as_deref().unwrap_or("it was left as it is");
                let _ = writeln!(
                    text,
                    "  {} {}: {note}",
                    style.paint(Paint::Bad, "left"),
                    file.path
                );
            }
            (None, true) => {}
        }
    }
    left(&mut text, applied, style);
    text
}

fn left(text: &mut String, applied: &Applied, style: Style) {
    if applied.left.is_empty() {
        return;
    }
    let number = applied.left.len() as u64;
    let verb = if number == 1 { "stays" } else { "stay" };
    let _ = writeln!(text, "{} {verb} in the session:", count(number, "change"));
    for file in &applied.left {
        let paint = if file.why == LeftWhy::NotReviewable {
            Paint::Dim
        } else {
            Paint::Warn
        };
        let _ = writeln!(text, "  {} {}", file.path, style.paint(paint, &file.words));
    }
    let name = style.paint(
        Paint::Name,
        &format!("enclos apply {} PATH", applied.session),
    );
    let _ = writeln!(text, "Look at one and take it by name: {name}");
}

/// What a session changed, in a line or two.
pub(crate) fn summary(diff: &Diff, style: Style) -> String {
    let files = || diff.trees.iter().flat_map(|tree| &tree.files);
    let of = |change: Change| files().filter(|file| file.change == change).count() as u64;
    let total = files().count() as u64;
    let git: u64 = diff.trees.iter().map(|tree| tree.git_files).sum();
    let folders = diff.trees.iter().flat_map(|tree| &tree.folders).count() as u64;
    if total == 0 && git == 0 && folders == 0 {
        return "Nothing changed.\n".to_owned();
    }
    let mut parts = Vec::new();
    for (number, word) in [
        (of(Change::Added), "added"),
        (of(Change::Modified), "modified"),
        (of(Change::Deleted), "deleted"),
        (of(Change::Renamed), "renamed"),
        (
            of(Change::TypeChanged) + of(Change::Mode) + of(Change::Link),
            "changed in kind or mode",
        ),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    let mut text = format!("{} changed", count(total, "file"));
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join(", "));
    }
    text.push_str(".\n");
    let held = files().filter(|file| file.held.is_some()).count() as u64;
    let conflicts = files()
        .filter(|file| matches!(file.standing, Standing::Conflict { .. }))
        .count() as u64;
    if held > 0 {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Warn,
                &format!(
                    "{} would start by itself on your machine.",
                    count(held, "change")
                )
            )
        );
    }
    if conflicts > 0 {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Bad,
                &format!("{} with your own changes.", count(conflicts, "conflict"))
            )
        );
    }
    if folders > 0 {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Dim,
                &format!(
                    "{} of build output or ignored files stay in the copy.",
                    count(folders, "folder")
                )
            )
        );
    }
    if git > 0 {
        let _ = writeln!(
            text,
            "{}",
            style.paint(
                Paint::Dim,
                "The repository's own data changed too (commits); it stays in the copy."
            )
        );
    }
    text
}
