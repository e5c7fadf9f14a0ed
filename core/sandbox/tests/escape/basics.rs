//! A jail that does its job: the command runs, in its folder, with its streams, and its end is the jail's.

use std::os::unix::fs::PermissionsExt;

use enclos_sandbox::{Exit, LaunchError, SpawnError, launch};

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

#[test]
fn the_environment_the_mask_and_the_folder_are_what_was_asked_for() {
    as_everyone(|world| {
        let mut jail = world.jail(&["/usr/bin/env"]);
        jail.command.env = vec![("ONE".into(), "1".into()), ("TWO".into(), "a=b c".into())];
        assert_eq!(world.run(&jail).well(), "ONE=1\nTWO=a=b c\n");
        let mut jail = world.jail(&["sh", "-c", "umask; touch made; stat -c %a made; pwd"]);
        jail.command.umask = 0o027;
        jail.command.cwd = world.path("home");
        let home = world.at("home");
        assert_eq!(
            world.run(&jail).well(),
            format!("0027\n640\n{}\n", home.display())
        );
        jail.command.cwd = world.path("nowhere");
        let failure = world.launch(&jail).unwrap_err();
        assert!(
            matches!(
                failure,
                LaunchError::Command(SpawnError::WorkingFolder { .. })
            ),
            "{failure:?}"
        );
        assert_eq!(failure.exit_code(), 125);
    });
}

#[test]
fn a_jail_that_cannot_be_made_says_why() {
    let complaints = [
        (
            "No permissions to create new namespace, likely because",
            true,
        ),
        ("Creating new namespace failed: nesting depth or", true),
        ("setting up uid map: Permission denied", true),
        (
            "loopback: Failed RTM_NEWADDR: Operation not permitted",
            true,
        ),
        (
            "Can't find source path /nowhere: No such file or directory",
            false,
        ),
    ];
    as_everyone(|world| {
        let mut plan = world.plan(&world.jail(&["true"]));
        plan.bwrap = world.path("bwrap");
        let failure = launch(&plan).unwrap_err();
        assert!(matches!(failure, LaunchError::Start { .. }), "{failure:?}");
        for (complaint, forbidden) in complaints {
            world.write(
                "bwrap",
                &format!("#!/bin/sh\necho \"bwrap: {complaint}\" >&2\nexit 1\n"),
            );
            std::fs::set_permissions(world.at("bwrap"), PermissionsExt::from_mode(0o755)).unwrap();
            let failure = launch(&plan).unwrap_err();
            let told = failure.to_string();
            assert!(told.contains(complaint), "{told}");
            assert_eq!(
                matches!(failure, LaunchError::Namespaces { .. }),
                forbidden,
                "{failure:?}"
            );
        }
        // A real bubblewrap that cannot find what it should mount.
        let mut jail = world.jail(&["true"]);
        jail.tmp = world.path("nowhere");
        let failure = launch(&world.plan(&jail)).unwrap_err();
        assert!(
            matches!(
                failure,
                LaunchError::MountPoint { .. } | LaunchError::Bwrap { .. }
            ),
            "{failure:?}"
        );
    });
}

/// A plan whose rules do not fit is not carried out without them.
#[test]
fn a_jail_that_cannot_be_closed_is_not_opened() {
    as_everyone(|world| {
        let mut plan = world.plan(&world.jail(&["touch", "ran"]));
        plan.confinement.landlock.as_mut().unwrap().rules[0].path = world.path("nowhere");
        let failure = launch(&plan).unwrap_err();
        assert!(
            matches!(failure, LaunchError::NotConfined { .. }),
            "{failure:?}"
        );
        let mut plan = world.plan(&world.jail(&["touch", "ran"]));
        plan.confinement.filter.truncate(3);
        let failure = launch(&plan).unwrap_err();
        assert!(
            matches!(failure, LaunchError::NotConfined { .. }),
            "{failure:?}"
        );
        assert!(!world.at("state/copy/ran").exists());
    });
}
