//! What an apply does to the original, and what an undo takes back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use enclos_clone::Absence;
use enclos_clone::Entry;
use enclos_review::Approval;
use enclos_review::Base;
use enclos_review::Choice;
use enclos_review::Edited;
use enclos_review::HunkId;
use enclos_review::NoFaults;
use enclos_review::Outcome;
use enclos_review::ScanOptions;
use enclos_review::Stopped;
use enclos_review::TreeSources;
use enclos_review::UndoError;
use enclos_review::UndoRequest;
use enclos_review::Undone;
use enclos_review::Which;
use enclos_review::apply;
use enclos_review::scan;
use enclos_review::undo;
use enclos_testkit::tree;
use support::Session;
use support::change;
use support::choose;
use support::link;
use support::outcome;
use support::path;
use support::whole;

fn hunks(session: &Session, at: &str, which: &[usize]) -> Choice {
    let review = session.scan();
    let all = change(&review, at).content.hunks();
    Choice::Hunks(which.iter().map(|&n| all[n].id).collect())
}

fn undo_all(session: &Session) -> Undone {
    undo_of(session, &[], Edited::Leave).unwrap()
}

fn undo_of(session: &Session, paths: &[&str], edited: Edited) -> Result<Undone, UndoError> {
    let request = UndoRequest {
        which: Which::Last,
        paths: paths.iter().map(|at| path(at)).collect(),
        edited,
    };
    undo(session.root(), &session.store(), &request, &NoFaults)
}

fn no_trace(session: &Session) {
    let names = tree(&session.original).names();
    assert!(
        !names.iter().any(|name| name.contains(".enclos-staging")),
        "{names:?}"
    );
    assert!(
        !session.store.join("journal").exists(),
        "the journal is gone"
    );
}

