//! The baseline as a file: written whole or not at all, read whole or refused.
//!
//! The promise: what is read is what was written, byte by byte, or an error says why not; a file of another version is
//! never guessed at. It could break by a torn write (a new file, synced and renamed over the old one), by a bad disk
//! or a hand edit (a checksum over everything), and by a forged length (every length is checked against what is there).
//!
//! The file is a magic, a version (`u32`, little-endian), the BLAKE3 of all that follows, and then the baseline.

mod coding;

use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use enclos_paths::AbsPath;

use super::Baseline;

/// Why a baseline was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file cannot be written. What was there before is still there.
    #[error("cannot write the baseline {file}")]
    Write {
        /// Where the baseline should go.
        file: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read the baseline {file}")]
    Read {
        /// Where the baseline should be.
        file: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The file is something else.
    #[error("{file} is not a baseline")]
    NotABaseline {
        /// The file.
        file: AbsPath,
    },
    /// The file was written by a version of Enclos that writes it otherwise.
    #[error("{file} has format {found}, this version of Enclos reads format {known}")]
    Version {
        /// The file.
        file: AbsPath,
        /// The format it has.
        found: u32,
        /// The only format that is read.
        known: u32,
    },
    /// The file is not as it was written.
    #[error("the baseline {file} is damaged")]
    Damaged {
        /// The file.
        file: AbsPath,
    },
}

const MAGIC: [u8; 8] = *b"ENCLOSbl";
const VERSION: u32 = 1;
const HEAD: usize = MAGIC.len() + 4 + 32;

impl Baseline {
    /// Writes the baseline to `file`, replacing what is there at once and for good: after a crash there is the old
    /// one or the new one.
    ///
    /// # Errors
    /// [`BaselineError::Write`].
    pub fn write(&self, file: &AbsPath) -> Result<(), BaselineError> {
        self.write_for_now(file)?;
        Self::flush(file)
    }

    /// As [`Baseline::write`], but a power cut may lose it until somebody calls [`Baseline::flush`]: flushing a file
    /// makes a disk write much else, for which the start of a session need not wait.
    ///
    /// # Errors
    /// [`BaselineError::Write`].
    pub fn write_for_now(&self, file: &AbsPath) -> Result<(), BaselineError> {
        let failed = |source| BaselineError::Write {
            file: file.clone(),
            source,
        };
        replace(file, &self.to_bytes()).map_err(failed)
    }

    /// Makes a baseline that was written survive a power cut.
    ///
    /// # Errors
    /// [`BaselineError::Write`].
    pub fn flush(file: &AbsPath) -> Result<(), BaselineError> {
        let failed = |source| BaselineError::Write {
            file: file.clone(),
            source,
        };
        File::open(file.as_path())
            .and_then(|file| file.sync_all())
            .map_err(failed)?;
        let Some(folder) = file.parent() else {
            return Ok(());
        };
        File::open(folder.as_path())
            .and_then(|folder| folder.sync_all())
            .map_err(failed)
    }

    /// Reads the baseline in `file`.
    ///
    /// # Errors
    /// When it cannot be read, has another format, or is not what was written; see [`BaselineError`].
    pub fn read(file: &AbsPath) -> Result<Self, BaselineError> {
        let bytes = std::fs::read(file.as_path()).map_err(|source| BaselineError::Read {
            file: file.clone(),
            source,
        })?;
        Self::from_bytes(&bytes).map_err(|refused| match refused {
            Refused::NotABaseline => BaselineError::NotABaseline { file: file.clone() },
            Refused::Version(found) => BaselineError::Version {
                file: file.clone(),
                found,
                known: VERSION,
            },
            Refused::Damaged => BaselineError::Damaged { file: file.clone() },
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        // What an entry of an ordinary project takes.
        let mut bytes = Vec::with_capacity(HEAD + 120 * self.entries.len() + 4096);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 32]);
        coding::put(&mut bytes, self);
        let checksum = blake3::hash(&bytes[HEAD..]);
        bytes[HEAD - 32..HEAD].copy_from_slice(checksum.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Refused> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Refused::NotABaseline)?;
        let (version, rest) = rest.split_first_chunk().ok_or(Refused::Damaged)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(Refused::Version(version));
        }
        let (checksum, rest) = rest.split_first_chunk::<32>().ok_or(Refused::Damaged)?;
        if blake3::hash(rest) != *checksum {
            return Err(Refused::Damaged);
        }
        coding::take(rest).ok_or(Refused::Damaged)
    }
}

enum Refused {
    NotABaseline,
    Version(u32),
    Damaged,
}

