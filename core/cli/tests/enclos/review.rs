//! What changed, and what comes back.

use enclos_testkit::Agent;

use crate::wait_until;
use crate::world;

#[test]
fn apply_brings_back_everything_and_undo_takes_it_back() {
    let world = world();
    let project = world
        .project("web")
        .file("a", "1\n")
        .file("gone", "x\n")
        .file("old", "same\n")
        .build();
    let agent = Agent::new()
        .appends("a", "2\n")
        .deletes("gone")
        .renames("old", "new")
        .writes("sub/deep/b", "b\n");
    world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    let applied = world.enclos(["apply", "web-1"]).run().success();
    assert!(
        applied.stdout().starts_with("Applied 4 files to ~/web."),
        "{}",
        applied.stdout()
    );
    assert_eq!(project.read("a"), "1\n2\n");
    assert_eq!(project.read("sub/deep/b"), "b\n");
    assert!(!project.path("gone").exists() && !project.path("old").exists());
    let undone = world.enclos(["undo", "web-1"]).run().success();
    assert!(undone.stdout().starts_with("Put "), "{}", undone.stdout());
    assert_eq!(project.read("a"), "1\n");
    assert_eq!(project.read("gone"), "x\n");
    assert_eq!(project.read("old"), "same\n");
    assert!(
        !project.path("sub").exists(),
        "the folders that the apply made are gone too"
    );
}

#[test]
fn one_hunk_comes_back_alone() {
    let world = world();
    let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let project = world.project("web").file("a", &lines).build();
    let agent = Agent::new()
        .runs("sed -i -e 's/^line 3$/line three/' -e 's/^line 35$/line thirty-five/' a");
    world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    let json = world.enclos(["diff", "web-1", "--json"]).run().success();
    let diff: serde_json::Value = serde_json::from_slice(json.raw_stdout()).unwrap();
    let hunks = diff["trees"][0]["files"][0]["hunks"].as_array().unwrap();
    assert_eq!(hunks.len(), 2, "{}", json.stdout());
    let second = hunks[1]["id"].as_str().unwrap();
    world
        .enclos(["apply", "web-1", "--hunk", second])
        .run()
        .success();
    assert_eq!(
        project.read("a"),
        lines.replace("line 35\n", "line thirty-five\n")
    );
}

#[test]
fn the_persons_own_edits_are_merged_where_they_do_not_touch_and_never_lost() {
    let world = world();
    let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let project = world
        .project("web")
        .file("a", &lines)
        .file("b", "1\n")
        .build();
    let agent = Agent::new().runs("sed -i 's/^line 35$/agent/' a; echo agent > b; sleep 1");
    world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    project.write("a", lines.replace("line 3\n", "person\n"));
    project.write("b", "person\n");
    let applied = world.enclos(["apply", "web-1"]).run();
    assert_eq!(
        project.read("b"),
        "person\n",
        "a conflict is never written: {}",
        applied.stdout()
    );
    assert!(
        applied.stdout().contains("you and the agent"),
        "{}",
        applied.stdout()
    );
    let merged = project.read("a");
    assert!(
        merged.contains("person\n") && merged.contains("agent\n"),
        "{merged}"
    );
}

