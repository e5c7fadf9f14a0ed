//! Finds what differs between the copy and the original.
//!
//! The promise: complete, and blind to whatever the copy says about itself: ignore and attribute files count only as
//! they are in the original. Every read goes through the openers, every text is diffed by an algorithm whose work is
//! bounded, and sizes are capped; a review of very many or very strange files leaves their hunks for later.
//!
//! The copy must be frozen: its processes gone or stopped. What moves all the same is named.

pub(crate) mod crew;
pub(crate) mod judge;
mod linked;
mod moved;
pub(crate) mod side;
pub(crate) mod sort;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use enclos_clone::Candidate;
use enclos_clone::Side as WhichTree;
use enclos_clone::changes;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;

use self::judge::Person;
use self::judge::Sides;
use self::judge::Verdict;
use self::judge::is_as_recorded;
use self::judge::wanted_mode;
use self::side::Side;
use self::sort::Sorted;
use crate::ChangeKind;
use crate::Content;
use crate::FileChange;
use crate::Note;
use crate::NoteKind;
use crate::Review;
use crate::TreeSources;
use crate::held::Guard;
use crate::held::hooks;
use crate::hunks::hunks;
use crate::ignored::Grouping;
use crate::source::LookError;
use crate::source::Tree;

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
    /// Folders that git takes hooks from besides what the original's own configuration names.
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
            text_limit: TEXT_LIMIT,
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
    /// The original or the copy could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something in one of them could not be looked at.
    #[error(transparent)]
    Changes(#[from] enclos_clone::ScanError),
}

/// Compares the copy with the original and with what both were at the start.
///
/// # Errors
/// When one of the folders, or a folder in them, cannot be looked at. A single file that cannot be read is a note.
pub fn scan(sources: &TreeSources<'_>, options: &ScanOptions) -> Result<Review, ScanError> {
    let (original, copy) = (
        Tree::open(sources.original.path())?,
        Tree::open(sources.copy)?,
    );
    let agent = changes(sources.baseline, sources.copy, WhichTree::Copy)?;
    // Of the original only what the agent changed is looked at: all else stays as it is, whatever it is.
    let looker = Looker::new(sources, options, (&original, &copy));
    let mut grouping = Grouping::new(&original, &copy, &options.ignore_files, &options.include);
    let mut sorted = Sorted::new(sources, &agent, &mut grouping);
    let mut found = Vec::new();
    for judged in crew::each(&sorted.files, |candidate| looker.judge(candidate)) {
        match judged {
            Judged::Nothing => {}
            Judged::Change(change) => found.push(*change),
            Judged::Noted(note) => sorted.notes.push(note),
        }
    }
    moved::pair(&looker, &mut found);
    linked::mark(&mut found);
    let mut hook_folders = options.hook_folders.clone();
    hook_folders.extend(hooks::folder(&original, sources.original.path()));
    let mut guard = Guard::new(&copy, &hook_folders, options.rust_analyzer);
    let mut files: Vec<_> = found.into_iter().map(|found| found.change).collect();
    guard.learn(files.iter().map(|file| &file.path));
    for file in &mut files {
        file.held = file
            .after
            .as_ref()
            .and_then(|after| guard.held(&file.path, after));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    sorted.notes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Review {
        taken: options.now,
        files,
        git: sorted.git(),
        folders: sorted.folders(),
        notes: sorted.notes,
    })
}

/// The contents of one change, whatever the review's budget was; for a change that says [`Content::Later`].
///
/// # Errors
/// When the folders cannot be opened. A file that cannot be read any more gives [`Content::None`].
pub fn content(
    sources: &TreeSources<'_>,
    options: &ScanOptions,
    file: &FileChange,
) -> Result<Content, ScanError> {
    let (original, copy) = (
        Tree::open(sources.original.path())?,
        Tree::open(sources.copy)?,
    );
    let looker = Looker::new(sources, options, (&original, &copy));
    let from = match &file.kind {
        ChangeKind::Renamed { from } => from,
        _ => &file.path,
    };
    let base = match &file.base {
        Some(_) => {
            Side::at_start(sources.baseline.get(from), sources.base, options.text_limit).ok()
        }
        None => None,
    };
    let Ok(from) = base.map_or_else(|| looker.ours(from), Ok) else {
        return Ok(Content::None);
    };
    let Ok(to) = looker.theirs(&file.path) else {
        return Ok(Content::None);
    };
    Ok(judge::content(&from, &to, &mut |from, to| {
        Content::Text(hunks(&file.path, from, to).hunks)
    }))
}

