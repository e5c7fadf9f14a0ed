//! Runs a process that can do only what the policy says.
//!
//! Three steps, each in its own files: a [`Jail`] says what is wanted (pure data), a planner turns it and the facts
//! about this machine into a plan (pure, compiled and tested on every system), and [`launch()`] carries the plan out
//! without deciding anything. What runs first inside is the stage ([`stage()`]): an executed, single-threaded program.
//!
//! What cannot be enforced here is in the plan's [`Enforcement`], never silently assumed.

pub mod cases;
pub mod darwin;
pub mod enforcement;
pub mod jail;
pub mod lend;
pub mod linux;
pub mod seatbelt;
pub mod seen;

pub use enforcement::{Enforcement, Gap, Level};
pub use jail::{Access, Command, Doors, Jail, Lent, Network, Overlay, Piped, Stdio, Tree, User};
pub use outcome::{Exit, Signal};
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use platform::{
    HostFacts, LaunchError, Plan, PlanError, Running, Survey, SurveyError, etc, launch, plan, stage,
};
pub use spawned::{FreezeError, SpawnError, Spawned, WaitError};

#[cfg(target_os = "macos")]
use darwin as platform;
#[cfg(target_os = "linux")]
use linux as platform;

mod outcome;
mod program;
mod spawned;
