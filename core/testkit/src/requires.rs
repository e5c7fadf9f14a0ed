//! What a test needs from the machine, never skipped in silence.

use std::path::Path;

/// Whether the program `name` can be run; where it cannot and `CI=true`, the test fails.
///
/// On a person's machine the test says on standard error what it lacks, and may return.
///
/// # Panics
/// When the program is missing and nobody watches: a suite that shrinks by itself proves nothing.
#[must_use]
#[track_caller]
pub fn requires(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let is_there = folders
        .map(|folder| folder.join(name))
        .any(|file| is_executable(&file));
    is_there
        || without(&format!(
            "`{name}` is not installed; `cargo xtask setup` installs it"
        ))
}

/// Whether this process is root; where it is not and `CI=true`, the test fails.
///
/// # Panics
/// As [`requires`].
#[must_use]
#[track_caller]
pub fn requires_root() -> bool {
    rustix::process::geteuid().is_root() || without("this takes root")
}

#[track_caller]
fn without(what: &str) -> bool {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{what}"
    );
    eprintln!("SKIPPED at {}: {what}", std::panic::Location::caller());
    false
}

fn is_executable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found() {
        assert!(requires("sh"), "every system has it");
    }

    #[test]
    fn what_is_missing_fails_where_nobody_watches() {
        let answer = std::panic::catch_unwind(|| requires("enclos-no-such-program"));
        let is_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert_eq!(answer.ok(), (!is_ci).then_some(false), "CI={is_ci}");
    }
}
