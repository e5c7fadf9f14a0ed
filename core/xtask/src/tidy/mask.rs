//! Rust text with everything that is not code blanked, so that rules never trip over words in comments or strings.
//!
//! This is a lexer for the few things that can hide text: comments, strings, characters. It keeps every line where it
//! was. It does not know macros or numbers, and a file that does not compile may be misread; the compiler sees it first.

/// A file's code with comments and literals blanked, line by line.
pub(super) struct Masked {
    /// The code, one entry per line of the file.
    pub(super) lines: Vec<String>,
    /// Whether the line ends inside a string, so that its end is content.
    pub(super) ends_in_string: Vec<bool>,
    /// Whether the line belongs to a test module.
    pub(super) in_tests: Vec<bool>,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        let (code, strings) = mask(text.as_bytes());
        let lines: Vec<String> = code.split('\n').map(str::to_owned).collect();
        let in_tests = test_lines(&lines);
        Self {
            lines,
            ends_in_string: strings,
            in_tests,
        }
    }

    /// The lines of code with their numbers, counted from 1, without those of test modules.
    pub(super) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines.iter().zip(&self.in_tests).enumerate();
        lines
            .filter(|(_, (_, in_tests))| !**in_tests)
            .map(|(index, (line, _))| (index + 1, line.as_str()))
    }
}

/// Whether `word` stands in `line` with nothing of a word beside it.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_part)
            && !line[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// What the lexer is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    LineComment,
    /// Block comments nest.
    BlockComment(usize),
    String,
    /// A raw string that ends with a quote and this many hashes.
    RawString(usize),
    Character,
}

/// The code alone, and for each line whether its end is inside a string.
fn mask(text: &[u8]) -> (String, Vec<bool>) {
    let mut code = Vec::with_capacity(text.len());
    let mut strings = Vec::new();
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest[0] == b'\n' {
            strings.push(matches!(inside, Inside::String | Inside::RawString(_)));
            if inside == Inside::LineComment {
                inside = Inside::Code;
            }
            code.push(b'\n');
            at += 1;
            continue;
        }
        let (next, length) = advance(inside, rest, code.last().copied());
        let is_code = inside == Inside::Code && next == Inside::Code;
        for &byte in &rest[..length] {
            code.push(if is_code || byte == b'\n' { byte } else { b' ' });
        }
        at += length;
        inside = next;
    }
    strings.push(false);
    (String::from_utf8_lossy(&code).into_owned(), strings)
}

/// What the lexer is inside of after the next token, and the token's length; a token never spans a line.
fn advance(inside: Inside, rest: &[u8], before: Option<u8>) -> (Inside, usize) {
    let closes_raw = |hashes: usize| {
        rest[0] == b'"'
            && rest[1..]
                .iter()
                .take(hashes)
                .filter(|&&b| b == b'#')
                .count()
                == hashes
    };
    match inside {
        Inside::Code => opens(rest, before),
        Inside::LineComment => (inside, 1),
        Inside::BlockComment(depth) if rest.starts_with(b"/*") => {
            (Inside::BlockComment(depth + 1), 2)
        }
        Inside::BlockComment(1) if rest.starts_with(b"*/") => (Inside::Code, 2),
        Inside::BlockComment(depth) if rest.starts_with(b"*/") => {
            (Inside::BlockComment(depth - 1), 2)
        }
        Inside::BlockComment(_) => (inside, 1),
        Inside::String | Inside::Character
            if rest[0] == b'\\' && rest.get(1).is_some_and(|&b| b != b'\n') =>
        {
            (inside, 2)
        }
        Inside::String if rest[0] == b'"' => (Inside::Code, 1),
        Inside::Character if rest[0] == b'\'' => (Inside::Code, 1),
        Inside::RawString(hashes) if closes_raw(hashes) => (Inside::Code, 1 + hashes),
        Inside::String | Inside::RawString(_) | Inside::Character => (inside, 1),
    }
}

