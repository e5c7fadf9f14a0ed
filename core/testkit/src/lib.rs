//! A hermetic world for tests: a home, projects, an agent, the command, a terminal, and eyes that see every change.
//!
//! Nothing of the person's machine gets into a test but the programs on a fixed `PATH`: home, state, temporary folder,
//! locale, time zone and git identity are the world's own. What cannot be set up panics where the test asked for it,
//! since a test without its world has failed; nothing is ever skipped without a word (see [`requires`]).
//!
//! ```
//! use enclos_testkit::{Agent, World, tree};
//!
//! let world = World::new();
//! let project = world.project("web").file("src/a.rs", "fn main() {}\n").git_init().build();
//! let before = tree(&project);
//! let agent = Agent::new().writes("src/b.rs", "// new\n").says("done");
//! world.command("sh").args(agent.arguments()).current_dir(&project).run().success();
//! assert_ne!(tree(&project), before, "without a jail the agent writes to the original");
//! ```

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that cannot set up its world has failed"
)]

mod agent;
mod invocation;
mod leftovers;
mod loopfs;
mod normal;
mod output;
mod project;
mod requires;
mod terminal;
mod tree;
mod world;

pub use agent::Agent;
pub use invocation::Invocation;
pub use loopfs::LoopFs;
pub use loopfs::LoopFsError;
pub use normal::Normal;
pub use output::Output;
pub use project::Project;
pub use project::ProjectBuilder;
pub use requires::requires;
pub use requires::requires_root;
pub use terminal::Terminal;
pub use terminal::TerminalSize;
pub use tree::Node;
pub use tree::Tree;
pub use tree::tree;
pub use tree::tree_with_times;
pub use world::World;
