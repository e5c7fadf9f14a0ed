//! What this machine has that a jail needs: read once, decided on by the planner.
//!
//! No program is run to find out: a fact is a file that exists or says something, so gathering costs a fraction of a
//! millisecond. How it could break: a fact is a hint about what the kernel will allow, not the permission itself; the
//! launch still fails, with words, where the hint was wrong.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use enclos_paths::AbsPath;

/// What was found on this machine. Same for all sessions; the planner and `doctor` decide on it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub root_entries: Vec<RootEntry>,
    /// Folders of `/etc` that are copied into a generated one, those of the allow list that exist.
    pub etc_folders: Vec<AbsPath>,
    /// What of `/proc` is covered read-only, besides being a new one.
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
    /// AppArmor takes their capabilities away (Ubuntu 23.10 and newer), unless a profile allows them to bubblewrap.
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

/// Something that keeps a jail from working, or weakens it; for `doctor` and for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// There is no bubblewrap.
    BwrapMissing,
    /// User namespaces are, or may be, forbidden.
    Namespaces(Userns),
    /// There is no Landlock, or one too old to be used.
    Landlock {
        /// The ABI.
        abi: u32,
    },
    /// Bubblewrap cannot forbid nested user namespaces.
    NestedNamespaces,
    /// There is no system call filter for this machine.
    Machine,
}

impl HostFacts {
    /// Reads the facts; `search` are the places bubblewrap is looked for, in order, before the usual ones. A fact that
    /// cannot be read counts as absent, so nothing here fails.
    #[must_use]
    pub fn gather(search: &[AbsPath]) -> Self {
        let root = rustix::process::geteuid().is_root();
        Self {
            bwrap: find_bwrap(search),
            landlock_abi: landlock_abi(),
            userns: userns(root),
            machine: Machine::CURRENT,
            root_entries: ROOT_ENTRIES
                .iter()
                .filter_map(|path| root_entry(path))
                .collect(),
            etc_folders: etc_folders(),
            proc_covers: existing(if root {
                &PROC_COVERS[..]
            } else {
                &PROC_COVERS[..4]
            }),
        }
    }

    /// What is missing or weak here, the worst first. Empty: everything can be enforced.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.bwrap.is_none() {
            findings.push(Finding::BwrapMissing);
        }
        if self.userns != Userns::Allowed {
            findings.push(Finding::Namespaces(self.userns));
        }
        if !super::rights::usable(self.landlock_abi) {
            findings.push(Finding::Landlock {
                abi: self.landlock_abi,
            });
        }
        if self
            .bwrap
            .as_ref()
            .is_some_and(|bwrap| !super::bwrap::forbids_namespaces(bwrap))
        {
            findings.push(Finding::NestedNamespaces);
        }
        if self.machine == Machine::Other {
            findings.push(Finding::Machine);
        }
        findings
    }
}

impl HostFacts {
    /// What is enforced here, a sentence for each concern.
    #[must_use]
    pub fn promises(&self) -> Vec<&'static str> {
        vec![
            "files: only the copy, a private home and what is lent can be written",
            "network: none leaves the session",
            "processes: all of a session end with it, and see nobody else",
        ]
    }
}

impl Machine {
    /// What this program was built for.
    pub const CURRENT: Self = if cfg!(target_arch = "x86_64") {
        Self::X86_64
    } else if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::Other
    };
}

impl Userns {
    /// Whether it is certain that no jail can be made. AppArmor's answer depends on profiles, so that is tried.
    pub(super) fn is_hopeless(self) -> bool {
        matches!(self, Self::CloneSwitch | Self::MaxZero | Self::Unsupported)
    }
}

impl Finding {
    /// Whether no session can run because of it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::BwrapMissing => true,
            Self::Namespaces(userns) => userns.is_hopeless(),
            _ => false,
        }
    }

    /// The one line to type, where there is one.
    #[must_use]
    pub fn to_type(&self) -> Option<&'static str> {
        match self {
            Self::BwrapMissing => Some("sudo apt-get install bubblewrap"),
            Self::Namespaces(userns) => userns.to_type(),
            _ => None,
        }
    }
}

impl Userns {
    /// The line to type that allows them.
    #[must_use]
    pub fn to_type(self) -> Option<&'static str> {
        match self {
            Self::AppArmor => Some(APPARMOR_PROFILE),
            Self::CloneSwitch => Some("sudo sysctl -w kernel.unprivileged_userns_clone=1"),
            Self::MaxZero => Some("sudo sysctl -w user.max_user_namespaces=10000"),
            Self::Allowed | Self::Unsupported => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BwrapMissing => f.write_str("bubblewrap is not installed"),
            Self::Namespaces(userns @ Userns::AppArmor) => {
                write!(f, "user namespaces may be forbidden: {userns}")
            }
            Self::Namespaces(userns) => write!(f, "user namespaces are forbidden: {userns}"),
            Self::Landlock { abi } => crate::Gap::LandlockMissing { abi: *abi }.fmt(f),
            Self::NestedNamespaces => crate::Gap::NamespacesFilteredOnly.fmt(f),
            Self::Machine => crate::Gap::SeccompUnknownMachine.fmt(f),
        }
    }
}

impl fmt::Display for Userns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "they are allowed",
            Self::AppArmor => "AppArmor allows them only to programs that have a profile",
            Self::CloneSwitch => "kernel.unprivileged_userns_clone is 0",
            Self::MaxZero => "user.max_user_namespaces is 0",
            Self::Unsupported => "the kernel has none",
        })
    }
}

