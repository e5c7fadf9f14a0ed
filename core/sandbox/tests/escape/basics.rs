//! A jail that does its job: the command runs, in its folder, with its streams, and its end is the jail's.

use enclos_sandbox::{Exit, LaunchError, SpawnError};

use crate::world::{as_everyone, feed, hear};

#[test]
fn a_command_runs_in_the_copy_at_the_originals_path() {
    as_everyone(|world| {
        let said = world.jailed(&[
            "sh",
            "-c",
            "pwd; cat src/main; echo changed > src/main; echo err >&2; exit 7",
        ]);
        assert_eq!(
            said.out,
            format!("{}\nORIGINAL", world.at("project").display())
        );
        assert_eq!((said.err.as_str(), said.exit), ("err\n", Exit::Code(7)));
        assert_eq!(world.read("state/copy/src/main"), "changed\n");
        assert_eq!(world.read("project/src/main"), "ORIGINAL");
    });
}

#[test]
fn streams_are_apart_and_binary_safe_and_half_close() {
    as_everyone(|world| {
        let mut running = world
            .launch(&world.jail(&["sh", "-c", "wc -c; printf '\\0\\377' >&2"]))
            .unwrap();
        feed(&mut running, &"x".repeat(300_000));
        let said = hear(&mut running);
        assert_eq!(said.out.trim(), "300000");
        assert_eq!(said.err, "\0\u{fffd}");
    });
}

#[test]
fn a_missing_command_and_one_that_cannot_run_are_told_apart() {
    as_everyone(|world| {
        let failure = world.launch(&world.jail(&["no-such-program"])).unwrap_err();
        assert!(
            matches!(failure, LaunchError::Command(SpawnError::NotFound { .. })),
            "{failure:?}"
        );
        assert_eq!(failure.exit_code(), 127);
        for bad in ["/etc/passwd", "/usr", "src/main"] {
            let failure = world.launch(&world.jail(&[bad])).unwrap_err();
            assert!(
                matches!(
                    failure,
                    LaunchError::Command(SpawnError::CannotExecute { .. })
                ),
                "{bad}: {failure:?}"
            );
            assert_eq!(failure.exit_code(), 126);
        }
        assert_eq!(
            world.jailed(&["sh", "-c", "exit 127"]).exit,
            Exit::Code(127),
            "the command's own"
        );
        assert_eq!(
            world.jailed(&["sh", "-c", "kill -9 $$"]).exit,
            Exit::Signal(9)
        );
    });
}
