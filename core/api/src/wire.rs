//! The types that go over a wire, and that `--json` prints.
//!
//! `version` is 1. Within a version fields are only added; a reader skips what it does not know. Paths are text where
//! their bytes are UTF-8; where they are not, bytes that are not text appear as `\xNN` and `path_bytes` has them all,
//! in hexadecimal. Times are milliseconds since 1970.

use serde::Deserialize;
use serde::Serialize;

/// The version of these types.
pub const VERSION: u32 = 1;

/// Asks for every session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionsListReq {
    /// Discarded ones too.
    #[serde(default)]
    pub discarded: bool,
}

/// Every session, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The version of this type.
    pub version: u32,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Records that cannot be read, with the reason.
    pub unreadable: Vec<String>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// The project's folder.
    pub project: String,
    /// The command.
    pub command: Vec<String>,
    /// When it was made.
    pub created: i64,
    /// How far it is.
    pub state: SessionState,
    /// The command's exit code, once it ended.
    pub exit: Option<u8>,
    /// How the project was copied.
    pub method: String,
    /// Files applied so far.
    pub applied: u64,
    /// What could not be enforced, in words.
    pub gaps: Vec<String>,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// The copy is being made.
    Preparing,
    /// The command runs.
    Working,
    /// The command ended; the copy waits for a decision.
    Ended,
    /// A crash or restart ended it; the copy is whole.
    Interrupted,
    /// The copy is in the trash.
    Discarded,
}

/// Asks what a session changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReq {
    /// The session.
    pub id: String,
    /// Only these files and folders; everything when empty. Relative paths are taken from the caller's folder when it
    /// lies in the project, else from the project's root.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Whether only names and numbers are going to be shown: then nothing counts as seen.
    #[serde(default)]
    pub names_only: bool,
}

/// What a session changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The version of this type.
    pub version: u32,
    /// The session.
    pub session: String,
    /// When the state was frozen that this describes.
    pub taken: i64,
    /// Whether the session was running and held still for it.
    pub while_running: bool,
    /// Every folder under review, the project first.
    pub trees: Vec<DiffTree>,
}

/// What changed in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffTree {
    /// The original.
    pub original: String,
    /// The changed files, sorted by path.
    pub files: Vec<DiffFile>,
    /// Folders that are not reviewed file by file.
    pub folders: Vec<DiffFolder>,
    /// How many files changed below `.git`; never applied.
    pub git_files: u64,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffFile {
    /// Where it is, below the original.
    pub path: String,
    /// The path's bytes in hexadecimal, when they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_bytes: Option<String>,
    /// What happened to it.
    pub change: Change,
    /// Where it was before, when it was renamed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The original now.
    pub before: Option<Side>,
    /// The copy.
    pub after: Option<Side>,
    /// Whether hunks are there, and if not, why.
    pub content: ContentKind,
    /// The changed lines.
    pub hunks: Vec<Hunk>,
    /// How the original stands to it.
    pub standing: Standing,
    /// Why it is held back until it is named, when it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub held: Option<Held>,
    /// Whether the original is one of several hard links, which an apply takes apart.
    pub hard_linked: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is new.
    Added,
    /// Its contents changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name, and perhaps other contents.
    Renamed,
    /// It became another kind of thing.
    TypeChanged,
    /// Only its permissions changed.
    Mode,
    /// It is a link that leads elsewhere now.
    Link,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// `file`, `folder` or `link`.
    pub kind: String,
    /// Permission bits in octal, as `chmod` takes them.
    pub mode: String,
    /// The size of a file in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<u64>,
    /// The BLAKE3 hash of a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
    /// What a link holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
}

/// Whether a file's changes are shown line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// In `hunks`.
    Text,
    /// It is not text.
    Binary,
    /// It is too large, or differs too much to be compared in reasonable time.
    TooLarge,
    /// The review is so large that this file is compared only when asked for by name.
    Later,
    /// There is nothing to compare.
    None,
}

/// Some changed lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Its name, for `apply --hunk`; the same as long as the same lines change in this file.
    pub id: String,
    /// Removed lines in the text before.
    pub old: Lines,
    /// Added lines in the text after.
    pub new: Lines,
    /// The nearest line before it that starts a function or section.
    pub heading: Option<String>,
    /// The lines in order.
    pub lines: Vec<Line>,
}

