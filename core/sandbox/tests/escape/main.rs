//! What a jailed command cannot do, each attack shown first to work without the jail.
#![cfg(target_os = "linux")]

mod basics;
mod world;