/// A session in which the agent did everything that can be done.
fn busy() -> Session {
    let session = Session::made(|original| {
        for (name, text) in [
            ("edited", "a\nb\nc\n"),
            ("deleted", "unique\n"),
            ("moved", "m1\nm2\n"),
            ("mode", "x\n"),
            ("kind", "k\n"),
            ("gone/deep/in", "f\n"),
            ("to file/in", "g\n"),
            ("to folder", "h\n"),
            ("kept/in", "i\n"),
        ] {
            support::write(&original.join(name), text);
        }
        fs::create_dir(original.join("empty")).unwrap();
        link("edited", &original.join("link"));
    });
    session.agent("edited", "a\nB\nc\n");
    session.agent_removes("deleted");
    fs::create_dir(session.copy.join("to")).unwrap();
    fs::rename(session.copy.join("moved"), session.copy.join("to/moved")).unwrap();
    fs::set_permissions(session.copy.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    session.agent_removes("kind");
    link("edited", &session.copy.join("kind"));
    session.agent_removes("link");
    link("to/moved", &session.copy.join("link"));
    session.agent_removes("gone");
    session.agent_removes("to file");
    session.agent("to file", "now a file\n");
    session.agent_removes("to folder");
    session.agent("to folder/in", "now a folder\n");
    session.agent("new/deep/file", "n\n");
    fs::set_permissions(
        session.copy.join("new/deep/file"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    fs::create_dir_all(session.copy.join("new empty/one")).unwrap();
    fs::set_permissions(
        session.copy.join("new empty/one"),
        fs::Permissions::from_mode(0o500),
    )
    .unwrap();
    session.agent_removes("empty");
    session
}

#[test]
fn everything_an_agent_can_do_arrives_and_can_be_undone() {
    let session = busy();
    let before = tree(&session.original);
    session.apply_all();
    assert_eq!(
        tree(&session.original),
        tree(&session.copy),
        "the original is what the copy is"
    );
    no_trace(&session);
    assert!(session.scan().is_empty(), "nothing is left to review");
    let undone = undo_all(&session);
    assert!(
        undone
            .files
            .iter()
            .all(|(_, outcome)| matches!(outcome, Outcome::Applied { .. })),
        "{undone:#?}"
    );
    assert_eq!(
        tree(&session.original),
        before,
        "and everything is as it was"
    );
    no_trace(&session);
    assert!(matches!(
        undo_of(&session, &[], Edited::Leave),
        Err(UndoError::Nothing)
    ));
}

#[test]
fn an_undo_can_be_undone() {
    let session = busy();
    session.apply_all();
    let record = undo_all(&session).record.unwrap();
    let request = UndoRequest {
        which: Which::Record(record),
        paths: vec![],
        edited: Edited::Leave,
    };
    undo(session.root(), &session.store(), &request, &NoFaults).unwrap();
    assert_eq!(tree(&session.original), tree(&session.copy));
    undo_all(&session);
    assert_ne!(
        tree(&session.original),
        tree(&session.copy),
        "the apply can be undone once more"
    );
}

#[test]
fn only_what_was_chosen_arrives() {
    let session = busy();
    let review = session.scan();
    let applied = session.apply(&whole(&review, "new/deep/file")).unwrap();
    assert_eq!(applied.files.len(), 1);
    assert_eq!(
        session.original_text("new/deep/file").as_deref(),
        Some("n\n")
    );
    assert_eq!(
        fs::metadata(session.original.join("new/deep/file"))
            .unwrap()
            .mode()
            & 0o777,
        0o755
    );
    assert_eq!(
        session.original_text("edited").as_deref(),
        Some("a\nb\nc\n")
    );
    assert!(
        !session.original.join("to").exists(),
        "and no folder for what was not chosen"
    );
}

#[test]
fn hunks_arrive_one_by_one() {
    let session = Session::new(&[("a", "1\n2\n3\n4\n5\n")]);
    session.agent("a", "one\n2\nthree\n4\nfive\n");
    session
        .apply(&choose(&session.scan(), "a", hunks(&session, "a", &[0, 2])))
        .unwrap();
    assert_eq!(
        session.original_text("a").as_deref(),
        Some("one\n2\n3\n4\nfive\n")
    );
    let unknown = Choice::Hunks(BTreeSet::from([HunkId::parse("0000000000").unwrap()]));
    let applied = session
        .apply(&choose(&session.scan(), "a", unknown))
        .unwrap();
    assert!(matches!(
        outcome(&applied, "a"),
        Outcome::Stopped(Stopped::NoSuchHunk { .. })
    ));
}

#[test]
fn hunks_go_through_the_same_merge() {
    let session = Session::new(&[("a", "1\n2\n3\n4\n5\n6\n7\n")]);
    session.person("a", "mine\n2\n3\n4\n5\n6\n7\n");
    session.agent("a", "1\n2\n3\n4\nfive\n6\nseven\n");
    session
        .apply(&choose(&session.scan(), "a", hunks(&session, "a", &[1])))
        .unwrap();
    assert_eq!(
        session.original_text("a").as_deref(),
        Some("mine\n2\n3\n4\n5\n6\nseven\n")
    );
}

#[test]
fn one_hunk_of_a_conflict_can_be_taken_where_the_others_meet() {
    let session = Session::new(&[("a", "1\n2\n3\n4\n5\n")]);
    session.person("a", "mine\n2\n3\n4\n5\n");
    session.agent("a", "agent\n2\n3\n4\nfive\n");
    let applied = session
        .apply(&choose(&session.scan(), "a", hunks(&session, "a", &[0])))
        .unwrap();
    assert!(
        matches!(outcome(&applied, "a"), Outcome::Stopped(Stopped::Conflict)),
        "{applied:?}"
    );
    session
        .apply(&choose(&session.scan(), "a", hunks(&session, "a", &[1])))
        .unwrap();
    assert_eq!(
        session.original_text("a").as_deref(),
        Some("mine\n2\n3\n4\nfive\n")
    );
}

#[test]
fn what_both_edited_is_merged_or_left_or_overwritten_as_chosen() {
    let session = Session::new(&[("fits", "1\n2\n3\n"), ("meets", "1\n2\n3\n")]);
    session.person("fits", "mine\n2\n3\n");
    session.agent("fits", "1\n2\nagent\n");
    session.person("meets", "1\nmine\n3\n");
    session.agent("meets", "1\nagent\n3\n");
    let review = session.scan();
    let mut approval = whole(&review, "fits");
    approval.add(change(&review, "meets"), Choice::Whole);
    let applied = session.apply(&approval).unwrap();
    assert!(matches!(
        outcome(&applied, "meets"),
        Outcome::Stopped(Stopped::Conflict)
    ));
    assert_eq!(
        session.original_text("fits").as_deref(),
        Some("mine\n2\nagent\n")
    );
    assert_eq!(
        session.original_text("meets").as_deref(),
        Some("1\nmine\n3\n")
    );
    session
        .apply(&choose(&session.scan(), "meets", Choice::Overwrite))
        .unwrap();
    assert_eq!(
        session.original_text("meets").as_deref(),
        Some("1\nagent\n3\n")
    );
    undo_all(&session);
    assert_eq!(
        session.original_text("meets").as_deref(),
        Some("1\nmine\n3\n"),
        "theirs was kept"
    );
    assert_eq!(
        session.original_text("fits").as_deref(),
        Some("mine\n2\nagent\n"),
        "another apply"
    );
}

#[test]
fn conflicts_about_being_there_can_be_overwritten() {
    let session = Session::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    session.person_removes("a");
    session.agent("a", "agent\n");
    session.person("b", "mine\n");
    session.agent_removes("b");
    session.person_removes("c");
    session.person("c/in", "mine\n");
    session.agent("c", "agent\n");
    let review = session.scan();
    let mut approval = choose(&review, "a", Choice::Overwrite);
    approval.add(change(&review, "b"), Choice::Overwrite);
    approval.add(change(&review, "c"), Choice::Overwrite);
    let applied = session.apply(&approval).unwrap();
    assert_eq!(session.original_text("a").as_deref(), Some("agent\n"));
    assert_eq!(session.original_text("b"), None);
    assert!(
        matches!(outcome(&applied, "c"), Outcome::Stopped(Stopped::NotEmpty)),
        "a folder with the person's files stays"
    );
    assert_eq!(session.original_text("c/in").as_deref(), Some("mine\n"));
}

#[test]
fn an_approval_is_good_for_what_was_shown_only() {
    let session = Session::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    for name in ["a", "b", "c"] {
        session.agent(name, "agent\n");
    }
    let approval = Approval::with_risks(&session.scan());
    session.agent("a", "agent again\n");
    session.person("b", "mine\n");
    let applied = session.apply(&approval).unwrap();
    assert!(matches!(
        outcome(&applied, "a"),
        Outcome::Stopped(Stopped::NotAsApproved)
    ));
    assert!(matches!(
        outcome(&applied, "b"),
        Outcome::Stopped(Stopped::NotAsApproved)
    ));
    assert!(
        matches!(outcome(&applied, "c"), Outcome::Applied { .. }),
        "the rest goes on"
    );
    assert_eq!(session.original_text("b").as_deref(), Some("mine\n"));
    session.agent_removes("a");
    session.agent("a", "1\n");
    let applied = session.apply(&approval).unwrap();
    assert!(
        matches!(
            outcome(&applied, "a"),
            Outcome::Stopped(Stopped::NotInReview)
        ),
        "there is no such change any more"
    );
}

#[test]
fn what_moves_between_review_and_apply_is_refused() {
    // The review and the apply of a caller that keeps both: the files change in between.
    let session = Session::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    for name in ["a", "b", "c"] {
        session.agent(name, "agent\n");
    }
    let review = session.scan();
    let approval = Approval::with_risks(&review);
    session.person("a", "mine\n");
    session.agent("b", "later\n");
    session.person_removes("c");
    let applied = enclos_review::apply(
        &session.sources(),
        &review,
        &approval,
        &session.store(),
        &NoFaults,
    )
    .unwrap();
    assert!(matches!(
        outcome(&applied, "a"),
        Outcome::Stopped(Stopped::ChangedMeanwhile)
    ));
    assert!(matches!(
        outcome(&applied, "b"),
        Outcome::Stopped(Stopped::CopyChanged)
    ));
    assert!(matches!(
        outcome(&applied, "c"),
        Outcome::Stopped(Stopped::ChangedMeanwhile)
    ));
    assert_eq!(
        (
            session.original_text("a").as_deref(),
            session.original_text("b").as_deref(),
            session.original_text("c")
        ),
        (Some("mine\n"), Some("1\n"), None)
    );
    assert_eq!(applied.record, None);
    no_trace(&session);
}

#[test]
fn a_new_file_never_replaces_one_that_came_meanwhile() {
    let session = Session::new(&[("a", "1\n")]);
    session.agent("new", "agent\n");
    session.agent("folder/new", "agent\n");
    let review = session.scan();
    let approval = Approval::with_risks(&review);
    session.person("new", "mine\n");
    session.person("folder", "mine\n");
    let applied = enclos_review::apply(
        &session.sources(),
        &review,
        &approval,
        &session.store(),
        &NoFaults,
    )
    .unwrap();
    assert!(matches!(
        outcome(&applied, "new"),
        Outcome::Stopped(Stopped::ChangedMeanwhile)
    ));
    assert!(
        matches!(
            outcome(&applied, "folder/new"),
            Outcome::Stopped(Stopped::NoFolder)
        ),
        "{applied:?}"
    );
    assert_eq!(
        (
            session.original_text("new").as_deref(),
            session.original_text("folder").as_deref()
        ),
        (Some("mine\n"), Some("mine\n"))
    );
}

#[test]
fn nothing_is_written_through_a_link() {
    let session = Session::new(&[("way/a", "1\n"), ("b", "1\n")]);
    let victim = session.original.parent().unwrap().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("a"), "1\n").unwrap();
    session.agent("way/a", "agent\n");
    session.agent("way/new", "agent\n");
    let review = session.scan();
    let approval = Approval::with_risks(&review);
    session.person_removes("way");
    link(victim.to_str().unwrap(), &session.original.join("way"));
    fs::write(session.original.join("way/naive"), "naive\n").unwrap();
    assert!(
        victim.join("naive").exists(),
        "an ordinary writer is led there"
    );
    fs::remove_file(victim.join("naive")).unwrap();
    let before = tree(&victim);
    let applied = enclos_review::apply(
        &session.sources(),
        &review,
        &approval,
        &session.store(),
        &NoFaults,
    )
    .unwrap();
    assert!(
        applied
            .files
            .iter()
            .all(|(_, outcome)| matches!(outcome, Outcome::Stopped(Stopped::Behind))),
        "{applied:?}"
    );
    assert_eq!(tree(&victim), before);
}

#[test]
fn names_of_one_file_are_applied_together_and_others_keep_the_old() {
    let session = Session::made(|original| {
        fs::write(original.join("a"), "1\n").unwrap();
        fs::hard_link(original.join("a"), original.join("b")).unwrap();
        fs::hard_link(original.join("a"), original.parent().unwrap().join("store")).unwrap();
    });
    let outside = session.original.parent().unwrap().join("store");
    fs::write(session.copy.join("a"), "2\n").unwrap();
    // First without the defence: writing in place reaches the other name.
    fs::write(session.original.join("a"), "naive\n").unwrap();
    assert_eq!(
        fs::read_to_string(&outside).unwrap(),
        "naive\n",
        "a package manager's store would be edited"
    );
    fs::write(session.original.join("a"), "1\n").unwrap();
    let review = session.scan();
    let applied = session
        .apply(&choose(&review, "a", Choice::Overwrite))
        .unwrap();
    assert!(
        matches!(
            outcome(&applied, "a"),
            Outcome::Stopped(Stopped::HardLinkGroup { .. })
        ),
        "{applied:?}"
    );
    let mut approval = choose(&review, "a", Choice::Overwrite);
    approval.add(change(&review, "b"), Choice::Overwrite);
    session.apply(&approval).unwrap();
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(session.original_text("b").as_deref(), Some("2\n"));
    assert_eq!(
        inode(&session.original.join("a")),
        inode(&session.original.join("b")),
        "still one file"
    );
    assert_eq!(fs::read_to_string(&outside).unwrap(), "1\n");
}

#[test]
fn a_mode_of_a_file_with_further_names_is_not_set_in_place() {
    let session = Session::made(|original| {
        fs::write(original.join("a"), "1\n").unwrap();
        fs::hard_link(original.join("a"), original.parent().unwrap().join("store")).unwrap();
    });
    fs::set_permissions(session.copy.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    session.apply_all();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&session.original.join("a")), 0o755);
    assert_eq!(
        mode(&session.original.parent().unwrap().join("store")),
        0o644
    );
}

#[test]
fn owner_group_lists_and_attributes_stay() {
    if !enclos_testkit::requires_root()
        || !enclos_testkit::requires("setfattr")
        || !enclos_testkit::requires("setfacl")
    {
        return;
    }
    let run = |program: &str, arguments: &[&str], at: &Path| {
        let status = Command::new(program)
            .args(arguments)
            .arg(at)
            .status()
            .unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    let session = Session::made(|original| {
        fs::write(original.join("a"), "1\n").unwrap();
        run(
            "setfattr",
            &["-n", "user.note", "-v", "mine"],
            &original.join("a"),
        );
        run("setfacl", &["-m", "u:12:rw"], &original.join("a"));
        run("chown", &["12:34"], &original.join("a"));
        fs::create_dir(original.join("shared")).unwrap();
        run("chown", &["56:78"], &original.join("shared"));
        fs::set_permissions(original.join("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
    });
    session.agent("a", "2\n");
    session.agent("shared/new/file", "2\n");
    let before = tree(&session.original).nodes[&b"a"[..]].clone();
    session.apply_all();
    let after = tree(&session.original).nodes[&b"a"[..]].clone();
    assert_eq!(
        (after.mode, after.attributes),
        (before.mode, before.attributes)
    );
    let owner = |at: &str| {
        fs::metadata(session.original.join(at))
            .map(|meta| (meta.uid(), meta.gid()))
            .unwrap()
    };
    assert_eq!(owner("a"), (12, 34));
    assert_eq!(
        owner("shared/new/file"),
        (56, 78),
        "a new file belongs to whom its folder belongs to"
    );
    let acl = Command::new("getfacl")
        .args(["-cp"])
        .arg(session.original.join("a"))
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&acl.stdout).contains("user:bin:rw-")
            || String::from_utf8_lossy(&acl.stdout).contains("user:12:rw-")
            || String::from_utf8_lossy(&acl.stdout).contains(":rw-"),
        "{acl:?}"
    );
    undo_all(&session);
    assert_eq!(owner("a"), (12, 34), "also after an undo");
}

#[test]
fn an_undo_leaves_what_was_edited_since_and_brings_the_rest_back() {
    let session = Session::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    session.agent("a", "agent\n");
    session.agent("b", "agent\n");
    session.agent("new", "agent\n");
    session.agent_removes("c");
    session.apply_all();
    session.person("b", "mine\n");
    session.person("c", "mine\n");
    let undone = undo_all(&session);
    let stopped: Vec<_> = undone
        .files
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Stopped(Stopped::ChangedMeanwhile)))
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(stopped, ["b", "c"], "{undone:?}");
    assert_eq!(
        (
            session.original_text("a").as_deref(),
            session.original_text("b").as_deref(),
            session.original_text("c").as_deref(),
            session.original_text("new")
        ),
        (Some("1\n"), Some("mine\n"), Some("mine\n"), None)
    );
    let forced = undo_of(&session, &[], Edited::Replace).unwrap();
    assert_eq!(session.original_text("b").as_deref(), Some("1\n"));
    let request = UndoRequest {
        which: Which::Record(forced.record.unwrap()),
        paths: vec![],
        edited: Edited::Leave,
    };
    undo(session.root(), &session.store(), &request, &NoFaults).unwrap();
    assert_eq!(
        session.original_text("b").as_deref(),
        Some("mine\n"),
        "what was replaced was kept"
    );
}

