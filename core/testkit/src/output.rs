//! What a program left behind: its exit code and what it printed.

use std::fmt;
use std::process::ExitStatus;

use crate::Normal;
use crate::invocation::code;

/// The end of a program; displays itself as an inline snapshot wants it.
#[derive(Clone)]
pub struct Output {
    code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    normal: Normal,
}

impl Output {
    pub(crate) fn new(status: ExitStatus, [stdout, stderr]: [Vec<u8>; 2], normal: Normal) -> Self {
        Self {
            code: code(status),
            stdout,
            stderr,
            normal,
        }
    }

    /// Demands exit code 0.
    ///
    /// # Panics
    /// When it ended otherwise; shows everything that it printed.
    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    /// Demands the exit code `wanted`.
    ///
    /// # Panics
    /// As [`Output::success`].
    #[track_caller]
    pub fn code(self, wanted: i32) -> Self {
        assert_eq!(
            self.code, wanted,
            "exit code of a program that left this:\n{self}"
        );
        self
    }

    /// The exit code; 128 and the signal's number where a signal ended it.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        self.code
    }

    /// Standard output with the world's paths, times and ids replaced.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.normal.of(&self.stdout)
    }

    /// Standard error, likewise.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.normal.of(&self.stderr)
    }

    /// Standard output as it was.
    #[must_use]
    pub fn raw_stdout(&self) -> &[u8] {
        &self.stdout
    }

    /// Standard error as it was.
    #[must_use]
    pub fn raw_stderr(&self) -> &[u8] {
        &self.stderr
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in [("stdout", self.stdout()), ("stderr", self.stderr())] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end_matches('\n'))?;
            }
        }
        write!(f, "--- exit {}", self.code)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use crate::World;

    #[test]
    fn an_output_reads_as_a_snapshot() {
        let output = World::new()
            .command("sh")
            .args(["-c", "echo $HOME/x; echo no >&2; exit 4"])
            .run();
        assert_eq!(
            output.to_string(),
            "--- stdout\n$HOME/x\n--- stderr\nno\n--- exit 4"
        );
    }

    #[test]
    #[should_panic(expected = "why it failed")]
    fn a_wrong_end_shows_what_was_printed() {
        World::new()
            .command("sh")
            .args(["-c", "echo why it failed >&2; false"])
            .run()
            .success();
    }
}
