//! Crashes, full disks and late edits at every step of an apply, a recovery and an undo: nothing is ever lost.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::cell::Cell;
use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;

use enclos_paths::ProjectPath;
use enclos_review::ApplyError;
use enclos_review::Approval;
use enclos_review::Edited;
use enclos_review::Fault;
use enclos_review::Faults;
use enclos_review::Found;
use enclos_review::NoFaults;
use enclos_review::Outcome;
use enclos_review::Recovered;
use enclos_review::Step;
use enclos_review::UndoError;
use enclos_review::UndoRequest;
use enclos_review::Which;
use enclos_review::apply;
use enclos_review::recover;
use enclos_review::undo;
use enclos_testkit::Tree;
use enclos_testkit::tree;
use support::Session;
use support::link;
use support::quick_folder;
use support::write;

/// Does something at the n-th step, and counts them.
struct AtStep<'a> {
    count: Cell<usize>,
    n: usize,
    act: &'a dyn Fn(Step) -> Result<(), Fault>,
    /// The file system is taken for one that cannot exchange names.
    without_exchange: bool,
}

impl<'a> AtStep<'a> {
    fn new(n: usize, act: &'a dyn Fn(Step) -> Result<(), Fault>) -> Self {
        Self {
            count: Cell::new(0),
            n,
            act,
            without_exchange: false,
        }
    }
}

impl Faults for AtStep<'_> {
    fn at(&self, step: Step, _path: Option<&ProjectPath>) -> Result<(), Fault> {
        let at = self.count.replace(self.count.get() + 1);
        if at == self.n {
            (self.act)(step)?;
        }
        if self.without_exchange && step == Step::Exchange {
            return Err(Fault::Error(io::Error::from_raw_os_error(
                rustix::io::Errno::INVAL.raw_os_error(),
            )));
        }
        Ok(())
    }
}

fn crash(_: Step) -> Result<(), Fault> {
    Err(Fault::Crash)
}

fn panic(step: Step) -> Result<(), Fault> {
    panic!("as asked, at {step:?}")
}

fn full(_: Step) -> Result<(), Fault> {
    Err(Fault::Error(io::ErrorKind::StorageFull.into()))
}

/// One of each: an edit, a deletion, a move, a new file in a new folder, another kind, a mode, a folder that empties.
fn session() -> Session {
    changed(Session::made_in(quick_folder(), None, start))
}

fn start(original: &Path) {
    for (name, text) in [
        ("edited", "1\n2\n"),
        ("deleted/last", "unique\n"),
        ("moved", "m1\nm2\n"),
        ("kind", "k\n"),
        ("mode", "x\n"),
    ] {
        write(&original.join(name), text);
    }
}

