//! Where the copies of a session's folders lie in its store: pure, for every system.
//!
//! Where each copy is shown at its original's path it does not matter. Where it is used as it lies (macOS), folders that
//! were beside each other have to stay so: the project says `../lib`, and git finds a submodule's repository that way.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;
use enclos_sandbox::lend::Os;

/// A place in `store` for the copy of each of `originals`, in their order.
pub(crate) fn copies(os: Os, store: &AbsPath, originals: &[AbsPath]) -> Vec<AbsPath> {
    let apart = |number: usize| {
        store.resolve(match number {
            0 => "tree".to_owned(),
            _ => format!("tree-{number}"),
        })
    };
    if os == Os::Linux || originals.len() == 1 || has_nested(originals) {
        return (0..originals.len()).map(apart).collect();
    }
    let shared = shared(originals);
    let inside = |original: &AbsPath| {
        let below = names(original).into_iter().skip(shared);
        below.fold(store.resolve("tree"), |at, name| at.resolve(name))
    };
    originals.iter().map(inside).collect()
}

/// Whether one of the folders holds another, so that they cannot be copied beside each other.
fn has_nested(folders: &[AbsPath]) -> bool {
    let holds = |at: usize, folder: &AbsPath| {
        let mut others = folders
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != at);
        others.any(|(_, other)| other.is_within(folder))
    };
    folders
        .iter()
        .enumerate()
        .any(|(at, folder)| holds(at, folder))
}

/// How many names the paths have in common from the root on.
fn shared(paths: &[AbsPath]) -> usize {
    let all: Vec<_> = paths.iter().map(names).collect();
    let Some((first, others)) = all.split_first() else {
        return 0;
    };
    let same = |at: &usize| others.iter().all(|other| other.get(*at) == first.get(*at));
    (0..first.len()).take_while(same).count()
}

fn names(path: &AbsPath) -> Vec<OsString> {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    names
        .filter(|name| !name.is_empty())
        .map(|name| OsStr::from_bytes(name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(os: Os, originals: &[&str]) -> Vec<String> {
        let abs = |path: &&str| AbsPath::new(path).unwrap();
        let originals: Vec<_> = originals.iter().map(abs).collect();
        let copies = copies(os, &abs(&"/s"), &originals);
        copies.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_mounted_lies_anywhere() {
        let both = placed(Os::Linux, &["/home/u/web", "/home/u/lib"]);
        assert_eq!(both, ["/s/tree", "/s/tree-1"]);
    }

    #[test]
    fn neighbours_stay_neighbours() {
        assert_eq!(placed(Os::Macos, &["/Users/u/web"]), ["/s/tree"]);
        let both = placed(Os::Macos, &["/Users/u/web", "/Users/u/lib"]);
        assert_eq!(both, ["/s/tree/web", "/s/tree/lib"]);
        let submodule = placed(Os::Macos, &["/u/app/sub", "/u/app/.git/modules/sub"]);
        assert_eq!(submodule, ["/s/tree/sub", "/s/tree/.git/modules/sub"]);
        let far = placed(Os::Macos, &["/Users/u/web", "/Volumes/work/lib"]);
        assert_eq!(far, ["/s/tree/Users/u/web", "/s/tree/Volumes/work/lib"]);
    }

    #[test]
    fn a_folder_in_another_is_copied_apart() {
        let nested = placed(Os::Macos, &["/u/app", "/u/app/sub"]);
        assert_eq!(nested, ["/s/tree", "/s/tree-1"]);
        let twice = placed(Os::Macos, &["/u/app", "/u/app"]);
        assert_eq!(twice, ["/s/tree", "/s/tree-1"]);
    }
}
