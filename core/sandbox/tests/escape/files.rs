//! What of the machine's files cannot be reached.

use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use enclos_paths::AbsPath;
use enclos_sandbox::{Access, Doors, Exit, HostFacts, Jail, LaunchError, Lent, Plan, Survey, plan};

use crate::world::{Without, World, as_everyone, as_root, python, words};

/// Root without capabilities is still the owner of what belongs to root.
const CAREFUL: Without = Without::AllBut(&[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
]);

#[test]
fn core_pattern_cannot_be_written() {
    let attack = "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)";
    as_root(|world| {
        assert_eq!(world.refused(attack, CAREFUL), "EROFS", "by the mount");
        // Landlock holds by itself too, and so the first of the two is not missed.
        let mut facts = world.facts.clone();
        facts.proc_covers.clear();
        let mut jail = world.jail(&words(&python(attack)));
        assert_eq!(
            world.carry_out(&plan_with(&jail, &facts)).out.trim(),
            "refused: EACCES"
        );
        facts.landlock_abi = 0;
        jail.command = world.command(&words(&python(attack)));
        assert_eq!(
            world.carry_out(&plan_with(&jail, &facts)).out.trim(),
            "REACHED",
            "with neither"
        );
    });
}

#[test]
fn what_else_root_owns_in_proc_cannot_be_written() {
    as_root(|world| {
        let find = "import glob
for path in glob.glob('/proc/*') + glob.glob('/proc/*/*') + glob.glob('/proc/irq/*/*') + glob.glob('/proc/sys/*/*'):
    if path.split('/')[2].isdigit() or path.split('/')[2] in ('self', 'thread-self', 'net'): continue
    try:
        if os.path.isfile(path): os.close(os.open(path, os.O_WRONLY)); print('WRITABLE', path)
    except OSError: pass";
        let program = python(find);
        let open = world.plain_bwrap(
            &[
                "--cap-drop",
                "ALL",
                "--ro-bind",
                "/",
                "/",
                "--proc",
                "/proc",
            ],
            &words(&program),
        );
        assert!(open.out.contains("WRITABLE"), "{open:?}");
        for landlock in [true, false] {
            let mut plan = world.plan(&world.jail(&["true"]));
            if !landlock {
                plan.confinement.landlock = None;
            }
            plan.command.argv = program.iter().map(Into::into).collect();
            let said = world.carry_out(&plan);
            assert_eq!(
                said.out.trim(),
                "REACHED",
                "nothing but the end of the program (Landlock: {landlock})"
            );
        }
    });
}

#[test]
fn passwords_are_not_there() {
    as_root(|world| {
        assert_eq!(
            world.refused("open('/etc/shadow').read()", CAREFUL),
            "ENOENT"
        );
    });
}

#[test]
fn other_people_are_not_known() {
    as_everyone(|world| {
        let users = world.jailed(&["cat", "/etc/passwd"]).well();
        assert!(users.lines().count() <= 2, "{users}");
    });
}

#[test]
fn a_private_file_of_another_owner_cannot_be_read() {
    as_root(|world| {
        world.write("home/lent/theirs", "THEIRS");
        std::fs::set_permissions(
            world.at("home/lent/theirs"),
            PermissionsExt::from_mode(0o600),
        )
        .unwrap();
        std::os::unix::fs::chown(world.at("home/lent/theirs"), Some(1000), Some(1000)).unwrap();
        let attack = format!("open('{}').read()", world.at("home/lent/theirs").display());
        let mut jail = world.jail(&[]);
        jail.lent.push(lent(world, "home/lent", Access::ReadOnly));
        assert_eq!(world.refused_in(&jail, &attack, Without::Jail), "EACCES");
    });
}

#[test]
fn the_original_its_siblings_and_the_home_are_not_there() {
    as_everyone(|world| {
        for secret in [
            "sibling/secret",
            "home/.ssh/id_ed25519",
            "state/copy/src/main",
        ] {
            let attack = format!("open('{}').read()", world.at(secret).display());
            assert_eq!(world.refused(&attack, Without::Jail), "ENOENT", "{secret}");
        }
        let root = world
            .jailed(&["ls", "/", "/run", "/var", "/sys", "/boot", "/mnt", "/opt"])
            .out;
        for absent in ["sys", "boot", "mnt", "opt", "docker.sock", "dbus"] {
            assert!(
                !root.lines().any(|line| line == absent),
                "{absent} is there: {root}"
            );
        }
    });
}

