//! Which files git tracks, read from the index of the repository, without git.
//!
//! The promise: a tracked file is never taken for an untracked one. Whatever is not understood (an index of another
//! format, split in two, or longer than expected) makes everything count as tracked, which costs copying and loses
//! nothing. Only names are taken; the format is that of git's `gitformat-index`, versions 2 to 4.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

/// What git tracks in one project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tracked {
    /// There is no repository.
    Nothing,
    /// These paths, relative to `below`, sorted.
    Files {
        /// Where the project lies in the work tree; empty or ending in a slash.
        below: Vec<u8>,
        /// Paths from the top of the work tree.
        paths: Vec<Vec<u8>>,
    },
    /// It could not be found out.
    Unknown,
}

impl Tracked {
    /// Reads what is tracked in `project` and in the repository that it lies in.
    pub(crate) fn of(project: &AbsPath) -> Self {
        for folder in project.as_path().ancestors() {
            let git = folder.join(".git");
            let Ok(stat) = git.symlink_metadata() else {
                continue;
            };
            let git_folder = if stat.is_dir() {
                Some(git)
            } else {
                linked(&git, folder)
            };
            let below = project
                .as_path()
                .strip_prefix(folder)
                .unwrap_or(Path::new(""));
            let mut below = below.as_os_str().as_bytes().to_vec();
            if !below.is_empty() {
                below.push(b'/');
            }
            return match git_folder.and_then(|git| read(&git.join("index"))) {
                Some(paths) => Self::Files { below, paths },
                None => Self::Unknown,
            };
        }
        Self::Nothing
    }

    /// Whether anything in the folder `path` is or may be tracked.
    pub(crate) fn any_in(&self, path: &ProjectPath) -> bool {
        match self {
            Self::Nothing => false,
            Self::Unknown => true,
            Self::Files { below, paths } => {
                let prefix = [below, path.as_bytes(), b"/"].concat();
                let at = paths.partition_point(|tracked| tracked < &prefix);
                // The folder itself is an entry when it is a repository of its own.
                paths
                    .get(at)
                    .is_some_and(|tracked| tracked.starts_with(&prefix))
                    || paths
                        .binary_search_by(|tracked| tracked[..].cmp(&prefix[..prefix.len() - 1]))
                        .is_ok()
            }
        }
    }
}

/// An index of a large repository has some tens of megabytes.
const LARGEST: u64 = 512 << 20;

/// The git folder of a linked work tree or a submodule, which its `.git` file names.
///
/// The file is project content and may name anything: the one use of what is found there is to copy more.
fn linked(file: &Path, folder: &Path) -> Option<PathBuf> {
    let mut text = Vec::new();
    File::open(file)
        .ok()?
        .take(8192)
        .read_to_end(&mut text)
        .ok()?;
    let named = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(folder.join(std::ffi::OsStr::from_bytes(named)))
}

/// The paths in an index; none when it is not understood. A repository without one tracks nothing yet.
fn read(index: &Path) -> Option<Vec<Vec<u8>>> {
    if let Err(e) = index.symlink_metadata() {
        return (e.kind() == std::io::ErrorKind::NotFound).then(Vec::new);
    }
    let mut bytes = Vec::new();
    File::open(index)
        .ok()?
        .take(LARGEST)
        .read_to_end(&mut bytes)
        .ok()?;
    // Whether objects are named by SHA-1 or SHA-256 is in the configuration; only one of them makes sense.
    let mut paths = parse(&bytes, 20).or_else(|| parse(&bytes, 32))?;
    paths.sort();
    Some(paths)
}

/// The paths in an index whose object names have `hash` bytes.
fn parse(bytes: &[u8], hash: usize) -> Option<Vec<Vec<u8>>> {
    /// Times, device, inode, mode, owner, group and size.
    const STAT: usize = 40;
    let version = u32::from_be_bytes(*bytes.strip_prefix(b"DIRC")?.first_chunk()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = u32::from_be_bytes(*bytes.get(8..)?.first_chunk()?);
    let mut at = 12;
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let start = at;
        let flags = u16::from_be_bytes(*bytes.get(start + STAT + hash..)?.first_chunk()?);
        at = start + STAT + hash + 2;
        if flags & 0x4000 != 0 {
            at += 2;
        }
        let mut path = Vec::new();
        if version == 4 {
            let before = paths.last().map_or(&[][..], |before| &before[..]);
            let strip = variable(bytes, &mut at)?;
            path.extend_from_slice(before.get(..before.len().checked_sub(strip)?)?);
        }
        let rest = bytes.get(at..)?;
        let end = rest.iter().position(|&b| b == 0)?;
        path.extend_from_slice(&rest[..end]);
        at += end + 1;
        if version < 4 {
            // One to eight NULs, so that the entry is a multiple of eight bytes long.
            at = start + (at - 1 - start + 8) / 8 * 8;
        }
        if path.is_empty() || paths.last().is_some_and(|before| *before > path) {
            return None;
        }
        paths.push(path);
    }
    extensions_are_known(bytes.get(at..)?, hash).then_some(paths)
}

