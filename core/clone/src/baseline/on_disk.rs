//! The baseline as a file: written whole or not at all, read whole or refused.
//!
//! The promise: what is read is what was written, byte by byte, or an error says why not; a file of another version is
//! never guessed at. It could break by a torn write (a new file, synced and renamed over the old one), by a bad disk
//! or a hand edit (a checksum over everything), and by a forged length (every length is checked against what is there).
//!
//! Layout, all numbers little-endian: magic, version (`u32`), BLAKE3 of all that follows, then the source, the time
//! taken, the number of entries, and the entries in order. A path is stored as what differs from the one before.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

use super::Baseline;
use super::Entry;
use super::Identity;
use super::Kind;
use super::Presence;
use super::Skipped;

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
        replace(file, &self.to_bytes()).map_err(|source| BaselineError::Write {
            file: file.clone(),
            source,
        })
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
        let mut bytes = Vec::with_capacity(HEAD + 200 * self.entries.len() + 4096);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 32]);
        put_bytes(&mut bytes, self.source.as_bytes());
        put_time(&mut bytes, self.taken);
        bytes.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        let mut before: &[u8] = &[];
        for entry in &self.entries {
            put_entry(&mut bytes, entry, before);
            before = entry.path.as_bytes();
        }
        let checksum = blake3::hash(&bytes[HEAD..]);
        bytes[HEAD - 32..HEAD].copy_from_slice(checksum.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Refused> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Refused::NotABaseline)?;
        let mut head = Rest(rest);
        let version = head.u32().ok_or(Refused::Damaged)?;
        if version != VERSION {
            return Err(Refused::Version(version));
        }
        let checksum: [u8; 32] = head.array().ok_or(Refused::Damaged)?;
        if blake3::hash(head.0) != checksum {
            return Err(Refused::Damaged);
        }
        take_all(head).ok_or(Refused::Damaged)
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
    let written = new.write_all(bytes).and_then(|()| new.sync_all());
    if let Err(e) = written.and_then(|()| std::fs::rename(&beside, file.as_path())) {
        let _ = std::fs::remove_file(&beside);
        return Err(e);
    }
    File::open(folder.as_path())?.sync_all()
}

const HAS_HASH: u8 = 0x80;

fn put_entry(out: &mut Vec<u8>, entry: &Entry, before: &[u8]) {
    let path = entry.path.as_bytes();
    let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
    put_u32(out, shared);
    put_bytes(out, &path[shared..]);
    let hash_bit = if entry.hash.is_some() { HAS_HASH } else { 0 };
    out.push(kind_code(&entry.kind) | hash_bit);
    out.push(presence_code(&entry.presence));
    // Twelve bits are in use.
    out.extend_from_slice(&(entry.mode as u16).to_le_bytes());
    out.extend_from_slice(&entry.uid.to_le_bytes());
    out.extend_from_slice(&entry.gid.to_le_bytes());
    out.extend_from_slice(&entry.links.to_le_bytes());
    put_identity(out, &entry.original);
    if let Presence::Copied(copy) = &entry.presence {
        put_identity(out, copy);
    }
    if let Kind::Link(target) = &entry.kind {
        put_bytes(out, target.as_os_str().as_bytes());
    }
    if let Some(hash) = &entry.hash {
        out.extend_from_slice(hash);
    }
}

fn kind_code(kind: &Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Folder => 1,
        Kind::Link(_) => 2,
        Kind::Special => 3,
    }
}

fn presence_code(presence: &Presence) -> u8 {
    match presence {
        Presence::Copied(_) => 0,
        Presence::Overlaid => 1,
        Presence::Skipped(Skipped::Hidden) => 2,
        Presence::Skipped(Skipped::Mount) => 3,
        Presence::Skipped(Skipped::Special) => 4,
        Presence::Skipped(Skipped::Unreadable) => 5,
        Presence::Skipped(Skipped::Dataless) => 6,
    }
}

