//! Contents at the start are there for files that then changed, and never wrong ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use enclos_clone::Absence;
use enclos_clone::BaseContent;
use enclos_clone::BaseStore;
use enclos_clone::Baseline;
use enclos_clone::Ended;
use enclos_clone::Keeping;
use enclos_clone::Method;
use enclos_clone::Recorded;
use enclos_paths::ProjectRoot;
use enclos_testkit::LoopFs;
use support::*;

const MOST: u64 = 1 << 30;

struct Project {
    _folder: tempfile::TempDir,
    source: PathBuf,
    store: PathBuf,
    baseline: Baseline,
    base: BaseStore,
}

impl Project {
    fn at(place: &Path, make: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir_in(place).unwrap();
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        fs::create_dir_all(source.join(".git")).unwrap();
        make(&source);
        let baseline = clone_plainly(&source, &copy, Method::Auto)
            .unwrap()
            .baseline;
        let store = folder.path().join("base");
        let base = BaseStore::new(abs(&store), ProjectRoot::from_resolved(abs(&source)));
        Self {
            _folder: folder,
            source,
            store,
            baseline,
            base,
        }
    }

    fn record(&self) -> Recorded {
        self.base
            .record(&self.baseline, &AtomicBool::new(false))
            .unwrap()
    }

    fn content(&self, path: &str) -> BaseContent {
        self.base
            .content(self.baseline.get(&project(path)).unwrap(), MOST)
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        match self.content(path) {
            BaseContent::Bytes(bytes) => bytes,
            other => panic!("{path}: {other:?}"),
        }
    }

    fn absence(&self, path: &str) -> Absence {
        match self.content(path) {
            BaseContent::Absent(why) => why,
            other => panic!("{path}: {other:?}"),
        }
    }
}

fn write_some(source: &Path) {
    fs::create_dir_all(source.join("node_modules")).unwrap();
    fs::write(source.join(".gitignore"), "node_modules\n").unwrap();
    fs::write(source.join("file"), "at the start").unwrap();
    fs::write(source.join("empty"), "").unwrap();
    fs::write(source.join("large"), vec![5; 300_000]).unwrap();
    fs::write(source.join("node_modules/file"), "made").unwrap();
}

fn change_all(source: &Path) {
    for name in ["file", "empty", "large", "node_modules/file"] {
        fs::write(source.join(name), "changed since").unwrap();
    }
}

#[test]
fn small_files_that_git_does_not_ignore_are_kept_where_blocks_cannot_be_shared() {
    let fs = LoopFs::ext4().unwrap();
    let project = Project::at(fs.path(), write_some);
    let recorded = project.record();
    assert_eq!(
        (recorded.keeping, recorded.ended),
        (Keeping::Compressed, Ended::Complete)
    );
    assert_eq!(recorded.files, 2, "`file` and `.gitignore`");
    change_all(&project.source);
    assert_eq!(project.bytes("file"), b"at the start");
    assert_eq!(project.bytes("empty"), b"");
    assert_eq!(project.absence("large"), Absence::NotKept);
    assert_eq!(project.absence("node_modules/file"), Absence::NotKept);
}

#[test]
fn every_file_is_kept_where_blocks_can_be_shared() {
    let fs = LoopFs::xfs().unwrap();
    let project = Project::at(fs.path(), write_some);
    let recorded = project.record();
    assert_eq!((recorded.keeping, recorded.files), (Keeping::Shared, 4));
    change_all(&project.source);
    assert_eq!(project.bytes("file"), b"at the start");
    assert_eq!(project.bytes("large"), vec![5; 300_000]);
    assert_eq!(project.bytes("node_modules/file"), b"made");
    let entry = project.baseline.get(&support::project("large")).unwrap();
    assert!(matches!(
        project.base.content(entry, 1000),
        BaseContent::Absent(Absence::TooLarge)
    ));
}

#[test]
fn an_original_that_did_not_change_is_its_own_base() {
    let fs = LoopFs::ext4().unwrap();
    let project = Project::at(fs.path(), |source| {
        write_some(source);
        // Long enough ago for the identity alone to tell.
        std::thread::sleep(Duration::from_millis(50));
    });
    let BaseContent::Original(mut file) = project.content("large") else {
        panic!("not the original")
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, vec![5; 300_000]);
    assert!(enclos_clone::is_unchanged(
        &file,
        project.baseline.get(&support::project("large")).unwrap()
    ));
}

