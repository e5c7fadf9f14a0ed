//! A baseline as bytes, without the head of its file.
//!
//! Small, because it is written and synced before anything starts: a path is what differs from the one before, and
//! what equals the entry before, or the other side of the same entry, is a bit. Quick to read, because nothing is
//! packed tighter than to whole bytes. All numbers are little-endian.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

use crate::baseline::Baseline;
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::baseline::Skipped;

/// The owner and group are those of the entry before.
const SAME_OWNER: u8 = 1;
/// The original's device is that of the entry before.
const SAME_DEVICE: u8 = 2;
/// The copy's device is that of the entry before that has one.
const SAME_COPY_DEVICE: u8 = 4;
/// The copy has the size of the original.
const SAME_SIZE: u8 = 8;
/// The copy has the modification time of the original.
const SAME_MTIME: u8 = 16;
/// There is one hard link.
const ONE_LINK: u8 = 32;
/// The hash of the contents is there.
const HAS_HASH: u8 = 64;

/// What the entry before says about the next.
#[derive(Default)]
struct Before {
    path: Vec<u8>,
    uid: u32,
    gid: u32,
    device: u64,
    copy_device: u64,
}

/// Appends `baseline` to `out`.
pub(super) fn put(out: &mut Vec<u8>, baseline: &Baseline) {
    put_bytes(out, baseline.source.as_bytes());
    put_time(out, baseline.taken);
    out.extend_from_slice(&(baseline.entries.len() as u64).to_le_bytes());
    let mut before = Before::default();
    for entry in &baseline.entries {
        put_entry(out, entry, &mut before);
    }
}

