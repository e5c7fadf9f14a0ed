//! Which rights on files the stage gives itself by Landlock; pure.
//!
//! The second line behind the mounts: reading and executing what is mounted, writing only where the jail is meant to
//! write, whatever else a mount or a descriptor might offer. From ABI 2 on only: before that every rename and link
//! across folders fails, and builds with it. Bits from the kernel's `uapi/linux/landlock.h`.

use enclos_paths::AbsPath;

use super::mounts::Mounts;
use super::plan::{FileRule, Landlock};

/// Whether Landlock of this ABI can be used at all.
pub(super) fn usable(abi: u32) -> bool {
    abi >= 2
}

/// The rules for a jail with these mounts; none when the ABI is too old.
pub(super) fn landlock(abi: u32, mounts: &Mounts) -> Option<Landlock> {
    if !usable(abi) {
        return None;
    }
    let handled = handled(abi);
    let rule = |path: &AbsPath, rights: u64| FileRule {
        path: path.clone(),
        rights: rights & handled,
    };
    let mut rules = Vec::new();
    if let (Ok(root), Ok(dev)) = (AbsPath::new("/"), AbsPath::new("/dev")) {
        rules.push(rule(&root, READ));
        rules.push(rule(&dev, READ | WRITE | IOCTL_DEV));
    }
    for mount in mounts.writable() {
        let rights = if mount.folder {
            READ | WRITE
        } else {
            (READ | WRITE) & OF_FILES
        };
        rules.push(rule(&mount.inside, rights));
    }
    let scoped = if abi >= 6 {
        ABSTRACT_SOCKETS | SIGNALS
    } else {
        0
    };
    Some(Landlock {
        handled,
        scoped,
        rules,
    })
}

/// Every right this ABI knows: what is not handled would be allowed everywhere.
fn handled(abi: u32) -> u64 {
    let known = match abi {
        0 | 1 => IOCTL_DEV >> 2,
        2 => REFER << 1,
        3 | 4 => TRUNCATE << 1,
        _ => IOCTL_DEV << 1,
    };
    known - 1
}

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// All but making device nodes, which needs a capability anyway.
const WRITE: u64 = WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE;
/// The rights that a rule on a file may name.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;

const ABSTRACT_SOCKETS: u64 = 1;
const SIGNALS: u64 = 1 << 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_abi_handles_exactly_what_it_knows() {
        assert_eq!(handled(2), (1 << 14) - 1);
        assert_eq!(handled(3), (1 << 15) - 1);
        assert_eq!(handled(4), (1 << 15) - 1);
        assert_eq!(handled(5), (1 << 16) - 1);
        assert_eq!(handled(7), (1 << 16) - 1);
    }

    #[test]
    fn an_abi_without_refer_is_not_used() {
        let none = Mounts {
            list: Vec::new(),
            overlays: Vec::new(),
            covered_doors: Vec::new(),
        };
        assert_eq!(landlock(0, &none), None);
        assert_eq!(landlock(1, &none), None);
        let rules = landlock(2, &none).unwrap().rules;
        assert!(
            rules.iter().all(|rule| rule.rights & !handled(2) == 0),
            "an unknown right is an error to the kernel"
        );
    }
}
