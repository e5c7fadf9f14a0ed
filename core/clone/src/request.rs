//! What a clone is asked for, and what it answers.

use std::fmt;
use std::io;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_paths::shown;

use crate::baseline::Baseline;
use crate::method::FallBack;
use crate::method::Method;
use crate::method::MethodUsed;

/// What to clone, where to, and how.
#[derive(Clone, Copy)]
pub struct CloneRequest<'a> {
    /// The folder to clone. It is only read.
    pub source: &'a ProjectRoot,
    /// Where the copy goes. It must not exist; its parent does, and others cannot enter that.
    pub destination: &'a AbsPath,
    /// The way to copy.
    pub method: Method,
    /// Paths that are left out with everything below, and noted in the baseline as hidden.
    pub hidden: &'a [ProjectPath],
    /// Folders that are never entered wherever they lie, such as our own store below the project.
    pub keep_out: &'a [AbsPath],
    /// What to do with entries that cannot be read.
    pub leave_out: LeaveOut,
    /// Told how far it is, and asked before bytes are copied although a cheaper way was wanted.
    pub progress: &'a dyn Progress,
}

/// What to do with entries that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LeaveOut {
    /// Nothing is left out: the first entry that cannot be read is an error that names it.
    #[default]
    Nothing,
    /// What cannot be read is left out and named.
    Unreadable,
}

/// Told how far a clone is. Called from several threads.
pub trait Progress: Sync {
    /// `files` with `bytes` will be copied in full, because of `why`. Nothing was copied yet.
    fn falling_back(&self, bytes: u64, files: u64, why: &FallBack) -> Decision;

    /// So many more entries and bytes are done; bytes of shared files count as well.
    fn advanced(&self, entries: u64, bytes: u64);
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Copy.
    GoOn,
    /// End with [`CloneError::Declined`]; nothing was made.
    Stop,
}

/// A [`Progress`] that shows nothing and agrees to copying.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn falling_back(&self, _bytes: u64, _files: u64, _why: &FallBack) -> Decision {
        Decision::GoOn
    }

    fn advanced(&self, _entries: u64, _bytes: u64) {}
}

/// A finished clone.
#[derive(Debug)]
pub struct Cloned {
    /// The way that was used.
    pub method: MethodUsed,
    /// What original and copy look like now, before anyone works in the copy.
    pub baseline: Baseline,
    /// What is not in the copy and must be overlaid to be seen.
    pub overlays: Vec<Overlaid>,
    /// What the person should know about entries that are not plain files, folders and links.
    pub notes: Vec<Note>,
}

/// A folder that lies in the copy as an empty mount point, to be covered by an overlay of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlaid {
    /// Where it is; none for the whole project.
    pub path: Option<ProjectPath>,
    /// The original's folder, the lower layer.
    pub lower: AbsPath,
}

/// Something about one entry that the person should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The entry.
    pub path: ProjectPath,
    /// What about it.
    pub about: About,
}

/// What there is to say about an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum About {
    /// A socket, named pipe or device, which is not copied.
    Special,
    /// Another file system is mounted there; it is not entered.
    Mount,
    /// It is hidden by request and left out with everything below.
    Hidden,
    /// It is a folder that is never entered, such as our own store.
    KeptOut,
    /// It could not be read and was left out.
    Unreadable,
    /// Its contents are in the cloud; it was left out.
    Dataless,
    /// A link that leads out of the project. It was copied as it is, and leads nowhere inside unless `lend` is lent.
    OutwardLink {
        /// The bytes the link holds.
        target: PathBuf,
        /// The path outside that reading would have to be allowed for.
        lend: AbsPath,
    },
    /// It kept changing while it was copied, so the copy may be a mix of several states.
    Changing,
    /// A flag on its copy forbids changing or deleting it, as on the original (macOS `uchg` and the like).
    Immutable,
    /// Some extended attributes cannot be kept where the copy lies.
    LostAttributes,
    /// A folder that would have been overlaid was copied instead.
    NotOverlaid(FallBack),
    /// It holds the project's own path and could not be rewritten for a copy that lies elsewhere (macOS).
    HoldsPath,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.about {
            About::Special => write!(f, "{path}: a socket, pipe or device, not copied"),
            About::Mount => write!(
                f,
                "{path}: another file system is mounted there, not entered"
            ),
            About::Hidden => write!(f, "{path}: hidden"),
            About::KeptOut => write!(f, "{path}: belongs to Enclos, not entered"),
            About::Unreadable => write!(f, "{path}: cannot be read, left out"),
            About::Dataless => write!(f, "{path}: its contents are in the cloud, left out"),
            About::OutwardLink { target, lend } => {
                let target = shown(target.as_os_str().as_encoded_bytes());
                write!(
                    f,
                    "{path}: a link to {target} outside the project; `--read {lend}` would lend it"
                )
            }
            About::HoldsPath => write!(
                f,
                "{path}: holds the project's own path, which leads nowhere inside"
            ),
            About::Changing => write!(f, "{path}: kept changing while it was copied"),
            About::Immutable => write!(f, "{path}: a flag forbids changing it"),
            About::LostAttributes => {
                write!(f, "{path}: some extended attributes could not be kept")
            }
            About::NotOverlaid(why) => {
                write!(f, "{path}: copied instead of overlaid, because {why}")
            }
        }
    }
}

/// Why there is no clone. The original is untouched; what exists of the destination is for the caller to remove.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloneError {
    /// The folder to clone cannot be opened as a folder.
    #[error("cannot open the folder {folder}")]
    Source {
        /// The folder.
        folder: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// There is something where the copy should go. It was not touched.
    #[error("{destination} is there already")]
    DestinationExists {
        /// Where the copy should go.
        destination: AbsPath,
    },
    /// An entry may not be read, and the person did not say to leave such entries out.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The entry in the original.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Reading an entry failed.
    #[error("reading {path} failed")]
    Read {
        /// The entry in the original.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Writing an entry of the copy failed.
    #[error("writing {path} failed")]
    Write {
        /// The entry in the copy.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The copy does not fit.
    #[error("no space for {path}: the copy needs {needed} bytes, {free} are free")]
    NoSpace {
        /// The entry of the copy that did not fit, or the copy itself.
        path: AbsPath,
        /// What the whole copy takes, in bytes.
        needed: u64,
        /// What is free for us, in bytes.
        free: u64,
    },
    /// The file system can hold no more files, although it has space for contents.
    #[error("no room for {path}: the file system can hold no more files")]
    NoFiles {
        /// The entry of the copy that could not be made.
        path: AbsPath,
    },
    /// A folder cannot be overlaid, and overlaying was asked for by name.
    #[error("{path} cannot be overlaid: {why}")]
    NotOverlayable {
        /// The entry in the way.
        path: AbsPath,
        /// What about it.
        why: FallBack,
    },
    /// The method was asked for by name and does not exist here.
    #[error("this system cannot clone by {method}")]
    NotOnThisSystem {
        /// What was asked for.
        method: Method,
    },
    /// The person did not want so much to be copied. Nothing was made.
    #[error("cloning was called off")]
    Declined,
}
