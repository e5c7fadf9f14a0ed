//! Whatever changed is found, and nothing else, without anything outside being looked at.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use enclos_clone::Baseline;
use enclos_clone::Candidate;
use enclos_clone::Difference;
use enclos_clone::Kind;
use enclos_clone::Method;
use enclos_clone::Side;
use enclos_clone::changes;
#[cfg(target_os = "linux")]
use enclos_testkit::LoopFs;
use proptest::prelude::*;
use support::*;

/// A project and its copy.
struct Pair {
    _folder: tempfile::TempDir,
    source: PathBuf,
    copy: PathBuf,
    baseline: Baseline,
}

impl Pair {
    fn of(make: impl FnOnce(&Path)) -> Self {
        Self::at(&std::env::temp_dir(), make)
    }

    fn at(place: &Path, make: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir_in(place).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        fs::create_dir(&source).unwrap();
        make(&source);
        let baseline = clone_plainly(&source, &copy, Method::Auto)
            .unwrap()
            .baseline;
        Self {
            _folder: folder,
            source,
            copy,
            baseline,
        }
    }

    fn find(&self, side: Side) -> Vec<Candidate> {
        let root = match side {
            Side::Original => &self.source,
            Side::Copy => &self.copy,
        };
        changes(&self.baseline, &abs(root), side).unwrap()
    }

    /// The candidates in the copy, as text.
    fn found(&self) -> Vec<(String, Difference)> {
        self.find(Side::Copy)
            .into_iter()
            .map(|c| (c.path.to_string(), c.difference))
            .collect()
    }
}

fn one(path: &str, difference: Difference) -> Vec<(String, Difference)> {
    vec![(path.to_owned(), difference)]
}

