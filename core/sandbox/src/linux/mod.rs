//! The jail on Linux: bubblewrap makes the namespaces and mounts, the stage adds Landlock and the system call filter.
//!
//! The planner and all it decides with are pure and are compiled on every system. What is for Linux only is the launch,
//! the stage, and the socket between them.

pub mod etc;
pub mod facts;
pub mod filter;
pub mod plan;
pub mod survey;

mod bwrap;
mod mounts;
mod rights;

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod codec;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod wire;

pub use facts::HostFacts;
pub use mounts::MountPoint;
pub use plan::{Plan, PlanError, plan};
pub use survey::{Survey, SurveyError};

#[cfg(target_os = "linux")]
pub use launch::{LaunchError, launch};
#[cfg(target_os = "linux")]
pub use running::Running;
#[cfg(target_os = "linux")]
pub use stage::stage;
