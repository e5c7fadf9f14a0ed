//! The form in which moves are written down: one JSON object per line, a header first, a checksum last.
//!
//! The header names the form and its version, and an unknown one is refused. A file that was cut off or damaged has no
//! right checksum and is told from a whole one.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use enclos_paths::ProjectPath;
use enclos_paths::ProjectPathError;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Inode;
use super::Move;
use super::Op;
use crate::ContentHash;
use crate::FileKind;
use crate::FileState;

/// Why a journal or record cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It was written by another version of Enclos.
    #[error(
        "it has version {found} of its format, this Enclos knows {known}; use the version of Enclos that wrote it"
    )]
    Version {
        /// Its version.
        found: u32,
        /// The one that is known here.
        known: u32,
    },
    /// It is not what it should be: its first line is another one.
    #[error("it is not {expected}")]
    Other {
        /// What it should be.
        expected: &'static str,
    },
    /// It was cut off or damaged: its checksum is not right.
    #[error("it is damaged")]
    Damaged,
    /// A line says something that makes no sense.
    #[error("line {line} cannot be understood")]
    Line {
        /// Which, counted from 1.
        line: usize,
        /// What the reader said.
        #[source]
        source: serde_json::Error,
    },
    /// A path in it is none.
    #[error("a path in it is not one")]
    Path(#[from] ProjectPathError),
}

/// Writes a header and lines.
pub(super) fn write(
    form: &'static str,
    header: &impl Serialize,
    lines: &[MoveLine],
) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec(&Form {
        form: form.into(),
        version: VERSION,
    })?;
    text.push(b'\n');
    serde_json::to_writer(&mut text, header)?;
    text.push(b'\n');
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    let sum = blake3::hash(&text).to_hex();
    text.extend_from_slice(sum.as_bytes());
    text.push(b'\n');
    Ok(text)
}

/// Reads what [`write`] wrote.
pub(super) fn read<H: DeserializeOwned>(
    form: &'static str,
    text: &[u8],
) -> Result<(H, Vec<MoveLine>), FormatError> {
    let mut lines = text.split_inclusive(|&b| b == b'\n');
    let first: Form = lines
        .next()
        .and_then(|line| serde_json::from_slice(line).ok())
        .ok_or(FormatError::Other { expected: form })?;
    if first.form != form {
        return Err(FormatError::Other { expected: form });
    }
    if first.version != VERSION {
        return Err(FormatError::Version {
            found: first.version,
            known: VERSION,
        });
    }
    let sum = lines.next_back().ok_or(FormatError::Damaged)?;
    let body = &text[..text.len() - sum.len()];
    if sum.trim_ascii_end() != blake3::hash(body).to_hex().as_bytes() {
        return Err(FormatError::Damaged);
    }
    let understood = |(at, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|source| FormatError::Line {
            line: at + 3,
            source,
        })
    };
    let header = lines.next().ok_or(FormatError::Damaged)?;
    let header =
        serde_json::from_slice(header).map_err(|source| FormatError::Line { line: 2, source })?;
    Ok((
        header,
        lines
            .enumerate()
            .map(understood)
            .collect::<Result<_, _>>()?,
    ))
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Form {
    form: String,
    version: u32,
}

/// One move and the unit it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoveLine {
    pub(super) unit: u32,
    /// The paths that the unit's outcome is told for; only on its first line.
    pub(super) reports: Vec<Name>,
    path: Name,
    op: OpWord,
    before: Option<StateLine>,
    after: Option<StateLine>,
    slot: u32,
    staged: Option<Inode>,
}

/// A path: text where it is text, hexadecimal digits where it is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Name {
    Text(String),
    Hex(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OpWord {
    Replace,
    Put,
    Take,
    MakeFolder,
    RemoveFolder,
    SetMode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateLine {
    File { size: u64, hash: String, mode: u32 },
    Folder { mode: u32 },
    Link { target: Name },
}

impl MoveLine {
    pub(super) fn new(unit: usize, reports: &[ProjectPath], step: &Move) -> Self {
        Self {
            unit: u32::try_from(unit).unwrap_or(u32::MAX),
            reports: reports
                .iter()
                .map(|path| Name::of(path.as_bytes()))
                .collect(),
            path: Name::of(step.path.as_bytes()),
            op: step.op.into(),
            before: step.before.as_ref().map(StateLine::of),
            after: step.after.as_ref().map(StateLine::of),
            slot: step.slot,
            staged: step.staged,
        }
    }

    pub(super) fn step(&self) -> Result<Move, FormatError> {
        let state = |line: &Option<StateLine>| line.as_ref().map(StateLine::state).transpose();
        Ok(Move {
            path: self.path.path()?,
            op: self.op.into(),
            before: state(&self.before)?,
            after: state(&self.after)?,
            slot: self.slot,
            staged: self.staged,
        })
    }
}

impl Name {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Hex(bytes.iter().map(|b| format!("{b:02x}")).collect()),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, FormatError> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Hex(digits) => from_hex(digits).ok_or(FormatError::Damaged),
        }
    }

    pub(super) fn path(&self) -> Result<ProjectPath, FormatError> {
        Ok(ProjectPath::new(self.bytes()?)?)
    }
}

