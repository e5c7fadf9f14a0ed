//! Names as people may see them: nothing in a name can move a cursor, hide text or start a new line.

use std::fmt;

/// Bytes of a name, displayed safely; made by [`shown`].
#[derive(Clone, Copy)]
pub struct Shown<'a>(&'a [u8]);

/// Displays `bytes` with control characters, direction marks, zero-width characters and bytes that are not UTF-8
/// written as escapes (`\n`, `\x1b`, `\u{202e}`), and everything else as it is.
#[must_use]
pub fn shown(bytes: &[u8]) -> Shown<'_> {
    Shown(bytes)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if misleads(c) {
                    write!(f, "{}", c.escape_default())?
                } else {
                    f.write_char(c)?
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Whether a character changes how the text around it is shown instead of showing itself.
///
/// The ranges are Unicode 16's bidirectional controls, zero-width characters, line separators, tag characters and
/// variation-free fillers; a backslash is left alone because it is common in neither Unix names nor attacks.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_it_is() {
        assert_eq!(
            shown("src/café 日本.rs".as_bytes()).to_string(),
            "src/café 日本.rs"
        );
    }

    #[test]
    fn what_would_mislead_is_escaped() {
        assert_eq!(shown(b"a\x1b[2Jb\nc").to_string(), "a\\u{1b}[2Jb\\nc");
        assert_eq!(
            shown("a\u{202e}txt.exe".as_bytes()).to_string(),
            "a\\u{202e}txt.exe"
        );
        assert_eq!(shown(b"caf\xe9").to_string(), "caf\\xe9");
    }
}
