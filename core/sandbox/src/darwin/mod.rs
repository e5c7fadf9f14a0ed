//! Sessions on macOS: what is asked of this Mac, what follows for a session, and carrying it out.
//!
//! The promise is that of the sandbox profile ([`crate::seatbelt`]), which every command enters in a stage of its own,
//! an executed program with one thread, before it becomes the command. There is no process 1 that everybody dies with:
//! who belongs to a session is found by looking, so ending and holding still are best efforts, and reported as such.
//! Two commands of one session have two sandboxes of the same rules; they share files and sockets, not signals.
//!
//! The planner and all it decides with are pure and are compiled on every system. What is for macOS only is thin.

pub mod etc;
pub mod facts;
pub mod listening;
pub mod plan;
pub mod survey;

#[cfg(any(target_os = "macos", test))]
mod order;

#[cfg(target_os = "macos")]
mod command;
#[cfg(target_os = "macos")]
mod ending;
#[cfg(target_os = "macos")]
mod error;
#[cfg(target_os = "macos")]
mod half;
#[cfg(target_os = "macos")]
mod launch;
#[cfg(target_os = "macos")]
mod running;
#[cfg(target_os = "macos")]
mod stage;
#[cfg(target_os = "macos")]
mod terminal;
#[cfg(any(target_os = "macos", test))]
mod tmp;
#[cfg(target_os = "macos")]
mod waiting;

pub use facts::HostFacts;
pub use plan::{Plan, PlanError, plan};
pub use survey::{Survey, SurveyError};

#[cfg(target_os = "macos")]
pub use error::{Entering, LaunchError};
#[cfg(target_os = "macos")]
pub use launch::launch;
#[cfg(target_os = "macos")]
pub use running::Running;
#[cfg(target_os = "macos")]
pub use stage::stage;
