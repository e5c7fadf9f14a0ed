//! What a jailed command cannot do, each attack shown first to work without the jail, and what it can.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of this is tests"
)]

mod basics;
mod building;
mod files;
mod kernel;
mod lending;
mod network;
mod processes;
mod table;
mod terminal;
mod world;
