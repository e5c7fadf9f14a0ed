//! Facilities that only macOS has.

pub mod acl;
pub mod exits;
pub mod processes;
pub mod sandbox;
