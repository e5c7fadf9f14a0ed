//! `enclos run`: exit codes, streams, what the command sees, what the original keeps.

use enclos_testkit::Agent;
use enclos_testkit::tree_with_times;

use crate::world;

#[test]
fn the_exit_code_is_the_commands_own() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
    ] {
        world
            .enclos(["run", "--discard", "--", "sh", "-c", script])
            .current_dir(&project)
            .run()
            .code(code);
    }
}

#[test]
fn a_command_that_is_not_there_is_127_and_one_that_cannot_run_is_126() {
    let world = world();
    let project = world.project("web").file("data", "not a program\n").build();
    let missing = world
        .enclos(["run", "--", "no-such-program"])
        .current_dir(&project)
        .run()
        .code(127);
    assert!(
        missing
            .stderr()
            .contains("no-such-program: command not found"),
        "{}",
        missing.stderr()
    );
    assert!(
        missing.stderr().contains("The original is untouched"),
        "{}",
        missing.stderr()
    );
    world
        .enclos(["run", "--", "./data"])
        .current_dir(&project)
        .run()
        .code(126);
    let none = world.enclos(["sessions"]).run().success();
    assert!(
        none.stdout().starts_with("No sessions"),
        "nothing is kept of what never ran: {}",
        none.stdout()
    );
}

#[test]
fn enclos_own_failures_are_125_and_say_what_is_untouched() {
    let world = world();
    let output = world
        .enclos(["run", "no-such-folder", "--", "true"])
        .run()
        .code(125);
    assert!(
        output
            .stderr()
            .contains("Nothing was started and nothing was changed."),
        "{}",
        output.stderr()
    );
    world.enclos(["run", "--no-such-option"]).run().code(125);
    for folder in ["/", "/etc", "/usr"] {
        world.enclos(["run", folder, "--", "true"]).run().code(125);
    }
    world
        .enclos(["run", world.home().to_string().as_str(), "--", "true"])
        .run()
        .code(125);
}

#[test]
fn the_agent_works_on_a_copy_at_the_same_path_and_the_original_stays_as_it_is() {
    let world = world();
    let project = world
        .project("web")
        .file("src/a.rs", "fn a() {}\n")
        .file("gone", "x")
        .git_init()
        .build();
    let before = tree_with_times(&project);
    let agent = Agent::new()
        .appends("src/a.rs", "fn b() {}\n")
        .writes("new", "n\n")
        .deletes("gone")
        .runs("pwd > where");
    let agent = agent.runs("git add -A && git commit -q -m work");
    let output = world
        .enclos(["run", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    assert_eq!(
        tree_with_times(&project).changes(&before),
        Vec::<String>::new(),
        "{}",
        output.stderr()
    );
    let seen = world
        .enclos(["diff", "web-1"])
        .current_dir(&project)
        .run()
        .success()
        .stdout();
    assert!(seen.contains("+fn b() {}"), "{seen}");
    assert!(
        seen.contains(&format!("+{}", project.root())) || seen.contains("+$HOME/web"),
        "the copy is at the original's path: {seen}"
    );
    assert!(seen.contains(".git:"), "commits are one line: {seen}");
}

#[test]
fn streams_are_binary_safe_and_apart_and_the_end_of_input_is_passed_on() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let bytes: Vec<u8> = (0..=255u8).cycle().take(300_000).collect();
    let output = world
        .enclos(["run", "--discard", "--", "sh", "-c", "cat; echo end >&2"])
        .current_dir(&project)
        .stdin(&bytes)
        .run()
        .success();
    assert!(
        output.raw_stdout() == bytes,
        "{} bytes came back of {}",
        output.raw_stdout().len(),
        bytes.len()
    );
    assert!(output.stderr().contains("end"), "{}", output.stderr());
}

#[test]
fn nothing_of_the_callers_environment_or_descriptors_is_inside() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let secret = world.home_file("outside/secret", "outside");
    let script = format!("env; ls /proc/self/fd; cat {secret}; cat /proc/1/environ");
    let inside = world
        .enclos(["run", "--discard", "--", "sh", "-c", script.as_str()])
        .env("AWS_SECRET_ACCESS_KEY", "REALSECRET")
        .current_dir(&project)
        .run();
    let all = format!("{}{}", inside.stdout(), inside.stderr());
    assert!(!all.contains("REALSECRET"), "{all}");
    assert!(!all.contains("outside\n"), "{all}");
    let plain = world
        .command("sh")
        .args(["-c", &format!("env; cat {secret}")])
        .env("AWS_SECRET_ACCESS_KEY", "REALSECRET")
        .run();
    assert!(
        plain.stdout().contains("REALSECRET") && plain.stdout().contains("outside"),
        "without a jail both are there"
    );
}

