//! The person's own git settings, of which a few harmless ones are carried into the jail.

use std::process::Command;
use std::process::Stdio;

use crate::Environment;

/// Keys and values of the person's global settings, in order; none when there is no git or there are no settings.
///
/// git itself reads them, includes and all, from a folder that belongs to no repository and with nothing of the
/// project in sight.
pub(crate) fn settings(environment: &Environment) -> Vec<(String, Vec<u8>)> {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("HOME", &environment.user.home)
        .current_dir("/");
    for name in ["PATH", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"] {
        command.envs(
            environment
                .vars
                .get(std::ffi::OsStr::new(name))
                .map(|value| (name, value)),
        );
    }
    let listed = command
        .args(["config", "--global", "--list", "-z"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(listed) = listed else {
        return Vec::new();
    };
    let entries = listed
        .stdout
        .split(|&b| b == 0)
        .filter(|entry| !entry.is_empty());
    entries.map(entry).collect()
}

/// One entry of `git config --list -z`: the key, a newline, the value; a key without a value means true.
fn entry(bytes: &[u8]) -> (String, Vec<u8>) {
    let (key, value) = match bytes.iter().position(|&b| b == b'\n') {
        Some(at) => (&bytes[..at], bytes[at + 1..].to_vec()),
        None => (bytes, b"true".to_vec()),
    };
    (String::from_utf8_lossy(key).into_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_lines() {
        assert_eq!(
            entry(b"user.name\nAda\nLovelace"),
            ("user.name".to_owned(), b"Ada\nLovelace".to_vec())
        );
        assert_eq!(
            entry(b"core.bare"),
            ("core.bare".to_owned(), b"true".to_vec())
        );
    }
}
