//! Tries a profile before every session, with `sandbox-exec`, whose exit codes tell the ways of failing apart.
//!
//! A profile that macOS refuses, or takes and does not enforce, must end the run and not the protection.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use enclos_paths::AbsPath;

use crate::seatbelt::Profile;

/// By its path, so that no other program of that name is taken.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Exit code of `sandbox-exec` for a profile that does not compile (`EX_DATAERR`).
const REJECTED: i32 = 65;

/// Exit code of `sandbox-exec` when the sandbox cannot be applied, because there is one already (`EX_OSERR`).
const NESTED: i32 = 71;

/// Why a profile must not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelfTestError {
    /// `sandbox-exec` is not there or does not start.
    #[error("cannot start {SANDBOX_EXEC}")]
    Missing {
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// macOS refuses the profile.
    #[error("macOS refuses the sandbox profile: {said}")]
    Rejected {
        /// The first line that `sandbox-exec` wrote.
        said: String,
        /// Its exit status.
        status: ExitStatus,
    },
    /// This process is in a sandbox already.
    #[error(
        "this process is in a sandbox of macOS already, and a sandbox cannot be entered inside another"
    )]
    Nested {
        /// The exit status of `sandbox-exec`.
        status: ExitStatus,
    },
    /// A harmless program does not run in the sandbox.
    #[error("/usr/bin/true does not run in the sandbox ({status}): {said}")]
    Broken {
        /// The first line that was written.
        said: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// What must be closed is open.
    #[error("the sandbox does not keep {} closed", probe.display())]
    NotEnforced {
        /// The file that could be read.
        probe: Box<Path>,
    },
}

/// Tries the profile: `/usr/bin/true` must run in it, and `probe`, a file that exists and is not empty outside, must
/// not be readable. Takes two short processes.
///
/// # Errors
/// The profile must not be used, and why.
pub fn self_test(profile: &Profile, probe: &AbsPath) -> Result<(), SelfTestError> {
    let good = run(profile, &["/usr/bin/true".as_ref()])?;
    let said = first_line(&good.stderr);
    match good.status.code() {
        Some(0) => {}
        Some(REJECTED) => {
            return Err(SelfTestError::Rejected {
                said,
                status: good.status,
            });
        }
        Some(NESTED) => {
            return Err(SelfTestError::Nested {
                status: good.status,
            });
        }
        _ => {
            return Err(SelfTestError::Broken {
                said,
                status: good.status,
            });
        }
    }
    let bad = run(profile, &["/bin/cat".as_ref(), probe.as_path()])?;
    if bad.status.success() || !bad.stdout.is_empty() {
        return Err(SelfTestError::NotEnforced {
            probe: probe.as_path().into(),
        });
    }
    Ok(())
}

fn run(profile: &Profile, command: &[&Path]) -> Result<Output, SelfTestError> {
    let mut exec = Command::new(SANDBOX_EXEC);
    exec.args(profile.arguments())
        .args(command)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null());
    exec.output()
        .map_err(|source| SelfTestError::Missing { source })
}

fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    enclos_paths::shown(&line[..line.len().min(200)]).to_string()
}