/// A number as git packs it: seven bits a byte, most significant first, each continuation adding one.
fn variable(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut number = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
        number = number.checked_add(1)?.checked_mul(128)?;
    }
}

/// Walks the extensions to the checksum; one in small letters changes what the entries mean, and is not understood.
fn extensions_are_known(mut rest: &[u8], hash: usize) -> bool {
    while rest.len() > hash {
        let Some((head, after)) = rest.split_first_chunk::<8>() else {
            return false;
        };
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some(after) = after.get(length..) else {
            return false;
        };
        if !head[0].is_ascii_uppercase() {
            return false;
        }
        rest = after;
    }
    rest.len() == hash
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(folder);
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn repository(init: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &[&["init", "-q"], init].concat());
        for path in [
            "src/main.rs",
            "node_modules/forced/index.js",
            "node_modules.txt",
            "a/very/deep/path/file",
            "z",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), path).unwrap();
        }
        std::fs::create_dir_all(root.join("target/debug")).unwrap();
        git(
            root,
            &[
                "add",
                "-f",
                "src",
                "node_modules",
                "node_modules.txt",
                "a",
                "z",
            ],
        );
        folder
    }

    fn tracked(folder: &Path, path: &str) -> bool {
        Tracked::of(&AbsPath::new(folder).unwrap()).any_in(&ProjectPath::new(path).unwrap())
    }

    fn check(folder: &Path) {
        for known in ["src", "node_modules", "node_modules/forced", "a/very", "z"] {
            assert!(tracked(folder, known), "{known}");
        }
        for unknown in ["target", "target/debug", "node_module", "a/other"] {
            assert!(!tracked(folder, unknown), "{unknown}");
        }
    }

    #[test]
    fn every_format_of_the_index_is_read() {
        let folder = repository(&[]);
        check(folder.path());
        for version in ["4", "2"] {
            git(folder.path(), &["update-index", "--index-version", version]);
            check(folder.path());
        }
        git(folder.path(), &["update-index", "--skip-worktree", "z"]);
        check(folder.path());
        git(folder.path(), &["commit", "-qm", "x"]);
        check(folder.path());
        check(repository(&["--object-format=sha256"]).path());
    }

    #[test]
    fn a_split_or_damaged_index_makes_everything_count_as_tracked() {
        let folder = repository(&[]);
        assert!(!tracked(folder.path(), "target"));
        git(folder.path(), &["update-index", "--split-index"]);
        assert!(tracked(folder.path(), "target"), "split");
        std::fs::write(folder.path().join(".git/index"), "DIRC").unwrap();
        assert!(tracked(folder.path(), "target"), "damaged");
        std::fs::remove_file(folder.path().join(".git/index")).unwrap();
        assert!(
            !tracked(folder.path(), "src"),
            "a new repository tracks nothing"
        );
    }

    #[test]
    fn a_folder_in_a_repository_and_a_linked_work_tree_find_their_index() {
        let folder = repository(&[]);
        assert!(tracked(&folder.path().join("a"), "very"));
        assert!(!tracked(&folder.path().join("a"), "src"));
        git(folder.path(), &["commit", "-qm", "x"]);
        git(folder.path(), &["worktree", "add", "-q", "linked"]);
        assert!(tracked(&folder.path().join("linked"), "node_modules"));
        assert!(!tracked(&folder.path().join("linked"), "target"));
    }

    #[test]
    fn nothing_is_tracked_without_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            Tracked::of(&AbsPath::new(folder.path()).unwrap()),
            Tracked::Nothing
        );
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), version in 0_u8..6) {
            prop_assert!(parse(&bytes, 20).is_none_or(|paths| paths.len() < bytes.len()));
            let head = [&b"DIRC\0\0\0"[..], &[version], &[0, 0, 0, 3]].concat();
            bytes.splice(0..0, head);
            prop_assert!(parse(&bytes, 20).is_none_or(|paths| paths.len() == 3));
        }
    }
}
