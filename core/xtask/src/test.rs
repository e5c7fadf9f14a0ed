//! Everything that must hold, cheapest first, tests last so that their closing lines close the output.

use std::io::BufReader;
use std::process::Command;
use std::process::Stdio;

use crate::arguments::Scope;
use crate::check_macos;
use crate::failure::Failure;
use crate::setup;
use crate::setup::Purpose;
use crate::step::line;
use crate::step::perform;
use crate::step::program;
use crate::step::step;
use crate::surroundings::Surroundings;
use crate::tally::Tally;
use crate::tidy;

/// Runs every check, then every test.
///
/// # Errors
/// The first check that fails, or the tests when one of them does.
pub(crate) fn test(around: &Surroundings) -> Result<(), Failure> {
    setup::require(around, Purpose::Test)?;
    step(around, "format", || {
        perform(&mut around.cargo(&["fmt", "--all", "--check"]))
    })?;
    step(around, "lints", || perform(&mut lints(around)))?;
    step(around, "tidy", || tidy::tidy(around))?;
    step(around, "macOS types", || {
        check_macos::check_macos(around, Scope::WithTests)
    })?;
    let tally = step(around, "tests", || tests(around))?;
    println!("\n{tally}");
    Ok(())
}

fn lints(around: &Surroundings) -> Command {
    let mut command = around.cargo(&["clippy", "--workspace", "--all-targets"]);
    command
        .args(locked(around))
        .args(["--", "--deny", "warnings"]);
    command
}

/// Runs all tests of the workspace; fails after the last one, so that a run shows everything that is broken.
fn tests(around: &Surroundings) -> Result<Tally, Failure> {
    let mut command = around.cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.args(locked(around)).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(source) => {
            return Err(Failure::Spawn {
                program: program(&command),
                source,
            });
        }
    };
    let output = child.stdout.take().map(BufReader::new);
    let read = |source| Failure::File {
        path: "the output of the tests".into(),
        source,
    };
    let tally = match output {
        Some(output) => Tally::of(output, std::io::stdout().lock()).map_err(read)?,
        None => Tally::default(),
    };
    let status = child.wait().map_err(read)?;
    if !status.success() || tally.failed > 0 {
        println!("\n{tally}");
        return Err(Failure::Command {
            line: line(&command),
            status,
        });
    }
    if tally.passed == 0 {
        return Err(Failure::Output {
            line: line(&command),
            expected: "closing line of a test program",
        });
    }
    Ok(tally)
}

/// Where nobody watches, a lock file that would change is an error.
fn locked(around: &Surroundings) -> Option<&'static str> {
    around.ci.then_some("--locked")
}
