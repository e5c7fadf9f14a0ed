//! One side of a comparison: what is at a path, and its text if it can be compared line by line.

use enclos_clone::Absence;
use enclos_clone::Entry;
use enclos_clone::Kind;
use enclos_paths::ProjectPath;
use enclos_sys::open::read_link_beneath;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;

use crate::Base;
use crate::ContentHash;
use crate::FileKind;
use crate::FileState;
use crate::source::LookError;
use crate::source::Tree;
use crate::text::is_text;

/// What is at a path on one side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    /// None when nothing is there.
    pub(crate) state: Option<FileState>,
    pub(crate) body: Body,
    pub(crate) stat: Option<Stat>,
}

/// What a file holds, as far as a comparison of lines goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing is there, or no file.
    #[default]
    None,
    Text(Vec<u8>),
    Binary,
    TooLarge,
}

impl Body {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        if is_text(&bytes) {
            Self::Text(bytes)
        } else {
            Self::Binary
        }
    }
}

impl Side {
    /// Looks at `path` in `tree`. Text up to `limit` bytes is kept; everything is hashed.
    pub(crate) fn look(tree: &Tree, path: &ProjectPath, limit: u64) -> Result<Self, LookError> {
        let Some(stat) = tree.stat(path)? else {
            return Ok(Self::default());
        };
        let (kind, body, stat) = match stat.node {
            Node::Folder => (FileKind::Folder, Body::None, stat),
            Node::Link => {
                let target = read_link_beneath(tree.fd(), path)?;
                (FileKind::Link { target }, Body::None, stat)
            }
            Node::File if is_mostly_holes(&stat) => {
                return Err(LookError::TooBig {
                    path: path.clone(),
                    size: stat.size,
                    most: LARGEST_SPARSE,
                });
            }
            Node::File if stat.size > limit => {
                let (hash, stat) = tree.hash(path)?;
                (
                    FileKind::File {
                        size: stat.size,
                        hash,
                    },
                    Body::TooLarge,
                    stat,
                )
            }
            Node::File => {
                let contents = tree.read(path, limit)?;
                let hash = ContentHash::of(&contents.bytes);
                let size = contents.stat.size;
                (
                    FileKind::File { size, hash },
                    Body::of(contents.bytes),
                    contents.stat,
                )
            }
            Node::Socket | Node::Fifo | Node::Device => {
                return Err(LookError::Special { path: path.clone() });
            }
        };
        Ok(Self {
            state: Some(FileState::new(kind, &stat)),
            body,
            stat: Some(stat),
        })
    }

    /// What was at `entry`'s path at the start.
    pub(crate) fn at_start(
        entry: Option<&Entry>,
        base: &dyn Base,
        limit: u64,
    ) -> Result<Self, Absence> {
        let Some(entry) = entry else {
            return Ok(Self::default());
        };
        let (kind, body) = match &entry.kind {
            Kind::Folder => (FileKind::Folder, Body::None),
            Kind::Link(target) => (
                FileKind::Link {
                    target: target.clone(),
                },
                Body::None,
            ),
            Kind::Special => return Err(Absence::NotAFile),
            Kind::File => {
                let bytes = base.content(entry, limit)?;
                let (size, hash) = (bytes.len() as u64, ContentHash::of(&bytes));
                (FileKind::File { size, hash }, Body::of(bytes))
            }
        };
        let mode = if matches!(kind, FileKind::Link { .. }) {
            0
        } else {
            entry.mode
        };
        Ok(Self {
            state: Some(FileState { kind, mode }),
            body,
            stat: None,
        })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.state.is_some()
    }
}

/// A file of this size that is mostly holes is not read: making one of a million gigabytes takes no time, reading it
/// years. Without holes the disk's own size is the limit.
const LARGEST_SPARSE: u64 = 1 << 30;

fn is_mostly_holes(stat: &Stat) -> bool {
    stat.size > LARGEST_SPARSE && stat.blocks.saturating_mul(512) < stat.size / 2
}
