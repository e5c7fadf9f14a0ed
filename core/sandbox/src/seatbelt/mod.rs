//! The jail on macOS: a Seatbelt profile, written from facts, and an evaluator that says what it means.
//!
//! Everything here but `darwin` is pure and runs on every system: [`profile()`] writes the text, [`Ruleset`] reads it
//! back and answers whether something would be allowed, by which rule and how sure that is. The table of cases that
//! the Linux jail runs is asked of the evaluator too. What only a Mac can show is tested on a Mac.

mod evaluate;
mod facts;
mod operations;
mod plan;
mod ports;
mod profile;
mod ruleset;
mod sbpl;
pub mod still;
mod strays;

#[cfg(target_os = "macos")]
pub mod darwin;

pub use evaluate::{Attempt, Target, Verdict};
pub use facts::{
    Facts, Loopback, Network, PhysicalPath, PhysicalPathError, Service, Tag, TagError,
};
pub use operations::{Above, OPERATIONS, Operation, operation};
pub use plan::{Host, Plan, PlanError, plan};
pub use ports::{KNOWN_PORTS, KnownPort};
pub use profile::{Profile, ProfileError, profile};
pub use ruleset::{Certainty, CompileError, Rule, Ruleset};
pub use sbpl::{SyntaxError, SyntaxProblem};
pub use strays::{Activity, Identity, Marks, Members, Process, Round};

#[cfg(test)]
mod tests;