fn changed(session: Session) -> Session {
    session.agent("edited", "1\ntwo\n");
    session.agent_removes("deleted");
    fs::create_dir(session.copy.join("to")).unwrap();
    fs::rename(session.copy.join("moved"), session.copy.join("to/moved")).unwrap();
    session.agent_removes("kind");
    link("edited", &session.copy.join("kind"));
    session.agent("new/file", "n\n");
    fs::set_permissions(session.copy.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    session
}

fn apply_all(session: &Session, faults: &dyn Faults) -> Result<enclos_review::Applied, ApplyError> {
    session.apply_with(&Approval::with_risks(&session.scan()), faults)
}

fn recover_now(session: &Session) -> Recovered {
    recover(session.root(), &session.store(), &NoFaults).unwrap()
}

fn undo_last(session: &Session, faults: &dyn Faults) -> Result<enclos_review::Undone, UndoError> {
    let request = UndoRequest {
        which: Which::Last,
        paths: vec![],
        edited: Edited::Leave,
    };
    undo(session.root(), &session.store(), &request, faults)
}

fn is_tidy(session: &Session) {
    let names = tree(&session.original).names();
    assert!(
        !names.iter().any(|name| name.contains("staging")),
        "{names:?}"
    );
    assert!(!session.store.join("journal").exists());
}

/// Runs `check` for a fault at every step, until one is past the last.
fn at_every_step(mut check: impl FnMut(usize) -> bool) {
    let reached = (0..).take_while(|&n| check(n)).count();
    assert!(reached > 15, "only {reached} steps were tried");
}

/// The states that the original may be in: nothing in between.
struct Ends {
    before: Tree,
    after: Tree,
}

impl Ends {
    fn of(session: &Session) -> Self {
        Self {
            before: tree(&session.original),
            after: tree(&session.copy),
        }
    }

    fn check(&self, session: &Session, found: Found, context: &str) {
        let expected = if found == Found::Unfinished {
            &self.before
        } else {
            &self.after
        };
        assert_eq!(&tree(&session.original), expected, "{context}: {found:?}");
        is_tidy(session);
    }
}

#[test]
fn a_crash_at_any_step_leaves_all_or_nothing_after_recovery() {
    crashes(session, false);
}

#[test]
fn a_crash_at_any_step_without_exchange_leaves_all_or_nothing_after_recovery() {
    crashes(session, true);
}

#[test]
fn a_crash_at_any_step_with_the_store_on_another_disk_leaves_all_or_nothing_after_recovery() {
    if !enclos_testkit::requires_root() {
        return;
    }
    let elsewhere = Tmpfs::new("16m");
    let number = Cell::new(0);
    let make = || {
        number.set(number.get() + 1);
        let store = elsewhere.path.join(format!("{}", number.get()));
        changed(Session::made_in(
            tempfile::tempdir().unwrap(),
            Some(store),
            start,
        ))
    };
    crashes(make, false);
}

fn crashes(make: impl Fn() -> Session, without_exchange: bool) {
    at_every_step(|n| {
        let session = make();
        let ends = Ends::of(&session);
        let faults = AtStep {
            without_exchange,
            ..AtStep::new(n, &crash)
        };
        match apply_all(&session, &faults) {
            Err(ApplyError::Crashed) => {}
            Ok(applied) => {
                assert_eq!(applied.without_exchange, without_exchange);
                assert_eq!(tree(&session.original), ends.after);
                return false;
            }
            Err(other) => panic!("{other:?}"),
        }
        let recovered = recover_now(&session);
        assert_eq!(recovered.left, [], "step {n}");
        let counts = recovered.found == Found::Untidy;
        let found = if counts {
            Found::Untidy
        } else {
            Found::Unfinished
        };
        ends.check(&session, found, &format!("step {n}"));
        if counts {
            undo_last(&session, &NoFaults).unwrap();
            assert_eq!(
                tree(&session.original),
                ends.before,
                "step {n}: the undo works"
            );
        }
        session.apply_all();
        assert_eq!(
            tree(&session.original),
            ends.after,
            "step {n}: it can be applied again"
        );
        undo_last(&session, &NoFaults).unwrap();
        assert_eq!(tree(&session.original), ends.before, "step {n}: and undone");
        true
    });
}

#[test]
fn a_panic_at_any_step_is_like_a_crash() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(|| {
        at_every_step(|n| {
            let session = session();
            let ends = Ends::of(&session);
            let faults = AtStep::new(n, &panic);
            if catch_unwind(AssertUnwindSafe(|| apply_all(&session, &faults))).is_ok() {
                return false;
            }
            let recovered = recover_now(&session);
            let found = if recovered.found == Found::Untidy {
                Found::Untidy
            } else {
                Found::Unfinished
            };
            ends.check(&session, found, &format!("step {n}"));
            true
        });
    });
    std::panic::set_hook(hook);
    result.unwrap();
}

#[test]
fn the_next_apply_waits_for_the_recovery() {
    let session = session();
    let is_move = |step: Step| {
        if step == Step::Exchange {
            Err(Fault::Crash)
        } else {
            Ok(())
        }
    };
    let always = Always(&is_move);
    assert!(matches!(
        apply_all(&session, &always),
        Err(ApplyError::Crashed)
    ));
    assert!(matches!(
        apply_all(&session, &NoFaults),
        Err(ApplyError::Unrecovered)
    ));
    assert!(matches!(
        undo_last(&session, &NoFaults),
        Err(UndoError::Apply(ApplyError::Unrecovered))
    ));
    recover_now(&session);
    session.apply_all();
}

/// Asks at every step.
struct Always<'a>(&'a dyn Fn(Step) -> Result<(), Fault>);

impl Faults for Always<'_> {
    fn at(&self, step: Step, _path: Option<&ProjectPath>) -> Result<(), Fault> {
        (self.0)(step)
    }
}

