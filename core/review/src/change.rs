//! What a review says: every difference between the copy and the original, as data.
//!
//! The promise: a review is complete. Whatever differs is in it, as a file, as part of a folder that is too big to
//! read, as the one line about `.git`, or as a note; nothing is left out because a name or a rule inside the copy
//! says so. Nothing here touches a disk: [`crate::scan()`] makes it, [`crate::apply()`] takes it back.
//!
//! Deliberately not here: how it looks on a terminal or on a wire.

use std::fmt;
use std::path::PathBuf;

use enclos_clone::Absence;
use enclos_clone::Identity;
use enclos_paths::ProjectPath;

use crate::Hunk;
use crate::HunkId;
use crate::held::Held;
use crate::ignored::Unreviewable;

/// Everything that differs between a session's copy and the original.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Review {
    /// When it was taken, in nanoseconds since 1970, as the caller gave it.
    pub taken: i128,
    /// The changed files, sorted by path bytes.
    pub files: Vec<FileChange>,
    /// Changes under any `.git`: counted, never shown one by one and never applied.
    pub git: Option<GitChange>,
    /// Folders that the original's rules ignore or that are known build output, one line each.
    pub folders: Vec<FolderChange>,
    /// What could be neither shown nor applied, and why.
    pub notes: Vec<Note>,
}

impl Review {
    /// The change at `path`, if there is one.
    #[must_use]
    pub fn file(&self, path: &ProjectPath) -> Option<&FileChange> {
        let at = self
            .files
            .binary_search_by(|file| file.path.cmp(path))
            .ok()?;
        self.files.get(at)
    }

    /// Every hunk of that id with the file it is in. More than one answer means that the id is not enough to choose.
    pub fn hunks(&self, id: &HunkId) -> impl Iterator<Item = (&FileChange, &Hunk)> {
        self.files.iter().flat_map(move |file| {
            let hunks = file.content.hunks().iter();
            hunks
                .filter(move |hunk| hunk.id == *id)
                .map(move |hunk| (file, hunk))
        })
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.git.is_none() && self.folders.is_empty()
    }
}

/// One changed file, link or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// Where it is, below the root.
    pub path: ProjectPath,
    /// What the agent did.
    pub kind: ChangeKind,
    /// What the original holds now; none when nothing is there. Of a rename it is the state at the old path.
    pub before: Option<FileState>,
    /// What the copy holds; none when it was deleted.
    pub after: Option<FileState>,
    /// What can be shown of the contents.
    pub content: Content,
    /// How it stands to what the person did to the same path since the start.
    pub standing: Standing,
    /// Set when it would start by itself on the person's machine: what, and when.
    pub held: Option<Held>,
    /// Set when the original has further names (hard links). Applying writes a new file under this name; the other
    /// names keep the old contents unless they are in `group`.
    pub hard_linked: Option<HardLinked>,
    /// The state at the start when its contents are still known; what a merge compares with.
    pub(crate) base: Option<FileState>,
    /// What the original's file was told by when its contents were read.
    pub(crate) seen: Option<Identity>,
}

impl FileChange {
    /// The conflict, if there is one.
    #[must_use]
    pub fn conflict(&self) -> Option<&Conflict> {
        match &self.standing {
            Standing::Conflict(conflict) => Some(conflict),
            Standing::Untouched | Standing::Merges => None,
        }
    }
}

/// What the agent did to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// The contents of a file differ, and perhaps its mode.
    Modified,
    /// It is gone.
    Deleted,
    /// It was moved here, and perhaps edited.
    Renamed {
        /// Where it was.
        from: ProjectPath,
    },
    /// It is another kind of thing now, say a link instead of a file.
    TypeChanged,
    /// Only permission bits differ.
    ModeOnly,
    /// A symbolic link holds other bytes.
    LinkChanged,
}

/// What lies at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileState {
    /// What it is, with what tells its contents.
    pub kind: FileKind,
    /// Permission bits with set-id and sticky (`st_mode & 0o7777`); of a link always 0.
    pub mode: u32,
}