/// Reads all of `bytes`; none when they are not what [`put`] writes.
pub(super) fn take(bytes: &[u8]) -> Option<Baseline> {
    let mut rest = Rest(bytes);
    let source = AbsPath::new(OsString::from_vec(rest.bytes()?.to_vec())).ok()?;
    let taken = rest.time()?;
    let count = usize::try_from(rest.u64()?).ok()?;
    // A forged count must not reserve more than there is.
    let mut entries: Vec<Entry> = Vec::with_capacity(count.min(rest.0.len() / 32));
    let mut before = Before::default();
    for _ in 0..count {
        let entry = take_entry(&mut rest, &mut before)?;
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

fn put_entry(out: &mut Vec<u8>, entry: &Entry, before: &mut Before) {
    let path = entry.path.as_bytes();
    let shared = path
        .iter()
        .zip(&before.path)
        .take_while(|(a, b)| a == b)
        .count();
    put_length(out, shared);
    put_bytes(out, &path[shared..]);
    before.path.truncate(shared);
    before.path.extend_from_slice(&path[shared..]);
    let bits = bits(entry, before);
    out.extend_from_slice(&[kind_code(&entry.kind), presence_code(&entry.presence), bits]);
    // Twelve bits are in use.
    out.extend_from_slice(&(entry.mode as u16).to_le_bytes());
    if bits & SAME_OWNER == 0 {
        out.extend_from_slice(&entry.uid.to_le_bytes());
        out.extend_from_slice(&entry.gid.to_le_bytes());
    }
    if bits & ONE_LINK == 0 {
        out.extend_from_slice(&entry.links.to_le_bytes());
    }
    put_original(out, &entry.original, bits);
    if let Presence::Copied(copy) = &entry.presence {
        put_copy(out, copy, bits);
        before.copy_device = copy.dev;
    }
    if let Kind::Link(target) = &entry.kind {
        put_bytes(out, target.as_os_str().as_bytes());
    }
    if let Some(hash) = &entry.hash {
        out.extend_from_slice(hash);
    }
    (before.uid, before.gid, before.device) = (entry.uid, entry.gid, entry.original.dev);
}

fn bits(entry: &Entry, before: &Before) -> u8 {
    let original = &entry.original;
    let copy = match &entry.presence {
        Presence::Copied(copy) => Some(copy),
        _ => None,
    };
    let bits = [
        (
            SAME_OWNER,
            (entry.uid, entry.gid) == (before.uid, before.gid),
        ),
        (SAME_DEVICE, original.dev == before.device),
        (
            SAME_COPY_DEVICE,
            copy.is_some_and(|copy| copy.dev == before.copy_device),
        ),
        (
            SAME_SIZE,
            copy.is_some_and(|copy| copy.size == original.size),
        ),
        (
            SAME_MTIME,
            copy.is_some_and(|copy| copy.mtime == original.mtime),
        ),
        (ONE_LINK, entry.links == 1),
        (HAS_HASH, entry.hash.is_some()),
    ];
    bits.into_iter()
        .filter(|(_, is_so)| *is_so)
        .fold(0, |all, (bit, _)| all | bit)
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

fn put_original(out: &mut Vec<u8>, identity: &Identity, bits: u8) {
    if bits & SAME_DEVICE == 0 {
        out.extend_from_slice(&identity.dev.to_le_bytes());
    }
    out.extend_from_slice(&identity.ino.to_le_bytes());
    out.extend_from_slice(&identity.size.to_le_bytes());
    put_time(out, identity.mtime);
    put_time(out, identity.ctime);
}

fn put_copy(out: &mut Vec<u8>, identity: &Identity, bits: u8) {
    if bits & SAME_COPY_DEVICE == 0 {
        out.extend_from_slice(&identity.dev.to_le_bytes());
    }
    out.extend_from_slice(&identity.ino.to_le_bytes());
    if bits & SAME_SIZE == 0 {
        out.extend_from_slice(&identity.size.to_le_bytes());
    }
    if bits & SAME_MTIME == 0 {
        put_time(out, identity.mtime);
    }
    put_time(out, identity.ctime);
}

/// 96 bits hold every time in nanoseconds that a kernel can tell (64 bits of seconds), and need no division.
fn put_time(out: &mut Vec<u8>, nanoseconds: i128) {
    out.extend_from_slice(&nanoseconds.to_le_bytes()[..12]);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// One byte for nearly all lengths, five for the others. Paths and links are far below four gigabytes.
fn put_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < u8::MAX => out.push(short),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
    }
}

fn take_entry(rest: &mut Rest<'_>, before: &mut Before) -> Option<Entry> {
    let shared = rest.length()?;
    if shared > before.path.len() {
        return None;
    }
    before.path.truncate(shared);
    before.path.extend_from_slice(rest.bytes()?);
    let [kind, presence, bits] = rest.array()?;
    let mode = u16::from_le_bytes(rest.array()?).into();
    if bits & SAME_OWNER == 0 {
        (before.uid, before.gid) = (rest.u32()?, rest.u32()?);
    }
    let links = if bits & ONE_LINK == 0 { rest.u64()? } else { 1 };
    let original = rest.original(before, bits)?;
    let presence = match presence {
        0 => Presence::Copied(rest.copy(before, &original, bits)?),
        1 => Presence::Overlaid,
        2 => Presence::Skipped(Skipped::Hidden),
        3 => Presence::Skipped(Skipped::Mount),
        4 => Presence::Skipped(Skipped::Special),
        5 => Presence::Skipped(Skipped::Unreadable),
        6 => Presence::Skipped(Skipped::Dataless),
        _ => return None,
    };
    let kind = match kind {
        0 => Kind::File,
        1 => Kind::Folder,
        2 => Kind::Link(OsString::from_vec(rest.bytes()?.to_vec()).into()),
        3 => Kind::Special,
        _ => return None,
    };
    let hash = if bits & HAS_HASH == 0 {
        None
    } else {
        Some(rest.array()?)
    };
    let path = ProjectPath::new(&before.path).ok()?;
    Some(Entry {
        path,
        kind,
        mode,
        uid: before.uid,
        gid: before.gid,
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

    fn length(&mut self) -> Option<usize> {
        match self.array()? {
            [u8::MAX] => usize::try_from(self.u32()?).ok(),
            [short] => Some(short.into()),
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn original(&mut self, before: &mut Before, bits: u8) -> Option<Identity> {
        if bits & SAME_DEVICE == 0 {
            before.device = self.u64()?;
        }
        let (ino, size) = (self.u64()?, self.u64()?);
        Some(Identity {
            dev: before.device,
            ino,
            size,
            mtime: self.time()?,
            ctime: self.time()?,
        })
    }

    fn copy(&mut self, before: &mut Before, original: &Identity, bits: u8) -> Option<Identity> {
        if bits & SAME_COPY_DEVICE == 0 {
            before.copy_device = self.u64()?;
        }
        let ino = self.u64()?;
        let size = if bits & SAME_SIZE == 0 {
            self.u64()?
        } else {
            original.size
        };
        let mtime = if bits & SAME_MTIME == 0 {
            self.time()?
        } else {
            original.mtime
        };
        Some(Identity {
            dev: before.copy_device,
            ino,
            size,
            mtime,
            ctime: self.time()?,
        })
    }
}
