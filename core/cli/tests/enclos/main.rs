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

/// A world in which the command is the one that was just built.
fn world() -> World {
    World::new().with_enclos(env!("CARGO_BIN_EXE_enclos"))
}
