//! Gives up rights for good, in the order in which each step still allows the next.

use std::io;

use enclos_sys::landlock::Ruleset;
use enclos_sys::seccomp;
use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Resource, Rlimit};

use super::super::plan::{Confinement, Landlock};
use super::super::wire::Step;

/// Makes this process unreadable for others of the same user, and all that follow unable to dump their memory.
pub(super) fn hide() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::process::setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )?;
    Ok(())
}

/// Enters the confinement.
pub(super) fn confine(confinement: &Confinement) -> Result<(), (Step, io::Error)> {
    rustix::thread::set_no_new_privs(true).map_err(|errno| (Step::Privileges, errno.into()))?;
    if let Some(landlock) = &confinement.landlock {
        restrict(landlock)?;
    }
    if !confinement.filter.is_empty() {
        let convert = |step: &super::super::filter::Instruction| seccomp::Instruction {
            code: step.code,
            jt: step.jt,
            jf: step.jf,
            k: step.k,
        };
        let filter: Vec<_> = confinement.filter.iter().map(convert).collect();
        seccomp::install(&filter).map_err(|error| (Step::Filter, error))?;
    }
    Ok(())
}

fn restrict(landlock: &Landlock) -> Result<(), (Step, io::Error)> {
    let mut rules =
        Ruleset::new(landlock.handled, landlock.scoped).map_err(|error| (Step::Landlock, error))?;
    for rule in &landlock.rules {
        let failed = |error| (Step::Rule(rule.path.clone()), error);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let path = rustix::fs::open(rule.path.as_path(), flags, Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        rules.allow(&path, rule.rights).map_err(failed)?;
    }
    rules
        .restrict_self()
        .map_err(|error| (Step::Landlock, error))
}
