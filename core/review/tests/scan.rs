//! What a review says about what an agent and a person did.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use enclos_clone::Absence;
use enclos_review::ChangeKind;
use enclos_review::Conflict;
use enclos_review::Content;
use enclos_review::FileKind;
use enclos_review::LineKind;
use enclos_review::Meeting;
use enclos_review::NoteKind;
use enclos_review::Review;
use enclos_review::ScanOptions;
use enclos_review::Standing;
use enclos_review::Unreviewable;
use enclos_review::scan;
use support::Session;
use support::change;
use support::link;
use support::path;

/// One line per file: what happened and where.
fn summary(review: &Review) -> Vec<String> {
    let line = |file: &enclos_review::FileChange| {
        let held = if file.held.is_some() { " held" } else { "" };
        let conflict = if file.conflict().is_some() {
            " conflict"
        } else {
            ""
        };
        let kind = match &file.kind {
            ChangeKind::Renamed { from } => format!("Renamed({from})"),
            other => format!("{other:?}"),
        };
        format!("{} {kind}{held}{conflict}", file.path)
    };
    review.files.iter().map(line).collect()
}

fn added_lines(review: &Review, at: &str) -> Vec<String> {
    let lines = change(review, at)
        .content
        .hunks()
        .iter()
        .flat_map(|hunk| &hunk.lines);
    lines
        .filter(|line| line.kind == LineKind::Added)
        .map(|line| String::from_utf8_lossy(&line.bytes).into_owned())
        .collect()
}

#[test]
fn nothing_done_is_an_empty_review() {
    let session = Session::new(&[("a", "1\n"), ("b/c", "2\n")]);
    let review = session.scan();
    assert!(review.is_empty() && review.notes.is_empty(), "{review:#?}");
}

