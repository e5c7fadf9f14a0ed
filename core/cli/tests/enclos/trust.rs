//! A project's own configuration: what narrows counts at once, what widens waits.

use crate::world;

#[test]
fn what_a_project_asks_for_is_not_given_until_it_is_agreed_to() {
    let world = world();
    world.home_file("data/x", "lent\n");
    let project = world
        .project("web")
        .file(
            ".enclos.toml",
            "[files]\nread = [\"~/data\"]\nhide = [\"*.key\"]\n",
        )
        .file("a.key", "K")
        .build();
    let script = ["run", "--discard", "--", "sh", "-c", "cat ~/data/x; ls"];
    let before = world.enclos(script).current_dir(&project).run();
    assert!(!before.stdout().contains("lent"), "{}", before.stdout());
    assert!(
        !before.stdout().contains("a.key"),
        "hiding counts at once: {}",
        before.stdout()
    );
    let asked = world
        .enclos(["trust"])
        .current_dir(&project)
        .run()
        .code(125);
    assert!(asked.stdout().contains("read ~/data"), "{}", asked.stdout());
    world
        .enclos(["trust", "--yes"])
        .current_dir(&project)
        .run()
        .success();
    let after = world.enclos(script).current_dir(&project).run();
    assert!(
        after.stdout().contains("lent"),
        "{} {}",
        after.stdout(),
        after.stderr()
    );
}

#[test]
fn a_changed_file_stops_a_run_without_a_person_and_keeps_what_it_narrowed() {
    let world = world();
    let project = world
        .project("web")
        .file(
            ".enclos.toml",
            "[files]\nhide = [\"*.key\"]\n[env]\npass = [\"CI\"]\n",
        )
        .file("a.key", "K")
        .build();
    world
        .enclos(["trust", "--yes"])
        .current_dir(&project)
        .run()
        .success();
    world
        .enclos(["run", "--discard", "--", "true"])
        .current_dir(&project)
        .run()
        .success();
    project.write(".enclos.toml", "[env]\npass = [\"CI\", \"AWS_PROFILE\"]\n");
    let stopped = world
        .enclos(["run", "--", "true"])
        .current_dir(&project)
        .run()
        .code(125);
    assert!(
        stopped.stderr().contains("changed since you agreed to it"),
        "{}",
        stopped.stderr()
    );
    assert!(
        stopped.stderr().contains("enclos trust"),
        "{}",
        stopped.stderr()
    );
}

#[test]
fn a_mistake_is_named_with_its_place_and_the_nearest_name() {
    let world = world();
    let project = world
        .project("web")
        .file(".enclos.toml", "[files]\nhid = [\"*.key\"]\n")
        .build();
    let output = world
        .enclos(["run", "--", "true"])
        .current_dir(&project)
        .run()
        .code(125);
    assert!(
        output.stderr().contains(".enclos.toml:2:1"),
        "{}",
        output.stderr()
    );
    assert!(output.stderr().contains("hide"), "{}", output.stderr());
}

#[test]
fn a_managed_policy_must_be_roots_own() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let why = world
        .enclos(["why", "a"])
        .current_dir(&project)
        .run()
        .success();
    assert!(why.stdout().contains("in the copy"), "{}", why.stdout());
    let ssh = world.home().resolve(".ssh/id_ed25519").to_string();
    let why = world
        .enclos(["why", ssh.as_str()])
        .current_dir(&project)
        .run()
        .success();
    assert!(why.stdout().contains("never lent"), "{}", why.stdout());
}

#[test]
fn init_writes_a_file_that_parses_and_converts_another_tools() {
    let world = world();
    let project = world
        .project("web")
        .file(
            ".parcai.json",
            "{\"network\": false, \"deny\": [\"~/x\"], \"env\": {\"A\": \"b\"}}",
        )
        .build();
    world.enclos(["init"]).current_dir(&project).run().success();
    world
        .enclos(["trust", "--yes"])
        .current_dir(&project)
        .run()
        .success();
    let again = world.enclos(["init"]).current_dir(&project).run().code(125);
    assert!(
        again.stderr().contains("is there already"),
        "{}",
        again.stderr()
    );
    let plain = world.project("plain").file("a", "1\n").build();
    world.enclos(["init"]).current_dir(&plain).run().success();
    world
        .enclos(["run", "--discard", "--", "true"])
        .current_dir(&plain)
        .run()
        .success();
}
