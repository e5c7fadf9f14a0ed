//! The command as a person or a script uses it, from the outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod hostile;
mod review;
mod run;
mod sessions;
mod terminal;
mod tour;
mod trust;
mod wording;

use enclos_testkit::World;

/// Waits until `is_so`, as long as it takes on a busy machine.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_so() {
        assert!(
            std::time::Instant::now() < deadline,
            "{what} did not come about"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A world in which the command is the one that was just built.
fn world() -> World {
    World::new().with_enclos(env!("CARGO_BIN_EXE_enclos"))
}
