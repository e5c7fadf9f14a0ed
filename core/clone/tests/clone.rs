//! A clone is the folder as it was, whatever the way it was made.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use enclos_clone::About;
use enclos_clone::CloneError;
use enclos_clone::Cloned;
use enclos_clone::Identity;
use enclos_clone::Kind;
use enclos_clone::LeaveOut;
use enclos_clone::Method;
use enclos_clone::MethodUsed;
use enclos_clone::Presence;
use enclos_clone::Skipped;
#[cfg(target_os = "linux")]
use enclos_testkit::LoopFs;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use support::*;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Clones random trees below `place` and compares all there is.
fn any_tree_is_kept(place: &Path, method: Method, used: MethodUsed) {
    let mut runner = TestRunner::new(cases(48));
    let result = runner.run(&trees(), |tree| {
        let folder = tempfile::tempdir_in(place).unwrap();
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        make(&source, &tree);
        let before = see(&source);
        let changed_before = change_times(&source);
        let cloned = clone_plainly(&source, &copy, method).unwrap();
        if cloned
            .baseline
            .entries
            .iter()
            .any(|e| e.kind == Kind::File && e.original.size > 0)
        {
            prop_assert_eq!(cloned.method, used);
        }
        prop_assert_eq!(&see(&copy), &before, "the copy is what the original was");
        prop_assert_eq!(&see(&source), &before, "the original is as before");
        prop_assert_eq!(
            change_times(&source),
            changed_before,
            "not even an inode of the original changed"
        );
        check_baseline(&cloned, &source, &copy)?;
        Ok(())
    });
    result.unwrap();
}

fn change_times(root: &Path) -> Vec<(std::path::PathBuf, i64, i64)> {
    let stat = |path| {
        let stat = root.join(&path).symlink_metadata().unwrap();
        (path, stat.ctime(), stat.ctime_nsec())
    };
    see(root).into_keys().map(stat).collect()
}

