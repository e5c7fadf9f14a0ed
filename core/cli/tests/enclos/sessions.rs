//! Sessions that live on, are stopped, interrupted and resumed.

use std::time::Duration;
use std::time::Instant;

use enclos_testkit::World;

use crate::wait_until;
use crate::world;

/// Waits until `wanted` is in what `enclos sessions` says.
fn wait_for(world: &World, wanted: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let list = world
            .enclos(["sessions", "--json"])
            .run()
            .success()
            .stdout();
        if list.contains(wanted) {
            return list;
        }
        assert!(Instant::now() < deadline, "never saw {wanted} in {list}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_detached_session_goes_on_by_itself_and_is_kept() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let id = world
        .enclos(["run", "--detach", "--", "sh", "-c", "sleep 0.3; echo 2 > a"])
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(id.stdout(), "web-1\n");
    wait_for(&world, "\"ended\"");
    assert_eq!(project.read("a"), "1\n", "nothing is applied by itself");
    let stat = world
        .enclos(["diff", "web", "--stat"])
        .run()
        .success()
        .stdout();
    assert!(stat.contains("M a"), "{stat}");
}

#[test]
fn stop_ends_every_process_a_daemon_too() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "setsid sh -c 'while :; do sleep 0.05; echo x >> beat; done' & trap '' TERM HUP; echo up > up; sleep 60";
    world
        .enclos(["run", "--detach", "--", "sh", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    wait_for(&world, "\"working\"");
    let beat = world.home().resolve(".local/share/enclos/web/tree/beat");
    wait_until("the daemon's first beat", || beat.as_path().exists());
    let started = Instant::now();
    world.enclos(["stop", "web-1"]).run().success();
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "a process that ignores signals is killed after the grace"
    );
    let size = || {
        std::fs::metadata(world.home().resolve(".local/share/enclos/web/tree/beat"))
            .map(|m| m.len())
            .unwrap_or(0)
    };
    let then = size();
    assert!(then > 0, "the daemon was running");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), then, "the daemon is gone");
}

#[test]
fn a_killed_supervisor_takes_the_jail_along_and_resume_goes_on_in_the_same_copy() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "if [ -e mark ]; then echo resumed; else echo 1 > mark; sleep 60; fi";
    world
        .enclos(["run", "--detach", "--", "sh", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    wait_for(&world, "\"working\"");
    let mark = world.home().resolve(".local/share/enclos/web/tree/mark");
    wait_until("the command's mark", || mark.as_path().exists());
    let folder = world
        .home()
        .resolve(".local/state/enclos/sessions/web-1")
        .to_string();
    world
        .command("pkill")
        .args(["-KILL", "-f", &format!("supervise {folder}")])
        .run()
        .success();
    wait_for(&world, "\"interrupted\"");
    let resumed = world.enclos(["resume", "web-1"]).run().success();
    assert_eq!(resumed.stdout(), "resumed\n", "{}", resumed.stderr());
}

#[test]
fn a_copy_that_was_never_finished_is_swept_by_the_next_start() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    world
        .enclos(["run", "--detach", "--", "true"])
        .current_dir(&project)
        .run()
        .success();
    wait_for(&world, "\"ended\"");
    // The supervisor writes the record and then lets go of the session.
    std::thread::sleep(Duration::from_millis(500));
    let record = world
        .home()
        .resolve(".local/state/enclos/sessions/web-1/session.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let begun = serde_json::from_str::<serde_json::Value>(&text).map(|mut record| {
        record["state"] = serde_json::json!({"is": "preparing"});
        record.to_string()
    });
    std::fs::write(&record, begun.unwrap()).unwrap();
    world
        .enclos(["run", "--discard", "--id", "other", "--", "true"])
        .current_dir(&project)
        .run()
        .success();
    assert!(
        !world
            .home()
            .resolve(".local/share/enclos/web")
            .as_path()
            .exists(),
        "the half-made copy is gone"
    );
    assert!(
        !world
            .home()
            .resolve(".local/state/enclos/sessions/web-1/launch.json")
            .as_path()
            .exists(),
        "and its record"
    );
}

#[test]
fn a_start_killed_at_any_moment_leaves_nothing_that_counts() {
    let world = world();
    let mut project = world.project("web");
    for number in 0..600 {
        project = project.file(format!("d{}/f{number}", number % 20), format!("{number}\n"));
    }
    let project = project.build();
    for after in [0, 2, 5, 9, 14, 20, 30] {
        let script = format!(
            "{} run -- sleep 30 & sleep 0.{after:03}; kill -KILL $!; wait",
            env!("CARGO_BIN_EXE_enclos")
        );
        world
            .command("bash")
            .args(["-c", &script])
            .current_dir(&project)
            .run()
            .success();
    }
    std::thread::sleep(Duration::from_millis(200));
    for id in [
        "web-1", "web-2", "web-3", "web-4", "web-5", "web-6", "web-7",
    ] {
        // Which of them got far enough to run depends on the moment.
        let _ = world.enclos(["stop", id]).run();
    }
    world
        .enclos(["run", "--discard", "--", "true"])
        .current_dir(&project)
        .run()
        .success();
    let list = world
        .enclos(["sessions", "--json"])
        .run()
        .success()
        .stdout();
    assert!(!list.contains("preparing"), "{list}");
}

#[test]
fn names_are_chosen_shortened_and_refused() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    world
        .enclos(["run", "--id", "fix-login", "--", "sh", "-c", "echo 2 > a"])
        .current_dir(&project)
        .run()
        .success();
    world.enclos(["diff", "fix"]).run().success();
    let taken = world
        .enclos(["run", "--id", "fix-login", "--", "true"])
        .current_dir(&project)
        .run()
        .code(125);
    assert!(
        taken
            .stderr()
            .contains("there is already a session called fix-login"),
        "{}",
        taken.stderr()
    );
    let unknown = world.enclos(["diff", "nope"]).run().code(125);
    assert!(
        unknown.stderr().contains("there are: fix-login"),
        "{}",
        unknown.stderr()
    );
    world
        .enclos(["run", "--id", "../x", "--", "true"])
        .current_dir(&project)
        .run()
        .code(125);
}

#[test]
fn a_discarded_copy_waits_in_the_trash_until_it_is_cleaned() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    world
        .enclos(["run", "--", "sh", "-c", "echo 2 > a"])
        .current_dir(&project)
        .run()
        .success();
    world.enclos(["discard", "web-1"]).run().success();
    assert!(
        world
            .enclos(["sessions"])
            .run()
            .success()
            .stdout()
            .starts_with("No sessions")
    );
    let trash = world.home().resolve(".local/share/enclos/.trash");
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 1);
    let cleaned = world.enclos(["clean"]).run().success();
    assert_eq!(cleaned.stdout(), "Deleted 1 copy.\n");
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 0);
    assert_eq!(project.read("a"), "1\n");
}