#[test]
fn every_kind_of_change_is_told() {
    let session = Session::made(|original| {
        for (name, text) in [
            ("edited", "a\nb\n"),
            ("deleted", "unique\n"),
            ("moved", "m1\nm2\n"),
            ("mode", "x\n"),
            ("kind", "k\n"),
            ("folder/in", "f\n"),
            ("touched", "t\n"),
        ] {
            support::write(&original.join(name), text);
        }
        fs::create_dir(original.join("empty")).unwrap();
        link("edited", &original.join("link"));
    });
    session.agent("edited", "a\nB\n");
    session.agent_removes("deleted");
    fs::create_dir(session.copy.join("to")).unwrap();
    fs::rename(session.copy.join("moved"), session.copy.join("to/moved")).unwrap();
    fs::set_permissions(session.copy.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    session.agent_removes("kind");
    link("folder", &session.copy.join("kind"));
    session.agent_removes("link");
    link("moved", &session.copy.join("link"));
    session.agent("touched", "t\n");
    session.agent("new/deep/file", "n\n");
    fs::create_dir_all(session.copy.join("new empty/one")).unwrap();
    session.agent_removes("empty");
    session.agent_removes("folder");
    let review = session.scan();
    assert_eq!(
        summary(&review),
        [
            "deleted Deleted",
            "edited Modified",
            "empty Deleted",
            "folder/in Deleted",
            "kind TypeChanged",
            "link LinkChanged",
            "mode ModeOnly",
            "new empty/one Added",
            "new/deep/file Added",
            "to/moved Renamed(moved)",
        ],
        "and nothing about the file that was only touched"
    );
    assert_eq!(
        change(&review, "to/moved").content,
        Content::None,
        "it was moved and not edited"
    );
    assert_eq!(added_lines(&review, "edited"), ["B"]);
}

#[test]
fn a_file_that_is_moved_and_edited_is_one_change() {
    let lines: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let session = Session::new(&[("old.rs", &lines)]);
    fs::rename(session.copy.join("old.rs"), session.copy.join("new.rs")).unwrap();
    session.agent("new.rs", &lines.replace("line 7", "seven"));
    assert_eq!(summary(&session.scan()), ["new.rs Renamed(old.rs)"]);
    assert_eq!(added_lines(&session.scan(), "new.rs"), ["seven"]);
}

#[test]
fn a_new_file_that_got_an_old_ones_inode_is_not_called_moved() {
    let session = Session::new(&[("old", "one\ntwo\nthree\n")]);
    // The same inode with other contents is what a reused number looks like.
    fs::rename(session.copy.join("old"), session.copy.join("new")).unwrap();
    session.agent("new", "something\nelse\nentirely\n");
    assert_eq!(summary(&session.scan()), ["new Added", "old Deleted"]);
}

#[test]
fn the_persons_own_edits_are_not_shown_as_the_agents() {
    let session = Session::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    session.person("a", "mine\n");
    session.person("new", "mine\n");
    session.agent("b", "agent\n");
    // Touched but not changed: it is looked at, and still the person's alone.
    session.agent("c", "3\n");
    session.person("c", "mine\n");
    assert_eq!(summary(&session.scan()), ["b Modified"]);
}

#[test]
fn edits_of_both_are_merged_where_they_do_not_meet() {
    let session = Session::new(&[("a", "1\n2\n3\n4\n5\n")]);
    session.person("a", "one\n2\n3\n4\n5\n");
    session.agent("a", "1\n2\n3\n4\nfive\n");
    let review = session.scan();
    assert_eq!(change(&review, "a").standing, Standing::Merges);
    assert_eq!(
        added_lines(&review, "a"),
        ["five"],
        "only what the agent did is shown"
    );
}

#[test]
fn edits_of_both_in_one_place_are_a_conflict() {
    let session = Session::new(&[("a", "1\n2\n3\n")]);
    session.person("a", "1\nmine\n3\n");
    session.agent("a", "1\nagent\n3\n");
    let review = session.scan();
    let Some(Conflict::BothChanged(Meeting::Regions(regions))) = change(&review, "a").conflict()
    else {
        panic!("{review:#?}")
    };
    assert_eq!((regions[0].base.start, regions[0].base.count), (1, 1));
}

#[test]
fn without_contents_of_the_start_a_conflict_says_so() {
    let session = Session::new(&[("a", "1\n2\n3\n")]).without_base();
    session.person("a", "one\n2\n3\n");
    session.agent("a", "1\n2\nthree\n");
    let review = session.scan();
    assert_eq!(
        change(&review, "a").conflict(),
        Some(&Conflict::BothChanged(Meeting::NoBase(Absence::NotKept)))
    );
    assert_eq!(
        added_lines(&review, "a"),
        ["1", "three"],
        "shown from what the person has"
    );
}

#[test]
fn every_way_to_disagree_has_its_name() {
    let session = Session::new(&[
        ("a", "1\n"),
        ("b", "2\n"),
        ("c", "3\n"),
        ("d", "4\n"),
        ("same", "5\n"),
    ]);
    session.person_removes("a");
    session.agent("a", "agent\n");
    session.person("b", "mine\n");
    session.agent_removes("b");
    session.person("new", "mine\n");
    session.agent("new", "agent\n");
    session.person_removes("c");
    session.person("c/in", "mine\n");
    session.agent("c", "agent\n");
    session.person_removes("d");
    session.agent_removes("d");
    session.person("same", "both\n");
    session.agent("same", "both\n");
    let review = session.scan();
    let conflict = |at: &str| change(&review, at).conflict();
    assert_eq!(conflict("a"), Some(&Conflict::DeletedByPerson));
    assert_eq!(conflict("b"), Some(&Conflict::DeletedByAgent));
    assert_eq!(conflict("new"), Some(&Conflict::BothAdded));
    assert_eq!(conflict("c"), Some(&Conflict::KindsDiffer));
    assert_eq!(review.file(&path("d")), None, "both deleted it");
    assert_eq!(review.file(&path("same")), None, "both wrote the same");
}

#[test]
fn a_mode_is_merged_by_itself() {
    let session = Session::new(&[("a", "1\n2\n3\n"), ("b", "1\n")]);
    fs::set_permissions(
        session.original.join("a"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    session.agent("a", "1\n2\nthree\n");
    session.person("b", "mine\n");
    fs::set_permissions(session.copy.join("b"), fs::Permissions::from_mode(0o6755)).unwrap();
    let review = session.scan();
    let after = |at: &str| change(&review, at).after.clone().unwrap().mode;
    assert_eq!(
        (after("a"), &change(&review, "a").standing),
        (0o600, &Standing::Merges),
        "the person's mode stays"
    );
    assert_eq!(
        (after("b"), &change(&review, "b").standing),
        (0o755, &Standing::Merges),
        "set-id bits never come over"
    );
}

#[test]
fn only_the_originals_ignore_rules_count() {
    let session = Session::new(&[
        (".gitignore", "*.log\n/out/\n"),
        ("src/a.rs", "1\n"),
        ("out/old", "1\n"),
    ]);
    session.agent(".gitignore", "*\n");
    session.agent("src/.gitignore", "*\n");
    session.agent("src/a.rs", "hidden?\n");
    session.agent("x.log", "noise\n");
    session.agent("out/old", "2\n");
    session.agent("out/deep/new", "2\n");
    let review = session.scan();
    assert_eq!(
        summary(&review),
        [
            ".gitignore Modified",
            "src/.gitignore Added",
            "src/a.rs Modified"
        ]
    );
    let folders: Vec<_> = review
        .folders
        .iter()
        .map(|folder| (folder.path.to_string(), folder.files))
        .collect();
    assert_eq!(
        folders,
        [("out".into(), 3), ("x.log".into(), 1)],
        "a file, a folder and its file are three entries"
    );
    let mut options = ScanOptions::at(0);
    options.include = vec![path("out")];
    let asked = scan(&session.sources(), &options).unwrap();
    assert!(
        asked.file(&path("out/deep/new")).is_some(),
        "what is asked for is shown file by file"
    );
}

#[test]
fn what_a_build_makes_is_one_line_with_the_command_that_makes_it_again() {
    let session = Session::new(&[
        ("package-lock.json", "{}\n"),
        ("Cargo.toml", "[package]\n"),
        ("target.rs", "1\n"),
    ]);
    session.agent("node_modules/left-pad/index.js", "1\n");
    session.agent("node_modules/.bin/x", "1\n");
    session.agent("target/debug/x", "1\n");
    session.agent("docs/target/page", "1\n");
    let review = session.scan();
    let why = |rebuild| Unreviewable::BuildOutput {
        rebuild: Some(rebuild),
    };
    let folders: Vec<_> = review
        .folders
        .iter()
        .map(|folder| (folder.path.to_string(), folder.why.clone()))
        .collect();
    assert_eq!(
        folders,
        [
            ("node_modules".into(), why("npm ci")),
            ("target".into(), why("cargo build"))
        ]
    );
    assert_eq!(
        summary(&review),
        ["docs/target/page Added"],
        "a folder of that name without a manifest beside it"
    );
}

#[test]
fn git_is_one_line_in_any_spelling_and_at_any_depth() {
    let session = Session::new(&[(".git/config", "[core]\n"), ("a", "1\n")]);
    session.agent(".git/config", "[core]\nfsmonitor = evil\n");
    session.agent(".git/hooks/post-checkout", "evil\n");
    session.agent("sub/.GIT/config", "[core]\nfsmonitor = evil\n");
    session.agent("sub/.g\u{200c}it/config", "[core]\nfsmonitor = evil\n");
    session.agent("gitlink/.git", "gitdir: ../evil\n");
    link("/tmp", &session.copy.join("gitlink/.Git"));
    let review = session.scan();
    assert_eq!(
        summary(&review),
        Vec::<String>::new(),
        "no file of them can be approved"
    );
    let git = review.git.unwrap();
    let places: Vec<_> = git
        .places
        .iter()
        .map(|place| place.as_bytes().to_vec())
        .collect();
    assert_eq!(
        git.files, 9,
        "config, hooks and the hook, two folders of two, a file and a link"
    );
    assert_eq!(
        places,
        [
            &b".git"[..],
            b"gitlink/.Git",
            b"gitlink/.git",
            b"sub/.GIT",
            "sub/.g\u{200c}it".as_bytes()
        ]
    );
}

#[test]
fn a_folder_in_the_shape_of_a_repository_is_held() {
    // First the attack: git takes such a folder for a repository and runs what its configuration names.
    let session = Session::new(&[("docs/index.md", "1\n")]);
    let marker = session.original.parent().unwrap().join("ran");
    let evil = format!(
        "[core]\nbare = true\n[alias]\nx = !touch {}\n",
        marker.display()
    );
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", &evil),
        ("refs/.k", ""),
        ("objects/.k", ""),
    ] {
        session.agent(&format!("docs/x/{name}"), text);
    }
    let ran = Command::new("git")
        .arg("x")
        .current_dir(session.copy.join("docs/x"))
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    assert!(
        marker.exists(),
        "the attack works where nobody holds it back: {ran:?}"
    );
    for name in ["HEAD", "commondir", "config"] {
        session.agent(&format!("docs/y/{name}"), "../x\n");
    }
    session.agent("docs/plain", "1\n");
    let lines = summary(&session.scan());
    let (held, free): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.ends_with(" held"));
    assert_eq!(free, ["docs/plain Added"], "{held:?}");
}

#[test]
fn what_starts_by_itself_is_held_and_its_deletion_is_not() {
    let session = Session::new(&[
        (".envrc", "old\n"),
        (".git/config", "[core]\n\thooksPath = tools/hooks\n"),
        ("m/Cargo.toml", "[lib]\nproc-macro = true\n"),
        ("m/src/lib.rs", "1\n"),
    ]);
    session.agent_removes(".envrc");
    session.agent("deep/.ENVRC", "evil\n");
    session.agent("tools/hooks/pre-commit", "evil\n");
    session.agent("m/src/lib.rs", "evil\n");
    session.agent("m/README.md", "fine\n");
    session.agent("app/build.rs", "evil\n");
    link("elsewhere", &session.copy.join(".vscode"));
    assert_eq!(
        summary(&session.scan()),
        [
            ".envrc Deleted",
            ".vscode Added held",
            "app/build.rs Added held",
            "deep/.ENVRC Added held",
            "m/README.md Added",
            "m/src/lib.rs Modified held",
            "tools/hooks/pre-commit Added held",
        ]
    );
}

#[test]
fn what_cannot_be_shown_is_named() {
    let session = Session::new(&[("a", "1\n")]);
    let made = Command::new("mkfifo")
        .arg(session.copy.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success(), "mkfifo");
    session.agent(".enclos-staging-x/y", "1\n");
    let review = session.scan();
    let notes: Vec<_> = review
        .notes
        .iter()
        .map(|note| (note.path.to_string(), note.kind))
        .collect();
    assert_eq!(
        notes,
        [
            (".enclos-staging-x".into(), NoteKind::Reserved),
            ("pipe".into(), NoteKind::Special)
        ]
    );
    assert!(review.files.is_empty());
}

#[test]
fn a_link_is_a_link_and_nothing_behind_it_is_read() {
    let session = Session::new(&[("a/b", "1\n")]);
    let secret = session.original.parent().unwrap().join("secret");
    fs::write(&secret, "SECRET\n").unwrap();
    session.agent_removes("a/b");
    link(secret.to_str().unwrap(), &session.copy.join("a/b"));
    link(
        secret.parent().unwrap().to_str().unwrap(),
        &session.copy.join("way"),
    );
    let review = session.scan();
    assert_eq!(
        fs::read_to_string(session.copy.join("a/b")).unwrap(),
        "SECRET\n",
        "an ordinary reader would be led there"
    );
    assert!(!format!("{review:?}").contains("SECRET"));
    let after = change(&review, "a/b").after.clone().unwrap();
    assert_eq!(after.kind, FileKind::Link { target: secret });
}

#[test]
fn binary_and_large_files_are_told_by_their_hash() {
    let session = Session::new(&[("image", "x\n"), ("big", "x\n")]);
    fs::write(session.copy.join("image"), b"\x89PNG\0\0").unwrap();
    fs::write(session.copy.join("big"), "line\n".repeat(2 << 20)).unwrap();
    let review = session.scan();
    assert_eq!(change(&review, "image").content, Content::Binary);
    assert_eq!(change(&review, "big").content, Content::TooLarge);
    let FileKind::File { size, .. } = change(&review, "big").after.clone().unwrap().kind else {
        panic!("a file")
    };
    assert_eq!(size, 10 << 20);
}

#[test]
fn hunks_beyond_the_budget_come_later_and_are_the_same() {
    let session = Session::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    for name in ["a", "b", "c"] {
        session.agent(name, "2\n");
    }
    let mut options = ScanOptions::at(0);
    options.hunk_budget = 1;
    let short = scan(&session.sources(), &options).unwrap();
    let full = session.scan();
    assert!(
        short
            .files
            .iter()
            .any(|file| file.content == Content::Later),
        "{short:#?}"
    );
    for file in &short.files {
        let content = enclos_review::scan::content(&session.sources(), &options, file).unwrap();
        assert_eq!(content, change(&full, &file.path.to_string()).content);
    }
}

#[test]
fn names_of_one_file_are_told() {
    let session = Session::made(|original| {
        fs::write(original.join("a"), "1\n").unwrap();
        fs::hard_link(original.join("a"), original.join("b")).unwrap();
        fs::hard_link(
            original.join("a"),
            original.parent().unwrap().join("outside"),
        )
        .unwrap();
        fs::write(original.join("c"), "1\n").unwrap();
        fs::hard_link(original.join("c"), original.join("d")).unwrap();
    });
    fs::write(session.copy.join("a"), "2\n").unwrap();
    session.agent_removes("c");
    session.agent("c", "2\n");
    let review = session.scan();
    let linked = |at: &str| {
        change(&review, at)
            .hard_linked
            .clone()
            .map(|linked| (linked.group, linked.left_behind))
    };
    assert_eq!(
        linked("a"),
        Some((vec![path("b")], 1)),
        "both names changed, the one outside keeps the old"
    );
    assert_eq!(linked("b"), Some((vec![path("a")], 1)));
    assert_eq!(linked("c"), Some((vec![], 1)), "the agent cut this tie");
}

#[test]
fn a_file_of_holes_that_would_take_years_to_read_is_named() {
    let session = Session::new(&[("a", "1\n")]);
    let file = fs::File::create(session.copy.join("huge")).unwrap();
    file.set_len(1 << 42).unwrap();
    let review = session.scan();
    let notes: Vec<_> = review
        .notes
        .iter()
        .map(|note| (note.path.to_string(), note.kind))
        .collect();
    assert_eq!(notes, [("huge".into(), NoteKind::Sparse)]);
}
