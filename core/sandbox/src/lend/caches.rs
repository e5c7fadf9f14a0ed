//! Where a project's own part of each lent cache lies, and how it is put over the lent one.
//!
//! Promise: the lent cache is only ever read; what a session writes goes to the project's own folder, which stays for
//! its next session. Two sessions of a project at once must not share a folder (the kernel calls two mounts of one
//! `upperdir` undefined; `Documentation/filesystems/overlayfs.rst`), so each takes a slot of its own. Pure: the
//! executor makes the folders, clones or mounts. A lent cache may change between sessions; caches are stores of
//! finished things under names that do not get another content, so an upper that was made over an older one still
//! fits. A cache for which that is not true belongs into no row.

use enclos_paths::AbsPath;

use super::ground::under;
use super::{Access, Folder, Lower};

/// What a file system and an operating system offer for private copies of caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// An overlay mount: nothing is copied, only what is changed takes space. Linux.
    Overlay,
    /// A clone by reflink, mounted in its place: shares its blocks until changed. Linux.
    Reflink,
    /// A clone by `clonefile` that lies in its place in the private home, because nothing can be mounted. macOS.
    InPlace,
    /// Neither: the project starts with an empty cache rather than with a copy of gigabytes.
    Nothing,
}

/// What becomes of one lent cache.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CachePlan {
    /// Mount an overlay at `inside`. The executor makes `upper` and an empty `work`.
    Overlay {
        /// Where it is seen.
        inside: AbsPath,
        /// The lent cache, never written.
        lower: AbsPath,
        /// The project's own part; kept.
        upper: AbsPath,
        /// For the kernel, on the same file system as `upper`.
        work: AbsPath,
    },
    /// Clone `from` to `folder` unless that is there, and show `folder` at `inside`.
    Clone {
        /// Where it is seen.
        inside: AbsPath,
        /// The lent cache, never written.
        from: AbsPath,
        /// The project's own whole copy; kept. It is `inside` where nothing can be mounted.
        folder: AbsPath,
    },
    /// Show `folder`, made empty when it is not there, at `inside`.
    Private {
        /// Where it is seen.
        inside: AbsPath,
        /// The project's own cache; kept. It is `inside` where nothing can be mounted.
        folder: AbsPath,
    },
}

/// The folder for the caches of one running session: slot 0 is the one that stays warm, later slots are for further
/// sessions of the same project at the same time.
#[must_use]
pub fn slot(project_caches: &AbsPath, slot: u32) -> AbsPath {
    under(project_caches, format!("slot-{slot}")).unwrap_or_else(|| project_caches.clone())
}

/// Plans `folder` with the project's part below `caches`; none when it is no cache.
///
/// The layout below `caches` is `NAME/upper` and `NAME/work` for an overlay, `NAME/whole` for a clone or an empty
/// start, so that one kind never takes the other's for its own.
#[must_use]
pub fn plan(folder: &Folder, caches: &AbsPath, means: Means) -> Option<CachePlan> {
    let Access::Cache { name, lower } = &folder.access else {
        return None;
    };
    let own = caches.child(name).ok()?;
    let inside = folder.inside.clone();
    let whole = match means {
        Means::InPlace => inside.clone(),
        _ => own.child("whole").ok()?,
    };
    Some(match (lower, means) {
        (Lower::Present, Means::Overlay) => CachePlan::Overlay {
            inside,
            lower: folder.outside.clone(),
            upper: own.child("upper").ok()?,
            work: own.child("work").ok()?,
        },
        (Lower::Present, Means::Reflink | Means::InPlace) => CachePlan::Clone {
            inside,
            from: folder.outside.clone(),
            folder: whole,
        },
        (Lower::Present, Means::Nothing) | (Lower::Absent, _) => CachePlan::Private {
            inside,
            folder: whole,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn cache(lower: Lower) -> Folder {
        Folder {
            outside: path("/home/u/.cargo/registry"),
            inside: path("/home/u/.cargo/registry"),
            access: Access::Cache {
                name: "cargo-registry".into(),
                lower,
            },
            tool: "cargo".into(),
            why: String::new(),
        }
    }

    #[test]
    fn a_cache_that_is_there_gets_an_upper_of_the_project() {
        let at = slot(&path("/state/p/caches"), 0);
        let CachePlan::Overlay {
            lower,
            upper,
            work,
            inside,
        } = plan(&cache(Lower::Present), &at, Means::Overlay).unwrap()
        else {
            panic!("an overlay is wanted");
        };
        assert_eq!(lower.to_string(), "/home/u/.cargo/registry");
        assert_eq!(inside, lower);
        assert_eq!(
            upper.to_string(),
            "/state/p/caches/slot-0/cargo-registry/upper"
        );
        assert_eq!(
            work.to_string(),
            "/state/p/caches/slot-0/cargo-registry/work"
        );
    }

    #[test]
    fn without_a_lower_or_means_the_project_starts_empty() {
        let at = path("/c");
        for (lower, means) in [
            (Lower::Absent, Means::Overlay),
            (Lower::Absent, Means::Reflink),
            (Lower::Present, Means::Nothing),
        ] {
            let planned = plan(&cache(lower), &at, means);
            let folder = path("/c/cargo-registry/whole");
            assert_eq!(
                planned,
                Some(CachePlan::Private {
                    inside: path("/home/u/.cargo/registry"),
                    folder
                })
            );
        }
    }

    #[test]
    fn sessions_at_the_same_time_do_not_share_an_upper() {
        let all = path("/state/p/caches");
        let first = plan(&cache(Lower::Present), &slot(&all, 0), Means::Overlay);
        let second = plan(&cache(Lower::Present), &slot(&all, 1), Means::Overlay);
        assert_ne!(first, second);
    }

    #[test]
    fn what_is_only_read_is_no_cache() {
        let folder = Folder {
            access: Access::ReadOnly,
            ..cache(Lower::Present)
        };
        assert_eq!(plan(&folder, &path("/c"), Means::Overlay), None);
    }
}
