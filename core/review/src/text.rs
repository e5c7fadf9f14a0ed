//! What counts as text, and its lines.
//!
//! A line is everything up to and with its newline, byte for byte. Nothing is decoded: a diff of text that is not
//! UTF-8 gives back the bytes it was given.

use std::collections::HashMap;

/// Whether `bytes` can be shown and chosen line by line.
///
/// A NUL byte anywhere means no (UTF-16 has them too); so does more than one control character in thirty, which text
/// in any 8-bit encoding stays far below.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let strange = bytes.iter().filter(|&&b| is_strange(b)).count();
    !bytes.contains(&0) && strange <= bytes.len() / 30
}

/// Control characters that no text editor writes; escape is left out because logs with colours are text.
fn is_strange(byte: u8) -> bool {
    matches!(byte, 0x01..=0x06 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// The lines of `bytes`, each with its newline; only the last can be without.
pub(crate) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&b| b == b'\n').collect()
}

/// Gives equal lines equal numbers, across all texts that are numbered by the same one.
#[derive(Default)]
pub(crate) struct Numbering<'a> {
    numbers: HashMap<&'a [u8], u32>,
}

impl<'a> Numbering<'a> {
    pub(crate) fn of(&mut self, lines: &[&'a [u8]]) -> Vec<u32> {
        lines.iter().map(|line| self.number(line)).collect()
    }

    fn number(&mut self, line: &'a [u8]) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(line).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_any_encoding_with_single_bytes_is_text() {
        assert!(is_text(b""), "an empty file");
        assert!(
            is_text("caf\u{e9} \u{65e5}\u{672c}\r\n".as_bytes()),
            "UTF-8"
        );
        assert!(is_text(b"caf\xe9 \xfc\xdf\n"), "Latin-1");
        assert!(is_text(b"\x1b[31mred\x1b[0m\n"), "a log with colours");
        assert!(is_text(b"page\x0cpage\x0b\x08\n"), "form feeds");
    }

    #[test]
    fn what_is_not_lines_of_text_is_not() {
        assert!(!is_text(b"a\0b"), "a NUL");
        assert!(!is_text(b"h\0e\0l\0l\0o\0"), "UTF-16");
        assert!(
            !is_text(&[0x7f, 1, 2, 3, 4, 5, 6, b'a']),
            "mostly control characters"
        );
    }

    #[test]
    fn lines_keep_every_byte() {
        let text = b"a\r\n\nb\xff\n\r\nlast";
        assert_eq!(
            lines(text),
            [&b"a\r\n"[..], b"\n", b"b\xff\n", b"\r\n", b"last"]
        );
        assert_eq!(lines(text).concat(), text);
        assert!(lines(b"").is_empty());
    }
}
