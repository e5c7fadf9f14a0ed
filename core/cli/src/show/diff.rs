//! Changes as text, in the form that every developer reads: a header a file, hunks, `-` and `+`.
//!
//! Names and lines are the agent's: control characters in them are shown as escapes, so a diff cannot draw on the
//! terminal it is read in. Tabs stay.

use std::collections::BTreeMap;
use std::fmt::Write;

use enclos_api::wire::Change;
use enclos_api::wire::ContentKind;
use enclos_api::wire::Diff;
use enclos_api::wire::DiffFile;
use enclos_api::wire::DiffTree;
use enclos_api::wire::Hunk;
use enclos_api::wire::Line;
use enclos_api::wire::LineKind;
use enclos_api::wire::Side;
use enclos_api::wire::Standing;
use enclos_paths::shown;

use super::Paint;
use super::Style;
use super::bytes;
use super::count;
use super::words;
use super::words::Part;

/// The whole diff.
pub(crate) fn diff(diff: &Diff, style: Style) -> String {
    let mut text = String::new();
    for tree in &diff.trees {
        heading(&mut text, diff, tree, style);
        for (at, file) in tree.files.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            file_header(&mut text, file, style);
            for hunk in &file.hunks {
                self::hunk(&mut text, hunk, style);
            }
            body_instead(&mut text, file, style);
        }
        if !tree.files.is_empty()
            && (tree.git_files > 0 || !tree.folders.is_empty() || !tree.notes.is_empty())
        {
            text.push('\n');
        }
        rest(&mut text, tree, style);
    }
    text
}

