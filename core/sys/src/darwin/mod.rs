//! Facilities that only macOS has.

pub mod processes;
pub mod sandbox;