#[test]
fn later_edits_of_the_original_are_not_seen() {
    as_everyone(|world| {
        let mut jail = world.jail(&["sh", "-c", "read go; cat src/main; ls"]);
        let mut running = world.launch(&jail).unwrap();
        world.write("project/src/main", "EDITED");
        world.write("project/.env.local", "SECRET");
        crate::world::feed(&mut running, "go\n");
        assert_eq!(crate::world::hear(&mut running).out, "ORIGINALsrc\n");
        jail.command = world.command(&["cat", ".env.local"]);
        assert_eq!(world.run(&jail).exit, Exit::Code(1));
    });
}

#[test]
fn nothing_outside_the_copy_the_home_and_tmp_can_be_written() {
    let find = "\
import tempfile
for root in ('/', '/etc', '/usr', '/usr/bin', '/var', '/run', '/run/enclos', '/proc', '/home'):
    try: tempfile.mkstemp(dir=root); print('WRITABLE', root)
    except OSError: pass
for path in ('/etc/passwd', '/etc/hosts', '/usr/bin/env', '/run/enclos/stage'):
    try: os.open(path, os.O_WRONLY); print('WRITABLE', path)
    except OSError: pass
for root in ('.', os.environ['HOME'], '/tmp', '/var/tmp', '/dev/shm'):
    tempfile.mkstemp(dir=root)";
    as_everyone(|world| {
        for landlock in [true, false] {
            let mut plan = world.plan(&world.jail(&["true"]));
            if !landlock {
                plan.confinement.landlock = None;
            }
            plan.command.argv = python(find).into_iter().map(Into::into).collect();
            assert_eq!(
                world.carry_out(&plan).out.trim(),
                "REACHED",
                "Landlock: {landlock}"
            );
        }
    });
}

/// A program that can be written is replaced, and the next one to run it is outside.
#[test]
fn our_own_program_cannot_be_written() {
    as_everyone(|world| {
        std::fs::copy(world.stage().as_path(), world.at("stage")).unwrap();
        let outside = format!("os.open('{}', os.O_WRONLY)", world.at("stage").display());
        assert!(
            world
                .outside(&words(&python(&outside)))
                .out
                .contains("REACHED")
        );
        let mut jail = world.jail(&[]);
        jail.stage = world.path("stage");
        for path in ["/run/enclos/stage", "/proc/1/exe"] {
            jail.command =
                world.command(&words(&python(&format!("os.open('{path}', os.O_WRONLY)"))));
            let said = world.run(&jail);
            assert!(said.out.starts_with("refused"), "{path}: {said:?}");
        }
        // And the machine's bubblewrap is in no process inside.
        let seen = world
            .jailed(&["sh", "-c", "ls -l /proc/[0-9]*/exe 2>&1"])
            .out;
        assert!(!seen.contains("bwrap"), "{seen}");
    });
}

/// A descriptor is a door: it can be opened again for writing, and a folder's leads up and out.
#[test]
fn no_descriptor_of_the_caller_is_inside() {
    as_everyone(|world| {
        let secret = std::fs::File::open(world.at("sibling/secret")).unwrap();
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
        let number = secret.as_raw_fd();
        let attack = format!("os.open('/proc/self/fd/{number}', os.O_WRONLY)");
        let plain = Without::AllBut(&["--ro-bind", "/", "/", "--proc", "/proc"]);
        assert_eq!(world.refused(&attack, plain), "ENOENT");
        let listed = world
            .jailed(&[
                "sh",
                "-c",
                "for f in /proc/[0-9]*/fd/*; do echo $f $(readlink $f); done",
            ])
            .well();
        for line in listed.lines() {
            // No target: a folder the shell had open while it listed, or process 1, which cannot be looked into.
            let (_, target) = line.split_once(' ').unwrap_or((line, ""));
            assert!(
                target.is_empty() || target.starts_with("pipe:") || target.starts_with("/proc/"),
                "{line}"
            );
        }
    });
}