#[test]
fn a_file_that_changed_before_it_was_recorded_is_not_kept() {
    for place in [LoopFs::ext4().unwrap(), LoopFs::xfs().unwrap()] {
        let project = Project::at(place.path(), write_some);
        let path = project.source.join("file");
        let before = path.metadata().unwrap().modified().unwrap();
        fs::write(&path, "AT THE START").unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(before)
            .unwrap();
        project.record();
        assert_eq!(
            project.absence("file"),
            Absence::NotKept,
            "same size, same time, other contents"
        );
    }
}

#[test]
fn recording_goes_on_where_it_was_stopped() {
    let fs = LoopFs::ext4().unwrap();
    let project = Project::at(fs.path(), write_some);
    let stopped = project
        .base
        .record(&project.baseline, &AtomicBool::new(true))
        .unwrap();
    assert_eq!((stopped.ended, stopped.files), (Ended::Stopped, 0));
    assert_eq!(project.record().files, 2);
    assert_eq!(
        project.record().files,
        2,
        "what is there counts and is not made again"
    );
}

#[test]
fn what_is_damaged_or_half_made_is_never_handed_out() {
    let fs = LoopFs::ext4().unwrap();
    let project = Project::at(fs.path(), write_some);
    project.record();
    change_all(&project.source);
    for kept in fs::read_dir(&project.store).unwrap() {
        let path = kept.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(project.absence("file"), Absence::Damaged);

    let fs = LoopFs::xfs().unwrap();
    let project = Project::at(fs.path(), write_some);
    project.record();
    change_all(&project.source);
    for kept in fs::read_dir(&project.store).unwrap() {
        fs::File::options()
            .write(true)
            .open(kept.unwrap().path())
            .unwrap()
            .set_len(3)
            .unwrap();
    }
    assert_eq!(project.absence("file"), Absence::Damaged);
}

#[test]
fn contents_are_put_under_the_identity_that_a_review_gave_the_file() {
    let fs = LoopFs::ext4().unwrap();
    let mut project = Project::at(fs.path(), write_some);
    project.record();
    let at = project
        .baseline
        .index_of(&support::project("file"))
        .unwrap();
    let identity = enclos_clone::Identity {
        ino: 12345,
        size: 7,
        ..project.baseline.entries[at].original
    };
    project.base.put(&identity, b"applied").unwrap();
    project.base.put(&identity, b"applied").unwrap();
    project.baseline.entries[at].original = identity;
    project.baseline.entries[at].hash = None;
    assert_eq!(project.bytes("file"), b"applied");
    assert!(fs::read_dir(&project.store).unwrap().all(|e| {
        !e.unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .starts_with("partial")
    }));
}

#[test]
fn a_kill_at_any_moment_leaves_a_store_that_lacks_some() {
    let fs = LoopFs::xfs().unwrap();
    let project = Project::at(fs.path(), |source| {
        for i in 0..2000 {
            fs::write(source.join(format!("file{i}")), format!("contents of {i}")).unwrap();
        }
    });
    let file = project.store.with_extension("baseline");
    project.baseline.write(&abs(&file)).unwrap();
    let mut kept = Vec::new();
    for delay in [2, 4, 8, 12, 16, 24] {
        let mut child = child("child_records", &[&project.source, &project.store, &file]);
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        kept.push(fs::read_dir(&project.store).map_or(0, Iterator::count));
    }
    assert!(
        kept.iter().any(|&n| (1..2000).contains(&n)),
        "no kill hit the middle: {kept:?}"
    );
    for i in 0..2000 {
        fs::write(project.source.join(format!("file{i}")), "changed since").unwrap();
    }
    let known: Vec<Option<Vec<u8>>> = (0..2000).map(|i| known(&project, i)).collect();
    for (i, bytes) in known.iter().enumerate() {
        assert!(
            bytes
                .as_ref()
                .is_none_or(|b| *b == format!("contents of {i}").into_bytes()),
            "wrong contents of {i}"
        );
    }
    assert!(
        known.iter().any(Option::is_some),
        "what was kept before the kill is there"
    );
}

fn known(project: &Project, i: usize) -> Option<Vec<u8>> {
    match project.content(&format!("file{i}")) {
        BaseContent::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

#[test]
#[ignore = "runs as the child of the test that kills it"]
fn child_records() {
    let [source, store, baseline] = child_arguments();
    let baseline = Baseline::read(&abs(&baseline)).unwrap();
    let base = BaseStore::new(abs(&store), ProjectRoot::from_resolved(abs(&source)));
    base.record(&baseline, &AtomicBool::new(false)).unwrap();
}