#[test]
fn what_starts_by_itself_is_held_back_until_it_is_named() {
    let world = world();
    let project = world.project("web").file("a", "1\n").git_init().build();
    let agent = Agent::new()
        .appends("a", "2\n")
        .writes(".envrc", "curl evil\n")
        .writes(".git/hooks/post-checkout", "#!/bin/sh\n");
    world
        .enclos(["run", "--apply", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(project.read("a"), "1\n2\n");
    assert!(
        !project.path(".envrc").exists(),
        "it would run at the next cd"
    );
    assert!(
        !project.path(".git/hooks/post-checkout").exists(),
        "nothing of .git comes back"
    );
    world.enclos(["apply", "web-1", ".envrc"]).run().success();
    assert_eq!(project.read(".envrc"), "curl evil\n");
}

#[test]
fn build_output_is_one_line_and_stays() {
    let world = world();
    let project = world
        .project("web")
        .file(".gitignore", "node_modules/\n")
        .file("a", "1\n")
        .git_init()
        .build();
    let agent = Agent::new()
        .writes("node_modules/x/index.js", "evil\n")
        .appends("a", "2\n");
    world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    let stat = world
        .enclos(["diff", "web-1", "--stat"])
        .run()
        .success()
        .stdout();
    assert!(
        stat.contains("node_modules") && !stat.contains("index.js"),
        "{stat}"
    );
    world.enclos(["apply", "web-1"]).run().success();
    assert!(!project.path("node_modules").exists());
    world
        .enclos(["apply", "web-1", "node_modules"])
        .run()
        .success();
    assert!(
        project.path("node_modules/x/index.js").exists(),
        "named, it comes"
    );
}

#[test]
fn a_running_session_can_be_looked_at_and_goes_on() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "echo 2 >> a; while [ ! -e stop ]; do sleep 0.05; done; echo 3 >> a";
    world
        .enclos(["run", "--detach", "--", "sh", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    let copy = world.home().resolve(".local/share/enclos/web/tree/a");
    wait_until("the agent's first line", || {
        std::fs::read(&copy).is_ok_and(|text| text.ends_with(b"2\n"))
    });
    let seen = world.enclos(["diff", "web-1"]).run().success().stdout();
    assert!(seen.contains("+2") && !seen.contains("+3"), "{seen}");
    std::fs::write(
        world.home().resolve(".local/share/enclos/web/tree/stop"),
        "",
    )
    .unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !world
        .enclos(["sessions", "--json"])
        .run()
        .success()
        .stdout()
        .contains("\"ended\"")
    {
        assert!(
            std::time::Instant::now() < deadline,
            "the session goes on after the look"
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(
        world
            .enclos(["diff", "web-1"])
            .run()
            .success()
            .stdout()
            .contains("+3")
    );
}

#[test]
fn a_sibling_is_under_the_same_review() {
    let world = world();
    let lib = world.project("lib").file("l", "1\n").build();
    let project = world.project("web").file("a", "1\n").build();
    let with = lib.root().to_string();
    world
        .enclos([
            "run",
            "--with",
            with.as_str(),
            "--",
            "sh",
            "-c",
            "echo 2 >> a; echo 2 >> ../lib/l",
        ])
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(lib.read("l"), "1\n");
    world
        .enclos(["apply", "web-1", "../lib/l"])
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(lib.read("l"), "1\n2\n");
    assert_eq!(project.read("a"), "1\n");
}

#[test]
fn a_linked_worktree_can_be_worked_in() {
    let world = world();
    let main = world.project("main").file("a", "1\n").git_init().build();
    world
        .command("git")
        .args(["worktree", "add", "-q", "../wt"])
        .current_dir(&main)
        .run()
        .success();
    let output = world
        .enclos([
            "run",
            "--",
            "sh",
            "-c",
            "echo 2 >> a && git commit -qam two && git log --oneline | wc -l",
        ])
        .current_dir(world.home().resolve("wt"))
        .run()
        .success();
    assert_eq!(output.stdout(), "2\n", "{}", output.stderr());
    let log = world
        .command("git")
        .args(["log", "--oneline", "--all"])
        .current_dir(&main)
        .run()
        .success();
    assert_eq!(
        log.stdout().lines().count(),
        1,
        "the original repository has no new commit"
    );
}

#[test]
fn a_heavy_ignored_folder_is_overlaid_and_its_original_is_never_written() {
    let world = world();
    let mut project = world
        .project("web")
        .file(".gitignore", "node_modules/\n")
        .file("a", "1\n");
    for number in 0..2500 {
        project = project.file(
            format!("node_modules/p{}/f{number}.js", number % 50),
            "x".repeat(8000),
        );
    }
    let project = project.git_init().build();
    let before = enclos_testkit::tree(&project);
    let script = "echo evil > node_modules/p1/f1.js && rm -r node_modules/p2 && echo new > node_modules/new && echo 2 >> a && ls node_modules | wc -l";
    let output = world
        .enclos(["run", "--clone-method", "hybrid", "--", "sh", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(
        output.stdout(),
        "50\n",
        "49 folders and a file: {}",
        output.stderr()
    );
    assert_eq!(enclos_testkit::tree(&project), before);
    let stat = world
        .enclos(["diff", "web-1", "--stat"])
        .run()
        .success()
        .stdout();
    assert!(stat.contains("node_modules: 3 files"), "{stat}");
    let refused = world
        .enclos(["apply", "web-1", "node_modules/new"])
        .run()
        .code(125);
    assert!(
        refused.stderr().contains("was overlaid"),
        "{}",
        refused.stderr()
    );
}

#[test]
fn a_tree_that_is_made_to_be_endless_is_one_line_and_soon_looked_at() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "import os\nos.makedirs('deep'); os.chdir('deep')\nfor _ in range(600): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')";
    world
        .enclos(["run", "--", "python3", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    let started = std::time::Instant::now();
    let stat = world
        .enclos(["diff", "web-1", "--stat"])
        .run()
        .success()
        .stdout();
    assert!(stat.contains("too deep to be reviewed"), "{stat}");
    assert!(
        started.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    world.enclos(["discard", "web-1"]).run().success();
    let cleaned = world.enclos(["clean"]).run().success();
    assert!(
        cleaned.stdout().contains("Deleted 1 copy"),
        "{}",
        cleaned.stdout()
    );
}

#[test]
fn what_is_applied_is_what_was_shown_although_the_agent_works_on() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let script = "echo harmless >> a; while [ ! -e go ]; do sleep 0.05; done; echo EVIL > a; touch done; sleep 60";
    world
        .enclos(["run", "--detach", "--", "sh", "-c", script])
        .current_dir(&project)
        .run()
        .success();
    let tree = world.home().resolve(".local/share/enclos/web/tree");
    wait_until("the agent's first line", || {
        std::fs::read(tree.resolve("a")).is_ok_and(|text| text.ends_with(b"harmless\n"))
    });
    let unseen = world.enclos(["apply", "web-1", "a"]).run().code(1);
    assert!(
        unseen.stdout().contains("look again"),
        "nobody has seen it: {}",
        unseen.stdout()
    );
    assert!(
        world
            .enclos(["diff", "web-1"])
            .run()
            .success()
            .stdout()
            .contains("+harmless")
    );
    std::fs::write(tree.resolve("go"), "").unwrap();
    wait_until("the swap", || tree.resolve("done").as_path().exists());
    let swapped = world.enclos(["apply", "web-1", "a"]).run().code(1);
    assert!(
        swapped.stdout().contains("not what was shown last"),
        "{}",
        swapped.stdout()
    );
    assert_eq!(project.read("a"), "1\n");
    assert!(
        world
            .enclos(["diff", "web-1", "a"])
            .run()
            .success()
            .stdout()
            .contains("+EVIL")
    );
    world.enclos(["apply", "web-1", "a"]).run().success();
    assert_eq!(project.read("a"), "EVIL\n", "seen and approved, it comes");
    world.enclos(["stop", "web-1"]).run().success();
}
