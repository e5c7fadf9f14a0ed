//! Who can be seen and signalled, and that everyone is gone at the end.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use enclos_sandbox::{Exit, Signal};

use crate::world::{Without, World, as_everyone, hear, python, words};

#[test]
fn processes_outside_are_neither_seen_nor_signalled_nor_traced() {
    as_everyone(|world| {
        let mut victim = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let id = victim.id();
        for attack in [
            format!("os.kill({id}, 0)"),
            format!("os.stat('/proc/{id}')"),
            // PTRACE_SEIZE, which stops nobody.
            format!(
                "call(101, 0x4206, {id}, 0, 0); os._exit(print('REACHED') or sys.stdout.flush() or 0)"
            ),
            format!("os.pidfd_open({id})"),
        ] {
            let refusal = world.refused(&attack, Without::Jail);
            assert!(
                ["ESRCH", "ENOENT", "EINVAL"].contains(&refusal.as_str()),
                "{attack}: {refusal}"
            );
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
    });
}

/// Process 1 is ours: it knows the socket to the launcher, so nobody inside may look into it or end it.
#[test]
fn process_one_cannot_be_read_traced_or_ended() {
    as_everyone(|world| {
        for attack in [
            "os.listdir('/proc/1/fd'); os.readlink('/proc/1/fd/3')",
            "open('/proc/1/environ').read()",
            "open('/proc/1/mem', 'rb')",
            "call(101, 0x4206, 1, 0, 0)",
            "call(438, os.pidfd_open(1), 3, 0)",
        ] {
            let said = world.jailed(&words(&python(attack)));
            assert!(said.out.starts_with("refused: E"), "{attack}: {said:?}");
        }
        let said = world.jailed(&[
            "sh",
            "-c",
            "kill -9 1; kill -STOP 1; kill -TERM 1; sleep 0.05; echo still here",
        ]);
        assert_eq!(said.out, "still here\n", "{said:?}");
    });
}

/// Debuggers work: a process of the jail may trace another.
#[test]
fn a_child_may_be_traced() {
    let script = "\
child = os.fork()
if child == 0: signal.pause()
call(101, 0x4206, child, 0, 0)
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)";
    as_everyone(|world| assert_eq!(world.jailed(&words(&python(script))).out.trim(), "REACHED"));
}

#[test]
fn a_daemon_is_gone_when_the_command_has_ended() {
    as_everyone(|world| {
        let mark = mark(world);
        let said = world.jailed(&[
            "sh",
            "-c",
            &format!("setsid -f sleep {mark} </dev/null >/dev/null 2>&1; echo done"),
        ]);
        assert_eq!(said.well(), "done\n");
        assert_eq!(sleepers(&mark), 0);
    });
}

#[test]
fn stop_asks_first_and_then_nobody_is_left() {
    as_everyone(|world| {
        let mark = mark(world);
        let script = format!(
            "setsid -f sh -c 'trap \"\" HUP TERM; sleep {mark}; sleep {mark}'; \
             trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
        );
        let mut running = world.launch(&world.jail(&["sh", "-c", &script])).unwrap();
        let mut out = BufReader::new(std::fs::File::from(running.first.stdout.take().unwrap()));
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        wait_for("the daemon", || sleepers(&mark) == 1);
        assert_eq!(running.try_wait().unwrap(), None);
        let exit = running.stop(Duration::from_secs(20)).unwrap();
        assert_eq!(exit, Exit::Code(3), "the command had its say");
        assert_eq!(
            sleepers(&mark),
            0,
            "a daemon that ignores being asked is gone when stop returns"
        );
        line.clear();
        out.read_to_string(&mut line).unwrap();
        assert_eq!(line, "asked\n");
    });
}

#[test]
fn one_that_does_not_listen_is_killed_after_the_grace() {
    as_everyone(|world| {
        let mark = mark(world);
        let script = format!("trap '' HUP TERM; echo ready; while :; do sleep {mark}; done");
        let mut running = world.launch(&world.jail(&["sh", "-c", &script])).unwrap();
        wait_for("the sleep", || sleepers(&mark) == 1);
        let before = Instant::now();
        let exit = running.stop(Duration::from_millis(200)).unwrap();
        assert!(before.elapsed() >= Duration::from_millis(200));
        assert_eq!(exit, Exit::Killed);
        assert_eq!(sleepers(&mark), 0);
    });
}

