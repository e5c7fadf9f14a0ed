//! Lends the description of the person's terminal, or falls back to one that every system has.
//!
//! Newer terminals (Ghostty, kitty) bring their description in their own folder or in `~/.terminfo`; without it full
//! screen programs inside refuse to start. Of such a folder only the part for names with the same first letter is
//! lent. Layout: `terminfo(5)` of ncurses, a folder per first letter, in hexadecimal on macOS.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;

use super::LendNote;
use super::folders::{Folders, Reason};
use super::ground::{Ground, under};

/// The values for `TERM` and `TERMINFO`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) term: Option<OsString>,
    pub(super) terminfo: Option<AbsPath>,
}

/// The terminal whose description comes with every ncurses.
const FALLBACK: &str = "xterm-256color";

/// Decides both values, and lends what they need.
pub(super) fn decide(
    ground: &Ground<'_>,
    folders: &mut Folders,
    notes: &mut Vec<LendNote>,
) -> Term {
    let Some(term) = ground.var("TERM").map(OsStr::to_owned) else {
        return Term::default();
    };
    if term == "dumb" || known_to_system(ground, &term, folders) {
        return Term {
            term: Some(term),
            terminfo: None,
        };
    }
    if let Some(terminfo) = lend(ground, &term, folders) {
        return Term {
            term: Some(term),
            terminfo: Some(terminfo),
        };
    }
    notes.push(LendNote::TerminalUnknown { term });
    Term {
        term: Some(FALLBACK.into()),
        terminfo: None,
    }
}

fn known_to_system(ground: &Ground<'_>, term: &OsStr, folders: &Folders) -> bool {
    let rows = ground.catalogue.system.of(ground.os());
    let databases = rows
        .terminfo
        .iter()
        .filter_map(|folder| AbsPath::new(folder).ok());
    databases
        .filter_map(|database| description(ground, &database, term))
        .any(|file| ground.is_value(&file) || folders.reachable(ground, &file).is_some())
}

fn lend(ground: &Ground<'_>, term: &OsStr, folders: &mut Folders) -> Option<AbsPath> {
    let own = ground
        .var("TERMINFO")
        .and_then(|value| AbsPath::new(value).ok());
    let listed = ground
        .var("TERMINFO_DIRS")
        .unwrap_or_default()
        .as_bytes()
        .split(|&b| b == b':');
    let listed = listed.filter_map(|dir| AbsPath::new(OsStr::from_bytes(dir)).ok());
    let personal = under(&ground.outside.home, ".terminfo");
    for database in own.into_iter().chain(personal).chain(listed) {
        let Some(file) = description(ground, &database, term) else {
            continue;
        };
        let (Some(letter), Some(name)) = (
            file.parent(),
            file.parent().and_then(|f| f.name().map(OsStr::to_owned)),
        ) else {
            continue;
        };
        let root = super::ground::rebase(&database, &ground.outside.home, &ground.inside.home);
        let inside_root = root.unwrap_or_else(|| database.clone());
        let inside = inside_root.child(&name).ok()?;
        let reason = Reason {
            tool: "terminfo",
            why: "The description of the terminal.",
        };
        if let Ok(Some(_)) = folders.lend_read_only(ground, &letter, &inside, reason) {
            return Some(inside_root);
        }
    }
    None
}

/// The file that describes `term` in `database`.
fn description(ground: &Ground<'_>, database: &AbsPath, term: &OsStr) -> Option<AbsPath> {
    let first = *term.as_bytes().first()?;
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.' | b'_');
    if !first.is_ascii_alphanumeric() || !term.as_bytes().iter().all(plain) {
        return None;
    }
    let letters = [
        OsString::from(char::from(first).to_string()),
        OsString::from(format!("{first:02x}")),
    ];
    let files = letters
        .iter()
        .filter_map(|letter| database.child(letter).ok()?.child(term).ok());
    files.into_iter().find(|file| ground.probe.is_file(file))
}