#[test]
fn a_chosen_variable_and_a_lent_folder_are_inside() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let lent = world.home_file("data/set.csv", "1,2,3\n");
    let folder = world.home().resolve("data").to_string();
    let output = world
        .enclos([
            "run",
            "--discard",
            "--env",
            "CHOSEN=yes",
            "--env",
            "PASSED",
            "--read",
            folder.as_str(),
            "--",
            "sh",
            "-c",
        ])
        .arg(format!(
            "echo $CHOSEN $PASSED; cat {lent}; echo x >> {lent} || echo refused"
        ))
        .env("PASSED", "handed-on")
        .current_dir(&project)
        .run();
    assert_eq!(
        output.stdout(),
        "yes handed-on\n1,2,3\nrefused\n",
        "{}",
        output.stderr()
    );
}

#[test]
fn what_is_hidden_is_not_there_and_not_a_deletion() {
    let world = world();
    let project = world
        .project("web")
        .file("a", "1\n")
        .file("keys/prod.pem", "KEY")
        .build();
    let output = world
        .enclos([
            "run",
            "--hide",
            "*.pem",
            "--",
            "sh",
            "-c",
            "ls -R; echo 2 > a",
        ])
        .current_dir(&project)
        .run()
        .success();
    assert!(!output.stdout().contains("prod.pem"), "{}", output.stdout());
    let diff = world
        .enclos(["diff", "web-1", "--stat"])
        .current_dir(&project)
        .run()
        .success()
        .stdout();
    assert!(diff.contains("M a") && !diff.contains("pem"), "{diff}");
}

#[test]
fn a_dry_run_starts_nothing() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    let output = world
        .enclos(["run", "--dry-run", "--", "touch", "b"])
        .current_dir(&project)
        .run()
        .success();
    assert!(
        output
            .stdout()
            .starts_with("Would copy ~/web and run `touch b` in the copy."),
        "{}",
        output.stdout()
    );
    assert!(
        world
            .enclos(["sessions"])
            .run()
            .success()
            .stdout()
            .starts_with("No sessions")
    );
}

#[test]
fn a_folder_of_a_repository_brings_the_whole_repository_and_starts_where_it_was_called() {
    let world = world();
    let project = world
        .project("mono")
        .file("pkg/a/x", "1\n")
        .file("pkg/b/y", "2\n")
        .git_init()
        .build();
    let folder = project.path("pkg/a");
    let output = world
        .enclos([
            "run",
            "--discard",
            "--",
            "sh",
            "-c",
            "pwd; ls ../b; git log --oneline | wc -l",
        ])
        .current_dir(&folder)
        .run();
    assert!(
        output.stdout().ends_with("/mono/pkg/a\ny\n1\n"),
        "{} {}",
        output.stdout(),
        output.stderr()
    );
}

#[test]
fn works_for_an_ordinary_user_too() {
    assert!(
        enclos_testkit::requires_root(),
        "only root can become another user"
    );
    let world = world();
    let project = world.project("web").file("a", "1\n").git_init().build();
    let output = world
        .enclos([
            "run",
            "--",
            "sh",
            "-c",
            "id -u; echo 2 >> a; git commit -qam two; touch /etc/x || echo closed",
        ])
        .current_dir(&project)
        .as_user(65534)
        .run()
        .success();
    assert_eq!(output.stdout(), "65534\nclosed\n", "{}", output.stderr());
    let applied = world
        .enclos(["apply", "web-1"])
        .current_dir(&project)
        .as_user(65534)
        .run()
        .success();
    assert!(
        applied.stdout().contains("Applied 1 file"),
        "{}",
        applied.stdout()
    );
    assert_eq!(project.read("a"), "1\n2\n");
}

#[test]
fn without_history_the_command_gets_a_repository_of_one_commit() {
    let world = world();
    let project = world
        .project("web")
        .file("a", "1\n")
        .git_init()
        .git([
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "a secret in the past",
        ])
        .build();
    let full = world
        .enclos(["run", "--discard", "--", "git", "log", "--format=%s"])
        .current_dir(&project)
        .run();
    assert!(
        full.stdout().contains("a secret in the past"),
        "{}",
        full.stderr()
    );
    let script = "git log --format=%s; git status --short; exit 4";
    let fresh = world
        .enclos(["run", "--discard", "--no-history", "--", "sh", "-c", script])
        .current_dir(&project)
        .run();
    assert_eq!(
        fresh.stdout(),
        "The project as it was\n",
        "{}",
        fresh.stderr()
    );
    assert_eq!(fresh.exit_code(), 4);
}
