//! Who is ended, held still, and found.

use std::fs;
use std::time::{Duration, Instant};

use enclos_sandbox::{Exit, Running, Signal, Stdio};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::world::World;

/// A process that leaves its session, loses its parent and goes on.
const DAEMON: &str =
    "/usr/bin/perl -e 'use POSIX; exit if fork; POSIX::setsid(); exit if fork; sleep 600'";

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_readable(fd: std::os::fd::BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
}

fn with_daemon(world: &World) -> Running {
    let script = format!("{DAEMON}; sleep 600 & wait");
    let running = world.start(&["sh", "-c", &script], Stdio::Pipes);
    wait_until("the shell, its sleep and the daemon run", || {
        world.inhabitants().len() >= 3
    });
    running
}

#[test]
fn stop_ends_children_and_daemons() {
    let world = World::new();
    let mut running = with_daemon(&world);
    let exit = running.stop(Duration::from_millis(400)).unwrap();
    assert!(matches!(exit, Exit::Signal(_) | Exit::Code(_)), "{exit:?}");
    assert_eq!(world.inhabitants(), []);
    assert_eq!(running.left(), [0_i32; 0]);
}

#[test]
fn who_ignores_being_asked_is_killed() {
    let world = World::new();
    let script = "trap '' TERM HUP; touch ready; while :; do sleep 1; done";
    let mut running = world.start(&["sh", "-c", script], Stdio::Pipes);
    wait_until("it ignores signals", || world.path("copy/ready").exists());
    assert_eq!(
        running.stop(Duration::from_millis(200)).unwrap(),
        Exit::Signal(9)
    );
    assert_eq!(world.inhabitants(), []);
}

#[test]
fn what_the_command_leaves_behind_ends_with_it() {
    let world = World::new();
    let mut running = world.start(
        &["sh", "-c", &format!("{DAEMON}; sleep 1; exit 5")],
        Stdio::Pipes,
    );
    assert!(!is_readable(running.ended()));
    assert_eq!(running.try_wait().unwrap(), None);
    assert_eq!(running.wait().unwrap(), Exit::Code(5));
    assert_eq!(world.inhabitants(), []);
}

#[test]
fn the_end_of_the_command_is_heard_on_both_descriptors() {
    let world = World::new();
    let mut running = world.start(&["sleep", "0.2"], Stdio::Pipes);
    wait_until("it ends", || is_readable(running.ended()));
    assert!(is_readable(running.news()));
    assert_eq!(running.exit_of(0), Some(Exit::Code(0)));
    assert!(
        is_readable(running.ended()),
        "it stays so until it is waited for"
    );
    assert_eq!(running.try_wait().unwrap(), Some(Exit::Code(0)));
}

#[test]
fn dropping_a_session_ends_it() {
    let world = World::new();
    drop(with_daemon(&world));
    assert_eq!(world.inhabitants(), []);
}

#[test]
fn a_signal_reaches_the_commands_group() {
    let world = World::new();
    let script = "trap 'touch heard; exit 0' INT; touch ready; while :; do sleep 0.1; done";
    let mut running = world.start(&["sh", "-c", script], Stdio::Pipes);
    wait_until("it listens", || world.path("copy/ready").exists());
    running.signal(0, Signal::Interrupt).unwrap();
    running.wait().unwrap();
    assert!(world.path("copy/heard").exists());
}

#[test]
fn a_session_that_is_held_still_writes_nothing_and_goes_on_afterwards() {
    let world = World::new();
    let writer = "i=0; while :; do i=$((i+1)); echo $i >>count; done";
    let script = format!("sh -c '{writer}' & wait");
    let mut running = world.start(&["sh", "-c", &script], Stdio::Pipes);
    let size = || fs::metadata(world.path("copy/count")).map_or(0, |file| file.len());
    wait_until("it writes", || size() > 0);
    running.freeze().unwrap();
    running.freeze().unwrap();
    let held = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), held);
    running.thaw();
    wait_until("it goes on", || size() > held);
    running.stop(Duration::ZERO).unwrap();
    assert_eq!(world.inhabitants(), []);
}

#[test]
fn a_session_on_a_terminal_that_another_had_before_is_nothing_to_that_other() {
    let (world, other) = (World::new(), World::new());
    let terminal = Stdio::Terminal { rows: 24, cols: 80 };
    let mut running = world.start(&["sleep", "60"], Stdio::Pipes);
    let shell = world.command(&["true"], terminal);
    let mut spawned = running.spawn(&shell).unwrap();
    wait_until("the shell ends", || running.exit_of(spawned.id).is_some());
    drop(spawned.terminal.take());
    let mut later = other.start(&["sleep", "60"], terminal);
    running.stop(Duration::ZERO).unwrap();
    assert_eq!(world.inhabitants(), []);
    assert_eq!(later.try_wait().unwrap(), None, "it goes on");
}
