//! An attacker who swaps folders and files for links while an apply runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail where they stand"
)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use enclos_review::Approval;
use enclos_review::Edited;
use enclos_review::NoFaults;
use enclos_review::Outcome;
use enclos_review::Stopped;
use enclos_review::UndoRequest;
use enclos_review::Which;
use enclos_review::apply;
use enclos_review::undo;
use enclos_testkit::tree;
use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use rustix::fs::renameat_with;
use support::Session;
use support::link;
use support::quick_folder;

const FILES: usize = 12;

/// How many applies are run against the attacker.
const ROUNDS: usize = 500;

/// Two names that trade places all the time, but for moments of peace.
struct Swapping<'a> {
    names: [&'a Path; 2],
    turn: Mutex<()>,
    is_done: AtomicBool,
}

impl<'a> Swapping<'a> {
    /// Runs `work` while the names trade places.
    fn during<R>(one: &'a Path, other: &'a Path, work: impl FnOnce(&Self) -> R) -> R {
        let swapping = Self {
            names: [one, other],
            turn: Mutex::new(()),
            is_done: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut wait = 1_u64;
                while !swapping.is_done.load(Ordering::Relaxed) {
                    {
                        let _turn = swapping.turn.lock().unwrap();
                        swapping.swap();
                    }
                    // Waits of very different lengths meet every step of the other side.
                    wait = wait * 5 % 499;
                    std::thread::sleep(Duration::from_micros(wait));
                }
            });
            let result = work(&swapping);
            swapping.is_done.store(true, Ordering::Relaxed);
            result
        })
    }

    fn swap(&self) {
        let _ = renameat_with(
            CWD,
            self.names[0],
            CWD,
            self.names[1],
            RenameFlags::EXCHANGE,
        );
    }

    /// Does `work` with the link at the second name.
    fn in_peace<R>(&self, work: impl FnOnce() -> R) -> R {
        let _turn = self.turn.lock().unwrap();
        if fs::symlink_metadata(self.names[0]).is_ok_and(|meta| meta.is_symlink()) {
            self.swap();
        }
        work()
    }
}

fn session() -> (Session, std::path::PathBuf) {
    let session = Session::made_in(quick_folder(), None, |original| {
        for n in 0..FILES {
            support::write(
                &original.join(format!("dir/sub/{n}")),
                &format!("mine {n}\n"),
            );
        }
    });
    for n in 0..FILES / 2 {
        session.agent(&format!("dir/sub/{n}"), &format!("agent {n}\n"));
        session.agent(&format!("dir/sub/new {n}"), "agent\n");
    }
    for n in FILES / 2..FILES {
        session.agent_removes(&format!("dir/sub/{n}"));
    }
    let victim = session.original.parent().unwrap().join("victim");
    fs::create_dir_all(victim.join("sub")).unwrap();
    for n in 0..FILES {
        fs::write(victim.join(format!("sub/{n}")), format!("mine {n}\n")).unwrap();
    }
    (session, victim)
}

#[test]
fn nothing_behind_a_swapped_folder_is_touched() {
    let (session, victim) = session();
    let (dir, spare) = (session.original.join("dir"), session.original.join("spare"));
    link(victim.to_str().unwrap(), &spare);
    let (before, mine) = (tree(&victim), tree(&dir));

    // First without the defence: a look, and then a write by path.
    let naive = Swapping::during(&dir, &spare, |swapping| {
        let is_led_astray = (0..200_000).any(|_| {
            let is_real = fs::symlink_metadata(&dir).is_ok_and(|meta| meta.is_dir());
            is_real
                && fs::write(dir.join("sub/naive"), "naive\n").is_ok()
                && victim.join("sub/naive").exists()
        });
        swapping.in_peace(|| {
            let _ = fs::remove_file(dir.join("sub/naive"));
            let _ = fs::remove_file(victim.join("sub/naive"));
        });
        is_led_astray
    });
    assert!(
        naive,
        "a look before writing by path is led astray sooner or later"
    );
    put_right(&dir, &spare);
    assert_eq!(tree(&victim), before);

    let review = session.scan();
    let approval = Approval::with_risks(&review);
    let request = UndoRequest {
        which: Which::Last,
        paths: vec![],
        edited: Edited::Leave,
    };
    let (mut written, mut stopped) = (0, 0);
    Swapping::during(&dir, &spare, |swapping| {
        for _ in 0..ROUNDS {
            let applied = apply(
                &session.sources(),
                &review,
                &approval,
                &session.store(),
                &NoFaults,
            )
            .unwrap();
            for (_, outcome) in &applied.files {
                match outcome {
                    Outcome::Applied { .. } => written += 1,
                    _ => stopped += 1,
                }
            }
            swapping.in_peace(|| {
                if applied.record.is_some() {
                    undo(session.root(), &session.store(), &request, &NoFaults).unwrap();
                }
                assert_eq!(
                    tree(&dir),
                    mine,
                    "what was written was undone, and nothing else was done"
                );
                assert_eq!(tree(&victim), before, "byte for byte, mode for mode");
            });
        }
    });
    assert!(
        written > 100 && stopped > 100,
        "both happened: {written} written, {stopped} stopped"
    );
}

