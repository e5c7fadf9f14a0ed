//! Sessions on macOS as they are launched: what runs, how it ends, what it cannot reach, and who is left.
//!
//! The rules themselves are asked of macOS in `seatbelt.rs`. Each attack is shown first to work outside.
#![cfg(target_os = "macos")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of this is tests"
)]

mod commands;
mod ending;
mod reach;
mod world;