/// A range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// The first line, counted from 0.
    pub start: u32,
    /// How many.
    pub count: u32,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Whether it stays, goes or comes.
    pub kind: LineKind,
    /// The line without its newline; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether a newline ends it.
    pub newline: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// It stays.
    Context,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

/// How the original stands to a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Standing {
    /// As it was at the start.
    Untouched,
    /// Also changed, elsewhere in the file; both changes fit together.
    Merges,
    /// Also changed, and the changes do not fit together.
    Conflict {
        /// Why, in words.
        why: String,
    },
}

/// Why a change is held back until it is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What would run.
    pub what: String,
    /// When.
    pub when: String,
}

/// A folder that is not reviewed file by file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffFolder {
    /// Where it is.
    pub path: String,
    /// How many files changed in it.
    pub files: u64,
    /// Why, in words.
    pub why: String,
    /// The command that makes it again, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rebuild: Option<String>,
}

/// Asks to bring changes into the original.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyReq {
    /// The session.
    pub id: String,
    /// Only these files and folders, as in [`DiffReq`]. What is named here is applied although it starts by itself.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Only these hunks.
    #[serde(default)]
    pub hunks: Vec<String>,
    /// Without paths and hunks: what starts by itself too.
    #[serde(default)]
    pub all: bool,
}

/// Asks to take the last apply back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoReq {
    /// The session.
    pub id: String,
    /// Only these files and folders, as in [`DiffReq`].
    #[serde(default)]
    pub paths: Vec<String>,
}

/// What an apply or an undo did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The version of this type.
    pub version: u32,
    /// The session.
    pub session: String,
    /// What became of each file, by folder and path.
    pub files: Vec<AppliedFile>,
    /// Changes that stay in the session: held back, in conflict, or not chosen.
    pub left: Vec<LeftFile>,
    /// Applies that a crash had interrupted and that were put right first, in words.
    pub recovered: Vec<String>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFile {
    /// The original folder.
    pub original: String,
    /// The file.
    pub path: String,
    /// Whether it was written.
    pub applied: bool,
    /// Why not, or what was lost with it, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
}

/// A change that stays in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    /// The original folder.
    pub original: String,
    /// The file or folder.
    pub path: String,
    /// Why it stays.
    pub why: LeftWhy,
    /// The same, in words.
    pub words: String,
}

/// Why a change stays in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftWhy {
    /// The original changed in the same place.
    Conflict,
    /// It would start by itself.
    StartsByItself,
    /// It cannot be reviewed file by file.
    NotReviewable,
}

/// Asks to throw a session's copy away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardReq {
    /// The session.
    pub id: String,
    /// Delete it at once instead of keeping it for a while.
    #[serde(default)]
    pub now: bool,
}

/// A copy that was thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// The version of this type.
    pub version: u32,
    /// The session.
    pub session: String,
    /// Where its copy lies until it is deleted; none when it is being deleted already.
    pub kept_in: Option<String>,
}

/// Asks to end every process of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReq {
    /// The session.
    pub id: String,
}

/// A session that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The version of this type.
    pub version: u32,
    /// The session.
    pub session: String,
}

/// Asks to delete what was thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrashReq {
    /// Only what was thrown away longer ago than this many days.
    #[serde(default)]
    pub older_than_days: u32,
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trash {
    /// The version of this type.
    pub version: u32,
    /// How many copies.
    pub copies: u64,
    /// Leftovers of unfinished sessions that were removed, by name.
    pub swept: Vec<String>,
}

/// Asks what this machine can enforce.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReq {
    /// A project's folder, to say how it would be copied.
    #[serde(default)]
    pub folder: Option<String>,
}

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The version of this type.
    pub version: u32,
    /// The checks, in the order of their weight.
    pub checks: Vec<Check>,
}

/// One check of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// How it went.
    pub state: CheckState,
    /// What was found, in words.
    pub what: String,
    /// The one line to type, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_type: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// All that is promised.
    Good,
    /// Sessions run, with less.
    Weak,
    /// No session can run.
    Fails,
}