#[test]
fn a_recovery_that_crashes_at_any_step_can_be_started_again() {
    let mut crashed = 0;
    at_every_step(|n| {
        if n % 2 == 1 {
            return true;
        }
        for m in 0.. {
            let session = session();
            let ends = Ends::of(&session);
            if apply_all(&session, &AtStep::new(n, &crash)).is_ok() {
                return false;
            }
            let first = recover(session.root(), &session.store(), &AtStep::new(m, &crash));
            let is_past = first.is_ok();
            crashed += usize::from(!is_past);
            let second = recover_now(&session);
            let counts = second.found == Found::Untidy
                || first.is_ok_and(|first| first.found == Found::Untidy)
                || tree(&session.original) == ends.after;
            ends.check(
                &session,
                if counts {
                    Found::Untidy
                } else {
                    Found::Unfinished
                },
                &format!("steps {n} and {m}"),
            );
            if is_past {
                break;
            }
        }
        true
    });
    assert!(crashed > 50, "only {crashed} recoveries crashed");
}

#[test]
fn an_undo_that_crashes_at_any_step_leaves_all_or_nothing() {
    at_every_step(|n| {
        let session = session();
        let ends = Ends::of(&session);
        session.apply_all();
        let result = undo_last(&session, &AtStep::new(n, &crash));
        let recovered = recover_now(&session);
        let counts = result.is_ok() || recovered.found == Found::Untidy;
        let expected = if counts { &ends.before } else { &ends.after };
        assert_eq!(&tree(&session.original), expected, "step {n}");
        is_tidy(&session);
        if !counts {
            undo_last(&session, &NoFaults).unwrap();
            assert_eq!(
                tree(&session.original),
                ends.before,
                "step {n}: it can be undone again"
            );
        }
        result.is_err()
    });
}

#[test]
fn a_full_disk_at_any_step_loses_nothing_and_says_so() {
    at_every_step(|n| {
        let session = session();
        let ends = Ends::of(&session);
        let faults = AtStep::new(n, &full);
        let result = apply_all(&session, &faults);
        let was_reached = faults.count.get() > n;
        match result {
            Err(ApplyError::NoSpace { .. }) => {
                assert_eq!(tree(&session.original), ends.before, "step {n}: as it was")
            }
            // From the record on there is nothing left to do but to tidy up, which can wait.
            Ok(_) => {
                let found = recover_now(&session).found;
                assert_eq!(found == Found::Untidy, was_reached, "step {n}");
                ends.check(&session, Found::Untidy, &format!("step {n}"));
            }
            Err(other) => panic!("step {n}: {other:?}"),
        }
        recover_now(&session);
        is_tidy(&session);
        was_reached
    });
}

#[test]
fn another_error_at_any_step_stops_files_or_everything_but_nothing_in_between() {
    let refuse = |_| Err(Fault::Error(io::ErrorKind::PermissionDenied.into()));
    at_every_step(|n| {
        let session = session();
        let ends = Ends::of(&session);
        let faults = AtStep::new(n, &refuse);
        match apply_all(&session, &faults) {
            Ok(_) => {
                recover_now(&session);
                each_before_or_after(&session, &ends, n);
            }
            Err(ApplyError::Store { .. } | ApplyError::TakenBack { .. }) => {
                assert_eq!(tree(&session.original), ends.before, "step {n}")
            }
            Err(other) => panic!("step {n}: {other:?}"),
        }
        is_tidy(&session);
        faults.count.get() > n
    });
}

fn each_before_or_after(session: &Session, ends: &Ends, n: usize) {
    let now = tree(&session.original);
    let get = |tree: &Tree, path: &str| tree.nodes.get(path.as_bytes()).cloned();
    for path in ["edited", "kind", "mode", "new/file", "deleted/last"] {
        let found = get(&now, path);
        assert!(
            found == get(&ends.before, path) || found == get(&ends.after, path),
            "step {n}: {path}"
        );
    }
    let moved = (
        get(&now, "moved").is_some(),
        get(&now, "to/moved").is_some(),
    );
    assert!(
        moved.0 != moved.1,
        "step {n}: a move is never half done: {moved:?}"
    );
}

