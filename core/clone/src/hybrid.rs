//! Which folders are overlaid rather than copied where blocks cannot be shared.
//!
//! The promise: what a person wrote is copied, and so stays as it was at the start; only what a tool can make again
//! (packages, build outputs) may show a later edit of the original. A folder is overlaid when its name is one that
//! tools use, git ignores it by the original's own rules, nothing in it is tracked, and it is large enough to matter.
//! It is copied all the same when an overlay of it could not be written to: files of another owner or group are
//! beyond the rights of a mapped user, and a mount below is refused by the kernel.

use enclos_paths::ProjectPath;

/// Names that tools give to folders they can make again.
const MADE_BY_TOOLS: [&str; 31] = [
    ".build",
    ".cache",
    ".dart_tool",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".zig-cache",
    "DerivedData",
    "Pods",
    "_build",
    "bower_components",
    "build",
    "dist",
    "dist-newstyle",
    "elm-stuff",
    "node_modules",
    "out",
    "target",
    "venv",
    "zig-cache",
];

/// From this size on a folder is overlaid: copying less takes no longer than a mount.
const HEAVY_BYTES: u64 = 16 << 20;

/// From this number of files on a folder is overlaid, however small they are.
const HEAVY_FILES: u64 = 1000;

/// What is known of a folder with a name that tools use, which git ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ignorable {
    /// Where it is.
    pub(crate) path: ProjectPath,
    /// The space that its files take, in bytes.
    pub(crate) bytes: u64,
    /// How many files it holds.
    pub(crate) files: u64,
    /// Whether something in it is or may be tracked.
    pub(crate) tracked: Held,
    /// Whether something in it keeps it from being overlaid.
    pub(crate) obstacle: Held,
}

/// Whether a folder holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    No,
    Yes,
}

/// What becomes of such a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is overlaid.
    Overlay,
    /// It is copied like everything else.
    Copy,
    /// It is copied although it is heavy, because it cannot be overlaid.
    CopyAllTheSame,
}

/// Whether tools give their outputs this name.
pub(crate) fn is_made_by_tools(name: &[u8]) -> bool {
    MADE_BY_TOOLS
        .binary_search_by(|known| known.as_bytes().cmp(name))
        .is_ok()
}

/// Decides about one folder.
pub(crate) fn fate(folder: &Ignorable) -> Fate {
    let heavy = folder.bytes >= HEAVY_BYTES || folder.files >= HEAVY_FILES;
    match (heavy, folder.tracked, folder.obstacle) {
        (false, _, _) | (_, Held::Yes, _) => Fate::Copy,
        (true, Held::No, Held::Yes) => Fate::CopyAllTheSame,
        (true, Held::No, Held::No) => Fate::Overlay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Ignorable {
        let path = ProjectPath::new("node_modules").unwrap();
        Ignorable {
            path,
            bytes: 100 << 20,
            files: 5000,
            tracked: Held::No,
            obstacle: Held::No,
        }
    }

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(MADE_BY_TOOLS.is_sorted());
        for name in [
            ".venv",
            "node_modules",
            "target",
            "venv",
            "zig-cache",
            ".build",
        ] {
            assert!(is_made_by_tools(name.as_bytes()), "{name}");
        }
        assert!(!is_made_by_tools(b"src"));
    }

    #[test]
    fn only_what_is_heavy_and_untracked_is_overlaid() {
        assert_eq!(fate(&folder()), Fate::Overlay);
        assert_eq!(
            fate(&Ignorable {
                bytes: 1000,
                files: 20,
                ..folder()
            }),
            Fate::Copy
        );
        assert_eq!(
            fate(&Ignorable {
                bytes: 1000,
                files: 2000,
                ..folder()
            }),
            Fate::Overlay
        );
        assert_eq!(
            fate(&Ignorable {
                tracked: Held::Yes,
                ..folder()
            }),
            Fate::Copy
        );
        assert_eq!(
            fate(&Ignorable {
                obstacle: Held::Yes,
                ..folder()
            }),
            Fate::CopyAllTheSame
        );
        assert_eq!(
            fate(&Ignorable {
                tracked: Held::Yes,
                obstacle: Held::Yes,
                ..folder()
            }),
            Fate::Copy
        );
    }
}