/// Texts with more bytes than this are not compared line by line.
pub(crate) const TEXT_LIMIT: u64 = 4 << 20;

/// How many steps all diffs of a review may take together: some seconds at most.
const MOST_STEPS: u64 = 1_000_000_000;

/// Reads both trees for one review.
struct Looker<'a> {
    sources: &'a TreeSources<'a>,
    options: &'a ScanOptions,
    original: &'a Tree,
    copy: &'a Tree,
    held_bytes: AtomicU64,
    steps: AtomicU64,
}

/// A change with what is needed to find moves and hard links.
#[derive(Debug)]
struct Found {
    change: FileChange,
    copy_inode: Option<(u64, u64)>,
    original_inode: Option<(u64, u64)>,
    original_links: u64,
}

enum Judged {
    /// Applying would change nothing.
    Nothing,
    Change(Box<Found>),
    Noted(Note),
}

impl<'a> Looker<'a> {
    fn new(
        sources: &'a TreeSources<'a>,
        options: &'a ScanOptions,
        trees: (&'a Tree, &'a Tree),
    ) -> Self {
        Self {
            sources,
            options,
            original: trees.0,
            copy: trees.1,
            held_bytes: AtomicU64::new(0),
            steps: AtomicU64::new(0),
        }
    }

    fn ours(&self, path: &ProjectPath) -> Result<Side, LookError> {
        Side::look(self.original, path, self.options.text_limit)
    }

    fn theirs(&self, path: &ProjectPath) -> Result<Side, LookError> {
        Side::look(self.copy, path, self.options.text_limit)
    }

    fn judge(&self, candidate: &Candidate) -> Judged {
        let path = &candidate.path;
        let noted = |kind| {
            Judged::Noted(Note {
                path: path.clone(),
                kind,
            })
        };
        let mut theirs = match self.theirs(path) {
            Ok(side) => side,
            Err(LookError::Moving { .. }) => return noted(NoteKind::Moving),
            Err(LookError::TooBig { .. }) => return noted(NoteKind::Sparse),
            Err(LookError::Special { .. }) => return noted(NoteKind::Special),
            Err(LookError::Open(OpenError::Mount { .. })) => return noted(NoteKind::Mount),
            Err(_) => return noted(NoteKind::UnreadableInCopy),
        };
        let ours = match self.ours(path) {
            Ok(side) => side,
            Err(LookError::Moving { .. }) => return noted(NoteKind::Moving),
            Err(_) => return noted(NoteKind::UnreadableInOriginal),
        };
        let entry = candidate
            .before
            .and_then(|at| self.sources.baseline.entries.get(at));
        let person = if is_as_recorded(entry, &ours) {
            Person::Untouched
        } else {
            Person::Changed
        };
        let base = match person {
            Person::Untouched => Ok(ours.clone()),
            Person::Changed => Side::at_start(entry, self.sources.base, self.options.text_limit),
        };
        if let Some(state) = &mut theirs.state {
            state.mode = wanted_mode(entry, &ours, state);
        }
        let inode = |side: &Side| side.stat.map(|stat| (stat.dev, stat.ino));
        let (copy_inode, original_inode) = (inode(&theirs), inode(&ours));
        let original_links = ours.stat.map_or(0, |stat| {
            if ours.body == side::Body::None {
                0
            } else {
                stat.links
            }
        });
        let sides = Sides {
            path,
            entry,
            base,
            ours,
            theirs,
            person,
        };
        match sides.verdict(&mut |from, to| self.hunks(path, from, to)) {
            Verdict::Nothing => Judged::Nothing,
            Verdict::Change(change) => Judged::Change(Box::new(Found {
                change: *change,
                copy_inode,
                original_inode,
                original_links,
            })),
        }
    }

    fn hunks(&self, path: &ProjectPath, from: &[u8], to: &[u8]) -> Content {
        let is_over = |spent: &AtomicU64, most| spent.load(Ordering::Relaxed) >= most;
        if is_over(&self.held_bytes, self.options.hunk_budget) || is_over(&self.steps, MOST_STEPS) {
            return Content::Later;
        }
        let made = hunks(path, from, to);
        self.held_bytes.fetch_add(made.bytes, Ordering::Relaxed);
        self.steps.fetch_add(made.steps, Ordering::Relaxed);
        Content::Text(made.hunks)
    }
}
