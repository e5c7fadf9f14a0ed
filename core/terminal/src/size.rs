//! The size of a terminal in character cells.

use std::os::fd::AsFd;

use rustix::termios::Winsize;

/// Rows and columns; never zero, so programs that divide by them live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
}

impl Size {
    /// What terminals have been since 1978, for when nobody can say.
    pub const DEFAULT: Self = Self { rows: 24, cols: 80 };

    /// The size of `terminal`; the default where it does not know.
    #[must_use]
    pub fn of(terminal: impl AsFd) -> Self {
        match rustix::termios::tcgetwinsize(terminal) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Self {
                rows: size.ws_row,
                cols: size.ws_col,
            },
            _ => Self::DEFAULT,
        }
    }

    /// Tells `terminal` (a PTY's master) its size; the foreground process group gets SIGWINCH from the kernel.
    pub fn set(self, terminal: impl AsFd) {
        let size = Winsize {
            ws_row: self.rows.max(1),
            ws_col: self.cols.max(1),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // A PTY whose other end is gone refuses; the exit of the command is about to be seen anyway.
        let _ = rustix::termios::tcsetwinsize(terminal, size);
    }
}
