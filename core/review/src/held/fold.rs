//! Names as the most forgiving file system would compare them.
//!
//! The promise: two names that some file system of Linux, macOS or Windows takes for the same one fold to the same
//! text, so a protected name cannot be written in another way. It errs on the side of protecting more.
//!
//! * Case is folded fully (`ſ` is `s`, the Kelvin sign is `k`), as APFS and ext4 with casefold do.
//! * Code points that HFS+ ignores in names are left out; git keeps the same list (`next_hfs_char` in its `utf8.c`).
//! * NTFS drops dots and spaces at the end, and takes `name:stream` for `name`; it knows long names by a short form
//!   as well (`git~1`), and a backslash parts two names.

/// The folded components of a path's bytes.
pub(crate) fn components(path: &[u8]) -> Vec<String> {
    path.split(|&b| matches!(b, b'/' | b'\\'))
        .map(fold)
        .filter(|name| !name.is_empty())
        .collect()
}

/// One name, folded.
pub(crate) fn fold(name: &[u8]) -> String {
    if name.is_ascii() {
        // Nearly all are, and there the rest comes to this.
        let lower = name.to_ascii_lowercase();
        let bare = lower.split(|&b| b == b':').next().unwrap_or(&lower);
        return String::from_utf8_lossy(bare)
            .trim_end_matches(['.', ' '])
            .into();
    }
    let text = String::from_utf8_lossy(name);
    let seen = text.chars().filter(|&c| !is_ignorable(c));
    let lower: String = seen
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    let bare = lower.split(':').next().unwrap_or(&lower);
    bare.trim_end_matches(['.', ' ']).into()
}

/// Whether the folded name `name` is `protected` or the short form that NTFS may give it.
pub(crate) fn is(name: &str, protected: &str) -> bool {
    name == protected || is_short_form(name, protected)
}

/// The short form of `.gitmodules` is `gitmod~1`, that of `tasks.json` is `tasks~1.jso`; a name that fits 8+3
/// characters without a dot in front has none.
fn is_short_form(name: &str, protected: &str) -> bool {
    let Some((stem, rest)) = name.split_once('~') else {
        return false;
    };
    let bare = protected.trim_start_matches('.');
    let (base, extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    let fits = base.len() <= 8 && extension.len() <= 3 && bare == protected;
    let short = |text: &str, most: usize| {
        text.chars()
            .filter(|c| !matches!(c, '.' | ' '))
            .take(most)
            .collect::<String>()
    };
    let (digit, rest) = rest.split_at(rest.len().min(1));
    let wanted = match short(extension, 3) {
        extension if extension.is_empty() => String::new(),
        extension => format!(".{extension}"),
    };
    !fits
        && !digit.is_empty()
        && digit.bytes().all(|b| b.is_ascii_digit())
        && stem == short(base, 6)
        && rest == wanted
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_protected_name_is_seen() {
        for name in [
            ".git",
            ".GIT",
            ".gIt",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "git~1",
            "GIT~2",
            ".G\u{131}T",
        ] {
            assert!(is(&fold(name.as_bytes()), ".git"), "{name:?}");
        }
        for name in [".ENVRC", ".envrc::$DATA", "envrc~1", ".\u{202e}envrc"] {
            assert!(is(&fold(name.as_bytes()), ".envrc"), "{name:?}");
        }
        assert!(is(&fold(b"TASKS~1.JSO"), "tasks.json"));
        assert!(
            is(&fold("ta\u{17f}K\u{17f}.json".as_bytes()), "tasks.json"),
            "long s"
        );
        assert!(
            is(&fold("tas\u{212a}s.json".as_bytes()), "tasks.json"),
            "Kelvin sign"
        );
        assert!(is(&fold(b"gitmod~1"), ".gitmodules"));
    }

    #[test]
    fn other_names_are_other_names() {
        for name in [
            ".gitignore",
            "git",
            ".gi",
            ".git2",
            "dotgit",
            "git~",
            "git~x",
            ".git~1",
            ".g\u{ed}t",
        ] {
            assert!(!is(&fold(name.as_bytes()), ".git"), "{name:?}");
        }
        assert!(
            !is(&fold(b"build~1"), "build.rs"),
            "a short name has no other form"
        );
    }

    #[test]
    fn a_backslash_parts_names() {
        assert_eq!(components(b"a\\.GIT\\hooks/x"), ["a", ".git", "hooks", "x"]);
    }

    #[test]
    fn bytes_that_are_not_text_fold_to_something_else() {
        assert!(!is(&fold(b".g\xffit"), ".git"));
    }
}
