//! Real toolchains build and test small projects inside the jail, without a network.
//!
//! What they need is a machine for developers: bubblewrap, git, make, gcc, node, npm, pnpm, go, python3 with venv and
//! pytest, and the cargo that builds this. What is missing makes a test fail with its name; nothing is skipped.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of this is tests"
)]

mod c;
mod git;
mod go;
mod machine;
mod node;
mod python;
mod registry;
mod rust;
mod shell;