fn check_baseline(cloned: &Cloned, source: &Path, copy: &Path) -> Result<(), TestCaseError> {
    let entries = &cloned.baseline.entries;
    prop_assert!(
        entries.is_sorted_by(|a, b| a.path < b.path),
        "sorted, each path once"
    );
    let known = entries.iter().filter(|e| e.kind != Kind::Special).count();
    prop_assert_eq!(
        known,
        see(source).len() - 1,
        "every entry but the root is known"
    );
    for entry in entries {
        prop_assert_eq!(
            entry.original,
            identity(&source.join(&entry.path)),
            "{}",
            entry.path
        );
        match &entry.presence {
            Presence::Copied(copied) => {
                prop_assert_eq!(
                    *copied,
                    identity(&copy.join(&entry.path)),
                    "copy of {}",
                    entry.path
                );
                prop_assert!(
                    copied.ctime <= cloned.baseline.taken,
                    "{} after the end",
                    entry.path
                );
            }
            other => prop_assert_eq!(*other, Presence::Skipped(Skipped::Special)),
        }
        if let Some(hash) = entry.hash {
            prop_assert_eq!(
                hash,
                *blake3::hash(&fs::read(copy.join(&entry.path)).unwrap()).as_bytes()
            );
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Identity {
    let stat = path.symlink_metadata().unwrap();
    let time = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Identity {
        dev: stat.dev(),
        ino: stat.ino(),
        size: stat.size(),
        mtime: time(stat.mtime(), stat.mtime_nsec()),
        ctime: time(stat.ctime(), stat.ctime_nsec()),
    }
}

#[test]
fn copying_keeps_any_tree() {
    any_tree_is_kept(&std::env::temp_dir(), Method::Copy, MethodUsed::Copy);
}

#[cfg(target_os = "macos")]
#[test]
fn cloning_on_apfs_keeps_any_tree() {
    any_tree_is_kept(&std::env::temp_dir(), Method::Auto, MethodUsed::Clonefile);
}

#[cfg(target_os = "linux")]
#[test]
fn sharing_on_xfs_keeps_any_tree() {
    let fs = LoopFs::xfs().unwrap();
    any_tree_is_kept(fs.path(), Method::Reflink, MethodUsed::Reflink);
}

#[cfg(target_os = "linux")]
#[test]
fn sharing_on_btrfs_keeps_any_tree() {
    let fs = LoopFs::btrfs().unwrap();
    any_tree_is_kept(fs.path(), Method::Auto, MethodUsed::Reflink);
}

#[cfg(target_os = "linux")]
#[test]
fn large_files_share_their_blocks_on_xfs() {
    let fs = LoopFs::xfs().unwrap();
    let source = fs.path().join("source");
    fs::create_dir(&source).unwrap();
    for (name, size) in [("large", 64 << 20), ("small", 10_000)] {
        fs::write(source.join(name), vec![7; size]).unwrap();
    }
    rustix::fs::sync();
    let free = |path: &Path| rustix::fs::statvfs(path).unwrap().f_bfree * 4096;
    let before = free(fs.path());
    let cloned = clone_plainly(&source, &fs.path().join("copy"), Method::Auto).unwrap();
    rustix::fs::sync();
    assert_eq!(cloned.method, MethodUsed::Reflink);
    let used = before - free(fs.path());
    assert!(used < 4 << 20, "{used} bytes used for a copy of 64 MiB");
    fs::write(fs.path().join("copy/large"), "changed").unwrap();
    assert_eq!(
        fs::read(source.join("large")).unwrap(),
        vec![7; 64 << 20],
        "the original keeps its own"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn access_control_lists_and_default_ones_are_kept() {
    let fs = LoopFs::ext4().unwrap();
    let source = fs.path().join("source");
    fs::create_dir_all(source.join("inner")).unwrap();
    fs::write(source.join("file"), "x").unwrap();
    let set = |arguments: &[&str]| {
        let status = std::process::Command::new("setfacl")
            .args(arguments)
            .arg(&source)
            .status()
            .unwrap();
        assert!(status.success(), "setfacl {arguments:?}");
    };
    set(&["-R", "-m", "u:1234:rwx"]);
    set(&["-d", "-m", "g:77:r-x"]);
    let before = see(&source);
    assert!(
        before[Path::new("file")]
            .attributes
            .contains_key(&b"system.posix_acl_access"[..]),
        "there is a list"
    );
    clone_plainly(&source, &fs.path().join("copy"), Method::Copy).unwrap();
    assert_eq!(see(&fs.path().join("copy")), before);
}

#[test]
fn a_path_longer_than_the_kernel_takes_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    fs::create_dir(&source).unwrap();
    let name = "n".repeat(250);
    let deep = (0..40).fold(rustix::fs::open(&source, DIR, EMPTY).unwrap(), |at, _| {
        rustix::fs::mkdirat(&at, &name, rustix::fs::Mode::RWXU).unwrap();
        rustix::fs::openat(&at, &name, DIR, EMPTY).unwrap()
    });
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    let file = rustix::fs::openat(&deep, "end", flags, rustix::fs::Mode::RWXU).unwrap();
    rustix::io::write(&file, b"deep down").unwrap();
    let cloned = clone_plainly(&source, &copy, Method::Copy).unwrap();
    assert_eq!(cloned.baseline.entries.len(), 41);
    let last = cloned.baseline.entries.last().unwrap();
    assert!(last.path.as_bytes().len() > 10_000, "longer than PATH_MAX");
    let copy = enclos_sys::open::open_root(&abs(&copy)).unwrap();
    let mut text = String::new();
    let mut file =
        enclos_sys::open::open_regular(std::os::fd::AsFd::as_fd(&copy), &last.path).unwrap();
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    assert_eq!(text, "deep down");
}

const DIR: rustix::fs::OFlags = rustix::fs::OFlags::DIRECTORY;
const EMPTY: rustix::fs::Mode = rustix::fs::Mode::empty();

#[test]
fn what_cannot_be_copied_is_named_and_known() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("secret/inner")).unwrap();
    fs::create_dir_all(source.join("ours/inner")).unwrap();
    let _socket = UnixListener::bind(source.join("socket")).unwrap();
    make_pipe(&source.join("fifo"));
    symlink("../outside", source.join("way")).unwrap();
    symlink("fifo", source.join("within")).unwrap();
    let hidden = [project("secret")];
    let keep_out = [abs(&source.join("ours")), abs(Path::new("/elsewhere"))];
    let copy = folder.path().join("copy");
    let options = Options {
        hidden: &hidden,
        keep_out: &keep_out,
        ..Options::default()
    };
    let cloned = clone_with(&source, &copy, Method::Copy, &options).unwrap();
    let notes: Vec<(String, &About)> = cloned
        .notes
        .iter()
        .map(|n| (n.path.to_string(), &n.about))
        .collect();
    let lend = abs(&folder.path().join("outside"));
    let outward = About::OutwardLink {
        target: "../outside".into(),
        lend,
    };
    assert_eq!(
        notes,
        [
            ("fifo".to_owned(), &About::Special),
            ("ours".to_owned(), &About::KeptOut),
            ("secret".to_owned(), &About::Hidden),
            ("socket".to_owned(), &About::Special),
            ("way".to_owned(), &outward),
        ]
    );
    assert!(
        copy.join("way").symlink_metadata().unwrap().is_symlink(),
        "a link is copied as it is"
    );
    for absent in ["fifo", "ours", "secret", "socket"] {
        assert!(!copy.join(absent).exists(), "{absent}");
        let entry = cloned.baseline.get(&project(absent)).unwrap();
        assert!(
            matches!(entry.presence, Presence::Skipped(_)),
            "{absent}: {:?}",
            entry.presence
        );
    }
    assert_eq!(
        cloned.baseline.get(&project("secret/inner")),
        None,
        "not even looked into"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn mounts_below_are_not_entered() {
    let (outer, inner) = (LoopFs::ext4().unwrap(), LoopFs::ext4().unwrap());
    let source = outer.path().join("source");
    fs::create_dir_all(source.join("data")).unwrap();
    fs::create_dir_all(source.join("bound")).unwrap();
    fs::write(source.join("file"), "under the mount").unwrap();
    fs::write(inner.path().join("foreign"), "foreign").unwrap();
    let mounts = [
        (inner.path().to_path_buf(), "data"),
        (source.clone(), "bound"),
        (inner.path().join("foreign"), "file"),
    ];
    for (what, place) in &mounts {
        bind(what, &source.join(place));
    }
    let result = clone_plainly(&source, &outer.path().join("copy"), Method::Copy);
    for (_, place) in &mounts {
        unmount(&source.join(place));
    }
    let cloned = result.unwrap();
    assert_eq!(
        fs::read_dir(outer.path().join("copy")).unwrap().count(),
        0,
        "nothing of any mount is in the copy"
    );
    for place in ["data", "bound", "file"] {
        let entry = cloned.baseline.get(&project(place)).unwrap();
        assert_eq!(entry.presence, Presence::Skipped(Skipped::Mount), "{place}");
    }
    assert!(
        cloned.notes.iter().all(|n| n.about == About::Mount),
        "{:?}",
        cloned.notes
    );
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it_or_left_out() {
    let folder = open_folder();
    let source = folder.path().join("source");
    for closed in ["closed", "file"] {
        let _ = fs::remove_dir_all(&source);
        fs::create_dir_all(source.join("closed")).unwrap();
        fs::write(source.join("file"), "secret").unwrap();
        fs::write(source.join("open"), "x").unwrap();
        fs::set_permissions(source.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        as_nobody(|| {
            let error = clone_plainly(
                &source,
                &folder.path().join(format!("copy-{closed}")),
                Method::Copy,
            )
            .unwrap_err();
            let CloneError::Unreadable { path, .. } = &error else {
                panic!("{error:?}")
            };
            assert_eq!(*path, abs(&source.join(closed)));
            let options = Options {
                leave_out: LeaveOut::Unreadable,
                ..Options::default()
            };
            let copy = folder.path().join(format!("left-{closed}"));
            let cloned = clone_with(&source, &copy, Method::Copy, &options).unwrap();
            assert!(copy.join("open").exists() && !copy.join(closed).exists());
            let entry = cloned.baseline.get(&project(closed)).unwrap();
            assert_eq!(entry.presence, Presence::Skipped(Skipped::Unreadable));
        });
    }
}

#[test]
fn an_ordinary_user_clones_what_others_own() {
    let folder = open_folder();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("read-only/inner")).unwrap();
    fs::write(source.join("read-only/inner/file"), "x").unwrap();
    fs::write(source.join("program"), "x").unwrap();
    set_attribute(&source.join("read-only/inner/file"), "user.kept", b"value");
    for (name, mode) in [
        ("read-only/inner/file", 0o444),
        ("read-only/inner", 0o555),
        ("read-only", 0o555),
        ("program", 0o4755),
    ] {
        fs::set_permissions(source.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let copy = folder.path().join("copy");
    let cloned = as_nobody(|| clone_plainly(&source, &copy, Method::Auto)).unwrap();
    let mut expected = see(&source);
    expected.get_mut(Path::new("program")).unwrap().mode = 0o755;
    assert_eq!(
        see(&copy),
        expected,
        "all but the set-id bit, which would lend another one's rights"
    );
    let owner = source.metadata().unwrap().uid();
    assert!(
        cloned.baseline.entries.iter().all(|e| e.uid == owner),
        "the owner is kept in the baseline"
    );
}

#[test]
fn a_destination_that_is_there_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join("mine"), "x").unwrap();
    let error = clone_plainly(&source, &copy, Method::Copy).unwrap_err();
    assert!(
        matches!(error, CloneError::DestinationExists { .. }),
        "{error:?}"
    );
    assert_eq!(fs::read(copy.join("mine")).unwrap(), b"x");
    let error = clone_plainly(
        &copy.join("mine"),
        &folder.path().join("other"),
        Method::Copy,
    )
    .unwrap_err();
    assert!(
        matches!(error, CloneError::Source { .. }),
        "a file is not a folder: {error:?}"
    );
}

#[test]
fn a_copy_inside_of_its_original_does_not_hold_itself() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("copies")).unwrap();
    fs::write(source.join("file"), "x").unwrap();
    clone_plainly(&source, &source.join("copies/one"), Method::Copy).unwrap();
    assert!(source.join("copies/one/file").exists());
    assert!(!source.join("copies/one/copies/one").exists());
}

#[test]
fn a_file_that_changes_while_it_is_copied_is_never_a_mix() {
    const SIZE: usize = 3 << 20;
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), vec![0; SIZE]).unwrap();
    let file = fs::File::options()
        .write(true)
        .open(source.join("file"))
        .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // First its first byte moves on, then its last: at no moment are they more than one apart.
            for round in (1..=u8::MAX).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                file.write_all_at(&[round], 0).unwrap();
                file.write_all_at(&[round], SIZE as u64 - 1).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let mut steady = 0;
        for round in 0..60 {
            let copy = folder.path().join(format!("copy{round}"));
            let cloned = clone_plainly(&source, &copy, Method::Copy).unwrap();
            let bytes = fs::read(copy.join("file")).unwrap();
            let apart = bytes[0].abs_diff(bytes[SIZE - 1]);
            if cloned.notes.iter().any(|n| n.about == About::Changing) {
                continue;
            }
            steady += 1;
            assert!(
                matches!(apart, 0 | 1 | 254),
                "a mix of two states, {apart} apart, is said"
            );
        }
        done.store(true, Ordering::Relaxed);
        assert!(steady > 0, "some copies found the file at rest");
    });
}

