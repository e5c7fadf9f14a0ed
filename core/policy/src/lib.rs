//! What a session is allowed to do: pure decisions over text and paths.
//!
//! Text of up to four layers is parsed into [`Document`]s, [`merge`] makes one [`Policy`] of them, and everything
//! below acts on that. Nothing here reads a file, an environment or a clock; whoever calls passes text and folders.
//! Enforcement is not here either: a policy says what is wanted, and what a platform cannot enforce is reported by
//! whoever enforces it.

mod document;
mod explain;
mod flags;
mod hide;
mod layers;
mod lending;
mod origin;
mod parcai;
mod parse;
mod problem;
mod protected;
mod secret_names;
mod trust;
mod values;

pub use document::{Document, Effect, Statement};
pub use explain::{Access, Rule, Shown, Verdict, verdict};
pub use flags::{FlagError, Flags};
pub use hide::{EntryKind, HidePattern, HidePatternError, HideRules};
pub use layers::{
    EnvRule, Layers, Lent, LentAccess, MergeError, MergeErrors, Overruled, Places, Policy, merge,
};
pub use lending::{LendRefused, Lending, may_lend};
pub use origin::{Layer, Origin, Sourced};
pub use parcai::{ParcaiError, from_parcai};
pub use parse::{VERSION, parse};
pub use problem::{ParseError, Problem, ProblemKind};
pub use protected::{PROTECTED, Protected, Refuses, SOCKETS, Spot};
pub use secret_names::{SECRET_FILES, SecretFile, SecretKind, secret_file};
pub use trust::{Changes, Trust, TrustHash, TrustHashError};
pub use values::{
    CloneMethod, EnvName, EnvNameError, EnvValue, EnvValueError, History, Local, Network, OnExit,
    Scope, WrittenPath, WrittenPathError, parse_duration, show_duration,
};