fn put_identity(out: &mut Vec<u8>, identity: &Identity) {
    out.extend_from_slice(&identity.dev.to_le_bytes());
    out.extend_from_slice(&identity.ino.to_le_bytes());
    out.extend_from_slice(&identity.size.to_le_bytes());
    put_time(out, identity.mtime);
    put_time(out, identity.ctime);
}

/// 96 bits hold every time in nanoseconds that a kernel can tell (64 bits of seconds), and need no division.
fn put_time(out: &mut Vec<u8>, nanoseconds: i128) {
    out.extend_from_slice(&nanoseconds.to_le_bytes()[..12]);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Paths and links are far below this limit, which the kernel sets; what is not would fail to be read back.
fn put_u32(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn take_all(mut rest: Rest<'_>) -> Option<Baseline> {
    let source = AbsPath::new(OsString::from_vec(rest.bytes()?.to_vec())).ok()?;
    let taken = rest.time()?;
    let count = usize::try_from(rest.u64()?).ok()?;
    // A forged count must not reserve more than there is.
    let mut entries: Vec<Entry> = Vec::with_capacity(count.min(rest.0.len() / 64));
    let mut path = Vec::new();
    for _ in 0..count {
        let entry = take_entry(&mut rest, &mut path)?;
        if entries
            .last()
            .is_some_and(|before| before.path >= entry.path)
        {
            return None;
        }
        entries.push(entry);
    }
    rest.0.is_empty().then_some(Baseline {
        source,
        taken,
        entries,
    })
}

fn take_entry(rest: &mut Rest<'_>, path: &mut Vec<u8>) -> Option<Entry> {
    let shared = usize::try_from(rest.u32()?).ok()?;
    if shared > path.len() {
        return None;
    }
    path.truncate(shared);
    path.extend_from_slice(rest.bytes()?);
    let [kind, presence] = rest.array()?;
    let mode = u16::from_le_bytes(rest.array()?).into();
    let (uid, gid, links) = (rest.u32()?, rest.u32()?, rest.u64()?);
    let original = rest.identity()?;
    let presence = match presence {
        0 => Presence::Copied(rest.identity()?),
        1 => Presence::Overlaid,
        2 => Presence::Skipped(Skipped::Hidden),
        3 => Presence::Skipped(Skipped::Mount),
        4 => Presence::Skipped(Skipped::Special),
        5 => Presence::Skipped(Skipped::Unreadable),
        6 => Presence::Skipped(Skipped::Dataless),
        _ => return None,
    };
    let has_hash = kind & HAS_HASH != 0;
    let kind = match kind & !HAS_HASH {
        0 => Kind::File,
        1 => Kind::Folder,
        2 => Kind::Link(OsString::from_vec(rest.bytes()?.to_vec()).into()),
        3 => Kind::Special,
        _ => return None,
    };
    let hash = if has_hash { Some(rest.array()?) } else { None };
    let path = ProjectPath::new(&path[..]).ok()?;
    Some(Entry {
        path,
        kind,
        mode,
        uid,
        gid,
        links,
        original,
        presence,
        hash,
    })
}

/// What is not yet read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<i128> {
        let low: [u8; 12] = self.array()?;
        let sign = if low[11] & 0x80 == 0 { 0 } else { 0xff };
        let mut all = [sign; 16];
        all[..12].copy_from_slice(&low);
        Some(i128::from_le_bytes(all))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn identity(&mut self) -> Option<Identity> {
        Some(Identity {
            dev: self.u64()?,
            ino: self.u64()?,
            size: self.u64()?,
            mtime: self.time()?,
            ctime: self.time()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identities() -> impl Strategy<Value = Identity> {
        let time = || -(1_i128 << 90)..(1_i128 << 90);
        (any::<u64>(), any::<u64>(), any::<u64>(), time(), time()).prop_map(
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
        let numbers = (0_u32..0o10000, any::<u32>(), any::<u32>(), any::<u64>());
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
