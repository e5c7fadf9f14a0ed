//! A project, its copy and what both were at the start.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail where they stand"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use enclos_clone::Absence;
use enclos_clone::Baseline;
use enclos_clone::CloneRequest;
use enclos_clone::Entry;
use enclos_clone::LeaveOut;
use enclos_clone::Method;
use enclos_clone::Quiet;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_review::Applied;
use enclos_review::ApplyError;
use enclos_review::Approval;
use enclos_review::Base;
use enclos_review::Choice;
use enclos_review::Faults;
use enclos_review::FileChange;
use enclos_review::NoFaults;
use enclos_review::Outcome;
use enclos_review::Review;
use enclos_review::ScanOptions;
use enclos_review::TreeSources;
use enclos_review::apply;
use enclos_review::scan;
use tempfile::TempDir;

/// A new folder where flushing costs nothing, if the system has such a place.
pub fn quick_folder() -> TempDir {
    let shm = Path::new("/dev/shm");
    if shm.is_dir() {
        tempfile::tempdir_in(shm).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// A project that was cloned; the agent works in `copy`, the person in `original`.
pub struct Session {
    folder: TempDir,
    pub original: PathBuf,
    pub copy: PathBuf,
    pub store: PathBuf,
    root: ProjectRoot,
    copy_path: AbsPath,
    pub baseline: Baseline,
    start: Start,
}

/// Contents at the start: a plain third copy.
pub struct Start {
    folder: PathBuf,
    pub is_kept: bool,
}

impl Base for Start {
    fn content(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, Absence> {
        if !self.is_kept {
            return Err(Absence::NotKept);
        }
        let bytes = fs::read(self.folder.join(entry.path.as_path())).unwrap();
        if bytes.len() as u64 > most {
            Err(Absence::TooLarge)
        } else {
            Ok(bytes)
        }
    }
}

impl Session {
    /// Clones a project made of these files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::made(|original| {
            for (path, text) in files {
                write(&original.join(path), text);
            }
        })
    }

    /// Clones a project that `make` fills.
    pub fn made(make: impl FnOnce(&Path)) -> Self {
        Self::made_in(tempfile::tempdir().unwrap(), None, make)
    }

    /// The same with everything below `folder`, or the store elsewhere.
    pub fn made_in(folder: TempDir, store: Option<PathBuf>, make: impl FnOnce(&Path)) -> Self {
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let (original, copy, start) = (at("original"), at("state/copy"), at("state/start"));
        fs::create_dir(&original).unwrap();
        fs::create_dir(at("state")).unwrap();
        fs::set_permissions(at("state"), fs::Permissions::from_mode(0o700)).unwrap();
        make(&original);
        let root = ProjectRoot::from_resolved(AbsPath::new(&original).unwrap());
        let copy_path = AbsPath::new(&copy).unwrap();
        let request = CloneRequest {
            source: &root,
            destination: &copy_path,
            method: Method::Copy,
            hidden: &[],
            keep_out: &[],
            leave_out: LeaveOut::Nothing,
            progress: &Quiet,
        };
        let baseline = enclos_clone::clone(&request).unwrap().baseline;
        let status = Command::new("cp")
            .arg("-a")
            .args([&original, &start])
            .status()
            .unwrap();
        assert!(status.success(), "cp");
        let store = store.unwrap_or_else(|| at("state/store"));
        fs::create_dir_all(&store).unwrap();
        let start = Start {
            folder: start,
            is_kept: true,
        };
        Self {
            folder,
            original,
            copy,
            store,
            root,
            copy_path,
            baseline,
            start,
        }
    }

    /// The session as if no contents of the start had been kept.
    pub fn without_base(mut self) -> Self {
        self.start.is_kept = false;
        self
    }

    pub fn root(&self) -> &ProjectRoot {
        &self.root
    }

    pub fn store(&self) -> AbsPath {
        AbsPath::new(&self.store).unwrap()
    }

    pub fn sources(&self) -> TreeSources<'_> {
        TreeSources {
            original: &self.root,
            copy: &self.copy_path,
            baseline: &self.baseline,
            base: &self.start,
        }
    }

    pub fn scan(&self) -> Review {
        scan(&self.sources(), &ScanOptions::at(0)).unwrap()
    }

    pub fn apply(&self, approval: &Approval) -> Result<Applied, ApplyError> {
        self.apply_with(approval, &NoFaults)
    }

    pub fn apply_with(
        &self,
        approval: &Approval,
        faults: &dyn Faults,
    ) -> Result<Applied, ApplyError> {
        apply(
            &self.sources(),
            &self.scan(),
            approval,
            &self.store(),
            faults,
        )
    }

    /// Applies everything, and expects every file to be written.
    pub fn apply_all(&self) -> Applied {
        let applied = self.apply(&Approval::with_risks(&self.scan())).unwrap();
        for (path, outcome) in &applied.files {
            assert!(
                matches!(outcome, Outcome::Applied { .. }),
                "{path}: {outcome:?}"
            );
        }
        applied
    }

    pub fn agent(&self, path: &str, text: &str) {
        write(&self.copy.join(path), text);
    }

    pub fn person(&self, path: &str, text: &str) {
        write(&self.original.join(path), text);
    }

    pub fn agent_removes(&self, path: &str) {
        remove(&self.copy.join(path));
    }

    pub fn person_removes(&self, path: &str) {
        remove(&self.original.join(path));
    }

    pub fn original_text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.original.join(path)).ok()
    }
}

pub fn path(text: &str) -> ProjectPath {
    ProjectPath::new(text).unwrap()
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn remove(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap()
    } else {
        fs::remove_file(path).unwrap()
    }
}

pub fn link(target: &str, at: &Path) {
    symlink(target, at).unwrap();
}

pub fn change<'r>(review: &'r Review, at: &str) -> &'r FileChange {
    review
        .file(&path(at))
        .unwrap_or_else(|| panic!("{at} is not in the review: {review:#?}"))
}

/// An approval of all of one file.
pub fn whole(review: &Review, at: &str) -> Approval {
    choose(review, at, Choice::Whole)
}

pub fn choose(review: &Review, at: &str, choice: Choice) -> Approval {
    let mut approval = Approval::default();
    approval.add(change(review, at), choice);
    approval
}

/// What became of one path.
pub fn outcome<'a>(applied: &'a Applied, at: &str) -> &'a Outcome {
    let found = applied.files.iter().find(|(found, _)| *found == path(at));
    &found
        .unwrap_or_else(|| panic!("{at} is not in {applied:#?}"))
        .1
}
