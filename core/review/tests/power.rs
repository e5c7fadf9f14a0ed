//! The power goes while an apply runs: what is on the disk then is all or nothing after recovery.
//!
//! The disk is a file with a file system in it. A copy of that file, made while the file system is mounted and in use,
//! is what a machine finds that lost its power at that moment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::cell::Cell;
use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_review::Approval;
use enclos_review::Fault;
use enclos_review::Faults;
use enclos_review::Found;
use enclos_review::NoFaults;
use enclos_review::Step;
use enclos_review::recover;
use enclos_testkit::LoopFs;
use enclos_testkit::tree;
use support::Session;

const FILES: usize = 120;

/// What a machine finds that lost its power when the copy was made.
struct Machine {
    folder: tempfile::TempDir,
    mounted: PathBuf,
}

/// Copies the disk that `mounted` is a file system of.
fn copy_disk(mounted: &Path, to: &Path) {
    let image = mounted.parent().unwrap().join("image");
    run(Command::new("cp").arg("--sparse=always").args([&image, to]));
}

impl Machine {
    fn mount(image: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mounted = folder.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        // Both disks would have one identity, which XFS refuses to mount twice.
        let mut magic = [0; 4];
        fs::File::open(image)
            .and_then(|mut file| file.read_exact(&mut magic))
            .unwrap();
        let is_xfs = magic == *b"XFSB";
        let options = if is_xfs { "loop,nouuid" } else { "loop" };
        run(Command::new("mount")
            .args(["-o", options])
            .arg(image)
            .arg(&mounted));
        Self { folder, mounted }
    }

    /// The same path on this disk.
    fn same(&self, path: &Path, disk: &Path) -> PathBuf {
        self.mounted.join(path.strip_prefix(disk).unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.mounted)
            .status();
        assert!(self.folder.path().is_absolute());
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn session(disk: &Path) -> Session {
    let session = Session::made_in(tempfile::tempdir_in(disk).unwrap(), None, |original| {
        for n in 0..FILES {
            support::write(
                &original.join(format!("{}/{n}", n % 7)),
                &format!("mine {n}\n").repeat(700),
            );
        }
    });
    for n in 0..FILES {
        let path = format!("{}/{n}", n % 7);
        match n % 5 {
            0 => session.agent_removes(&path),
            1 => session.agent(
                &format!("new {}/{n}", n % 3),
                &format!("new {n}\n").repeat(700),
            ),
            _ => session.agent(&path, &format!("agent {n}\n").repeat(700)),
        }
    }
    run(Command::new("sync").arg("-f").arg(disk));
    session
}

/// Copies the disk before some steps.
struct CopyAt<'a> {
    disk: &'a Path,
    count: Cell<usize>,
    copies: RefCell<Vec<tempfile::NamedTempFile>>,
}

impl Faults for CopyAt<'_> {
    fn at(&self, step: Step, _path: Option<&ProjectPath>) -> Result<(), Fault> {
        let count = self.count.replace(self.count.get() + 1);
        let is_single = !matches!(
            step,
            Step::Stage | Step::Exchange | Step::Verify | Step::Put | Step::Take | Step::KeepMove
        );
        if is_single || count.is_multiple_of(41) {
            // Half of the time someone else has everything written out just before.
            if self.copies.borrow().len() % 2 == 1 {
                run(Command::new("sync").arg("-f").arg(self.disk));
            }
            let copy = tempfile::NamedTempFile::new().unwrap();
            copy_disk(self.disk, copy.path());
            self.copies.borrow_mut().push(copy);
        }
        Ok(())
    }
}

fn loses_some(disk: &Path) -> bool {
    let naive = tempfile::tempdir_in(disk).unwrap();
    run(Command::new("sync").arg("-f").arg(disk));
    for n in 0..FILES {
        fs::write(naive.path().join("draft"), "agent\n".repeat(700)).unwrap();
        fs::rename(naive.path().join("draft"), naive.path().join(n.to_string())).unwrap();
    }
    let image = tempfile::NamedTempFile::new().unwrap();
    copy_disk(disk, image.path());
    let found = Machine::mount(image.path());
    let path = |n: usize| found.same(&naive.path().join(n.to_string()), disk);
    let whole = (0..FILES).filter(|&n| fs::read(path(n)).is_ok_and(|text| text.len() == 4200));
    whole.count() < FILES
}

fn power_cuts(disk: &LoopFs) {
    let disk = disk.path();
    // First without the defence: files that were written and renamed are empty or missing, unless someone else has
    // everything written out just then.
    assert!(
        (0..15).any(|_| loses_some(disk)),
        "some of what was written is lost"
    );

    let session = session(disk);
    let (before, after) = (tree(&session.original), tree(&session.copy));
    let faults = CopyAt {
        disk,
        count: Cell::new(0),
        copies: RefCell::default(),
    };
    session
        .apply_with(&Approval::with_risks(&session.scan()), &faults)
        .unwrap();
    let end = tempfile::NamedTempFile::new().unwrap();
    copy_disk(disk, end.path());
    assert_eq!(tree(&session.original), after);
    let mut copies = faults.copies.into_inner();
    copies.push(end);
    let (mut taken_back, mut tidied) = (0, 0);
    let last = copies.len() - 1;
    for (at, image) in copies.iter().enumerate() {
        let found = Machine::mount(image.path());
        let root =
            ProjectRoot::from_resolved(AbsPath::new(found.same(&session.original, disk)).unwrap());
        let store = AbsPath::new(found.same(&session.store, disk)).unwrap();
        let recovered = recover(&root, &store, &NoFaults).unwrap();
        assert_eq!(recovered.left, [], "copy {at}");
        let mut now = tree(root.path());
        // The working folder has a name by the store's path, which is another one here: it would be cleared.
        now.nodes.retain(|path, _| {
            recovered.found != Found::Nothing || !path.starts_with(b".enclos-staging-")
        });
        match recovered.found {
            Found::Unfinished => {
                taken_back += 1;
                assert_eq!(now, before, "copy {at}");
            }
            Found::Untidy => {
                tidied += 1;
                assert_eq!(now, after, "copy {at}");
            }
            Found::Nothing => assert!(now == before || now == after, "copy {at}"),
        }
        assert!(
            at < last || now == after,
            "what an apply answered for is on the disk"
        );
    }
    println!(
        "{} power cuts, {taken_back} taken back, {tidied} tidied up",
        copies.len()
    );
    assert!(taken_back > 1 && tidied > 1 && copies.len() > 10);
}

#[test]
fn xfs_loses_nothing_when_the_power_goes() {
    if enclos_testkit::requires_root() {
        power_cuts(&LoopFs::xfs().unwrap());
    }
}

#[test]
fn ext4_loses_nothing_when_the_power_goes() {
    if enclos_testkit::requires_root() {
        power_cuts(&LoopFs::ext4().unwrap());
    }
}

#[test]
fn btrfs_loses_nothing_when_the_power_goes() {
    if enclos_testkit::requires_root() {
        power_cuts(&LoopFs::btrfs().unwrap());
    }
}