/// What an agent, or a person, may do to a tree.
#[derive(Debug, Clone)]
enum Edit {
    Rewrite(usize),
    RewriteQuietly(usize),
    Remove(usize),
    Mode(usize),
    Touch(usize),
    Replace(usize),
    Add(usize, Vec<Made>),
    Rename(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || 0_usize..1000;
    let edit = prop_oneof![
        at().prop_map(Edit::Rewrite),
        at().prop_map(Edit::RewriteQuietly),
        at().prop_map(Edit::Remove),
        at().prop_map(Edit::Mode),
        at().prop_map(Edit::Touch),
        at().prop_map(Edit::Replace),
        (at(), trees()).prop_map(|(at, tree)| Edit::Add(at, tree)),
        (at(), at()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ];
    prop::collection::vec(edit, 0..6)
}

fn apply(root: &Path, edit: &Edit) {
    let all: Vec<PathBuf> = see(root)
        .into_keys()
        .filter(|path| path != Path::new(""))
        .collect();
    let pick = |at: &usize| all.get(at % all.len().max(1)).map(|path| root.join(path));
    let (Edit::Rewrite(at)
    | Edit::RewriteQuietly(at)
    | Edit::Remove(at)
    | Edit::Mode(at)
    | Edit::Touch(at)
    | Edit::Replace(at)
    | Edit::Add(at, _)
    | Edit::Rename(at, _)) = edit;
    let Some(path) = pick(at) else { return };
    let stat = path.symlink_metadata().unwrap();
    match edit {
        Edit::Rewrite(_) if stat.is_file() => fs::write(&path, "rewritten").unwrap(),
        Edit::RewriteQuietly(_) if stat.is_file() => rewrite_quietly(&path),
        Edit::Remove(_) => remove(&path),
        Edit::Mode(_) if !stat.is_symlink() => {
            fs::set_permissions(
                &path,
                fs::Permissions::from_mode(stat.permissions().mode() ^ 0o011),
            )
            .unwrap();
        }
        Edit::Touch(_) => set_mtime(&path, 1),
        Edit::Replace(_) => {
            remove(&path);
            if stat.is_dir() {
                fs::write(&path, "x").unwrap()
            } else {
                fs::create_dir(&path).unwrap()
            }
        }
        Edit::Add(_, tree) => {
            let folder = if stat.is_dir() {
                path
            } else {
                root.to_path_buf()
            };
            make(&folder.join("added"), tree);
        }
        Edit::Rename(_, to) => {
            let to = pick(to).unwrap().with_extension("renamed");
            let _ = fs::rename(path, to);
        }
        _ => {}
    }
}

/// Changes every byte, and neither the size nor the time of the last change.
fn rewrite_quietly(path: &Path) {
    let before = path.metadata().unwrap().modified().unwrap();
    let bytes: Vec<u8> = fs::read(path).unwrap().iter().map(|b| !b).collect();
    let file = fs::File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
}

fn remove(path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

/// Everything that differs, found the slow way: by reading everything.
fn differences(before: &Path, now: &Path) -> BTreeSet<PathBuf> {
    let (before, now) = (see(before), see(now));
    let differs = |path: &&PathBuf| match (before.get(*path), now.get(*path)) {
        (Some(a), Some(b)) => {
            let is_same = a.kind == b.kind && a.contents == b.contents;
            !is_same || (a.mode != b.mode && a.kind != "link")
        }
        _ => true,
    };
    before
        .keys()
        .chain(now.keys())
        .filter(|path| **path != Path::new(""))
        .filter(differs)
        .cloned()
        .collect()
}

fn every_change_is_found(place: &Path) {
    let config = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(
        &(trees(), edits(), any::<bool>()),
        |(tree, edits, in_copy)| {
            let pair = Pair::at(place, |source| make(source, &tree));
            prop_assert_eq!(pair.find(Side::Copy), [], "nothing changed in the copy");
            let quiet = pair.find(Side::Original);
            prop_assert_eq!(quiet, [], "nothing changed in the original");
            let (changed, other, side) = if in_copy {
                (&pair.copy, &pair.source, Side::Copy)
            } else {
                (&pair.source, &pair.copy, Side::Original)
            };
            for edit in &edits {
                apply(changed, edit);
            }
            let found: BTreeSet<PathBuf> = pair
                .find(side)
                .into_iter()
                .filter(|c| c.now.as_ref().is_none_or(|n| n.kind != Kind::Special))
                .map(|c| c.path.as_path().to_path_buf())
                .collect();
            let missed: Vec<_> = differences(other, changed)
                .difference(&found)
                .cloned()
                .collect();
            prop_assert_eq!(missed, Vec::<PathBuf>::new(), "found {:?}", found);
            let opposite = if in_copy { Side::Original } else { Side::Copy };
            prop_assert_eq!(pair.find(opposite), [], "the other side is as it was");
            Ok(())
        },
    );
    result.unwrap();
}

#[cfg(target_os = "macos")]
#[test]
fn every_change_is_found_on_apfs() {
    every_change_is_found(&std::env::temp_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn every_change_is_found_on_ext4() {
    let fs = LoopFs::ext4().unwrap();
    every_change_is_found(fs.path());
}

#[cfg(target_os = "linux")]
#[test]
fn every_change_is_found_on_xfs() {
    let fs = LoopFs::xfs().unwrap();
    every_change_is_found(fs.path());
}

#[cfg(target_os = "linux")]
#[test]
fn every_change_is_found_on_btrfs() {
    let fs = LoopFs::btrfs().unwrap();
    every_change_is_found(fs.path());
}

#[test]
fn a_file_of_the_same_size_and_time_is_found_if_its_contents_changed() {
    let pair = Pair::of(|source| fs::write(source.join("file"), "before").unwrap());
    let stat = |path: &Path| {
        (
            path.metadata().unwrap().len(),
            path.metadata().unwrap().modified().unwrap(),
        )
    };
    let before = stat(&pair.copy.join("file"));
    rewrite_quietly(&pair.copy.join("file"));
    assert_eq!(
        stat(&pair.copy.join("file")),
        before,
        "size and time tell nothing"
    );
    assert_eq!(pair.found(), one("file", Difference::Contents));
}

#[test]
fn a_change_right_after_the_clone_is_found() {
    for _ in 0..300 {
        let pair = Pair::of(|source| fs::write(source.join("file"), "before").unwrap());
        rewrite_quietly(&pair.copy.join("file"));
        rewrite_quietly(&pair.source.join("file"));
        assert_eq!(
            pair.found(),
            one("file", Difference::Contents),
            "in the copy"
        );
        assert_eq!(pair.find(Side::Original).len(), 1, "in the original");
    }
}

#[test]
fn names_that_come_and_go_are_found_in_folders_that_are_else_unchanged() {
    let pair = Pair::of(|source| {
        fs::create_dir_all(source.join("a/b")).unwrap();
        fs::write(source.join("a/b/old"), "x").unwrap();
        fs::write(source.join("a-b"), "sorts between a and a/b").unwrap();
    });
    let before = pair
        .copy
        .join("a/b")
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    fs::write(pair.copy.join("a/b/new"), "x").unwrap();
    fs::remove_file(pair.copy.join("a/b/old")).unwrap();
    fs::File::open(pair.copy.join("a/b"))
        .unwrap()
        .set_modified(before)
        .unwrap();
    let expected = [
        ("a/b/new".to_owned(), Difference::Added),
        ("a/b/old".to_owned(), Difference::Gone),
    ];
    assert_eq!(
        pair.found(),
        expected,
        "although the folder's time was set back"
    );
}

#[test]
fn a_folder_that_became_a_link_is_not_entered() {
    let pair = Pair::of(|source| {
        fs::create_dir_all(source.join("folder/inner")).unwrap();
        fs::write(source.join("folder/inner/file"), "mine").unwrap();
    });
    let outside = pair.copy.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join("inner")).unwrap();
    fs::write(outside.join("inner/file"), "secret").unwrap();
    fs::remove_dir_all(pair.copy.join("folder")).unwrap();
    symlink(&outside, pair.copy.join("folder")).unwrap();
    assert_eq!(
        fs::read(pair.copy.join("folder/inner/file")).unwrap(),
        b"secret",
        "a plain path leads outside"
    );
    let expected = [
        ("folder".to_owned(), Difference::Kind),
        ("folder/inner".to_owned(), Difference::Gone),
        ("folder/inner/file".to_owned(), Difference::Gone),
    ];
    assert_eq!(pair.found(), expected);
}

#[test]
fn pipes_and_sockets_make_nobody_wait() {
    let pair = Pair::of(|source| {
        fs::write(source.join("file"), "x").unwrap();
        make_pipe(&source.join("known"));
    });
    fs::remove_file(pair.copy.join("file")).unwrap();
    make_pipe(&pair.copy.join("file"));
    let _socket = UnixListener::bind(pair.copy.join("socket")).unwrap();
    let expected = [
        ("file".to_owned(), Difference::Kind),
        ("socket".to_owned(), Difference::Added),
    ];
    assert_eq!(pair.found(), expected);
    assert_eq!(pair.find(Side::Original), [], "the pipe there is known");
}

#[test]
fn what_was_left_out_is_no_deletion_and_news_when_it_appears() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    fs::create_dir_all(source.join("hidden/inner")).unwrap();
    let hidden = [project("hidden")];
    let options = Options {
        hidden: &hidden,
        ..Options::default()
    };
    let baseline = clone_with(&source, &copy, Method::Copy, &options)
        .unwrap()
        .baseline;
    assert_eq!(changes(&baseline, &abs(&copy), Side::Copy).unwrap(), []);
    fs::write(source.join("hidden/inner/new"), "x").unwrap();
    assert_eq!(
        changes(&baseline, &abs(&source), Side::Original).unwrap(),
        [],
        "nor is it looked at there"
    );
    fs::create_dir(copy.join("hidden")).unwrap();
    let found = changes(&baseline, &abs(&copy), Side::Copy).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].before, found[0].difference),
        (Some(0), Difference::Added)
    );
}