/// A small file system of its own, by name.
struct Tmpfs {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Tmpfs {
    fn new(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mounted");
        fs::create_dir(&path).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(mounted.success(), "mounting a tmpfs");
        Self {
            _folder: folder,
            path,
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("--lazy")
            .arg(&self.path)
            .status();
    }
}

#[test]
fn a_disk_that_is_really_full_loses_nothing() {
    if !enclos_testkit::requires_root() {
        return;
    }
    // First without the defence: writing in place to a full disk leaves an empty or cut file.
    let disk = Tmpfs::new("4m");
    let text = "mine\n".repeat(20_000);
    fs::write(disk.path.join("naive"), &text).unwrap();
    fs::write(disk.path.join("ballast"), vec![0; 3_800_000]).unwrap();
    assert!(fs::write(disk.path.join("naive"), "agent\n".repeat(200_000)).is_err());
    assert_ne!(
        fs::read_to_string(disk.path.join("naive")).unwrap(),
        text,
        "the person's file is damaged"
    );
    fs::remove_file(disk.path.join("naive")).unwrap();
    fs::remove_file(disk.path.join("ballast")).unwrap();

    let outside = tempfile::tempdir().unwrap();
    for room in (0..40).map(|n| n * 16 * 1024) {
        let folder = tempfile::tempdir_in(&disk.path).unwrap();
        let store = outside.path().join(room.to_string());
        let session = Session::made_in(folder, Some(store), |original| {
            write(&original.join("big"), &text);
            start(original);
        });
        session.agent("big", &"agent\n".repeat(30_000));
        let session = changed(session);
        let ends = Ends::of(&session);
        let ballast = disk.path.join("ballast");
        fill(&ballast, &disk.path, room);
        let result = apply_all(&session, &NoFaults);
        fs::remove_file(&ballast).unwrap();
        match result {
            Ok(_) => assert_eq!(tree(&session.original), ends.after, "{room} bytes of room"),
            Err(ApplyError::NoSpace { .. }) => {
                assert_eq!(tree(&session.original), ends.before, "{room} bytes of room")
            }
            Err(other) => panic!("{room}: {other:?}"),
        }
        recover_now(&session);
        is_tidy(&session);
    }
}

/// Fills the file system at `disk` up to `room` bytes.
fn fill(ballast: &Path, disk: &Path, room: u64) {
    let free = rustix::fs::statvfs(disk)
        .map(|fs| fs.f_bavail * fs.f_frsize)
        .unwrap();
    let file = fs::File::create(ballast).unwrap();
    let size = free.saturating_sub(room);
    rustix::fs::fallocate(
        &file,
        rustix::fs::FallocateFlags::empty(),
        0,
        size.max(4096),
    )
    .unwrap();
}

/// The ways in which a person's editor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    /// Truncates and writes.
    InPlace,
    /// Writes beside and renames over.
    Atomic,
    /// Deletes.
    Delete,
    /// Writes to a file that was opened before the apply began.
    HeldOpen,
}

const PERSONS: &str = "what the person wrote just now\n";

#[test]
fn an_edit_at_any_step_is_never_lost() {
    // First without the defence: a look before renaming over it is no help against an edit in between.
    let naive = session();
    let is_same = naive.original_text("edited").as_deref() == Some("1\n2\n");
    naive.person("edited", PERSONS);
    if is_same {
        fs::rename(naive.copy.join("edited"), naive.original.join("edited")).unwrap();
    }
    assert!(!is_somewhere(&naive, PERSONS), "the edit is gone");

    for (edit, target) in [
        (Edit::InPlace, "edited"),
        (Edit::Atomic, "edited"),
        (Edit::Delete, "edited"),
        (Edit::HeldOpen, "edited"),
        (Edit::InPlace, "deleted/last"),
        (Edit::Atomic, "moved"),
        (Edit::HeldOpen, "moved"),
        (Edit::Atomic, "new/file"),
        (Edit::Atomic, "to/moved"),
        (Edit::Atomic, "kind"),
    ] {
        for without_exchange in [false, true] {
            late_edits(edit, target, without_exchange);
        }
    }
}

fn late_edits(edit: Edit, target: &str, without_exchange: bool) {
    at_every_step(|n| {
        let context =
            format!("{edit:?} of {target} at step {n}, without exchange: {without_exchange}");
        let session = session();
        let held = RefCell::new((edit == Edit::HeldOpen).then(|| {
            fs::OpenOptions::new()
                .write(true)
                .open(session.original.join(target))
                .unwrap()
        }));
        let wrote = Cell::new(false);
        let act = |_: Step| {
            wrote.set(do_edit(
                edit,
                &session.original.join(target),
                held.borrow_mut().as_mut(),
            ));
            Ok(())
        };
        let faults = AtStep {
            without_exchange,
            ..AtStep::new(n, &act)
        };
        let result = apply_all(&session, &faults);
        let applied = result.unwrap_or_else(|e| panic!("{context}: {e:?}"));
        let was_reached = faults.count.get() > n;
        if wrote.get() && edit != Edit::Delete {
            assert!(
                is_somewhere(&session, PERSONS),
                "{context}: {applied:#?}\n{:?}",
                tree(&session.original).names()
            );
        }
        if wrote.get() && edit == Edit::HeldOpen && !is_at(&session.original, PERSONS) {
            let counted = applied.files.iter().any(|(path, outcome)| {
                path.to_string().contains(target) && matches!(outcome, Outcome::Applied { .. })
            });
            assert!(
                counted,
                "{context}: what is written to a file that was moved away is put back, unless it came after all was done"
            );
        }
        recover_now(&session);
        is_tidy(&session);
        was_reached
    });
}

/// False when there was nothing to edit.
fn do_edit(edit: Edit, path: &Path, held: Option<&mut fs::File>) -> bool {
    match edit {
        Edit::InPlace => fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)
            .and_then(|mut file| io::Write::write_all(&mut file, PERSONS.as_bytes()))
            .is_ok(),
        Edit::Atomic => {
            let draft = path.with_file_name("draft~");
            fs::write(&draft, PERSONS)
                .and_then(|()| fs::rename(&draft, path))
                .is_ok()
        }
        Edit::Delete => fs::remove_file(path).is_ok(),
        Edit::HeldOpen => held.is_some_and(|file| {
            file.set_len(0)
                .and_then(|()| io::Write::write_all(file, PERSONS.as_bytes()))
                .is_ok()
        }),
    }
}

