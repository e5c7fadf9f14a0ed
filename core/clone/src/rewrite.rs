//! Files that hold the project's own path, and what they have to say in a copy that lies elsewhere.
//!
//! Where a copy cannot be mounted at the original's path (macOS), a virtual environment would still start the
//! original's Python, and a build folder would refuse to be used. The table here says which files hold such a path;
//! rewriting turns it into the copy's, and back for the review, so that a rewritten file is no change. The promise:
//! rewriting there and back gives the same bytes, and nothing but whole occurrences of the path changes. It could
//! break by a file that holds both paths at the start; such a file is left as it is, and named.

mod apply;

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

pub use self::apply::{RewriteError, Rewritten, rewrite_copy};

/// Files of these names hold the path wherever they lie.
const NAMES: [&str; 3] = ["CMakeCache.txt", "direct_url.json", "pyvenv.cfg"];

/// Files with these endings hold the path wherever they lie.
const ENDINGS: [&str; 2] = [".egg-link", ".pth"];

/// Folders that hold virtual environments, whose programs (in `bin`) hold the path.
const ENVIRONMENTS: [&str; 5] = [".nox", ".tox", ".venv", "env", "venv"];

/// A file above this size is no configuration or start script.
pub(crate) const LARGEST: u64 = 4 << 20;

/// Whether the file at `path` is one that tools write the project's own path into.
#[must_use]
pub fn bears_paths(path: &ProjectPath) -> bool {
    let name = path.name().as_bytes();
    if NAMES.iter().any(|known| name == known.as_bytes())
        || ENDINGS
            .iter()
            .any(|ending| name.ends_with(ending.as_bytes()))
    {
        return true;
    }
    let mut folders = path.components().rev().skip(1);
    folders.next().is_some_and(|folder| folder == "bin")
        && folders.any(|folder| ENVIRONMENTS.iter().any(|known| folder == *known))
}

/// Whether the file at `path` is one by which git finds another of a repository's folders: the `.git` file of a linked
/// work tree, the way back from the repository to it, and the list of repositories whose objects are shared.
#[must_use]
pub fn leads_to_git(path: &ProjectPath) -> bool {
    let names: Vec<&[u8]> = path.components().map(OsStr::as_bytes).collect();
    matches!(
        names.as_slice(),
        [.., b".git"] | [.., b"worktrees", _, b"gitdir"] | [.., b"objects", b"info", b"alternates"]
    )
}

