//! Copying in full is never a surprise: it says how much first, and whether it fits.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::sync::Mutex;

use enclos_clone::CloneError;
use enclos_clone::Decision;
use enclos_clone::FallBack;
use enclos_clone::Method;
use enclos_clone::MethodUsed;
use enclos_clone::Progress;
use enclos_testkit::LoopFs;
use support::*;

/// Records what it is told, and answers as it was told to.
struct Recorded {
    answer: Decision,
    asked: Mutex<Vec<(u64, u64, FallBack)>>,
    advanced: Mutex<(u64, u64)>,
}

impl Recorded {
    fn new(answer: Decision) -> Self {
        Self {
            answer,
            asked: Mutex::default(),
            advanced: Mutex::default(),
        }
    }
}

impl Progress for Recorded {
    fn falling_back(&self, bytes: u64, files: u64, why: &FallBack) -> Decision {
        self.asked.lock().unwrap().push((bytes, files, why.clone()));
        self.answer
    }

    fn advanced(&self, entries: u64, bytes: u64) {
        let mut sum = self.advanced.lock().unwrap();
        *sum = (sum.0 + entries, sum.1 + bytes);
    }
}

#[test]
fn copying_instead_of_sharing_says_how_much_first() {
    let fs = LoopFs::ext4().unwrap();
    let source = fs.path().join("source");
    fs::create_dir_all(source.join("inner")).unwrap();
    fs::write(source.join("inner/file"), vec![1; 100_000]).unwrap();
    fs::write(source.join("other"), vec![1; 4096]).unwrap();
    fs::hard_link(source.join("other"), source.join("again")).unwrap();
    rustix::fs::sync();
    let copy = fs.path().join("copy");

    let declined = Recorded::new(Decision::Stop);
    let options = Options {
        progress: &declined,
        ..Options::default()
    };
    let error = clone_with(&source, &copy, Method::Reflink, &options).unwrap_err();
    assert!(matches!(error, CloneError::Declined), "{error:?}");
    assert!(!copy.exists(), "nothing was made");
    assert_eq!(
        *declined.asked.lock().unwrap(),
        [(102_400 + 4096, 2, FallBack::NoSharing)]
    );

    let agreed = Recorded::new(Decision::GoOn);
    let options = Options {
        progress: &agreed,
        ..Options::default()
    };
    let cloned = clone_with(&source, &copy, Method::Reflink, &options).unwrap();
    assert_eq!(cloned.method, MethodUsed::Copy);
    assert_eq!(*agreed.advanced.lock().unwrap(), (4, 104_096));

    let elsewhere = LoopFs::xfs().unwrap();
    let other = Recorded::new(Decision::Stop);
    let options = Options {
        progress: &other,
        ..Options::default()
    };
    clone_with(
        &source,
        &elsewhere.path().join("copy"),
        Method::Reflink,
        &options,
    )
    .unwrap_err();
    assert_eq!(other.asked.lock().unwrap()[0].2, FallBack::OtherFileSystem);
}

#[test]
fn a_full_disk_is_told_with_what_is_needed() {
    let fs = LoopFs::ext4_of(16 << 20).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("large"), vec![1; 32 << 20]).unwrap();
    rustix::fs::sync();
    let error = clone_plainly(&source, &fs.path().join("copy"), Method::Copy).unwrap_err();
    let CloneError::NoSpace { needed, free, .. } = error else {
        panic!("{error:?}")
    };
    assert!(
        needed >= 32 << 20 && free < 16 << 20,
        "needed {needed}, free {free}"
    );
    assert!(!fs.path().join("copy").exists(), "nothing was begun");
}

#[test]
fn a_disk_that_can_hold_no_more_files_is_told_as_such() {
    let fs = LoopFs::ext4_of(16 << 20).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let room = usize::try_from(rustix::fs::statvfs(fs.path()).unwrap().f_favail).unwrap();
    for i in 0..room + 10 {
        fs::File::create(source.join(i.to_string())).unwrap();
    }
    let error = clone_plainly(&source, &fs.path().join("copy"), Method::Copy).unwrap_err();
    assert!(matches!(error, CloneError::NoFiles { .. }), "{error:?}");
}
