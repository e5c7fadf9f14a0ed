//! Adds up the closing lines of test programs while their output passes through.
//!
//! A run of `cargo test` is many programs, each with a line of its own. The sum tells at a glance whether the suite
//! shrank; a run in which no program closed is no success, whatever cargo's exit code says.

use std::fmt;
use std::io;
use std::io::BufRead;
use std::io::Write;

/// What the closing lines say, summed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Tally {
    /// Copies `output` to `to` line by line, and adds up what test programs report.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub(crate) fn of(output: impl BufRead, mut to: impl Write) -> io::Result<Self> {
        let mut tally = Self::default();
        for line in output.split(b'\n') {
            let line = line?;
            tally.add(&String::from_utf8_lossy(&line));
            to.write_all(&line)?;
            to.write_all(b"\n")?;
        }
        Ok(tally)
    }

    /// Adds `line` if it is a closing line: `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split(';') {
            let mut words = count.split_whitespace();
            let (Some(Ok(number)), Some(what)) =
                (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(f, ", {} skipped", self.ignored)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed_and_everything_passes_through() {
        let output = "running 3 tests\ntest a ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n\
            test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        let mut seen = Vec::new();
        let tally = Tally::of(output.as_bytes(), &mut seen).unwrap();
        assert_eq!(
            tally,
            Tally {
                passed: 4,
                failed: 2,
                ignored: 1
            }
        );
        assert_eq!(seen, output.as_bytes());
        assert_eq!(tally.to_string(), "4 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn only_a_closing_line_counts() {
        let mut tally = Tally::default();
        for line in [
            "9 passed; 9 failed",
            "  test result: ok. 9 passed",
            "test result: odd",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally::default());
    }
}