fn replace(file: &AbsPath, bytes: &[u8]) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let mut beside = name.to_os_string();
    beside.push(".new");
    let beside = folder.as_path().join(beside);
    // What an earlier try left behind is of no use to anybody.
    match std::fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut new = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)?;
    let written = new.write_all(bytes);
    written
        .and_then(|()| std::fs::rename(&beside, file.as_path()))
        .inspect_err(|_| {
            // The one that was not renamed is of no use to anybody.
            let _ = std::fs::remove_file(&beside);
        })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use enclos_paths::ProjectPath;
    use proptest::prelude::*;

    use super::*;
    use crate::baseline::Entry;
    use crate::baseline::Identity;
    use crate::baseline::Kind;
    use crate::baseline::Presence;
    use crate::baseline::Skipped;

    fn identities() -> impl Strategy<Value = Identity> {
        // Few enough that neighbours and sides are often equal, and the extremes.
        let number = || prop::sample::select(vec![0, 1, 2, u64::MAX]);
        let time = || prop_oneof![0_i128..3, -(1_i128 << 90)..(1_i128 << 90)];
        (number(), any::<u64>(), number(), time(), time()).prop_map(
            |(dev, ino, size, mtime, ctime)| Identity {
                dev,
                ino,
                size,
                mtime,
                ctime,
            },
        )
    }

    fn presences() -> impl Strategy<Value = Presence> {
        prop_oneof![
            identities().prop_map(Presence::Copied),
            Just(Presence::Overlaid),
            prop::sample::select(vec![
                Presence::Skipped(Skipped::Hidden),
                Presence::Skipped(Skipped::Mount),
                Presence::Skipped(Skipped::Special),
                Presence::Skipped(Skipped::Unreadable),
                Presence::Skipped(Skipped::Dataless),
            ]),
        ]
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        let target = prop::collection::vec(1_u8.., 0..30);
        prop_oneof![
            Just(Kind::File),
            Just(Kind::Folder),
            Just(Kind::Special),
            target.prop_map(|t| Kind::Link(OsString::from_vec(t).into())),
        ]
    }

    fn entries() -> impl Strategy<Value = Entry> {
        let path = prop::collection::vec(prop::collection::vec(b'a'.., 1..4), 1..5)
            .prop_map(|p| p.join(&b'/'));
        let numbers = (
            0_u32..0o10000,
            0_u32..3,
            any::<u32>(),
            prop_oneof![Just(1), any::<u64>()],
        );
        (
            path,
            kinds(),
            numbers,
            identities(),
            presences(),
            any::<Option<[u8; 32]>>(),
        )
            .prop_map(
                |(path, kind, (mode, uid, gid, links), original, presence, hash)| Entry {
                    path: ProjectPath::new(path).unwrap(),
                    kind,
                    mode,
                    uid,
                    gid,
                    links,
                    original,
                    presence,
                    hash,
                },
            )
    }

    fn baselines() -> impl Strategy<Value = Baseline> {
        (prop::collection::vec(entries(), 0..30), any::<i64>()).prop_map(|(mut entries, taken)| {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            entries.dedup_by(|a, b| a.path == b.path);
            Baseline {
                source: AbsPath::new("/home/u/caf\u{e9}").unwrap(),
                taken: taken.into(),
                entries,
            }
        })
    }

    fn file() -> (tempfile::TempDir, AbsPath) {
        let folder = tempfile::tempdir().unwrap();
        let file = AbsPath::new(folder.path().join("baseline")).unwrap();
        (folder, file)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(baseline in baselines()) {
            prop_assert_eq!(Baseline::from_bytes(&baseline.to_bytes()).ok(), Some(baseline));
        }

        #[test]
        fn no_change_of_a_bit_is_missed(baseline in baselines(), at: prop::sample::Index, bit in 0..8) {
            let mut bytes = baseline.to_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(Baseline::from_bytes(&bytes).is_err());
        }

        #[test]
        fn forged_bytes_with_a_good_checksum_never_panic(
            baseline in baselines(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = baseline.to_bytes();
            for (at, value) in changes {
                let at = HEAD + at.index(bytes.len() - HEAD);
                bytes[at] = value;
            }
            let checksum = blake3::hash(&bytes[HEAD..]);
            bytes[HEAD - 32..HEAD].copy_from_slice(checksum.as_bytes());
            if let Ok(read) = Baseline::from_bytes(&bytes) {
                prop_assert!(read.entries.is_sorted_by(|a, b| a.path < b.path));
            }
        }
    }

    #[test]
    fn it_is_replaced_at_once_and_leaves_nothing_beside() {
        let (folder, file) = file();
        let mut baseline = Baseline {
            source: AbsPath::new("/a").unwrap(),
            taken: 1,
            entries: Vec::new(),
        };
        std::fs::write(folder.path().join("baseline.new"), "left by a kill").unwrap();
        baseline.write(&file).unwrap();
        baseline.taken = 2;
        baseline.write(&file).unwrap();
        assert_eq!(Baseline::read(&file).unwrap(), baseline);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_version_is_refused_in_words() {
        let (_folder, file) = file();
        let mut bytes = Baseline {
            source: AbsPath::new("/a").unwrap(),
            taken: 1,
            entries: Vec::new(),
        }
        .to_bytes();
        bytes[8] = 9;
        std::fs::write(file.as_path(), &bytes).unwrap();
        let said = Baseline::read(&file).unwrap_err().to_string();
        assert!(
            said.ends_with("has format 9, this version of Enclos reads format 1"),
            "{said}"
        );
        std::fs::write(file.as_path(), "something else").unwrap();
        let said = Baseline::read(&file).unwrap_err().to_string();
        assert!(said.ends_with("is not a baseline"), "{said}");
        std::fs::write(file.as_path(), &bytes[..20]).unwrap();
        assert!(matches!(
            Baseline::read(&file),
            Err(BaselineError::Version { .. } | BaselineError::Damaged { .. })
        ));
    }
}
