//! The jail on Linux: bubblewrap makes the namespaces and mounts, the stage adds Landlock and the system call filter.

pub mod etc;
pub mod facts;
pub mod plan;
pub mod survey;

#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod stage;

pub use facts::HostFacts;
pub use plan::{Plan, PlanError, plan};
pub use survey::{Survey, SurveyError};

#[cfg(target_os = "linux")]
pub use launch::{LaunchError, Running, SpawnError, Spawned, WaitError, launch};
#[cfg(target_os = "linux")]
pub use stage::stage;