#[test]
fn some_paths_can_be_undone() {
    let session = Session::new(&[("a", "1\n"), ("d/b", "1\n"), ("d/c", "1\n")]);
    for name in ["a", "d/b", "d/c"] {
        session.agent(name, "agent\n");
    }
    session.apply_all();
    undo_of(&session, &["d"], Edited::Leave).unwrap();
    assert_eq!(
        (
            session.original_text("a").as_deref(),
            session.original_text("d/b").as_deref()
        ),
        (Some("agent\n"), Some("1\n"))
    );
    assert!(matches!(
        undo_of(&session, &["d"], Edited::Leave),
        Err(UndoError::Nothing)
    ));
    undo_all(&session);
    assert_eq!(
        session.original_text("a").as_deref(),
        Some("1\n"),
        "what was left"
    );
}

#[test]
fn hunks_that_the_review_left_for_later_can_be_chosen() {
    let session = Session::new(&[("a", "1\n2\n3\n"), ("b", "1\n2\n3\n")]);
    for name in ["a", "b"] {
        session.agent(name, "one\n2\nthree\n");
    }
    let Choice::Hunks(ids) = hunks(&session, "b", &[1]) else {
        unreachable!()
    };
    let mut options = ScanOptions::at(0);
    options.hunk_budget = 0;
    let review = scan(&session.sources(), &options).unwrap();
    let approval = choose(&review, "b", Choice::Hunks(ids));
    apply(
        &session.sources(),
        &review,
        &approval,
        &session.store(),
        &NoFaults,
    )
    .unwrap();
    assert_eq!(session.original_text("b").as_deref(), Some("1\n2\nthree\n"));
    let unknown = Choice::Hunks(BTreeSet::from([HunkId::parse("0000000000").unwrap()]));
    let applied = apply(
        &session.sources(),
        &review,
        &choose(&review, "a", unknown),
        &session.store(),
        &NoFaults,
    )
    .unwrap();
    assert!(matches!(
        outcome(&applied, "a"),
        Outcome::Stopped(Stopped::NoSuchHunk { .. })
    ));
}