/// Gives bubblewrap the right to user namespaces and loads that.
const APPARMOR_PROFILE: &str = "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile enclos-bwrap /usr/bin/bwrap \
     flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/enclos-bwrap >/dev/null && \
     sudo apparmor_parser -r /etc/apparmor.d/enclos-bwrap";
const BWRAP_PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
const ROOT_ENTRIES: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What of `/etc` holds no secret and programs look for: which of several tools is meant, certificates that are
/// trusted (never the private keys beside them), fonts, terminals, policies for ciphers.
const ETC_FOLDERS: [&str; 8] = [
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates/extracted",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/terminfo",
];
/// Files of `/proc` that root may write without a capability, or could once. The first four are covered for everyone,
/// the rest only where we are root and so their owner.
const PROC_COVERS: [&str; 9] = [
    "/proc/sys",
    "/proc/irq",
    "/proc/bus",
    "/proc/sysrq-trigger",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/fs",
    "/proc/mtrr",
    "/proc/pressure",
];

fn find_bwrap(search: &[AbsPath]) -> Option<Bwrap> {
    let usual = BWRAP_PLACES
        .iter()
        .filter_map(|place| AbsPath::new(place).ok());
    search.iter().cloned().chain(usual).find_map(|path| {
        let mode = std::fs::metadata(path.as_path())
            .ok()
            .filter(std::fs::Metadata::is_file)?
            .permissions()
            .mode();
        (mode & 0o111 != 0).then_some(())?;
        // Asking it for its options would cost more than making the whole jail; they are words in the executable.
        let program = std::fs::read(path.as_path()).ok()?;
        let disables_userns = contains(&program, b"--disable-userns");
        Some(Bwrap {
            path,
            setuid: mode & 0o4000 != 0,
            disables_userns,
        })
    })
}

/// Whether `word` is among the strings, which end in NUL, of an executable.
fn contains(program: &[u8], word: &[u8]) -> bool {
    program
        .split(|byte| *byte == 0)
        .any(|string| string == word)
}

#[cfg(target_os = "linux")]
fn landlock_abi() -> u32 {
    enclos_sys::landlock::abi()
}

#[cfg(not(target_os = "linux"))]
fn landlock_abi() -> u32 {
    0
}

fn userns(root: bool) -> Userns {
    let says = |file: &str, value: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
    };
    if !Path::new("/proc/self/ns/user").exists() {
        Userns::Unsupported
    } else if says("/proc/sys/user/max_user_namespaces", "0") {
        Userns::MaxZero
    } else if root {
        Userns::Allowed
    } else if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        Userns::CloneSwitch
    } else if says(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        Userns::AppArmor
    } else {
        Userns::Allowed
    }
}

fn root_entry(path: &str) -> Option<RootEntry> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let link = if metadata.is_symlink() {
        Some(std::fs::read_link(path).ok()?.into_os_string())
    } else {
        None
    };
    (link.is_some() || metadata.is_dir()).then_some(())?;
    Some(RootEntry {
        path: AbsPath::new(path).ok()?,
        link,
    })
}

fn etc_folders() -> Vec<AbsPath> {
    let mut folders = existing(&ETC_FOLDERS);
    // Java's are links into /etc from its own folder: its trusted certificates and security policy.
    let java = std::fs::read_dir("/etc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let named = entry.file_name().as_encoded_bytes().starts_with(b"java");
            named && entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
    folders.extend(java.filter_map(|entry| AbsPath::new(entry.path()).ok()));
    folders.sort();
    folders
}

fn existing(paths: &[&str]) -> Vec<AbsPath> {
    paths
        .iter()
        .filter(|path| Path::new(path).exists())
        .filter_map(|path| AbsPath::new(path).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(dir: &tempfile::TempDir, name: &str, mode: u32, words: &[u8]) -> AbsPath {
        let path = dir.path().join(name);
        std::fs::write(&path, words).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        AbsPath::new(path).unwrap()
    }

    #[test]
    fn the_first_that_can_be_executed_is_taken_and_known_by_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let absent = AbsPath::new(dir.path().join("absent")).unwrap();
        let text = fake(&dir, "text", 0o644, b"");
        let old = fake(
            &dir,
            "old",
            0o755,
            b"\x7fELF\0--unshare-user\0--not--disable-userns\0",
        );
        let new = fake(
            &dir,
            "new",
            0o4755,
            b"\x7fELF\0--unshare-user\0--disable-userns\0",
        );
        let found = find_bwrap(&[absent, text, old.clone(), new.clone()]).unwrap();
        assert_eq!(
            (found.path, found.setuid, found.disables_userns),
            (old, false, false)
        );
        let found = find_bwrap(std::slice::from_ref(&new)).unwrap();
        assert_eq!(
            (found.path, found.setuid, found.disables_userns),
            (new, true, true)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_what_the_tests_of_the_jail_need() {
        let facts = HostFacts::gather(&[]);
        let bwrap = facts.bwrap.clone().expect("install bubblewrap");
        assert!(bwrap.disables_userns, "bubblewrap 0.8 or newer");
        assert_eq!(facts.findings(), [], "{facts:?}");
        assert!(
            facts
                .proc_covers
                .contains(&AbsPath::new("/proc/sys").unwrap())
        );
    }
}