#[test]
fn nothing_behind_a_swapped_file_is_touched() {
    let session = Session::made_in(quick_folder(), None, |original| {
        support::write(&original.join("a"), "mine\n")
    });
    session.agent("a", "agent\n");
    let victim = session.original.parent().unwrap().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    let (file, spare) = (session.original.join("a"), session.original.join("spare"));
    link(victim.to_str().unwrap(), &spare);
    let before = tree(victim.parent().unwrap()).nodes[&b"victim"[..]].clone();

    // First without the defence.
    let naive = Swapping::during(&file, &spare, |_| {
        (0..200_000).any(|_| {
            let is_real = fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file());
            is_real
                && fs::write(&file, "naive\n").is_ok()
                && fs::read_to_string(&victim).unwrap() == "naive\n"
        })
    });
    assert!(
        naive,
        "a look before writing in place is led astray sooner or later"
    );
    fs::write(&victim, "mine\n").unwrap();
    put_right(&file, &spare);
    fs::write(&file, "mine\n").unwrap();

    let review = session.scan();
    let approval = Approval::with_risks(&review);
    let request = UndoRequest {
        which: Which::Last,
        paths: vec![],
        edited: Edited::Leave,
    };
    let (mut written, mut stopped, mut twice) = (0, 0, 0);
    Swapping::during(&file, &spare, |swapping| {
        for _ in 0..ROUNDS {
            let applied = apply(
                &session.sources(),
                &review,
                &approval,
                &session.store(),
                &NoFaults,
            )
            .unwrap();
            swapping.in_peace(|| {
                match &applied.files[0].1 {
                    Outcome::Applied { .. } => {
                        written += 1;
                        undo(session.root(), &session.store(), &request, &NoFaults).unwrap();
                    }
                    Outcome::Stopped(Stopped::ChangedTwice { kept }) => {
                        twice += 1;
                        set_up_again([&file, &spare, kept.as_path()], &victim);
                    }
                    _ => stopped += 1,
                }
                assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
                assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
                assert_eq!(fs::read_link(&spare).unwrap(), victim);
            });
        }
    });
    assert_eq!(tree(victim.parent().unwrap()).nodes[&b"victim"[..]], before);
    println!("{written} written, {stopped} stopped, {twice} times swapped while it was taken back");
    assert!(
        written > 20 && stopped > 20,
        "both happened: {written} written, {stopped} stopped"
    );
}

/// Someone swapped the names just while a move was taken back. Nothing may be gone: the person's file and the link are
/// among the three.
fn set_up_again(names: [&Path; 3], victim: &Path) {
    let is_link = |name: &&Path| fs::read_link(name).is_ok_and(|target| target == victim);
    let is_mine = |name: &&Path| {
        !is_link(name) && fs::read_to_string(name).is_ok_and(|text| text == "mine\n")
    };
    assert!(
        names.iter().any(is_link) && names.iter().any(is_mine),
        "both are there"
    );
    for name in names {
        let _ = fs::remove_file(name);
    }
    fs::write(names[0], "mine\n").unwrap();
    link(victim.to_str().unwrap(), names[1]);
}

/// Brings the link back to the second name.
fn put_right(real: &Path, spare: &Path) {
    if fs::symlink_metadata(real).unwrap().is_symlink() {
        renameat_with(CWD, real, CWD, spare, RenameFlags::EXCHANGE).unwrap();
    }
}