#[test]
fn names_that_are_not_text_and_very_deep_paths_arrive() {
    use std::os::unix::ffi::OsStrExt;
    let session = Session::new(&[("a", "1\n")]);
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9\n\x1b[2J/\xff"));
    fs::create_dir_all(session.copy.join(odd).parent().unwrap()).unwrap();
    fs::write(session.copy.join(odd), "odd\n").unwrap();
    let deep = (0..40)
        .map(|n| format!("folder number {n}"))
        .collect::<Vec<_>>()
        .join("/");
    session.agent(&format!("{deep}/file"), "deep\n");
    session.apply_all();
    assert_eq!(tree(&session.original), tree(&session.copy));
    undo_all(&session);
    assert_eq!(tree(&session.original).names(), ["a"]);
}

#[test]
fn a_big_binary_file_arrives() {
    let session = Session::new(&[("a", "1\n")]);
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(session.copy.join("a"), &bytes).unwrap();
    session.apply_all();
    assert_eq!(fs::read(session.original.join("a")).unwrap(), bytes);
}

/// Contents at the start, of a person who edits other files while they are asked for.
struct Busy<'a> {
    session: &'a Session,
    edit: Box<dyn Fn() + Sync + 'a>,
}

impl Base for Busy<'_> {
    fn content(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, Absence> {
        (self.edit)();
        self.session.sources().base.content(entry, most)
    }
}