/// Whether some file of the original or the store holds the text.
fn is_somewhere(session: &Session, text: &str) -> bool {
    is_at(&session.original, text) || is_at(&session.store, text)
}

fn is_at(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            is_at(&path, text)
        } else {
            fs::read_to_string(&path).is_ok_and(|found| found == text)
        }
    })
}

#[test]
fn a_recovery_leaves_what_the_person_did_after_the_crash() {
    let mut left = 0;
    for target in [
        "edited",
        "deleted/last",
        "moved",
        "new/file",
        "to/moved",
        "kind",
    ] {
        at_every_step(|n| {
            let session = session();
            let before = tree(&session.original);
            if apply_all(&session, &AtStep::new(n, &crash)).is_ok() {
                return false;
            }
            let wrote = do_edit(Edit::Atomic, &session.original.join(target), None);
            let recovered = recover_now(&session);
            let context = format!("{target} after a crash at step {n}: {recovered:?}");
            if wrote {
                assert_eq!(
                    session.original_text(target).as_deref(),
                    Some(PERSONS),
                    "{context}"
                );
            }
            left += recovered.left.len();
            let now = tree(&session.original);
            if recovered.found == Found::Unfinished {
                for (path, node) in before
                    .nodes
                    .iter()
                    .filter(|(path, _)| path[..] != *target.as_bytes())
                {
                    let is_kept = recovered.left.iter().any(|left| {
                        left.path.as_bytes() == &path[..]
                            || left
                                .path
                                .is_within(&support::path(std::str::from_utf8(path).unwrap()))
                    });
                    assert!(
                        now.nodes.get(path) == Some(node) || is_kept,
                        "{context}: {}",
                        String::from_utf8_lossy(path)
                    );
                }
            }
            is_tidy(&session);
            true
        });
    }
    assert!(left > 10, "only {left} paths had to be left");
}

#[test]
fn a_journal_of_another_version_is_refused_and_left() {
    let session = session();
    let is_move = |step: Step| {
        if step == Step::Exchange {
            Err(Fault::Crash)
        } else {
            Ok(())
        }
    };
    assert!(apply_all(&session, &Always(&is_move)).is_err());
    let journal = session.store.join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    fs::write(&journal, &newer).unwrap();
    let before = tree(&session.original);
    let error = recover(session.root(), &session.store(), &NoFaults).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("version 2"), "{source}");
    assert_eq!(
        (
            tree(&session.original),
            fs::read_to_string(&journal).unwrap()
        ),
        (before, newer),
        "nothing was touched"
    );
    fs::write(&journal, text).unwrap();
    recover_now(&session);
    is_tidy(&session);
}

#[test]
fn a_draft_of_a_journal_means_that_nothing_was_moved() {
    let session = session();
    let ends = Ends::of(&session);
    let is_journal = |step: Step| {
        if step == Step::WriteJournal {
            Err(Fault::Crash)
        } else {
            Ok(())
        }
    };
    assert!(apply_all(&session, &Always(&is_journal)).is_err());
    fs::write(session.store.join("journal.new"), "half a jour").unwrap();
    assert_eq!(recover_now(&session).found, Found::Nothing);
    assert_eq!(tree(&session.original), ends.before);
    session.apply_all();
    assert_eq!(tree(&session.original), ends.after);
    let _ = apply(
        &session.sources(),
        &session.scan(),
        &Approval::default(),
        &session.store(),
        &NoFaults,
    )
    .unwrap();
}