#[test]
fn dropping_ends_the_jail() {
    as_everyone(|world| {
        let mark = mark(world);
        let running = world.launch(&world.jail(&["sleep", &mark])).unwrap();
        wait_for("the sleep", || sleepers(&mark) == 1);
        drop(running);
        assert_eq!(sleepers(&mark), 0);
    });
}

#[test]
fn signals_reach_the_command() {
    as_everyone(|world| {
        let script = "trap 'exit 5' INT; echo ready; while :; do sleep 0.01; done";
        let mut running = world.launch(&world.jail(&["sh", "-c", script])).unwrap();
        let mut out = BufReader::new(std::fs::File::from(running.first.stdout.take().unwrap()));
        out.read_line(&mut String::new()).unwrap();
        running.signal(0, Signal::Interrupt).unwrap();
        assert_eq!(running.wait().unwrap(), Exit::Code(5));
    });
}

#[test]
fn another_command_starts_in_the_same_jail_and_dies_with_it() {
    as_everyone(|world| {
        let mark = mark(world);
        let mut running = world
            .launch(&world.jail(&["sh", "-c", "echo here > made; read stop"]))
            .unwrap();
        wait_for("the file", || world.at("state/copy/made").exists());
        let mut second = running
            .spawn(&world.command(&["sh", "-c", "cat made; pgrep -c . ; exit 4"]))
            .unwrap();
        let mut text = String::new();
        std::fs::File::from(second.stdout.take().unwrap())
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.starts_with("here\n"), "{text}");
        wait_for("its end", || {
            running.exit_of(second.id) == Some(Exit::Code(4))
        });
        assert!(running.spawn(&world.command(&["no-such-program"])).is_err());
        let third = running.spawn(&world.command(&["sleep", &mark])).unwrap();
        assert_eq!(running.exit_of(third.id), None);
        wait_for("the sleep", || sleepers(&mark) == 1);
        drop(running.first.stdin.take());
        assert_eq!(
            hear(&mut running).exit,
            Exit::Code(1),
            "read found the end of its input"
        );
        assert_eq!(sleepers(&mark), 0);
    });
}

/// The thread that started a jail may end: pools of threads end theirs when they are idle.
#[test]
fn the_jail_outlives_the_thread_that_started_it() {
    as_everyone(|world| {
        let jail = world.jail(&["sh", "-c", "read go; echo alive"]);
        let plan = world.plan(&jail);
        let mut running = std::thread::spawn(move || enclos_sandbox::launch(&plan).unwrap())
            .join()
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
        crate::world::feed(&mut running, "go\n");
        assert_eq!(hear(&mut running).well(), "alive\n");
        // With bubblewrap's own switch for that, the jail would have died with the thread.
        let mut deadly = world.plan(&jail);
        deadly.bwrap_options.insert(0, "--die-with-parent".into());
        let mut running = std::thread::spawn(move || enclos_sandbox::launch(&deadly).unwrap())
            .join()
            .unwrap();
        assert_eq!(running.wait().unwrap(), Exit::Killed);
    });
}

/// However the launching process dies, nobody is left.
#[test]
fn killing_the_launcher_kills_the_jail() {
    if let Some(mark) = std::env::var_os("ENCLOS_TEST_LAUNCH") {
        as_everyone(|world| {
            let script = format!(
                "setsid -f sleep {0}; exec sleep {0}",
                mark.to_str().unwrap()
            );
            let _running = world.launch(&world.jail(&["sh", "-c", &script])).unwrap();
            std::thread::sleep(Duration::from_secs(1000));
        });
        return;
    }
    as_everyone(|world| {
        let mark = mark(world);
        let mut launcher = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", std::thread::current().name().unwrap()])
            .env("ENCLOS_TEST_LAUNCH", &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        wait_for("both sleeps", || sleepers(&mark) == 2);
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        wait_for("everyone's end", || sleepers(&mark) == 0);
    });
}

/// A number of seconds that no other process sleeps for.
fn mark(world: &World) -> String {
    format!("{}.{}", 10_000 + world.user().uid, std::process::id())
}

/// How many processes of the machine sleep for `mark` seconds.
fn sleepers(mark: &str) -> usize {
    let is = |path: std::path::PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{mark}\0").as_bytes()
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| is(entry.path()))
        .count()
}

#[track_caller]
fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "waited too long for {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
