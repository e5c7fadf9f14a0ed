//! Every program that a task may need: how to see that it is there, where it comes from, what it is for.

use std::path::Path;

use crate::setup::Purpose;
use crate::setup::Purpose::Bench;
use crate::setup::Purpose::CheckMacos;
use crate::setup::Purpose::Run;
use crate::setup::Purpose::Test;
use crate::surroundings::Surroundings;

/// A program, or something as good as one.
pub(super) struct Tool {
    found: Found,
    pub(super) get: Get,
    pub(super) purposes: &'static [Purpose],
    pub(super) why: &'static str,
}

/// How to see that a tool is there.
#[derive(Clone, Copy)]
enum Found {
    /// A program on the `PATH`.
    Program(&'static str),
    /// A part of the toolchain that this program was built with.
    BesideCargo(&'static str),
    /// A file of its own.
    File(&'static str, &'static str),
    /// Python's module for making environments, which Debian packages apart from Python.
    PythonVenv,
}

/// Where a tool comes from.
#[derive(Clone, Copy)]
pub(super) enum Get {
    /// Packages of Debian, for tools that only Linux needs or that every Mac with its developer tools has.
    Apt(&'static [&'static str]),
    /// Packages of Debian, or a formula of Homebrew.
    AptOrBrew(&'static str, &'static str),
    /// A package for Node.js, installed for the whole machine.
    Npm(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

/// All of them, the ones that everything needs first.
pub(super) const TOOLS: &[Tool] = &[
    tool(
        Found::Program("cc"),
        Get::Apt(&["gcc", "libc6-dev"]),
        &[Run, Test, CheckMacos, Bench],
        "links what is built",
    ),
    tool(
        Found::Program("git"),
        Get::Apt(&["git"]),
        &[Run, Test, Bench],
        "the sample project is a repository",
    ),
    tool(
        Found::Program("bwrap"),
        Get::Apt(&["bubblewrap"]),
        &[Run, Test, Bench],
        "makes the jail on Linux",
    ),
    tool(
        Found::BesideCargo("cargo-fmt"),
        Get::Rustup("rustfmt"),
        &[Test],
        "formats",
    ),
    tool(
        Found::BesideCargo("cargo-clippy"),
        Get::Rustup("clippy"),
        &[Test],
        "lints",
    ),
    tool(
        Found::Program("mkfs.xfs"),
        Get::Apt(&["xfsprogs"]),
        &[Test, Bench],
        "a file system with reflinks",
    ),
    tool(
        Found::Program("mkfs.btrfs"),
        Get::Apt(&["btrfs-progs"]),
        &[Test],
        "another file system with reflinks",
    ),
    tool(
        Found::Program("mkfs.ext4"),
        Get::Apt(&["e2fsprogs"]),
        &[Test],
        "a file system without reflinks",
    ),
    tool(
        Found::Program("setfacl"),
        Get::Apt(&["acl"]),
        &[Test],
        "access lists, which copies must keep",
    ),
    tool(
        Found::Program("rsync"),
        Get::AptOrBrew("rsync", "rsync"),
        &[Test, Bench],
        "what scan and apply compete with",
    ),
    tool(
        Found::Program("strace"),
        Get::Apt(&["strace"]),
        &[Test],
        "shows which system calls were made",
    ),
    tool(
        Found::Program("make"),
        Get::Apt(&["make"]),
        &[Test],
        "builds inside the jail",
    ),
    tool(
        Found::Program("node"),
        Get::AptOrBrew("nodejs", "node"),
        &[Test],
        "runs inside the jail",
    ),
    tool(
        Found::Program("npm"),
        Get::AptOrBrew("npm", "node"),
        &[Test],
        "installs inside the jail",
    ),
    tool(
        Found::Program("pnpm"),
        Get::Npm("pnpm@10"),
        &[Test],
        "installs inside the jail, by links",
    ),
    tool(
        Found::Program("go"),
        Get::AptOrBrew("golang-go", "go"),
        &[Test],
        "builds inside the jail",
    ),
    tool(
        Found::Program("python3"),
        Get::AptOrBrew("python3", "python"),
        &[Test],
        "runs inside the jail",
    ),
    tool(
        Found::PythonVenv,
        Get::Apt(&["python3-venv"]),
        &[Test],
        "environments that hold their own path",
    ),
    tool(
        Found::Program("pytest"),
        Get::AptOrBrew("python3-pytest", "pytest"),
        &[Test],
        "tests inside the jail",
    ),
    tool(
        Found::File("rustc-web", "/usr/bin/rustc"),
        Get::Apt(&["rustc-web"]),
        &[CheckMacos, Test],
        "checks for macOS",
    ),
    tool(
        Found::File("cargo-web", "/usr/bin/cargo"),
        Get::Apt(&["cargo-web"]),
        &[CheckMacos, Test],
        "checks for macOS",
    ),
    tool(
        Found::File("rust-web-src", LIBRARY_SOURCES),
        Get::Apt(&["rust-web-src"]),
        &[CheckMacos, Test],
        "its library",
    ),
];

const fn tool(found: Found, get: Get, purposes: &'static [Purpose], why: &'static str) -> Tool {
    Tool {
        found,
        get,
        purposes,
        why,
    }
}

impl Tool {
    /// What a person calls it.
    pub(super) fn name(&self) -> &'static str {
        match self.found {
            Found::Program(name) | Found::BesideCargo(name) | Found::File(name, _) => name,
            Found::PythonVenv => "python3 -m venv",
        }
    }

    /// Whether this machine can have it and has a use for it.
    ///
    /// Macs lack what only Debian provides, and the rest of that comes with Apple's developer tools; the compiler that
    /// checks for macOS exists on Debian only.
    pub(super) fn belongs_on(&self, around: &Surroundings) -> bool {
        match (self.found, self.get) {
            (Found::File(..), _) => around.has_apt(),
            (_, Get::Apt(_)) => around.os == "linux",
            _ => true,
        }
    }

    /// Whether it can be used now.
    pub(super) fn is_there(&self, around: &Surroundings) -> bool {
        match self.found {
            Found::Program(name) => around.program(name).is_some(),
            // A proxy of rustup's on the `PATH` proves nothing; beside cargo itself lies the component.
            Found::BesideCargo(name) => match Path::new(&around.cargo) {
                cargo if cargo.is_absolute() => cargo.with_file_name(name).exists(),
                _ => around.program(name).is_some(),
            },
            Found::File(_, file) => Path::new(file).exists(),
            Found::PythonVenv => around
                .program("python3")
                .is_none_or(|python| has_venv(&python)),
        }
    }
}

/// Debian's own Python keeps `ensurepip` in the package of `venv`; any other Python is complete.
fn has_venv(python: &Path) -> bool {
    let debian = python.starts_with("/usr/bin") || python.starts_with("/bin");
    let module = || {
        std::fs::read_dir("/usr/lib")
            .into_iter()
            .flatten()
            .flatten()
    };
    !debian || module().any(|entry| entry.path().join("ensurepip/__init__.py").exists())
}

/// Where the sources of the standard library lie that the macOS check compiles.
const LIBRARY_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::surroundings::tests::around;

    #[test]
    fn a_program_is_there_when_it_can_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let around = around(folder.path());
        let file = folder.path().join("enclos-test-tool");
        let tool = tool(
            Found::Program("enclos-test-tool"),
            Get::Apt(&["enclos-test-tool"]),
            &[Run],
            "a test",
        );
        assert!(!tool.is_there(&around), "no file");
        std::fs::write(&file, "").unwrap();
        assert!(!tool.is_there(&around), "a file that cannot be executed");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(tool.is_there(&around), "an executable");
    }

    #[test]
    fn every_tool_says_what_it_is_for() {
        for tool in TOOLS {
            assert!(
                !tool.purposes.is_empty() && !tool.why.is_empty(),
                "{}",
                tool.name()
            );
        }
    }

    #[test]
    fn a_mac_is_not_asked_for_what_only_linux_has() {
        let mac = Surroundings {
            os: "macos",
            ..around(Path::new("/"))
        };
        let names: Vec<_> = TOOLS
            .iter()
            .filter(|tool| tool.belongs_on(&mac))
            .map(Tool::name)
            .collect();
        assert!(
            !names.contains(&"bwrap") && !names.contains(&"mkfs.xfs"),
            "{names:?}"
        );
        assert!(names.contains(&"rsync"), "{names:?}");
    }
}
