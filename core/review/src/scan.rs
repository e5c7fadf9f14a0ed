//! Finds what differs between the copy and the original.
//!
//! The promise: complete, and blind to whatever the copy says about itself: ignore and attribute files count only as
//! they are in the original. Every read goes through the openers, every text is diffed by an algorithm whose time is
//! bounded, and sizes are capped.

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;

/// How to look.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The time of the look, in nanoseconds since 1970.
    pub now: i128,
    /// Texts with more bytes than this on either side are shown as replaced.
    pub text_limit: u64,
    /// How many bytes of lines the review may hold; hunks of files beyond that are read later.
    pub hunk_budget: u64,
    /// Folders that are shown file by file although they are ignored or build output.
    pub include: Vec<ProjectPath>,
    /// Ignore files besides those in the original, such as the person's global one.
    pub ignore_files: Vec<AbsPath>,
    /// Folders that git takes hooks from (`core.hooksPath` of the person's global configuration).
    pub hook_folders: Vec<ProjectPath>,
    /// Whether an editor with rust-analyzer reads the project.
    pub rust_analyzer: RustAnalyzer,
}

/// Whether an editor runs build scripts and proc macros as soon as they are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RustAnalyzer {
    /// It does: changed build scripts and proc macros start by themselves.
    #[default]
    Reads,
    /// It does not.
    Absent,
}

impl ScanOptions {
    /// The usual limits: texts up to 4 MiB, 64 MiB of hunks.
    #[must_use]
    pub fn at(now: i128) -> Self {
        Self {
            now,
            text_limit: 4 << 20,
            hunk_budget: 64 << 20,
            include: Vec::new(),
            ignore_files: Vec::new(),
            hook_folders: Vec::new(),
            rust_analyzer: RustAnalyzer::default(),
        }
    }
}

/// Why there is no review.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The original, the copy or a folder in them could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}
