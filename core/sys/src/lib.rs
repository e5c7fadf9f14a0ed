//! Thin, safe wrappers over kernel facilities; the only crate with `unsafe`.
//!
//! One facility per file, the same public API on every system, platform files beside each other. What the kernel does
//! is said here; what it is used for is decided elsewhere.

pub mod open;
pub mod peer;
pub mod stat;
