//! Reads the text of a profile as expressions, with the comment above each.
//!
//! The language is a Scheme; what is read here is the part that the profiles use: lists, symbols, strings with
//! backslash escapes, whole numbers, line comments. Any text is either read or refused with its line; none panics,
//! and nesting is bounded.

use std::fmt;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    /// A word: an operation, a filter, a keyword.
    Symbol(String),
    /// A text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// A list.
    List(Vec<Expression>),
}

impl Expression {
    /// The word, when it is one.
    #[must_use]
    pub(super) fn symbol(&self) -> Option<&str> {
        match self {
            Self::Symbol(word) => Some(word),
            _ => None,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol(word) => f.write_str(word),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Number(number) => number.fmt(f),
            Self::List(items) => {
                f.write_str("(")?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        f.write_str(" ")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// An expression of the profile's top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    /// The expression.
    pub(super) expression: Expression,
    /// The line it starts in, from 1.
    pub(super) line: u32,
    /// The comment right above it, its lines joined by spaces; empty when there is none.
    pub(super) comment: String,
}

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong in it.
    #[source]
    pub problem: SyntaxProblem,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxProblem {
    /// A list that is not closed.
    #[error("a list is not closed")]
    OpenList,
    /// A closing bracket without a list.
    #[error("a bracket closes nothing")]
    StrayBracket,
    /// A text that is not closed.
    #[error("a text is not closed")]
    OpenText,
    /// Lists in lists beyond any profile.
    #[error("lists are nested more than {DEEPEST} deep")]
    TooDeep,
    /// A character that starts nothing.
    #[error("a character starts nothing that is known here")]
    Character,
    /// A number that is too large.
    #[error("a number is too large")]
    Number,
}

/// Lists within lists that are read.
const DEEPEST: usize = 32;

/// Reads all forms of a profile.
///
/// # Errors
/// The first thing that cannot be read, with its line.
pub(super) fn read(text: &str) -> Result<Vec<Form>, SyntaxError> {
    let mut reader = Reader {
        rest: text,
        line: 1,
    };
    let mut forms = Vec::new();
    let mut comment = String::new();
    loop {
        comment = reader.skip(comment);
        let line = reader.line;
        if reader.rest.is_empty() {
            return Ok(forms);
        }
        let expression = reader.expression(0)?;
        forms.push(Form {
            expression,
            line,
            comment: std::mem::take(&mut comment),
        });
    }
}

/// Writes a text as the language reads it. Control characters are the caller's to refuse.
#[must_use]
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

struct Reader<'t> {
    rest: &'t str,
    line: u32,
}

impl Reader<'_> {
    /// Skips blanks and comments; `above` grows by each comment and is lost at an empty line.
    fn skip(&mut self, mut above: String) -> String {
        let mut newlines = 0;
        while let Some(c) = self.rest.chars().next() {
            if c == ';' {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                let text = self.rest[..end].trim_start_matches(';').trim();
                if !above.is_empty() && !text.is_empty() {
                    above.push(' ');
                }
                above.push_str(text);
                self.rest = &self.rest[end..];
                newlines = 0;
            } else if c.is_whitespace() {
                self.advance(c);
                newlines += u32::from(c == '\n');
                if newlines > 1 {
                    above.clear();
                }
            } else {
                break;
            }
        }
        above
    }

    fn expression(&mut self, depth: usize) -> Result<Expression, SyntaxError> {
        let Some(c) = self.rest.chars().next() else {
            return Err(self.error(SyntaxProblem::OpenList));
        };
        match c {
            '(' if depth >= DEEPEST => Err(self.error(SyntaxProblem::TooDeep)),
            '(' => self.list(depth),
            ')' => Err(self.error(SyntaxProblem::StrayBracket)),
            '"' => self.text(),
            c if is_word(c) => self.word(),
            _ => Err(self.error(SyntaxProblem::Character)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Expression, SyntaxError> {
        let start = self.line;
        self.advance('(');
        let mut items = Vec::new();
        loop {
            self.skip(String::new());
            match self.rest.chars().next() {
                None => {
                    return Err(SyntaxError {
                        line: start,
                        problem: SyntaxProblem::OpenList,
                    });
                }
                Some(')') => {
                    self.advance(')');
                    return Ok(Expression::List(items));
                }
                Some(_) => items.push(self.expression(depth + 1)?),
            }
        }
    }

    fn text(&mut self) -> Result<Expression, SyntaxError> {
        let start = self.line;
        self.advance('"');
        let mut text = String::new();
        while let Some(c) = self.rest.chars().next() {
            self.advance(c);
            match c {
                '"' => return Ok(Expression::Text(text)),
                '\\' => {
                    let Some(escaped) = self.rest.chars().next() else {
                        break;
                    };
                    self.advance(escaped);
                    text.push(escaped);
                }
                c => text.push(c),
            }
        }
        Err(SyntaxError {
            line: start,
            problem: SyntaxProblem::OpenText,
        })
    }

    fn word(&mut self) -> Result<Expression, SyntaxError> {
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let expression = if word.bytes().all(|b| b.is_ascii_digit()) {
            Expression::Number(
                word.parse()
                    .map_err(|_| self.error(SyntaxProblem::Number))?,
            )
        } else {
            Expression::Symbol(word.to_owned())
        };
        self.rest = &self.rest[end..];
        Ok(expression)
    }

    fn advance(&mut self, c: char) {
        self.rest = &self.rest[c.len_utf8()..];
        self.line += u32::from(c == '\n');
    }

    fn error(&self, problem: SyntaxProblem) -> SyntaxError {
        SyntaxError {
            line: self.line,
            problem,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.' | '?' | '/' | '+' | '!')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_carry_their_line_and_comment() {
        let forms = read("; lost\n\n; why\n; and more\n(allow x)\n(deny y) ; beside\n").unwrap();
        let seen: Vec<_> = forms.iter().map(|f| (f.line, f.comment.as_str())).collect();
        assert_eq!(seen, [(5, "why and more"), (6, "")]);
        assert_eq!(forms[0].expression.to_string(), "(allow x)");
    }

    #[test]
    fn what_is_not_a_profile_is_refused_with_its_line() {
        let problem = |text: &str| read(text).unwrap_err();
        assert_eq!(
            problem("\n(a (b)"),
            SyntaxError {
                line: 2,
                problem: SyntaxProblem::OpenList
            }
        );
        assert_eq!(problem("a)").problem, SyntaxProblem::StrayBracket);
        assert_eq!(problem("(a \"b").problem, SyntaxProblem::OpenText);
        assert_eq!(problem("(a 'b)").problem, SyntaxProblem::Character);
        assert_eq!(
            problem("99999999999999999999999").problem,
            SyntaxProblem::Number
        );
        assert_eq!(
            problem(&"(".repeat(100_000)).problem,
            SyntaxProblem::TooDeep
        );
    }

    fn expressions() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            "[a-z][a-z*-]{0,8}".prop_map(Expression::Symbol),
            "\\PC{0,12}".prop_map(Expression::Text),
            any::<u64>().prop_map(Expression::Number),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(Expression::List)
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(expression in expressions()) {
            let forms = read(&expression.to_string()).unwrap();
            prop_assert_eq!(&forms[0].expression, &expression);
            prop_assert_eq!(forms.len(), 1);
        }

        #[test]
        fn no_text_panics(text in "[()\"; \\na-z\\\\#é0-9]{0,60}") {
            let _ = read(&text);
        }
    }
}
