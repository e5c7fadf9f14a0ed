//! Type-checks the workspace for macOS on Debian, tests included.
//!
//! The toolchain that builds the product has no standard library for Apple's systems; Debian's newer compiler comes
//! with the sources of one, which are enough to check types, borrows, features and conditional code. Nothing is linked,
//! so a stand-in C compiler satisfies build scripts. What only a running Mac can show is not here: the tests that this
//! compiles run on one. It would check nothing if a target's code were left out by a mistyped condition; the
//! `unexpected_cfgs` lint, an error here like any warning, names those.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::Scope;
use crate::failure::Failure;
use crate::setup;
use crate::setup::Purpose;
use crate::step::perform;
use crate::surroundings::Surroundings;

const TARGET: &str = "aarch64-apple-darwin";

/// Answers like a C compiler and writes an empty file where an object is asked for.
const NULL_CC: &str = r#"#!/bin/sh
# A stand-in C compiler: a type check never links, so an empty object is as good as a real one.
for argument in "$@"; do
    case $argument in
    --version | -v) echo "clang version 17.0.0" && exit 0 ;;
    esac
    [ "$previous" = -o ] && : >"$argument"
    previous=$argument
done
exit 0
"#;

/// Writes an empty archive where one is asked for.
const NULL_AR: &str = r#"#!/bin/sh
# A stand-in archiver, for the same reason.
for argument in "$@"; do
    case $argument in
    *.a) : >"$argument" ;;
    esac
done
exit 0
"#;

/// Type-checks the whole workspace for Apple silicon; warnings in its own crates are errors.
///
/// # Errors
/// The check finds something, or the compiler for it is missing.
pub(crate) fn check_macos(around: &Surroundings, scope: Scope) -> Result<(), Failure> {
    if around.os == "macos" {
        return perform(around.cargo(&["check", "--workspace"]).args(tests(scope)));
    }
    if !around.has_apt() {
        eprintln!(
            "left out: the compiler that this needs comes from Debian; a Mac checks the same in CI"
        );
        return Ok(());
    }
    setup::require(around, Purpose::CheckMacos)?;
    perform(&mut check(around, &around.root, scope)?)
}

/// Of our own crates only: neither the library's sources nor dependencies are ours to change.
const DENY_WARNINGS: [&str; 3] = ["-Zwarnings", "--config", "build.warnings='deny'"];

fn tests(scope: Scope) -> Option<&'static str> {
    matches!(scope, Scope::WithTests).then_some("--all-targets")
}

/// The check of the workspace at `root`, ready to run.
fn check(around: &Surroundings, root: &Path, scope: Scope) -> Result<Command, Failure> {
    let cache = around.cache.join("check-macos");
    let cc = stand_in(&cache, "null-cc", NULL_CC)?;
    let ar = stand_in(&cache, "null-ar", NULL_AR)?;
    let mut path = std::ffi::OsString::from("/usr/bin:");
    path.push(&around.path);
    let mut command = Command::new("/usr/bin/cargo");
    command
        .current_dir(root)
        .args(["check", "--workspace", "--keep-going", "--target", TARGET])
        .arg("-Zbuild-std=std,panic_abort,proc_macro")
        // Checkouts share what is built, and cargo tells them apart by nothing else: with times alone the results of one
        // would be taken for those of another whose files are older.
        .arg("-Zchecksum-freshness")
        .args(DENY_WARNINGS)
        .args(tests(scope))
        .args(around.ci.then_some("--locked"))
        // The compiler is a release whose unstable options are asked for by name.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", "/usr/bin/rustc")
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", cache.join("target"))
        .env("CC_aarch64_apple_darwin", &cc)
        .env("CXX_aarch64_apple_darwin", &cc)
        .env("AR_aarch64_apple_darwin", &ar)
        .env("SDKROOT", "/nonexistent");
    // Left by the cargo that started this program; they would lead the other one astray.
    for name in [
        "CARGO",
        "RUSTUP_TOOLCHAIN",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(name);
    }
    Ok(command)
}

/// Writes an executable script unless it is there already: a build script is run again when its compiler is newer.
fn stand_in(folder: &Path, name: &str, script: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(name);
    let failed = |source| Failure::File {
        path: path.clone(),
        source,
    };
    if fs::read(&path).is_ok_and(|bytes| bytes == script.as_bytes()) {
        return Ok(path);
    }
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(&path, script).map_err(failed)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, arguments: &[&str]) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let tool = stand_in(folder.path(), "tool", script).unwrap();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        let output = Command::new(tool)
            .args(arguments)
            .current_dir(&work)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let names = fs::read_dir(&work)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        (String::from_utf8(output.stdout).unwrap(), names.collect())
    }

    #[test]
    fn the_compiler_says_its_version_and_writes_objects() {
        assert!(
            run(NULL_CC, &["--version"]).0.starts_with("clang version"),
            "build scripts look for the family"
        );
        assert_eq!(run(NULL_CC, &["-c", "a.c", "-o", "a.o"]).1, ["a.o"]);
    }

    #[test]
    fn the_archiver_writes_archives() {
        assert_eq!(run(NULL_AR, &["cq", "libx.a", "a.o"]).1, ["libx.a"]);
    }

    #[test]
    fn a_stand_in_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = fs::metadata(stand_in(folder.path(), "cc", NULL_CC).unwrap())
            .unwrap()
            .modified()
            .unwrap();
        let again = fs::metadata(stand_in(folder.path(), "cc", NULL_CC).unwrap())
            .unwrap()
            .modified()
            .unwrap();
        assert_eq!(
            first, again,
            "a newer compiler would run every build script again"
        );
    }
}
