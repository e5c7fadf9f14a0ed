//! Folders that are never cloned, because they are no project or because they are ours.
//!
//! A decision on names alone, for a path whose links the caller has resolved. It is about mistakes (`enclos run` in
//! the home folder), not about attacks: a jail keeps from every folder what the policy does not lend.

use enclos_paths::AbsPath;

/// Why a folder is not cloned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is the home folder, or holds it, or holds everybody's.
    #[error("{folder} is or holds a home folder, which is no project; choose a folder in it")]
    Home {
        /// The folder.
        folder: AbsPath,
    },
    /// It holds the settings and data of all programs.
    #[error(
        "{folder} holds the settings and data of programs, which is no project; choose a folder in it"
    )]
    Settings {
        /// The folder.
        folder: AbsPath,
    },
    /// It belongs to the system.
    #[error("{folder} belongs to the system, which is no project")]
    System {
        /// The folder.
        folder: AbsPath,
    },
    /// It is, lies in, or holds a folder in which Enclos keeps its sessions.
    #[error("{folder} is, lies in or holds {ours}, where Enclos keeps its sessions")]
    Ours {
        /// The folder.
        folder: AbsPath,
        /// The folder of ours.
        ours: AbsPath,
    },
}

/// Refused themselves, below the home folder.
const SETTINGS: [&str; 4] = [".config", ".local", ".cache", "Library"];

/// Refused themselves. A project may well lie below.
const SYSTEM: [&str; 32] = [
    "/Applications",
    "/Library",
    "/Network",
    "/Volumes",
    "/cores",
    "/etc",
    "/lost+found",
    "/media",
    "/mnt",
    "/nix",
    "/nix/store",
    "/opt",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
    "/root",
    "/run",
    "/run/user",
    "/snap",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/include",
    "/usr/libexec",
    "/usr/local",
    "/usr/share",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// Refused with everything below.
const SYSTEM_AND_BELOW: [&str; 14] = [
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/sbin",
];

/// Refuses what is never cloned: the root, `home` and what holds it, what belongs to the system, and all that has to
/// do with `ours`, the folders in which sessions are kept.
///
/// # Errors
/// Says which rule the folder breaks.
pub fn refuse(folder: &AbsPath, home: &AbsPath, ours: &[AbsPath]) -> Result<(), Refusal> {
    let path = folder.as_path();
    let homes = [
        path == "/",
        path == "/home",
        path == "/Users",
        path == "/var/home",
        home.is_within(folder),
    ];
    if homes.contains(&true) {
        return Err(Refusal::Home {
            folder: folder.clone(),
        });
    }
    if SETTINGS.iter().any(|name| *folder == home.resolve(name)) {
        return Err(Refusal::Settings {
            folder: folder.clone(),
        });
    }
    let is_system = SYSTEM.iter().any(|name| path == *name);
    if is_system || SYSTEM_AND_BELOW.iter().any(|name| path.starts_with(name)) {
        return Err(Refusal::System {
            folder: folder.clone(),
        });
    }
    match ours
        .iter()
        .find(|ours| folder.is_within(ours) || ours.is_within(folder))
    {
        Some(ours) => Err(Refusal::Ours {
            folder: folder.clone(),
            ours: ours.clone(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn refusal(folder: &str) -> Option<Refusal> {
        let ours = [abs("/home/u/.local/state/enclos"), abs("/data/.enclos")];
        refuse(&abs(folder), &abs("/home/u"), &ours).err()
    }

    #[test]
    fn homes_and_what_holds_them_are_refused() {
        for folder in ["/", "/home", "/Users", "/home/u"] {
            assert!(
                matches!(refusal(folder), Some(Refusal::Home { .. })),
                "{folder}: {:?}",
                refusal(folder)
            );
        }
        let root = refuse(&abs("/srv/people"), &abs("/srv/people/u"), &[]);
        assert!(
            matches!(root, Err(Refusal::Home { .. })),
            "an unusual home: {root:?}"
        );
    }

    #[test]
    fn settings_are_refused_but_not_a_project_among_them() {
        for folder in ["/home/u/.config", "/home/u/.local", "/home/u/Library"] {
            assert!(
                matches!(refusal(folder), Some(Refusal::Settings { .. })),
                "{folder}: {:?}",
                refusal(folder)
            );
        }
        assert_eq!(refusal("/home/u/.config/nvim"), None);
    }

    #[test]
    fn what_belongs_to_the_system_is_refused() {
        for folder in [
            "/etc",
            "/usr",
            "/proc",
            "/proc/1",
            "/sys/kernel",
            "/dev/shm",
            "/var",
            "/System/Library",
            "/tmp",
        ] {
            assert!(
                matches!(refusal(folder), Some(Refusal::System { .. })),
                "{folder}: {:?}",
                refusal(folder)
            );
        }
        for folder in ["/tmp/try", "/srv/project", "/usr/src/linux", "/bindings"] {
            assert_eq!(refusal(folder), None, "{folder}");
        }
    }

    #[test]
    fn folders_of_ours_are_refused_and_what_is_in_them_or_holds_them() {
        let all = [
            "/home/u/.local/state/enclos",
            "/home/u/.local/state/enclos/sessions/1",
            "/home/u/.local/state",
            "/data",
        ];
        for folder in all {
            assert!(
                matches!(refusal(folder), Some(Refusal::Ours { .. })),
                "{folder}: {:?}",
                refusal(folder)
            );
        }
        assert_eq!(refusal("/data/project"), None);
    }

    #[test]
    fn a_project_is_not_refused() {
        assert_eq!(refusal("/home/u/project"), None);
    }
}