#[test]
fn a_kill_while_cloning_leaves_only_a_destination_to_remove() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    for i in 0..100 {
        fs::create_dir_all(source.join(format!("folder{i}"))).unwrap();
        for j in 0..20 {
            fs::write(source.join(format!("folder{i}/file{j}")), vec![1; 3000]).unwrap();
        }
    }
    let before = (see(&source), change_times(&source));
    let mut made = Vec::new();
    for seen in [0, 1, 5, 20, 50, 80] {
        let copy = folder.path().join(format!("copy{seen}"));
        let mut child = child("child_clones", &[&source, &copy]);
        // How long it takes to get so far is the machine's business.
        let count = || fs::read_dir(&copy).map_or(0, Iterator::count);
        while count() < seen && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if copy.exists() {
            made.push(see(&copy).len());
            fs::remove_dir_all(&copy).unwrap();
        }
    }
    assert!(
        made.iter().any(|&n| n < before.0.len()),
        "no kill hit the middle: {made:?}"
    );
    assert_eq!(
        (see(&source), change_times(&source)),
        before,
        "the original is as before"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left beside the original"
    );
}

#[test]
#[ignore = "runs as the child of the test that kills it"]
fn child_clones() {
    let [source, copy] = child_arguments();
    clone_plainly(&source, &copy, Method::Copy).unwrap();
}
