//! What must read as empty inside a folder that a person lends by name: files that hold credentials, by the table of
//! their names, and what is denied.

use std::fs;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_policy::Policy;
use enclos_policy::secret_file;

/// What was found in one lent folder.
#[derive(Debug, Default)]
pub(crate) struct Covers {
    /// Files to be covered, by their path inside.
    pub(crate) files: Vec<AbsPath>,
    /// Folders in it that are denied; a folder cannot be covered, so the lending is refused.
    pub(crate) denied_folders: Vec<AbsPath>,
    /// Whether all of it was looked at.
    pub(crate) complete: bool,
}

/// How many entries are looked at before the rest is said to be unsearched.
const MOST: usize = 200_000;

/// Looks through `real`, which is shown as `inside`, without following links.
pub(crate) fn search(real: &AbsPath, inside: &AbsPath, policy: &Policy) -> Covers {
    let mut covers = Covers {
        complete: true,
        ..Covers::default()
    };
    let mut folders: Vec<Option<ProjectPath>> = vec![None];
    let mut seen = 0;
    if secret_file(real).is_some() && real.as_path().is_file() {
        covers.files.push(inside.clone());
    }
    while let Some(folder) = folders.pop() {
        let at = folder
            .as_ref()
            .map_or_else(|| real.clone(), |below| real.join(below));
        // What cannot be listed by the person cannot be read by their command either.
        let Ok(entries) = fs::read_dir(&at) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST {
                covers.complete = false;
                return covers;
            }
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let below = folder
                .as_ref()
                .map_or_else(|| ProjectPath::new(name), |folder| folder.join(name));
            let (Ok(below), Ok(kind)) = (below, entry.file_type()) else {
                continue;
            };
            let path = real.join(&below);
            let denied = policy.denied(&path).is_some();
            match (kind.is_dir(), denied) {
                (true, true) => covers.denied_folders.push(path),
                (true, false) => folders.push(Some(below)),
                (false, denied) => {
                    if denied || secret_file(path.as_path()).is_some() {
                        covers.files.push(inside.join(&below));
                    }
                }
            }
        }
    }
    covers
}