#[test]
fn an_edit_made_while_the_review_is_taken_is_never_replaced_as_if_it_were_the_start() {
    let names = ["b-edited", "c-saved", "d-deleted", "e-added", "f-moved"];
    let mut session = Session::new(&[
        ("a", "1\n2\n3\n"),
        ("b-edited", "1\n2\n3\n"),
        ("c-saved", "1\n2\n3\n"),
        ("d-deleted", "1\n"),
        ("f-moved", "1\n2\n3\n"),
    ]);
    // Recorded long enough after they were written that their identity says everything, as in any usual project.
    for entry in &mut session.baseline.entries {
        entry.hash = None;
    }
    session.person("a", "1\n2\nthree\n");
    session.agent("a", "one\n2\n3\n");
    for name in names {
        session.agent(name, "agent\n2\n3\n");
    }
    session.agent_removes("f-moved");
    session.agent("g", "1\n2\n3\n");
    let edit = || {
        session.person("b-edited", "1\n2\nperson\n");
        let saved = session.original.join("c-saved");
        fs::write(saved.with_extension("new"), "1\n2\nperson\n").unwrap();
        fs::rename(saved.with_extension("new"), saved).unwrap();
        let _ = fs::remove_file(session.original.join("d-deleted"));
        session.person("e-added", "person\n");
        session.person("f-moved", "1\n2\nperson\n");
    };
    // The base of `a` is asked for after the person's changes were found, and before the others are read.
    let busy = Busy {
        session: &session,
        edit: Box::new(edit),
    };
    let sources = TreeSources {
        base: &busy,
        ..session.sources()
    };
    let review = scan(&sources, &ScanOptions::at(0)).unwrap();
    let approval = Approval::with_risks(&review);
    apply(&sources, &review, &approval, &session.store(), &NoFaults).unwrap();
    let text = |name| session.original_text(name);
    assert_eq!(text("a").unwrap(), "one\n2\nthree\n");
    for merged in ["b-edited", "c-saved"] {
        assert_eq!(text(merged).unwrap(), "agent\n2\nperson\n", "{merged}");
    }
    assert_eq!(text("d-deleted"), None, "a conflict, left to the person");
    assert_eq!(text("e-added").unwrap(), "person\n");
    assert_eq!(text("f-moved").unwrap(), "1\n2\nperson\n");
    no_trace(&session);
}
