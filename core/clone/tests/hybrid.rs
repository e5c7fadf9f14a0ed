//! Where blocks cannot be shared, what a person wrote is copied and what tools can make again is overlaid.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use enclos_clone::About;
use enclos_clone::CloneError;
use enclos_clone::Decision;
use enclos_clone::FallBack;
use enclos_clone::LayerChange;
use enclos_clone::Method;
use enclos_clone::MethodUsed;
use enclos_clone::Presence;
use enclos_clone::Progress;
use enclos_clone::Side;
use enclos_clone::changes;
use enclos_clone::overlay_changes;
use enclos_testkit::LoopFs;
use support::*;

/// A repository with sources, packages, a small build output and a tracked file in an ignored folder.
fn project_at(source: &Path) {
    for (folder, files) in [
        ("src", 3),
        ("node_modules/left-pad", 1200),
        ("target/debug", 5),
        ("vendor/dist", 1200),
    ] {
        fs::create_dir_all(source.join(folder)).unwrap();
        for i in 0..files {
            fs::write(
                source.join(folder).join(format!("file{i}")),
                format!("{folder} {i}"),
            )
            .unwrap();
        }
    }
    fs::write(source.join(".gitignore"), "node_modules\ntarget\ndist\n").unwrap();
    git(source, &["init", "-q"]);
    git(source, &["add", "."]);
    git(source, &["add", "-f", "vendor/dist/file7"]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}

#[test]
fn heavy_ignored_folders_are_overlaid_and_the_rest_copied() {
    let place = LoopFs::ext4().unwrap();
    let (source, copy) = (place.path().join("source"), place.path().join("copy"));
    project_at(&source);
    let cloned = clone_plainly(&source, &copy, Method::Auto).unwrap();
    assert_eq!(cloned.method, MethodUsed::Hybrid);
    let overlays: Vec<_> = cloned
        .overlays
        .iter()
        .map(|o| (o.path.clone().unwrap().to_string(), &o.lower))
        .collect();
    assert_eq!(
        overlays,
        [(
            "node_modules".to_owned(),
            &abs(&source.join("node_modules"))
        )]
    );
    assert_eq!(
        fs::read_dir(copy.join("node_modules")).unwrap().count(),
        0,
        "an empty folder to mount over"
    );
    assert_eq!(
        cloned
            .baseline
            .get(&project("node_modules"))
            .unwrap()
            .presence,
        Presence::Overlaid
    );
    assert_eq!(cloned.baseline.get(&project("node_modules/left-pad")), None);
    let without = |mut seen: std::collections::BTreeMap<std::path::PathBuf, Seen>| {
        seen.retain(|path, _| !path.starts_with("node_modules"));
        seen
    };
    assert_eq!(
        without(see(&copy)),
        without(see(&source)),
        "also what is ignored and small, and what is tracked"
    );

    fs::write(source.join("node_modules/left-pad/new"), "x").unwrap();
    assert_eq!(
        changes(&cloned.baseline, &abs(&copy), Side::Copy).unwrap(),
        []
    );
    assert_eq!(
        changes(&cloned.baseline, &abs(&source), Side::Original).unwrap(),
        [],
        "nothing is known in there"
    );
}

#[test]
fn nothing_is_overlaid_outside_of_a_repository() {
    let place = LoopFs::ext4().unwrap();
    let source = place.path().join("source");
    project_at(&source);
    fs::remove_dir_all(source.join(".git")).unwrap();
    let cloned = clone_plainly(&source, &place.path().join("copy"), Method::Hybrid).unwrap();
    assert_eq!(
        (cloned.method, cloned.overlays.len()),
        (MethodUsed::Copy, 0)
    );
    assert_eq!(see(&place.path().join("copy")), see(&source));
}

#[test]
fn a_folder_that_could_not_be_written_to_when_overlaid_is_copied_and_named() {
    let place = LoopFs::ext4().unwrap();
    let (source, copy) = (place.path().join("source"), place.path().join("copy"));
    project_at(&source);
    std::os::unix::fs::chown(source.join("node_modules/left-pad/file5"), None, Some(4321)).unwrap();
    let cloned = clone_plainly(&source, &copy, Method::Auto).unwrap();
    assert_eq!(cloned.method, MethodUsed::Copy);
    let note = cloned
        .notes
        .iter()
        .find(|note| note.path == project("node_modules"))
        .unwrap();
    assert_eq!(note.about, About::NotOverlaid(FallBack::NotOverlayable));
    assert!(copy.join("node_modules/left-pad/file5").exists());
}

#[test]
fn what_is_hidden_in_a_heavy_folder_is_not_overlaid_either() {
    let place = LoopFs::ext4().unwrap();
    let (source, copy) = (place.path().join("source"), place.path().join("copy"));
    project_at(&source);
    let hidden = [project("node_modules/left-pad/file3")];
    let options = Options {
        hidden: &hidden,
        ..Options::default()
    };
    let cloned = clone_with(&source, &copy, Method::Auto, &options).unwrap();
    assert_eq!(cloned.overlays, []);
    assert!(copy.join("node_modules/left-pad/file4").exists());
    assert!(!copy.join("node_modules/left-pad/file3").exists());
}

#[test]
fn only_what_is_copied_is_asked_about() {
    struct Asked(Mutex<Vec<(u64, FallBack)>>);
    impl Progress for Asked {
        fn falling_back(&self, _bytes: u64, files: u64, why: &FallBack) -> Decision {
            self.0.lock().unwrap().push((files, why.clone()));
            Decision::Stop
        }
        fn advanced(&self, _entries: u64, _bytes: u64) {}
    }
    let place = LoopFs::ext4().unwrap();
    let source = place.path().join("source");
    project_at(&source);
    let asked = Asked(Mutex::default());
    let options = Options {
        progress: &asked,
        ..Options::default()
    };
    let error =
        clone_with(&source, &place.path().join("copy"), Method::Auto, &options).unwrap_err();
    assert!(matches!(error, CloneError::Declined), "{error:?}");
    let asked = asked.0.into_inner().unwrap();
    assert_eq!(asked[0].1, FallBack::NoSharing);
    assert!(
        (1210..1300).contains(&asked[0].0),
        "all but the packages: {asked:?}"
    );
}

#[test]
fn overlaying_the_whole_folder_copies_nothing_and_records_everything() {
    let place = LoopFs::ext4().unwrap();
    let (source, copy) = (place.path().join("source"), place.path().join("copy"));
    project_at(&source);
    let cloned = clone_plainly(&source, &copy, Method::Overlay).unwrap();
    assert_eq!(
        (
            cloned.method,
            cloned.overlays.len(),
            &cloned.overlays[0].path
        ),
        (MethodUsed::Overlay, 1, &None)
    );
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 0);
    assert_eq!(cloned.baseline.entries.len(), see(&source).len() - 1);
    assert!(
        cloned
            .baseline
            .entries
            .iter()
            .all(|entry| entry.presence == Presence::Overlaid)
    );
    assert_eq!(
        changes(&cloned.baseline, &abs(&source), Side::Original).unwrap(),
        []
    );
    fs::write(source.join("src/file1"), "edited").unwrap();
    let found = changes(&cloned.baseline, &abs(&source), Side::Original).unwrap();
    assert_eq!(
        found.iter().map(|c| c.path.to_string()).collect::<Vec<_>>(),
        ["src/file1"]
    );

    std::os::unix::fs::chown(source.join("src/file2"), Some(4321), None).unwrap();
    let error = clone_plainly(&source, &place.path().join("other"), Method::Overlay).unwrap_err();
    let CloneError::NotOverlayable { path, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(path, abs(&source.join("src/file2")));
}

#[test]
fn the_upper_layer_tells_what_was_changed() {
    let place = LoopFs::ext4().unwrap();
    let at = |name: &str| place.path().join(name);
    for folder in ["lower/kept", "lower/replaced", "upper", "work", "merged"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in [
        "lower/kept/file",
        "lower/kept/gone",
        "lower/replaced/file",
        "lower/untouched",
    ] {
        fs::write(at(file), "lower").unwrap();
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        at("lower").display(),
        at("upper").display(),
        at("work").display()
    );
    let status = Command::new("mount")
        .args(["-t", "overlay", "overlay", "-o", &options])
        .arg(at("merged"))
        .status();
    assert!(status.unwrap().success(), "mounting an overlay takes root");
    fs::write(at("merged/kept/file"), "changed").unwrap();
    fs::remove_file(at("merged/kept/gone")).unwrap();
    fs::remove_dir_all(at("merged/replaced")).unwrap();
    fs::create_dir(at("merged/replaced")).unwrap();
    fs::write(at("merged/replaced/new"), "x").unwrap();
    assert!(
        Command::new("umount")
            .arg(at("merged"))
            .status()
            .unwrap()
            .success()
    );

    let found = overlay_changes(&abs(&at("upper"))).unwrap();
    let word = |change: &LayerChange| match change {
        LayerChange::Written(_) => "written",
        LayerChange::Removed => "removed",
        LayerChange::Replaced(_) => "replaced",
    };
    let words: Vec<_> = found
        .entries
        .iter()
        .map(|e| (e.path.to_string(), word(&e.change)))
        .collect();
    let expected = [
        ("kept", "written"),
        ("kept/file", "written"),
        ("kept/gone", "removed"),
        ("replaced", "replaced"),
        ("replaced/new", "written"),
    ];
    assert_eq!(words, expected.map(|(path, word)| (path.to_owned(), word)));
    assert!(found.bytes >= 8192, "two files: {}", found.bytes);
}
