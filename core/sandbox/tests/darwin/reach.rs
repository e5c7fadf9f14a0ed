//! What a command cannot reach.

use std::fs;
use std::net::TcpListener;

use enclos_sandbox::{Exit, Stdio, plan};

use crate::world::World;

/// Runs a script outside, in the copy.
fn outside(world: &World, script: &str) -> bool {
    let mut sh = std::process::Command::new("/bin/sh");
    sh.args(["-c", script]).current_dir(world.path("copy"));
    sh.output().unwrap().status.success()
}

#[test]
fn files_outside_are_neither_read_nor_written() {
    let world = World::new();
    for (attack, undo) in [
        ("cat ../original/file", ":"),
        ("cat ../elsewhere/file", ":"),
        ("echo x >../original/new", "rm ../original/new"),
        ("echo x >../new", "rm ../new"),
        ("ln ../original/file linked", "rm linked"),
        ("cp -c ../original/file cloned", "rm cloned"),
        ("cp -cR ../original whole", "rm -r whole"),
        ("mv ../elsewhere/file moved", "mv moved ../elsewhere/file"),
    ] {
        assert!(outside(&world, attack), "{attack} works outside");
        assert!(outside(&world, undo), "{undo}");
        let output = world.sh(attack);
        assert_ne!(output.exit, Exit::Code(0), "{attack}");
    }
    assert_eq!(
        world.sh("cat file && echo new >file && cat file").stdout,
        "copynew\n"
    );
    assert_eq!(
        fs::read_to_string(world.path("original/file")).unwrap(),
        "original"
    );
}

#[test]
fn other_terminals_are_not_written() {
    let world = World::new();
    let other = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
    rustix::pty::grantpt(&other).unwrap();
    rustix::pty::unlockpt(&other).unwrap();
    let name = rustix::pty::ptsname(&other, Vec::new()).unwrap();
    let attack = format!("echo x >{}", name.to_str().unwrap());
    assert!(outside(&world, &attack));
    let stdio = Stdio::Terminal { rows: 24, cols: 80 };
    let mut running = world.start(&["sh", "-c", &attack], stdio);
    let terminal = running.first.terminal.take();
    std::thread::spawn(move || terminal.map(crate::commands::all_of_terminal));
    assert_ne!(running.wait().unwrap(), Exit::Code(0));
}

#[test]
fn a_service_that_listens_already_is_closed_and_the_sessions_own_is_not() {
    let world = World::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let attack = format!("nc -z -w 2 127.0.0.1 {port}");
    assert!(outside(&world, &attack));
    assert_ne!(world.sh(&attack).exit, Exit::Code(0));
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = own.local_addr().unwrap().port();
    drop(own);
    let script = format!(
        "nc -l 127.0.0.1 {free} >/dev/null & for i in 1 2 3 4 5; do sleep 0.3; nc -z -w 1 localhost {free} && exit 0; done; exit 1"
    );
    assert_eq!(world.sh(&script).exit, Exit::Code(0));
}

#[test]
fn nothing_leaves_this_machine() {
    let world = World::new();
    assert_ne!(world.sh("nc -z -w 2 192.0.2.1 80").exit, Exit::Code(0));
    let error = world.sh("nc -z -w 2 192.0.2.1 80; perl -MIO::Socket -e 'IO::Socket::INET->new(PeerAddr => \"192.0.2.1:80\", Timeout => 2) or die $!'");
    assert!(error.stderr.contains("not permitted"), "{}", error.stderr);
}

#[test]
fn the_trace_of_a_session_in_the_processes_is_its_sandbox() {
    let world = World::new();
    let mut running = world.start(&["sleep", "60"], Stdio::Pipes);
    let inside = world.inhabitants();
    assert!(!inside.is_empty() && inside.iter().all(|process| process.sandboxed));
    running.stop(std::time::Duration::ZERO).unwrap();
}

#[test]
fn a_lent_folder_of_the_original_is_refused() {
    let world = World::new();
    let mut jail = world.jail(world.command(&["true"], Stdio::Pipes));
    jail.lent.push(enclos_sandbox::Lent {
        outside: world.abs("original"),
        inside: world.abs("original"),
        access: enclos_sandbox::Access::ReadOnly,
        doors: enclos_sandbox::Doors::Searched,
    });
    let survey = enclos_sandbox::Survey::take(&jail).unwrap();
    let error = plan(&jail, &enclos_sandbox::HostFacts::gather(&[]), &survey).unwrap_err();
    assert!(
        matches!(error, enclos_sandbox::PlanError::ShowsOriginal { .. }),
        "{error}"
    );
}
