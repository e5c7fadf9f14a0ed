//! What this program knows about the machine and the checkout, read once in `main` and passed down.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// The machine and the checkout.
pub(crate) struct Surroundings {
    /// The folder that holds the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// The cargo that started this program.
    pub(crate) cargo: OsString,
    /// The operating system, as Rust names it.
    pub(crate) os: &'static str,
    /// Where programs are looked for.
    pub(crate) path: OsString,
    /// Whether nobody is there to be asked.
    pub(crate) ci: bool,
    /// Whether colours are wanted.
    pub(crate) colour: bool,
    /// Where what can be built again may outlive the checkout.
    pub(crate) cache: PathBuf,
    /// Where short-lived files go.
    pub(crate) temp: PathBuf,
}

impl Surroundings {
    /// A cargo command in the workspace.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// The file that would be executed for `name`, with the administrators' folders that an ordinary `PATH` lacks.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .map(|folder| folder.join(name))
            .find(|file| executable(file))
    }

    /// `text` in the ANSI style `style`, or as it is where colours are not wanted.
    pub(crate) fn paint(&self, style: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Whether this is a Debian or one of its children, as far as `apt-get` goes.
    pub(crate) fn has_apt(&self) -> bool {
        self.program("apt-get").is_some() && Path::new("/etc/debian_version").exists()
    }

    /// Whether the person is root.
    ///
    /// # Errors
    /// `id` cannot be run.
    pub(crate) fn is_root(&self) -> Result<bool, Failure> {
        let mut id = Command::new("id");
        let output = id.arg("-u").output().map_err(|source| Failure::Spawn {
            program: "id".into(),
            source,
        })?;
        Ok(output.stdout.trim_ascii() == b"0")
    }
}

fn executable(file: &Path) -> bool {
    std::fs::metadata(file)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A machine whose programs all lie in `folder`.
    pub(crate) fn around(folder: &Path) -> Surroundings {
        Surroundings {
            root: folder.into(),
            cargo: "cargo".into(),
            os: "linux",
            path: folder.into(),
            ci: false,
            colour: false,
            cache: folder.join("cache"),
            temp: folder.into(),
        }
    }

    #[test]
    fn colours_appear_only_where_they_are_wanted() {
        let mut around = around(Path::new("/"));
        assert_eq!(around.paint("1", "x"), "x");
        around.colour = true;
        assert_eq!(around.paint("1", "x"), "\x1b[1mx\x1b[0m");
    }
}