#[test]
fn a_folder_that_may_not_be_entered_is_named_and_what_it_holds_not_gone() {
    let folder = open_folder();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    fs::create_dir_all(source.join("folder/inner")).unwrap();
    fs::write(source.join("folder/inner/file"), "x").unwrap();
    as_nobody(|| {
        let baseline = clone_plainly(&source, &copy, Method::Copy)
            .unwrap()
            .baseline;
        fs::set_permissions(copy.join("folder"), fs::Permissions::from_mode(0o000)).unwrap();
        let found = changes(&baseline, &abs(&copy), Side::Copy).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|c| (c.path.to_string(), c.difference))
            .collect();
        assert_eq!(found, one("folder", Difference::Closed));
        fs::set_permissions(copy.join("folder"), fs::Permissions::from_mode(0o755)).unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_mount_over_a_folder_is_named_and_what_it_covers_not_gone() {
    let pair = Pair::of(|source| {
        fs::create_dir(source.join("folder")).unwrap();
        fs::write(source.join("folder/file"), "x").unwrap();
    });
    let over = pair.source.join("folder");
    bind(Path::new("/usr"), &over);
    let found = pair.find(Side::Original);
    unmount(&over);
    let found: Vec<_> = found
        .iter()
        .map(|c| (c.path.to_string(), c.difference))
        .collect();
    assert_eq!(found, one("folder", Difference::Closed));
}

#[test]
fn a_tree_that_changes_meanwhile_is_survived() {
    let pair = Pair::of(|source| {
        for i in 0..200 {
            fs::create_dir_all(source.join(format!("{i}/inner"))).unwrap();
            fs::write(source.join(format!("{i}/inner/file")), "x").unwrap();
        }
    });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in (0..200).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let (folder, away) = (pair.copy.join(format!("{i}")), pair.copy.join("away"));
                let _ = fs::rename(&folder, &away);
                let _ = symlink("/etc", &folder);
                let _ = fs::remove_file(&folder);
                let _ = fs::rename(&away, &folder);
            }
        });
        for _ in 0..50 {
            let found = pair.find(Side::Copy);
            assert!(
                found
                    .iter()
                    .all(|c| !c.path.as_bytes().ends_with(b"passwd")),
                "never outside"
            );
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_deep_tree_is_walked_to_its_end() {
    let pair = Pair::of(|_| {});
    let flags = rustix::fs::OFlags::DIRECTORY;
    let mut at = rustix::fs::open(&pair.copy, flags, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..1500 {
        rustix::fs::mkdirat(&at, "deep", rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "deep", flags, rustix::fs::Mode::empty()).unwrap();
    }
    assert_eq!(pair.find(Side::Copy).len(), 1500);
    // The standard library removes it one level at a time, which takes a descriptor each.
    let status = std::process::Command::new("rm")
        .arg("-rf")
        .arg(pair.copy.join("deep"))
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_chain_of_folders_longer_than_any_path_costs_little_and_is_named() {
    let pair = Pair::of(|root| fs::write(root.join("file"), "x").unwrap());
    let mut at = rustix::fs::open(&pair.copy, FOLDER, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..10_000 {
        rustix::fs::mkdirat(&at, "d", rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d", FOLDER, rustix::fs::Mode::empty()).unwrap();
    }
    let found = pair.find(Side::Copy);
    // Without the bound every folder's whole path is held: 100 MB here, and more than any machine has ten times deeper.
    let held: usize = found.iter().map(|c| c.path.as_bytes().len()).sum();
    assert!(held < 32 << 20, "{held} bytes of paths");
    let last = found.last().unwrap();
    assert_eq!(last.difference, Difference::Closed);
    enclos_clone::remove_tree(&abs(&pair.copy)).unwrap();
}

const FOLDER: rustix::fs::OFlags = rustix::fs::OFlags::DIRECTORY.union(rustix::fs::OFlags::CLOEXEC);
