//! Folders that are not reviewed file by file.

/// Why a folder is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreviewable {
    /// The original's ignore rules ignore it.
    Ignored,
    /// It is a build's or a package manager's output.
    BuildOutput {
        /// The command that makes it again, where that is known.
        rebuild: Option<&'static str>,
    },
}
