//! One step of a task: a heading, a program that runs, and what became of it.

use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use crate::failure::Failure;
use crate::surroundings::Surroundings;

/// Announces a step, does it, and says how long it took.
///
/// # Errors
/// Whatever `work` fails with.
pub(crate) fn step<T>(
    around: &Surroundings,
    title: &str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    eprintln!(
        "\n{} {}",
        around.paint("1;36", "==>"),
        around.paint("1", title)
    );
    let start = Instant::now();
    let done = work()?;
    eprintln!(
        "{} {title}: done in {}",
        around.paint("1;32", "ok "),
        duration(start.elapsed())
    );
    Ok(done)
}

/// Runs `command` with the person's own input and output.
///
/// # Errors
/// It cannot be started, or it fails.
pub(crate) fn perform(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|source| Failure::Spawn {
        program: program(command),
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Command {
            line: line(command),
            status,
        })
    }
}

/// Runs `command` and returns what it printed; its error output goes to the person.
///
/// # Errors
/// It cannot be started, or it fails.
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Failure::Spawn {
        program: program(command),
        source,
    })?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Failure::Command {
            line: line(command),
            status: output.status,
        })
    }
}

/// The command as a person would type it, shortened where a script is among its arguments.
pub(crate) fn line(command: &Command) -> String {
    let mut line = program(command);
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        line.push(' ');
        match argument.lines().nth(1) {
            Some(_) => line.push_str("[script]"),
            None => line.push_str(&argument),
        }
    }
    line
}

/// The program's name without its folders.
pub(crate) fn program(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// A duration in the unit that a person would choose.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_as_it_is_typed() {
        let mut command = Command::new("/usr/bin/sh");
        command.args(["-c", "one\ntwo"]).arg("x");
        assert_eq!(line(&command), "sh -c [script] x");
    }

    #[test]
    fn durations_have_the_unit_a_person_would_choose() {
        assert_eq!(duration(Duration::from_micros(12_400)), "12 ms");
        assert_eq!(duration(Duration::from_millis(3_210)), "3.2 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn failures_name_the_program_and_its_end() {
        let failed = perform(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(failed.to_string(), "`sh -c exit 3` failed: exit status: 3");
        let missing = perform(&mut Command::new("enclos-no-such-program")).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("`enclos-no-such-program` cannot be started"),
            "{missing}"
        );
    }
}
