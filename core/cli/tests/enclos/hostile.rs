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