/// Names, numbers of lines and what stands out.
pub(crate) fn stat(diff: &Diff, style: Style) -> String {
    let mut text = String::new();
    for tree in &diff.trees {
        heading(&mut text, diff, tree, style);
        let width = tree
            .files
            .iter()
            .map(|file| name(file).chars().count())
            .max()
            .unwrap_or(0)
            .min(60);
        for file in &tree.files {
            let (added, removed) = lines(file);
            let mut marks = Vec::new();
            if file.held.is_some() {
                marks.push(style.paint(Paint::Warn, "starts by itself"));
            }
            match &file.standing {
                Standing::Conflict { .. } => marks.push(style.paint(Paint::Bad, "conflict")),
                Standing::Merges => marks.push(style.paint(Paint::Dim, "merges with your changes")),
                Standing::Untouched => {}
            }
            let numbers = match file.content {
                ContentKind::Text => {
                    let added = style.paint(Paint::Added, &format!("+{added}"));
                    format!(
                        "{added} {}",
                        style.paint(Paint::Removed, &format!("-{removed}"))
                    )
                }
                _ => instead(file),
            };
            let line = format!(
                " {} {:width$}  {numbers}  {}",
                letter(file),
                name(file),
                marks.join(", ")
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        rest(&mut text, tree, style);
    }
    if text.is_empty() {
        text.push_str("Nothing changed.\n");
    }
    text
}

fn heading(text: &mut String, diff: &Diff, tree: &DiffTree, style: Style) {
    if diff.trees.len() > 1 {
        let _ = writeln!(text, "{}", style.paint(Paint::Strong, &tree.original));
    }
}

fn rest(text: &mut String, tree: &DiffTree, style: Style) {
    for folder in &tree.folders {
        let rebuild = folder
            .rebuild
            .as_ref()
            .map(|rebuild| format!("; `{rebuild}` makes it again"));
        let what = format!(
            "{}: {}; {}{}",
            folder.path,
            count(folder.files, "file"),
            folder.why,
            rebuild.unwrap_or_default()
        );
        let _ = writeln!(text, " {}", style.paint(Paint::Dim, &what));
    }
    if tree.git_files > 0 {
        let what = format!(
            ".git: {}; the repository's own data stays in the copy",
            count(tree.git_files, "file")
        );
        let _ = writeln!(text, " {}", style.paint(Paint::Dim, &what));
    }
    for note in &tree.notes {
        let _ = writeln!(text, " {}", style.paint(Paint::Warn, note));
    }
}

fn file_header(text: &mut String, file: &DiffFile, style: Style) {
    let words = match (file.change, &file.from) {
        (Change::Added, _) => "added".to_owned(),
        (Change::Modified, _) => "modified".to_owned(),
        (Change::Deleted, _) => "deleted".to_owned(),
        (Change::Renamed, Some(from)) => format!("renamed from {from}"),
        (Change::Renamed, None) => "renamed".to_owned(),
        (Change::TypeChanged, _) => format!(
            "{} became {}",
            kind(file.before.as_ref()),
            kind(file.after.as_ref())
        ),
        (Change::Mode, _) => "mode".to_owned(),
        (Change::Link, _) => "link".to_owned(),
    };
    let _ = writeln!(
        text,
        "{} {}",
        style.paint(Paint::Strong, &file.path),
        style.paint(Paint::Dim, &words)
    );
    if let (Some(before), Some(after)) = (&file.before, &file.after)
        && before.mode != after.mode
        && before.kind == after.kind
    {
        let _ = writeln!(
            text,
            "  {}",
            style.paint(
                Paint::Warn,
                &format!("mode {} -> {}", before.mode, after.mode)
            )
        );
    }
    if file.change == Change::Added && file.after.as_ref().is_some_and(is_executable) {
        let _ = writeln!(text, "  {}", style.paint(Paint::Warn, "executable"));
    }
    if let Some(held) = &file.held {
        let _ = writeln!(
            text,
            "  {}",
            style.paint(
                Paint::Warn,
                &format!("! {} would run {}", held.what, held.when)
            )
        );
    }
    match &file.standing {
        Standing::Conflict { why } => {
            let _ = writeln!(
                text,
                "  {}",
                style.paint(Paint::Bad, &format!("! conflict: {why}"))
            );
        }
        Standing::Merges => {
            let _ = writeln!(
                text,
                "  {}",
                style.paint(Paint::Dim, "you changed it too; both changes fit together")
            );
        }
        Standing::Untouched => {}
    }
    if file.hard_linked {
        let _ = writeln!(
            text,
            "  {}",
            style.paint(
                Paint::Dim,
                "one of several hard links; applying gives it a file of its own"
            )
        );
    }
}

fn is_executable(side: &Side) -> bool {
    side.kind == "file" && u32::from_str_radix(&side.mode, 8).is_ok_and(|mode| mode & 0o111 != 0)
}

fn kind(side: Option<&Side>) -> &str {
    side.map_or("nothing", |side| side.kind.as_str())
}

fn body_instead(text: &mut String, file: &DiffFile, style: Style) {
    if file.content == ContentKind::Text
        || (file.content == ContentKind::None && file.change != Change::Link)
    {
        return;
    }
    let _ = writeln!(text, "  {}", style.paint(Paint::Dim, &instead(file)));
}

/// What is said of a file whose lines are not shown.
fn instead(file: &DiffFile) -> String {
    let size = |side: &Option<Side>| {
        side.as_ref()
            .and_then(|side| side.size)
            .map_or("-".to_owned(), bytes)
    };
    let target = |side: &Option<Side>| {
        side.as_ref()
            .and_then(|side| side.target.clone())
            .map_or("nothing".to_owned(), |target| target)
    };
    match file.content {
        ContentKind::Binary => format!("binary, {} -> {}", size(&file.before), size(&file.after)),
        ContentKind::TooLarge => {
            format!("replaced, {} -> {}", size(&file.before), size(&file.after))
        }
        ContentKind::Later => "not compared yet; name it to see it".to_owned(),
        ContentKind::None if file.change == Change::Link => {
            format!("{} -> {}", target(&file.before), target(&file.after))
        }
        ContentKind::None | ContentKind::Text => String::new(),
    }
}

fn hunk(text: &mut String, hunk: &Hunk, style: Style) {
    let context = |kind: LineKind| {
        hunk.lines
            .iter()
            .take_while(move |line| line.kind == kind)
            .count()
    };
    let before = u32::try_from(context(LineKind::Context)).unwrap_or(0);
    let total = |skip: LineKind| hunk.lines.iter().filter(|line| line.kind != skip).count();
    let start = |start: u32, lines: usize| {
        if lines == 0 {
            start
        } else {
            start.saturating_sub(before) + 1
        }
    };
    let (old, new) = (total(LineKind::Added), total(LineKind::Removed));
    let range = format!(
        "@@ -{},{old} +{},{new} @@",
        start(hunk.old.start, old),
        start(hunk.new.start, new)
    );
    let heading = hunk
        .heading
        .as_deref()
        .map(|heading| format!(" {}", shown(heading.trim_end().as_bytes())));
    let _ = writeln!(
        text,
        "{}{}  {}",
        style.paint(Paint::Name, &range),
        heading.unwrap_or_default(),
        style.paint(Paint::Dim, &hunk.id)
    );
    let pairs = pairs(&hunk.lines, style);
    for (at, line) in hunk.lines.iter().enumerate() {
        let (sign, paint, words) = match line.kind {
            LineKind::Context => (" ", None, Paint::Dim),
            LineKind::Removed => ("-", Some(Paint::Removed), Paint::RemovedWords),
            LineKind::Added => ("+", Some(Paint::Added), Paint::AddedWords),
        };
        let shown = match (paint, pairs.get(&at)) {
            (None, _) => format!("{sign}{}", safe(&line.text)),
            (Some(paint), None) => style.paint(paint, &format!("{sign}{}", safe(&line.text))),
            (Some(paint), Some(parts)) => {
                let part = |part: &Part| {
                    style.paint(if part.changed { words } else { paint }, &safe(&part.text))
                };
                style.paint(paint, sign) + &parts.iter().map(part).collect::<String>()
            }
        };
        let _ = writeln!(text, "{shown}");
        if !line.newline {
            let _ = writeln!(
                text,
                "{}",
                style.paint(Paint::Dim, "\\ no newline at the end")
            );
        }
    }
}

/// The parts of changed lines, by their place in the hunk: as many lines that come as lines that went just before are
/// compared one by one. Nothing when nobody would see it.
fn pairs(lines: &[Line], style: Style) -> BTreeMap<usize, Vec<Part>> {
    let mut pairs = BTreeMap::new();
    let mut at = 0;
    while style.is_coloured() && at < lines.len() {
        let run = |from: usize, kind| {
            lines[from..]
                .iter()
                .take_while(|line| line.kind == kind)
                .count()
        };
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        if removed == added && removed <= PAIRED {
            for (old, new) in (at..at + removed).map(|old| (old, old + removed)) {
                if let Some((before, after)) = words::parts(&lines[old].text, &lines[new].text) {
                    pairs.insert(old, before);
                    pairs.insert(new, after);
                }
            }
        }
        at += (removed + added).max(1);
    }
    pairs
}

/// More lines than this in a row are new text rather than changed lines.
const PAIRED: usize = 20;

/// A line with everything but tabs made visible; a carriage return at the end is what CRLF files have.
fn safe(line: &str) -> String {
    let parts: Vec<String> = line
        .split('\t')
        .map(|part| shown(part.as_bytes()).to_string())
        .collect();
    parts.join("\t")
}

fn letter(file: &DiffFile) -> &'static str {
    match file.change {
        Change::Added => "A",
        Change::Modified => "M",
        Change::Deleted => "D",
        Change::Renamed => "R",
        Change::TypeChanged => "T",
        Change::Mode => "X",
        Change::Link => "L",
    }
}

fn name(file: &DiffFile) -> String {
    match &file.from {
        Some(from) => format!("{from} -> {}", file.path),
        None => file.path.clone(),
    }
}

fn lines(file: &DiffFile) -> (usize, usize) {
    let all = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let of = |kind: LineKind| all().filter(|line| line.kind == kind).count();
    (of(LineKind::Added), of(LineKind::Removed))
}
