//! The command line: text in, a task or a usage error out. Nothing is executed here.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::manual::Topic;

/// What the person wants done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help(Topic),
    Setup,
    Run(RunRequest),
    Test,
    Tidy,
    CheckMacos(Scope),
    Bench(BenchRequest),
}

/// What `run` works on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunRequest {
    /// The project; without one a sample is made.
    pub(crate) folder: Option<PathBuf>,
    /// The agent's command line; without one the person's shell.
    pub(crate) command: Vec<OsString>,
}

/// What a check covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Tests, examples and benches too.
    WithTests,
    /// What is shipped.
    ProductOnly,
}

/// What `bench` measures.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchRequest {
    /// Names of jobs; all where it is empty.
    pub(crate) jobs: Vec<String>,
    /// How often each is measured.
    pub(crate) runs: usize,
}

/// Reads what follows `cargo xtask`.
///
/// # Errors
/// Says which word is not understood, and which help text explains it.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Task, Failure> {
    let mut words = words.into_iter();
    let Some(first) = words.next() else {
        return Ok(Task::Help(Topic::Overview));
    };
    let rest: Vec<OsString> = words.collect();
    let Some(topic) = topic_named(&first) else {
        return other(&first, &rest);
    };
    let before_dashes = rest.iter().take_while(|word| *word != "--");
    if before_dashes
        .into_iter()
        .any(|word| word == "--help" || word == "-h")
    {
        return Ok(Task::Help(topic));
    }
    match topic {
        Topic::Run => run(rest),
        Topic::CheckMacos => check_macos(&rest),
        Topic::Bench => bench(&rest),
        Topic::Setup => nothing_more(topic, &rest, Task::Setup),
        Topic::Test => nothing_more(topic, &rest, Task::Test),
        Topic::Tidy => nothing_more(topic, &rest, Task::Tidy),
        Topic::Overview => Ok(Task::Help(topic)),
    }
}

fn topic_named(word: &OsString) -> Option<Topic> {
    Topic::COMMANDS
        .into_iter()
        .find(|topic| word == topic.name())
}

fn other(first: &OsString, rest: &[OsString]) -> Result<Task, Failure> {
    if first != "help" && first != "--help" && first != "-h" {
        return Err(usage(
            Topic::Overview,
            format!("there is no command `{}`", first.display()),
        ));
    }
    match rest.first() {
        None => Ok(Task::Help(Topic::Overview)),
        Some(word) => topic_named(word).map(Task::Help).ok_or_else(|| {
            usage(
                Topic::Overview,
                format!("there is no command `{}`", word.display()),
            )
        }),
    }
}

fn run(words: Vec<OsString>) -> Result<Task, Failure> {
    let mut request = RunRequest::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            request.command = words.collect();
            break;
        }
        if word.as_encoded_bytes().starts_with(b"-") || request.folder.is_some() {
            let problem = format!(
                "`run` does not know `{}`; a command comes after `--`",
                word.display()
            );
            return Err(usage(Topic::Run, problem));
        }
        request.folder = Some(word.into());
    }
    Ok(Task::Run(request))
}

fn check_macos(words: &[OsString]) -> Result<Task, Failure> {
    match words {
        [] => Ok(Task::CheckMacos(Scope::WithTests)),
        [word] if word == "--tests" => Ok(Task::CheckMacos(Scope::WithTests)),
        [word] if word == "--no-tests" => Ok(Task::CheckMacos(Scope::ProductOnly)),
        [word, ..] => Err(usage(
            Topic::CheckMacos,
            format!("`check-macos` does not know `{}`", word.display()),
        )),
    }
}

fn bench(words: &[OsString]) -> Result<Task, Failure> {
    let mut request = BenchRequest {
        jobs: Vec::new(),
        runs: 7,
    };
    let mut words = words.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == "--runs" {
            let number = words
                .next()
                .and_then(|number| number.parse().ok())
                .filter(|&runs| runs > 0);
            request.runs = number
                .ok_or_else(|| usage(Topic::Bench, "`--runs` needs a number above 0".into()))?;
        } else if word.starts_with('-') {
            return Err(usage(
                Topic::Bench,
                format!("`bench` does not know `{word}`"),
            ));
        } else {
            request.jobs.push(word.into_owned());
        }
    }
    Ok(Task::Bench(request))
}

fn nothing_more(topic: Topic, words: &[OsString], task: Task) -> Result<Task, Failure> {
    match words.first() {
        None => Ok(task),
        Some(word) => Err(usage(
            topic,
            format!("`{}` takes no argument `{}`", topic.name(), word.display()),
        )),
    }
}

fn usage(topic: Topic, problem: String) -> Failure {
    Failure::Usage { problem, topic }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, Failure> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn no_word_at_all_asks_for_help() {
        assert_eq!(parsed("").unwrap(), Task::Help(Topic::Overview));
        assert_eq!(parsed("--help").unwrap(), Task::Help(Topic::Overview));
        assert_eq!(parsed("help bench").unwrap(), Task::Help(Topic::Bench));
        assert_eq!(
            parsed("check-macos --help").unwrap(),
            Task::Help(Topic::CheckMacos)
        );
    }

    #[test]
    fn run_splits_at_the_dashes_and_leaves_the_command_alone() {
        let request = RunRequest {
            folder: Some("web".into()),
            command: vec!["cargo".into(), "--help".into()],
        };
        assert_eq!(
            parsed("run web -- cargo --help").unwrap(),
            Task::Run(request)
        );
        assert_eq!(parsed("run").unwrap(), Task::Run(RunRequest::default()));
    }

    #[test]
    fn bench_takes_jobs_and_a_number_of_runs() {
        let request = BenchRequest {
            jobs: vec!["clone".into()],
            runs: 3,
        };
        assert_eq!(
            parsed("bench clone --runs 3").unwrap(),
            Task::Bench(request)
        );
        assert!(
            parsed("bench --runs 0").is_err(),
            "nothing would be measured"
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, word) in [
            ("tset", "tset"),
            ("test all", "all"),
            ("run a b", "b"),
            ("tidy --fix", "--fix"),
        ] {
            let problem = parsed(line).unwrap_err().to_string();
            assert!(problem.contains(word), "{problem:?} names {word:?}");
        }
    }
}