impl StateLine {
    fn of(state: &FileState) -> Self {
        let mode = state.mode;
        match &state.kind {
            FileKind::File { size, hash } => Self::File {
                size: *size,
                hash: hash.to_string(),
                mode,
            },
            FileKind::Folder => Self::Folder { mode },
            FileKind::Link { target } => Self::Link {
                target: Name::of(target.as_os_str().as_encoded_bytes()),
            },
        }
    }

    fn state(&self) -> Result<FileState, FormatError> {
        Ok(match self {
            Self::File { size, hash, mode } => {
                let hash = from_hex(hash)
                    .and_then(|bytes| bytes.try_into().ok())
                    .ok_or(FormatError::Damaged)?;
                FileState {
                    kind: FileKind::File {
                        size: *size,
                        hash: ContentHash(hash),
                    },
                    mode: *mode,
                }
            }
            Self::Folder { mode } => FileState {
                kind: FileKind::Folder,
                mode: *mode,
            },
            Self::Link { target } => FileState {
                kind: FileKind::Link {
                    target: OsString::from_vec(target.bytes()?).into(),
                },
                mode: 0,
            },
        })
    }
}

impl From<Op> for OpWord {
    fn from(op: Op) -> Self {
        match op {
            Op::Replace => Self::Replace,
            Op::Put => Self::Put,
            Op::Take => Self::Take,
            Op::MakeFolder => Self::MakeFolder,
            Op::RemoveFolder => Self::RemoveFolder,
            Op::SetMode => Self::SetMode,
        }
    }
}

impl From<OpWord> for Op {
    fn from(word: OpWord) -> Self {
        match word {
            OpWord::Replace => Self::Replace,
            OpWord::Put => Self::Put,
            OpWord::Take => Self::Take,
            OpWord::MakeFolder => Self::MakeFolder,
            OpWord::RemoveFolder => Self::RemoveFolder,
            OpWord::SetMode => Self::SetMode,
        }
    }
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state() -> impl Strategy<Value = Option<FileState>> {
        let file = (any::<u64>(), any::<[u8; 32]>()).prop_map(|(size, hash)| FileKind::File {
            size,
            hash: ContentHash(hash),
        });
        let link = prop::collection::vec(1..=255_u8, 1..9).prop_map(|target| FileKind::Link {
            target: OsString::from_vec(target).into(),
        });
        let kind = prop_oneof![file, link, Just(FileKind::Folder)];
        prop::option::of((kind, 0..0o7777_u32).prop_map(|(kind, mode)| {
            let mode = if matches!(kind, FileKind::Link { .. }) {
                0
            } else {
                mode
            };
            FileState { kind, mode }
        }))
    }

    fn step() -> impl Strategy<Value = Move> {
        let path = prop::collection::vec(prop::collection::vec(1..=255_u8, 1..5), 1..4)
            .prop_filter_map("a path", |parts| ProjectPath::new(parts.join(&b'/')).ok());
        (
            path,
            state(),
            state(),
            any::<u32>(),
            prop::option::of(any::<Inode>()),
        )
            .prop_map(|(path, before, after, slot, staged)| Move {
                slot,
                staged,
                ..Move::new(path, before, after)
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(steps in prop::collection::vec(step(), 0..9)) {
            let lines: Vec<_> = steps.iter().enumerate().map(|(at, step)| MoveLine::new(at, std::slice::from_ref(&step.path), step)).collect();
            let text = write("a test", &7_u32, &lines).unwrap();
            let (header, read) = read::<u32>("a test", &text).unwrap();
            prop_assert_eq!(header, 7);
            let read: Vec<_> = read.iter().map(|line| line.step().unwrap()).collect();
            prop_assert_eq!(read, steps);
        }

        #[test]
        fn what_is_cut_off_or_damaged_is_refused(cut in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>()) {
            let step = Move::new(ProjectPath::new("a").unwrap(), None, None);
            let text = write("a test", &7_u32, &[MoveLine::new(0, &[], &step)]).unwrap();
            prop_assert!(read::<u32>("a test", &text[..cut.index(text.len() - 1)]).is_err());
            let mut damaged = text.clone();
            let at = flip.index(text.len() - 1);
            damaged[at] ^= 1;
            prop_assert!(read::<u32>("a test", &damaged).is_err(), "byte {at}");
        }
    }

    #[test]
    fn another_version_is_refused_in_words() {
        let text = b"{\"form\":\"a test\",\"version\":2}\nwhatever\n";
        let error = read::<u32>("a test", text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it has version 2 of its format, this Enclos knows 1; use the version of Enclos that wrote it"
        );
        assert!(matches!(
            read::<u32>("another", text),
            Err(FormatError::Other { .. })
        ));
    }
}
