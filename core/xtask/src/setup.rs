//! Looks for the programs that a task needs, and installs them where that is allowed.
//!
//! It promises that a fresh Debian needs no manual step, and that nothing is installed behind a person's back: only as
//! root or with `CI=true`. Finding everything costs a few dozen `stat` calls. A program counts as there when it can be
//! executed, whoever installed it; versions are left to whoever runs it.

mod tools;

use std::process::Command;
use std::process::Stdio;

use crate::failure::Failure;
use crate::setup::tools::Get;
use crate::setup::tools::TOOLS;
use crate::setup::tools::Tool;
use crate::step::perform;
use crate::step::step;
use crate::surroundings::Surroundings;

/// What a program is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Building and running `enclos`.
    Run,
    /// The tests, among them real toolchains inside the jail.
    Test,
    /// The macOS type check.
    CheckMacos,
    /// The measurements.
    Bench,
}

/// Installs or asks for what `purpose` lacks.
///
/// # Errors
/// Something is missing and may not or could not be installed.
pub(crate) fn require(around: &Surroundings, purpose: Purpose) -> Result<(), Failure> {
    provide(around, &|tool| tool.purposes.contains(&purpose))
}

/// Installs or asks for everything, and lists it.
///
/// # Errors
/// As [`require`].
pub(crate) fn everything(around: &Surroundings) -> Result<(), Failure> {
    provide(around, &|_| true)?;
    for tool in TOOLS.iter().filter(|tool| tool.belongs_on(around)) {
        println!(
            "{} {:<17}{}",
            around.paint("32", "ok"),
            tool.name(),
            tool.why
        );
    }
    Ok(())
}

fn provide(around: &Surroundings, wanted: &dyn Fn(&Tool) -> bool) -> Result<(), Failure> {
    let lacks = |tool: &&Tool| wanted(tool) && tool.belongs_on(around) && !tool.is_there(around);
    let lacking: Vec<&Tool> = TOOLS.iter().filter(lacks).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let installer = Installer::of(around)?;
    let lines = installer.lines(&lacking);
    let programs: Vec<&str> = lacking.iter().map(|tool| tool.name()).collect();
    if !installer.is_allowed {
        return Err(Failure::Missing {
            programs,
            install: lines.join(" && "),
        });
    }
    step(around, &format!("install {}", programs.join(", ")), || {
        lines
            .iter()
            .try_for_each(|line| perform(&mut unattended(line)))
    })?;
    // A package that does not bring its program would otherwise be installed anew by every run.
    let still: Vec<&str> = lacking
        .iter()
        .filter(|tool| !tool.is_there(around))
        .map(|tool| tool.name())
        .collect();
    if still.is_empty() {
        Ok(())
    } else {
        Err(Failure::Missing {
            programs: still,
            install: lines.join(" && "),
        })
    }
}

/// How this machine installs packages.
struct Installer {
    packages: Packages,
    /// Put before what changes the whole machine.
    sudo: &'static str,
    /// Whether this program may install by itself.
    is_allowed: bool,
}

#[derive(Clone, Copy)]
enum Packages {
    Apt,
    Brew,
    ByHand,
}

impl Installer {
    fn of(around: &Surroundings) -> Result<Self, Failure> {
        let is_root = around.is_root()?;
        let packages = match around.os {
            "macos" => Packages::Brew,
            _ if around.has_apt() => Packages::Apt,
            _ => Packages::ByHand,
        };
        let is_allowed = matches!(packages, Packages::Apt) && (is_root || around.ci);
        Ok(Self {
            packages,
            sudo: if is_root { "" } else { "sudo " },
            is_allowed,
        })
    }

    /// The command lines that install `lacking`, in order.
    fn lines(&self, lacking: &[&Tool]) -> Vec<String> {
        let sudo = self.sudo;
        let mut packages: Vec<&str> = lacking
            .iter()
            .flat_map(|tool| self.packages_of(tool))
            .collect();
        packages.dedup();
        let packages = packages.join(" ");
        let mut lines = match self.packages {
            _ if packages.is_empty() => Vec::new(),
            Packages::Apt => vec![
                format!("{sudo}apt-get update"),
                format!("{sudo}apt-get install -y --no-install-recommends {packages}"),
            ],
            Packages::Brew => vec![format!("brew install {packages}")],
            Packages::ByHand => vec![format!("(install with your package manager: {packages})")],
        };
        lines.extend(lacking.iter().filter_map(|tool| match tool.get {
            Get::Npm(package) => Some(format!(
                "{sudo}npm install --global --no-fund --no-audit {package}"
            )),
            Get::Rustup(component) => Some(format!("rustup component add {component}")),
            Get::Apt(_) | Get::AptOrBrew(..) => None,
        }));
        lines
    }

    fn packages_of(&self, tool: &Tool) -> Vec<&'static str> {
        match (tool.get, self.packages) {
            (Get::Apt(packages), _) => packages.to_vec(),
            (Get::AptOrBrew(_, formula), Packages::Brew) => vec![formula],
            (Get::AptOrBrew(package, _), _) => vec![package],
            (Get::Npm(_) | Get::Rustup(_), _) => Vec::new(),
        }
    }
}

/// A command that never asks: nobody may be there to answer.
fn unattended(line: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(packages: Packages, sudo: &'static str, names: &[&str]) -> Vec<String> {
        let lacking: Vec<&Tool> = TOOLS
            .iter()
            .filter(|tool| names.contains(&tool.name()))
            .collect();
        Installer {
            packages,
            sudo,
            is_allowed: false,
        }
        .lines(&lacking)
    }

    #[test]
    fn debian_gets_one_line_for_all_packages() {
        assert_eq!(
            lines(Packages::Apt, "sudo ", &["bwrap", "cc"]),
            [
                "sudo apt-get update",
                "sudo apt-get install -y --no-install-recommends gcc libc6-dev bubblewrap"
            ]
        );
        assert_eq!(
            lines(Packages::Apt, "", &["pnpm", "cargo-clippy"]),
            [
                "rustup component add clippy",
                "npm install --global --no-fund --no-audit pnpm@10"
            ]
        );
    }

    #[test]
    fn others_get_a_line_they_can_use() {
        assert_eq!(
            lines(Packages::Brew, "sudo ", &["npm", "node", "rsync"]),
            ["brew install rsync node"]
        );
        assert_eq!(
            lines(Packages::ByHand, "sudo ", &["git"]),
            ["(install with your package manager: git)"]
        );
    }
}