#[test]
fn standard_streams_cannot_be_led_back_to_a_file() {
    as_everyone(|world| {
        world.write("sibling/input", "INPUT");
        let attack = "echo HACKED > /proc/self/fd/0";
        let open = std::process::Command::new("bwrap")
            .args(["--ro-bind", "/", "/", "--proc", "/proc", "sh", "-c", attack])
            .stdin(std::fs::File::open(world.at("sibling/input")).unwrap())
            .status()
            .unwrap();
        assert!(open.success());
        assert_eq!(
            world.read("sibling/input"),
            "HACKED\n",
            "a stream that is passed on can be opened for writing"
        );
        let targets = world
            .jailed(&[
                "sh",
                "-c",
                "readlink /proc/self/fd/0; readlink /proc/self/fd/1",
            ])
            .well();
        assert!(
            targets.lines().all(|target| target.starts_with("pipe:")),
            "{targets}"
        );
    });
}

/// The environment a process was started with stays readable in /proc, whatever it did to it since.
#[test]
fn nothing_of_the_callers_environment_or_command_line_is_inside() {
    as_everyone(|world| {
        let secret = "ENCLOS_TEST_PERSON";
        let open = std::process::Command::new("bwrap")
            .args([
                "--clearenv",
                "--unshare-pid",
                "--ro-bind",
                "/",
                "/",
                "--proc",
                "/proc",
                "cat",
                "/proc/1/environ",
            ])
            .output()
            .unwrap();
        assert!(
            String::from_utf8_lossy(&open.stdout).contains(secret),
            "--clearenv does not clear process 1"
        );
        let mut jail = world.jail(&[
            "sh",
            "-c",
            "cat /proc/[0-9]*/environ; echo; cat /proc/1/environ",
        ]);
        jail.command
            .env
            .push(("GIVEN".into(), "VALUE-OF-GIVEN".into()));
        let said = world.run(&jail).out;
        let (everyone, first) = said.trim_end().split_once('\n').unwrap_or((&said, ""));
        assert!(
            everyone.contains("VALUE-OF-GIVEN"),
            "what is given is there: {said}"
        );
        assert!(!everyone.contains(secret) && first.is_empty(), "{said}");
        jail.command.argv = ["sh", "-c", "cat /proc/[0-9]*/cmdline"]
            .map(Into::into)
            .into();
        let said = world.run(&jail).out;
        assert!(
            said.contains("stage") && !said.contains("VALUE-OF-GIVEN"),
            "{said}"
        );
    });
}

/// What an agent leaves in its home is followed by nothing when the next jail is made.
#[test]
fn a_link_at_a_mount_point_is_refused() {
    as_everyone(|world| {
        std::fs::create_dir_all(world.at("home/lent/bin")).unwrap();
        let victim = world.at("sibling");
        let link = format!("/oldroot{}", victim.display());
        std::os::unix::fs::symlink(link, world.at("state/home/lent")).unwrap();
        let mut jail = world.jail(&["true"]);
        jail.lent
            .push(lent(world, "home/lent/bin", Access::ReadOnly));
        let mut plan = world.plan(&jail);
        let failure = enclos_sandbox::launch(&plan).unwrap_err();
        assert!(
            matches!(failure, LaunchError::MountPoint { .. }),
            "{failure:?}"
        );
        assert!(!victim.join("bin").exists(), "nothing was made outside");
        plan.mount_points.clear();
        let _ = enclos_sandbox::launch(&plan);
        assert!(
            victim.join("bin").exists(),
            "without the look, bubblewrap follows the link and makes a folder"
        );
    });
}

#[test]
fn covered_files_are_empty() {
    as_everyone(|world| {
        world.write("home/lent/token", "TOKEN");
        world.write("home/lent/plain", "PLAIN");
        let mut jail = world.jail(&["sh", "-c", "cat $HOME/lent/token; cat $HOME/lent/plain"]);
        jail.lent.push(lent(world, "home/lent", Access::ReadOnly));
        assert_eq!(world.run(&jail).well(), "TOKENPLAIN", "uncovered");
        jail.covered = vec![
            world.path("home/lent/token"),
            world.path("home/lent/absent"),
        ];
        assert_eq!(world.run(&jail).well(), "PLAIN");
    });
}

#[test]
fn the_machine_is_not_identified() {
    as_everyone(|world| {
        let said = world.jailed(&["sh", "-c", "hostname; cat /etc/machine-id"]);
        assert_eq!(said.out, "enclos\n");
    });
}

fn plan_with(jail: &Jail, facts: &HostFacts) -> Plan {
    plan(jail, facts, &Survey::take(jail).unwrap()).unwrap()
}

fn lent(world: &World, path: &str, access: Access) -> Lent {
    let path: AbsPath = world.path(path);
    Lent {
        outside: path.clone(),
        inside: path,
        access,
        doors: Doors::Searched,
    }
}