/// What a path is, with what tells its contents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File {
        /// The size in bytes.
        size: u64,
        /// The hash of its bytes.
        hash: ContentHash,
    },
    /// A folder.
    Folder,
    /// A symbolic link and the bytes it holds.
    Link {
        /// Where it points, as it is.
        target: PathBuf,
    },
}

/// The BLAKE3 hash of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.0).to_hex().fmt(f)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// What can be shown of a change's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text, as hunks in the order of the file; each can be chosen by itself.
    Text(Vec<Hunk>),
    /// Not text on at least one side.
    Binary,
    /// Text, but more than the limit; shown as replaced and applied whole.
    TooLarge,
    /// Text whose hunks were not kept because the review has so many; [`crate::scan::content`] reads them.
    Later,
    /// No contents differ: a folder, a link, or only a mode.
    None,
}

impl Content {
    /// The hunks; none when the contents are not shown as text.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        match self {
            Self::Text(hunks) => hunks,
            _ => &[],
        }
    }
}

/// How a change stands to what the person did to the same path since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// The person did not touch it.
    Untouched,
    /// The person edited it elsewhere; both edits fit together and applying keeps both.
    Merges,
    /// Both changed it in ways that do not fit together.
    Conflict(Conflict),
}

/// Why a change and the person's own edits do not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// Both changed it.
    BothChanged(Meeting),
    /// Both added something different under this name.
    BothAdded,
    /// The agent changed it, the person deleted it.
    DeletedByPerson,
    /// The agent deleted or moved it, the person changed it.
    DeletedByAgent,
    /// The kinds differ: say a folder on one side and a file on the other.
    KindsDiffer,
}

/// Where two edits of the same thing meet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meeting {
    /// In these places of the text.
    Regions(Vec<Region>),
    /// In its permission bits.
    Mode,
    /// It cannot be said, because what it was at the start is not known.
    NoBase(Absence),
    /// It cannot be said, because it is not text or too large.
    NotText,
}

/// A place where two edits of the same text meet, as line ranges on all three sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The lines at the start of the session.
    pub base: Lines,
    /// The person's lines, in the original.
    pub ours: Lines,
    /// The agent's lines, in the copy.
    pub theirs: Lines,
}

/// A range of lines: `start` counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The first line, counted from 0.
    pub start: u32,
    /// How many.
    pub count: u32,
}

impl Lines {
    /// The line after the last.
    #[must_use]
    pub fn end(self) -> u32 {
        self.start + self.count
    }
}

/// Further names of a file in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardLinked {
    /// Other names in this project that changed together with this one; they are approved and applied together.
    pub group: Vec<ProjectPath>,
    /// How many other names keep the old contents, inside or outside the project.
    pub left_behind: u64,
}

/// Changes under `.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitChange {
    /// How many entries differ.
    pub files: u64,
    /// The `.git` folders and files they are in, sorted.
    pub places: Vec<ProjectPath>,
}

/// A folder whose changes are one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderChange {
    /// The folder, or a single ignored file.
    pub path: ProjectPath,
    /// How many entries in it differ.
    pub files: u64,
    /// Why it is not shown file by file.
    pub why: Unreviewable,
}

/// Something that can be neither shown nor applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub path: ProjectPath,
    /// Why.
    pub kind: NoteKind,
}

/// Why something can be neither shown nor applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The copy holds a socket, named pipe or device there.
    Special,
    /// It could not be read in the copy.
    UnreadableInCopy,
    /// It could not be read in the original.
    UnreadableInOriginal,
    /// It changed while it was read, so the copy is not frozen.
    Moving,
    /// A file system is mounted there.
    Mount,
    /// It is a file of more than a gigabyte that is mostly holes; reading it could take for ever.
    Sparse,
    /// It was left out of the copy at the start, and something of that name is in the copy now.
    LeftOut,
    /// The name is one that an apply uses for its own folder.
    Reserved,
}
