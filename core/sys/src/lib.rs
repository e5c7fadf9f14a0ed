//! Thin, safe wrappers over kernel facilities; the only crate with `unsafe`.
//!
//! One facility per file, the same public API on every system, platform files beside each other. What the kernel does
//! is said here; what it is used for is decided elsewhere.

#[cfg(target_os = "linux")]
pub mod children;
pub mod ctty;
#[cfg(target_os = "macos")]
pub mod darwin;
pub mod flush;
pub mod immutable;
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub mod inherit;
#[cfg(target_os = "linux")]
pub mod landlock;
#[cfg(target_os = "linux")]
pub mod namespaces;
pub mod open;
pub mod peer;
#[cfg(target_os = "linux")]
pub mod seccomp;
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub mod spawn;
pub mod stat;
