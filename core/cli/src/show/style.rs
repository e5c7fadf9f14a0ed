//! Colours, only where somebody sees them: on a terminal, and not when NO_COLOR is set (no-color.org).

use std::io::IsTerminal;

use crate::environment;

/// What a piece of text is; the colour follows from that. No meaning is carried by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// A name to type or to find again.
    Name,
    /// Lines that come.
    Added,
    /// Words of a line that come.
    AddedWords,
    /// Lines that go.
    Removed,
    /// Words of a line that go.
    RemovedWords,
    /// What needs a look.
    Warn,
    /// What went wrong.
    Bad,
    /// What went well.
    Good,
    /// What matters less.
    Dim,
    /// A heading.
    Strong,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// For standard output.
    pub(crate) fn for_output() -> Self {
        Self {
            coloured: std::io::stdout().is_terminal() && environment::wants_colour(),
        }
    }

    /// For standard error.
    pub(crate) fn for_errors() -> Self {
        Self {
            coloured: std::io::stderr().is_terminal() && environment::wants_colour(),
        }
    }

    /// Whether colours are shown at all.
    pub(crate) fn is_coloured(self) -> bool {
        self.coloured
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Name => "36",
            Paint::Added | Paint::Good => "32",
            Paint::Removed | Paint::Bad => "31",
            Paint::AddedWords => "1;32",
            Paint::RemovedWords => "1;31",
            Paint::Warn => "33",
            Paint::Dim => "2",
            Paint::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
