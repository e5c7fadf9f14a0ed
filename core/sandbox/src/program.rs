//! Finds a program as a shell would: in the `PATH` of the command's own environment.
//!
//! The stage asks this from inside, so what is found is what can be seen there.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

use crate::Command;
use crate::spawned::Refusal;

/// The executable that `command` means.
pub(crate) fn find(command: &Command) -> Result<PathBuf, (Refusal, io::Error)> {
    let missing = (Refusal::NotFound, Errno::NOENT.into());
    let Some(name) = command.argv.first().filter(|name| !name.is_empty()) else {
        return Err(missing);
    };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match look(&path) {
            Ok(()) => Ok(path),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(missing),
            Err(errno) => Err((Refusal::CannotExecute, errno.into())),
        };
    }
    let path = command
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let mut refused = missing;
    for folder in path
        .unwrap_or(OsStr::new(PLACES))
        .as_bytes()
        .split(|byte| *byte == b':')
    {
        let folder = if folder.is_empty() { b"." } else { folder };
        let candidate = Path::new(OsStr::from_bytes(folder)).join(name);
        match look(&candidate) {
            Ok(()) => return Ok(candidate),
            // The search goes on: a later folder may have one that can be executed.
            Err(Errno::ACCESS) => refused = (Refusal::CannotExecute, Errno::ACCESS.into()),
            Err(_) => {}
        }
    }
    Err(refused)
}

/// Where a program is looked for when the environment has no PATH.
const PLACES: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether there is a file to execute at `path`.
fn look(path: &Path) -> Result<(), Errno> {
    let stat = rustix::fs::stat(path)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(Errno::ACCESS);
    }
    rustix::fs::access(path, Access::EXEC_OK)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use enclos_paths::AbsPath;

    use super::*;
    use crate::Stdio;

    fn file(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn found(program: &str, search: &str) -> Result<PathBuf, Refusal> {
        let command = Command {
            argv: vec![program.into()],
            env: vec![(OsString::from("PATH"), search.into())],
            cwd: AbsPath::new("/").unwrap(),
            umask: 0o022,
            stdio: Stdio::Pipes,
        };
        find(&command).map_err(|(refusal, _)| refusal)
    }

    #[test]
    fn the_first_that_can_be_executed_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a", "b", "c"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        fs::create_dir(dir.path().join("a/tool")).unwrap();
        file(&dir.path().join("b/tool"), 0o755);
        file(&dir.path().join("c/tool"), 0o755);
        file(&dir.path().join("a/plain"), 0o644);
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let search = format!("/nowhere:{}:{}:{}", at("a"), at("b"), at("c"));
        assert_eq!(found("tool", &search), Ok(dir.path().join("b/tool")));
        assert_eq!(found("plain", &search), Err(Refusal::CannotExecute));
        assert_eq!(found("missing", &search), Err(Refusal::NotFound));
        assert_eq!(found("", &search), Err(Refusal::NotFound));
        assert_eq!(found(&at("a/plain"), ""), Err(Refusal::CannotExecute));
        assert_eq!(found(&at("a/none"), ""), Err(Refusal::NotFound));
        assert_eq!(found(&at("c/tool"), ""), Ok(dir.path().join("c/tool")));
    }
}