/// `contents` with every whole occurrence of the path `from` turned into `to`; none when there is nothing to turn.
#[must_use]
pub fn rewrite(contents: &[u8], from: &AbsPath, to: &AbsPath) -> Option<Vec<u8>> {
    let from = from.as_bytes();
    let mut rewritten = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = find(&contents[at..], from) {
        let start = at + found;
        let end = start + from.len();
        if begins_a_path(&contents[..start]) && ends_a_component(&contents[end..]) {
            rewritten.extend_from_slice(&contents[copied..start]);
            rewritten.extend_from_slice(to.as_bytes());
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return None;
    }
    rewritten.extend_from_slice(&contents[copied..]);
    Some(rewritten)
}

/// Where an absolute link into `from` has to lead in `to`; none for any other link.
#[must_use]
pub fn rewrite_link(target: &Path, from: &AbsPath, to: &AbsPath) -> Option<PathBuf> {
    let rest = target
        .as_os_str()
        .as_bytes()
        .strip_prefix(from.as_bytes())?;
    if !(rest.is_empty() || rest[0] == b'/') {
        return None;
    }
    Some(OsString::from_vec([to.as_bytes(), rest].concat()).into())
}

/// `contents` with each turn made that there is something to turn for, or what keeps it from being made.
pub(crate) fn turn(contents: &[u8], turns: &[(&AbsPath, &AbsPath)]) -> Turned {
    let mut turned: Option<Vec<u8>> = None;
    let mut made = Vec::new();
    for (from, to) in turns {
        if let Some(next) = rewrite(turned.as_deref().unwrap_or(contents), from, to) {
            turned = Some(next);
            made.push((*from, *to));
        }
    }
    let Some(turned) = turned else {
        return Turned::Nothing;
    };
    let mut back = turned.clone();
    for (from, to) in made.into_iter().rev() {
        back = rewrite(&back, to, from).unwrap_or(back);
    }
    if back == contents {
        Turned::To(turned)
    } else {
        Turned::WouldNotComeBack
    }
}

/// What became of a file's contents.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// There is nothing to turn.
    Nothing,
    /// These, which can be turned back without loss.
    To(Vec<u8>),
    /// Turned back they would not be the same.
    WouldNotComeBack,
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// Whether a slash after `before` starts an absolute path: not in the middle of a longer one, but after an option
/// letter as in `-I/path`.
fn begins_a_path(before: &[u8]) -> bool {
    let token = before
        .iter()
        .rposition(|&b| !is_in_names(b))
        .map_or(0, |at| at + 1);
    match &before[token..] {
        [] => before.last() != Some(&b'/') || before.ends_with(b"://"),
        word => word.starts_with(b"-"),
    }
}

fn ends_a_component(after: &[u8]) -> bool {
    after.first().is_none_or(|&b| !is_in_names(b))
}

/// Bytes that go on with a name. A space may be part of one as well, but far more often ends it.
fn is_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'@' | b'~')
        || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn turned(contents: &str) -> Option<String> {
        let turned = rewrite(
            contents.as_bytes(),
            &abs("/Users/u/project"),
            &abs("/Users/u/.enclos.noindex/project"),
        );
        turned.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_table_knows_what_tools_write() {
        let known = [
            ".venv/pyvenv.cfg",
            ".venv/bin/pytest",
            "venv/bin/activate",
            "api/.venv/bin/pip",
            ".tox/py312/bin/python-config",
            "build/CMakeCache.txt",
            ".venv/lib/python3.12/site-packages/__editable__.app.pth",
        ];
        for path in known {
            assert!(bears_paths(&ProjectPath::new(path).unwrap()), "{path}");
        }
        for path in [
            "bin/run",
            "src/main.py",
            ".venv/lib/python3.12/site.py",
            "venv",
        ] {
            assert!(!bears_paths(&ProjectPath::new(path).unwrap()), "{path}");
        }
    }

    #[test]
    fn the_ways_of_git_from_one_folder_to_another_are_known() {
        for path in [
            ".git",
            "sub/.git",
            "worktrees/feature/gitdir",
            ".git/worktrees/feature/gitdir",
            ".git/objects/info/alternates",
            "objects/info/alternates",
        ] {
            assert!(leads_to_git(&ProjectPath::new(path).unwrap()), "{path}");
        }
        for path in ["gitdir", "worktrees/gitdir", ".git/HEAD", "info/alternates"] {
            assert!(!leads_to_git(&ProjectPath::new(path).unwrap()), "{path}");
        }
    }

    #[test]
    fn several_folders_are_turned_at_once_or_not_at_all() {
        let [from, to, other, its] = ["/u/wt", "/c/wt", "/u/main/.git", "/c/main/.git"].map(abs);
        let turns = [(&from, &to), (&other, &its)];
        let text = b"gitdir: /u/main/.git/worktrees/wt\n";
        let turned = b"gitdir: /c/main/.git/worktrees/wt\n".to_vec();
        assert_eq!(turn(text, &turns), Turned::To(turned));
        assert_eq!(turn(b"gitdir: ../x\n", &turns), Turned::Nothing);
        let both = b"/u/wt /c/wt";
        assert_eq!(turn(both, &turns), Turned::WouldNotComeBack);
    }

    #[test]
    fn whole_occurrences_are_turned() {
        let cases = [
            (
                "#!/Users/u/project/.venv/bin/python\nimport x\n",
                "#!/Users/u/.enclos.noindex/project/.venv/bin/python\nimport x\n",
            ),
            (
                "VIRTUAL_ENV='/Users/u/project/.venv'",
                "VIRTUAL_ENV='/Users/u/.enclos.noindex/project/.venv'",
            ),
            (
                "-I/Users/u/project/include -L/usr/lib",
                "-I/Users/u/.enclos.noindex/project/include -L/usr/lib",
            ),
            (
                "a=/Users/u/project;b=/Users/u/project",
                "a=/Users/u/.enclos.noindex/project;b=/Users/u/.enclos.noindex/project",
            ),
            (
                "file:///Users/u/project",
                "file:///Users/u/.enclos.noindex/project",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(turned(before).as_deref(), Some(after));
        }
    }

    #[test]
    fn other_paths_are_left_alone() {
        for text in [
            "/Users/u/project2/x",
            "/Users/u/project-old",
            "/private/Users/u/project",
            "Users/u/project",
            "",
        ] {
            assert_eq!(turned(text), None, "{text}");
        }
    }

    #[test]
    fn absolute_links_into_the_project_are_turned() {
        let (from, to) = (abs("/p"), abs("/copy/p"));
        assert_eq!(
            rewrite_link(Path::new("/p/a"), &from, &to),
            Some("/copy/p/a".into())
        );
        assert_eq!(
            rewrite_link(Path::new("/p"), &from, &to),
            Some("/copy/p".into())
        );
        assert_eq!(rewrite_link(Path::new("/pp/a"), &from, &to), None);
        assert_eq!(rewrite_link(Path::new("a"), &from, &to), None);
    }

    proptest! {
        #[test]
        fn what_comes_back_is_what_was(words in prop::collection::vec(
            prop::sample::select(vec!["/p/x", "/p/x/a", "/c/x", " ", "-I", "a", "\n", "'", "/", "/p/xy"]), 0..12)
        ) {
            let contents = words.concat().into_bytes();
            let (from, to) = (abs("/p/x"), abs("/c/x"));
            if let Turned::To(there) = turn(&contents, &[(&from, &to)]) {
                prop_assert_eq!(rewrite(&there, &to, &from), Some(contents));
                prop_assert_ne!(find(&there, b"/c/x"), None);
            }
        }
    }
}
