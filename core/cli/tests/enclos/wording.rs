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
