//! What people read.

use crate::world;

#[test]
fn help_fits_a_narrow_terminal_and_names_every_command() {
    let world = world();
    let help = world.enclos(["--help"]).run().success().stdout();
    for command in [
        "run", "sessions", "diff", "apply", "undo", "discard", "attach", "shell", "stop", "resume",
        "why", "trust", "init", "doctor", "clean",
    ] {
        assert!(
            help.lines()
                .any(|line| line.trim_start().starts_with(command)),
            "{command} is missing in {help}"
        );
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "too long: {line}");
    }
}

#[test]
fn doctor_says_what_can_be_enforced() {
    let world = world();
    let doctor = world.enclos(["doctor"]).run().success().stdout();
    assert!(doctor.contains("ok"), "{doctor}");
    let json = world.enclos(["doctor", "--json"]).run().success().stdout();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["version"],
        1
    );
}

#[test]
fn completions_are_printed_for_every_shell() {
    let world = world();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.enclos(["completions", shell]).run().success();
        assert!(script.stdout().contains("sessions"), "{shell}");
    }
}

#[test]
fn names_that_would_draw_on_the_terminal_are_shown_safely() {
    let world = world();
    let project = world.project("web").file("a", "1\n").build();
    world
        .enclos([
            "run",
            "--",
            "sh",
            "-c",
            "printf 'x\\033[2Jy\\n' > \"$(printf 'e\\033[31mvil')\"; printf 'z\\033[2J' > b",
        ])
        .current_dir(&project)
        .run()
        .success();
    let diff = world.enclos(["diff", "web-1"]).run().success();
    assert!(!diff.raw_stdout().contains(&0x1b), "{}", diff.stdout());
}

#[test]
fn a_whole_visit_reads_like_this() {
    let world = world();
    let project = world
        .project("web")
        .file("src/a.rs", "fn a() {}\nfn z() {}\n")
        .file("old.txt", "same\n")
        .build();
    let agent = enclos_testkit::Agent::new()
        .runs("sed -i 's/fn z/fn b/' src/a.rs")
        .renames("old.txt", "new.txt")
        .writes(".envrc", "export A=1\n");
    let run = world
        .enclos(["run", "--clone-method", "copy", "--"])
        .args(agent.command())
        .current_dir(&project)
        .run()
        .success();
    insta::assert_snapshot!(run.stderr(), @r#"
    enclos: web-1 works on a copy of ~/web (copy). Network: none.
     A .envrc              +1 -0  starts by itself
     R old.txt -> new.txt
     M src/a.rs            +1 -1
    3 files changed: 1 added, 1 modified, 1 renamed.
    1 change would start by itself on your machine.
    Kept for review: enclos diff web-1   enclos apply web-1   enclos discard web-1
    "#);
    insta::assert_snapshot!(world.enclos(["sessions"]).run().success().stdout(), @r#"
    web-1  ended  [TIME]  ~/web  sh -c set -e\nsed -i 's/fn z/fn b/' src/a.rs\nmv …
    "#);
    insta::assert_snapshot!(world.enclos(["diff", "web-1"]).run().success().stdout(), @r#"
    .envrc added
      ! a shell script of direnv would run when a shell with it enters the folder
    @@ -0,0 +1,1 @@  hk1phgjcf3
    +export A=1

    new.txt renamed from old.txt

    src/a.rs modified
    @@ -1,2 +1,2 @@ fn a() {}  95qe1erdda
     fn a() {}
    -fn z() {}
    +fn b() {}
    "#);
    insta::assert_snapshot!(world.enclos(["apply", "web-1"]).run().success().stdout(), @r#"
    Applied 2 files to ~/web. Take it back: enclos undo web-1
    1 change stays in the session:
      .envrc a shell script of direnv would run when a shell with it enters the folder
    Look at one and take it by name: enclos apply web-1 PATH
    "#);
    insta::assert_snapshot!(world.enclos(["undo", "web-1"]).run().success().stdout(), @r#"
    Put 2 files back in ~/web.
    "#);
    insta::assert_snapshot!(world.enclos(["discard", "web-1"]).run().success().stdout(), @r#"
    Discarded web-1. Its copy is kept for 7 days.
    "#);
    insta::assert_snapshot!(world.enclos(["apply", "web-1"]).run().code(125).stderr(), @r#"
    enclos: the session was discarded
    "#);
}
