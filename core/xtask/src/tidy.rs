//! The rules of this repository that no compiler checks.
//!
//! It promises that what `core/README.md` says about directions, `unsafe`, platform code and ambient authority is true
//! of every file. A rule is a function from a file to violations, with a test that plants one; a rule that finds nothing
//! in a tree without files would be broken, so an empty tree is a failure too. Formatting and lints have their own
//! tools and are not here.

mod directions;
mod manifest;
mod mask;
mod rust;
mod source;
mod text;

use std::fmt;

use crate::failure::Failure;
use crate::surroundings::Surroundings;
use crate::tidy::source::Source;

/// Checks every rule and prints what breaks one.
///
/// # Errors
/// A rule is broken, or the tree cannot be read.
pub(crate) fn tidy(around: &Surroundings) -> Result<(), Failure> {
    let sources = source::all(&around.root)?;
    let mut violations: Vec<Violation> = sources.iter().flat_map(of_file).collect();
    violations.extend(directions::check(around)?);
    violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 if sources.is_empty() => Err(Failure::Metadata("file to check")),
        0 => {
            eprintln!("{} files keep every rule", sources.len());
            Ok(())
        }
        violations => Err(Failure::Untidy { violations }),
    }
}

/// Every rule that looks at one file.
fn of_file(source: &Source) -> Vec<Violation> {
    [
        text::check(source),
        rust::check(source),
        manifest::check(source),
    ]
    .concat()
}

/// One place that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    /// The file, seen from the root of the repository.
    path: String,
    /// The line, counted from 1; 0 where the file as a whole is meant.
    line: usize,
    /// What is wrong and what to do instead.
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}
