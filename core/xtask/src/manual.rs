//! The help texts: one overview, one page per command.

use std::fmt::Write;

use crate::surroundings::Surroundings;

/// What a help text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// All commands.
    Overview,
    /// `run`
    Run,
    /// `test`
    Test,
    /// `tidy`
    Tidy,
    /// `check-macos`
    CheckMacos,
    /// `bench`
    Bench,
    /// `setup`
    Setup,
}

impl Topic {
    /// Every command, in the order of the overview.
    pub(crate) const COMMANDS: [Topic; 6] = [
        Topic::Run,
        Topic::Test,
        Topic::Tidy,
        Topic::CheckMacos,
        Topic::Bench,
        Topic::Setup,
    ];

    /// The command's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Topic::Overview => "help",
            Topic::Run => "run",
            Topic::Test => "test",
            Topic::Tidy => "tidy",
            Topic::CheckMacos => "check-macos",
            Topic::Bench => "bench",
            Topic::Setup => "setup",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Topic::Overview => "say this",
            Topic::Run => {
                "build enclos and do its main job, on a folder or on a small sample project"
            }
            Topic::Test => "everything that must hold: format, lints, tidy, macOS types, tests",
            Topic::Tidy => "the rules of this repository",
            Topic::CheckMacos => "type-check the macOS code on Linux, its tests included",
            Topic::Bench => "measure, side by side with what is to be beaten",
            Topic::Setup => "look for the programs that the other commands need, and install them",
        }
    }

    fn arguments(self) -> &'static str {
        match self {
            Topic::Run => "[FOLDER] [-- COMMAND...]",
            Topic::CheckMacos => "[--no-tests]",
            Topic::Bench => "[JOB...] [--runs N]",
            _ => "",
        }
    }

    fn page(self) -> &'static str {
        match self {
            Topic::Run => RUN,
            Topic::Test => TEST,
            Topic::Tidy => TIDY,
            Topic::CheckMacos => CHECK_MACOS,
            Topic::Bench => BENCH,
            Topic::Setup | Topic::Overview => SETUP,
        }
    }
}

/// The help text about `topic`.
pub(crate) fn text(topic: Topic, around: &Surroundings) -> String {
    match topic {
        Topic::Overview => overview(around),
        topic => page(topic, around),
    }
}

fn overview(around: &Surroundings) -> String {
    let mut text = String::from("Build, test, check and measure Enclos.\n\n");
    let _ = writeln!(
        text,
        "{} cargo xtask COMMAND [ARGUMENTS]\n",
        around.paint("1;4", "Usage:")
    );
    let _ = writeln!(text, "{}", around.paint("1;4", "Commands:"));
    for topic in Topic::COMMANDS {
        let name = around.paint("1", &format!("{:<13}", topic.name()));
        let _ = writeln!(text, "  {name}{}", topic.summary());
    }
    text.push_str(
        "\nOn Debian, as root or with CI=true, each command installs what it lacks; elsewhere it prints the\n\
         line to type. `cargo xtask help COMMAND` says more.\n",
    );
    text
}

fn page(topic: Topic, around: &Surroundings) -> String {
    let usage = around.paint("1;4", "Usage:");
    let line = format!("cargo xtask {} {}", topic.name(), topic.arguments());
    format!("{usage} {}\n\n{}\n", line.trim_end(), topic.page())
}

const RUN: &str = "\
Builds `enclos` in release and runs `enclos run FOLDER -- COMMAND`: FOLDER is cloned, COMMAND works in
the copy, and you decide what comes back. Without a COMMAND your shell is started.

Without a FOLDER it shows the whole thing on a small project that it makes in a temporary folder: a
scripted agent edits, adds, deletes and commits, then the changes are shown, and the commands that
apply, undo or discard them.";

const TEST: &str = "\
In this order, stopping at the first that fails:

  format        cargo fmt --check
  lints         cargo clippy --workspace --all-targets, warnings are errors
  tidy          the rules of this repository (cargo xtask help tidy)
  macOS types   cargo xtask check-macos
  tests         cargo test --workspace, all of them even when some fail

The last line is the sum over all test programs: `N passed, N failed`. For one crate,
`cargo test -p enclos-NAME` is faster.";

const TIDY: &str = "\
Checks what a compiler does not: which crate may use which; where `unsafe`, `cfg(target_os)`, the
clock and the environment may appear; the length of files and their first words; names that say
nothing; notes to oneself; white space at line ends; where dependencies come from. Each rule is a
function in core/xtask/src/tidy with a test that plants its violation.";

const CHECK_MACOS: &str = "\
Type-checks the whole workspace for aarch64-apple-darwin with a compiler from Debian that carries the
sources of its standard library. Nothing is linked and nothing runs: a stand-in C compiler writes empty
objects. Warnings in our own crates are errors. Build outputs go to $ENCLOS_CACHE,
$XDG_CACHE_HOME/enclos or ~/.cache/enclos, so that only the first run takes minutes.

  --no-tests    leave out tests, examples and benches";

const BENCH: &str = "\
Builds in release, makes an XFS file system in a file (as root), and runs each JOB and its baseline in
turns, so that both see the same machine. Prints medians, the ratio, and what the ratio must be. Leave
both cores alone meanwhile.

  JOB           start, clone, clone-again, build, find, apply, apply-busy, discard; all without one
  --runs N      how often each is measured, 7 without it";

const SETUP: &str = "\
Looks for every program that the other commands need; they do the same for what they need themselves.
On Debian, as root or with CI=true, what is missing is installed by apt-get, npm and rustup; otherwise
the line that installs it is printed and the exit code is 1.";