/// What code turns into at the start of `rest`.
fn opens(rest: &[u8], before: Option<u8>) -> (Inside, usize) {
    if rest.starts_with(b"//") {
        return (Inside::LineComment, 2);
    }
    if rest.starts_with(b"/*") {
        return (Inside::BlockComment(1), 2);
    }
    if rest[0] == b'"' {
        return (Inside::String, 1);
    }
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !in_word && let Some(opened) = raw_string(rest) {
        return opened;
    }
    if rest[0] == b'\'' && is_character(rest) {
        return (Inside::Character, 1);
    }
    (Inside::Code, 1)
}

/// Sees `r"`, `r#"`, `br##"` and the like.
fn raw_string(rest: &[u8]) -> Option<(Inside, usize)> {
    let prefix = [b"r".as_slice(), b"br", b"cr"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?
        .len();
    let hashes = rest[prefix..]
        .iter()
        .take_while(|&&byte| byte == b'#')
        .count();
    (rest.get(prefix + hashes) == Some(&b'"'))
        .then_some((Inside::RawString(hashes), prefix + hashes + 1))
}

/// Tells a character from a lifetime: `'a'` and `'\n'` from `'a`.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        None | Some(b'\n') => false,
        Some(b'\\') => true,
        Some(&first) if first.is_ascii() => rest.get(2) == Some(&b'\''),
        Some(_) => true,
    }
}

/// Which lines belong to a module that exists only for tests.
fn test_lines(lines: &[String]) -> Vec<bool> {
    let mut in_tests = vec![false; lines.len()];
    let mut line = 0;
    while line < lines.len() {
        if lines[line].trim() != "#[cfg(test)]" {
            line += 1;
            continue;
        }
        let end = end_of_item(lines, line + 1);
        in_tests[line..end].fill(true);
        line = end;
    }
    in_tests
}

/// The line after the item that starts at `start`: after its closing brace, or after a semicolon outside of braces.
fn end_of_item(lines: &[String], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(start) {
        for byte in line.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth <= 1 => return index + 1,
                b'}' => depth -= 1,
                b';' if depth == 0 => return index + 1,
                _ => {}
            }
        }
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Masked::new(text).lines.join("\n")
    }

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(
            code("a /* b /* c */ d */ e")
                .split_whitespace()
                .collect::<Vec<_>>(),
            ["a", "e"]
        );
        assert_eq!(
            code(r#"f("x\"y", b"z") // w"#).trim_end(),
            "f(      , b   )"
        );
        assert_eq!(
            code("f(r#\"a \" b\"#) g")
                .split_whitespace()
                .collect::<Vec<_>>(),
            ["f(", ")", "g"]
        );
        assert_eq!(code("\"a\nb\" c"), "  \n   c");
    }

    #[test]
    fn lifetimes_are_no_characters() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) -> char { 'u' }"),
            "fn f<'a>(x: &'a str) -> char {     }"
        );
        assert_eq!(
            code(r"['\'', '\\', 'é'] x").split_whitespace().last(),
            Some("x")
        );
    }

    #[test]
    fn a_name_that_ends_in_r_opens_no_raw_string() {
        assert_eq!(
            code("for\"x\" y").split_whitespace().collect::<Vec<_>>(),
            ["for", "y"]
        );
    }

    #[test]
    fn test_modules_are_known_by_their_braces() {
        let masked = Masked::new("a;\n#[cfg(test)]\nmod tests {\n    fn f() { \"}\" }\n}\nb;\n");
        let shipped: Vec<_> = masked
            .shipped()
            .map(|(line, code)| (line, code.trim()))
            .collect();
        assert_eq!(shipped, [(1, "a;"), (6, "b;"), (7, "")]);
    }

    #[test]
    fn a_test_module_in_a_file_of_its_own_ends_at_the_semicolon() {
        let masked = Masked::new("#[cfg(test)]\nmod tests;\nb;");
        assert_eq!(masked.in_tests, [true, true, false]);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe { x }", "unsafe"), "alone");
        assert!(!has_word("unsafe_code", "unsafe"), "part of a longer word");
    }
}
