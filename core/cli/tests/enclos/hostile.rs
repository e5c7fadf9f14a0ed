//! A session that does all it can to make the command lose what is the person's, or never come back.

use std::time::Duration;
use std::time::Instant;

use enclos_testkit::Agent;

use crate::world;

#[test]
fn what_an_apply_replaced_outlives_a_session_that_then_ends_without_a_difference() {
    let world = world();
    let project = world
        .project("web")
        .file("letter", "the only copy\n")
        .build();
    let agent = Agent::new()
        .writes("letter", "overwritten\n")
        .runs("touch /tmp/written; until [ -e \"$HOME/go\" ]; do sleep 0.05; done");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            world
                .enclos(["run", "--"])
                .args(agent.command())
                .current_dir(&project)
                .run()
                .success()
        });
        let patience = Instant::now() + Duration::from_secs(60);
        let applied = |world: &enclos_testkit::World| {
            let applied = world.enclos(["apply", "web-1"]).run();
            applied.stdout().starts_with("Applied 1 file")
        };
        while !applied(&world) {
            assert!(Instant::now() < patience, "the apply never came to be");
            std::thread::sleep(Duration::from_millis(50));
        }
        // A shell in the running session tells the command to end.
        world
            .enclos(["shell", "web-1"])
            .stdin("touch \"$HOME/go\"\n")
            .run()
            .success();
        run.join().unwrap();
    });
    assert_eq!(project.read("letter"), "overwritten\n");
    world.enclos(["undo", "web-1"]).run().success();
    assert_eq!(project.read("letter"), "the only copy\n");
}

#[test]
fn a_resumed_session_never_shares_its_caches_with_one_that_runs() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let cache = "$HOME/.npm/_cacache";
    let first = Agent::new()
        .appends("a", "2\n")
        .runs(format!("ls {cache}; : > {cache}/mine"));
    let run = |id: &str, agent: &Agent| {
        let run = world.enclos(["run", "--id", id, "--"]);
        run.args(agent.command()).current_dir(&project).run()
    };
    run("first", &first).success();
    let resumed = world.enclos(["resume", "first"]).run().success();
    assert_eq!(resumed.stdout(), "mine\n", "alone, it has what it had");

    let second = Agent::new().runs(format!("ls {cache}; : > {cache}/theirs; sleep 100"));
    world
        .enclos(["run", "--id", "second", "--detach", "--"])
        .args(second.command())
        .current_dir(&project)
        .run()
        .success();
    let patience = Instant::now() + Duration::from_secs(60);
    let look = |id: &str| {
        let look = world.enclos(["shell", id]).stdin(format!("ls {cache}\n"));
        look.run().success().stdout().to_owned()
    };
    while !look("second").contains("theirs") {
        assert!(Instant::now() < patience, "the second session never wrote");
    }
    let resumed = world.enclos(["resume", "first"]).run().success();
    assert_eq!(resumed.stdout(), "", "another's are not seen");
    let resumed = world.enclos(["resume", "first"]).run().success();
    assert_eq!(resumed.stdout(), "mine\n", "these it keeps");
    world.enclos(["stop", "second"]).run().success();
}

#[test]
fn folders_without_end_and_without_rights_are_reviewed_and_deleted() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let agent = Agent::new().appends("a", "2\n").runs(
        "mkdir closed && : > closed/file && chmod 0 closed
        perl -e 'for (1..5000) { mkdir \"d\"; chdir \"d\" or die }'",
    );
    let run = world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    assert!(run.stderr().contains(" M a"), "{}", run.stderr());
    world.enclos(["discard", "web-1"]).run().success();
    let clean = world.enclos(["clean"]).run().success();
    assert_eq!(clean.stdout(), "Deleted 1 copy.\n");
}
