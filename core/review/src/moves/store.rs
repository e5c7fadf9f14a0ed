//! Where the machine keeps what must outlive it: the journal of work in progress, and what can be undone.
//!
//! ```text
//! STORE/journal             what is being moved; there only while it is, or after a crash
//! STORE/undo/N/record       apply or undo number N, which counts because this file is there
//! STORE/undo/N/slots/SLOT   what the person had in its place
//! STORE/aside/N-SLOT        a version that could not be put back where it was
//! ```

use std::io;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_sys::flush;
use enclos_sys::open::open_root;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::mkdirat;
use rustix::fs::openat;
use rustix::fs::renameat;
use rustix::fs::unlinkat;
use rustix::io::Errno;

use super::STAGING_PREFIX;
use super::durable::Durable;
use crate::RecordId;

/// The folder of one session that belongs to this crate.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) path: AbsPath,
    fd: OwnedFd,
}

const JOURNAL: &str = "journal";
const RECORD: &str = "record";
pub(crate) const SLOTS: &str = "slots";

impl Store {
    /// Opens the store, which must be there.
    pub(crate) fn open(path: &AbsPath) -> io::Result<Self> {
        let fd = open_root(path).map_err(|e| match e {
            enclos_sys::open::OpenError::Root { source, .. } => source,
            other => io::Error::other(other),
        })?;
        Ok(Self {
            path: path.clone(),
            fd,
        })
    }

    /// The bytes of the journal; none when nothing is in progress.
    pub(crate) fn journal(&self) -> io::Result<Option<Vec<u8>>> {
        read_whole(&self.fd, JOURNAL)
    }

    /// Writes the journal, whole or not at all, so that it is durable before any move that follows it.
    ///
    /// With a log that carries the moves as well it is enough that its bytes are on the disk before it gets its name:
    /// the name and the moves become durable in the order in which they were made.
    pub(crate) fn write_journal(&self, text: &[u8], how: Durable) -> io::Result<()> {
        let draft = format!("{JOURNAL}.new");
        write_through(&self.fd, &draft, text)?;
        renameat(&self.fd, &draft, &self.fd, JOURNAL)?;
        match how {
            Durable::Log => Ok(()),
            Durable::Each => flush::through(&self.fd),
        }
    }

    /// Writes a record durably; everything that was done before it is durable as well if a log carries both.
    ///
    /// One that was cut off has no right checksum and does not count.
    pub(crate) fn write_record(&self, id: RecordId, text: &[u8], how: Durable) -> io::Result<()> {
        let kept = self.kept(id)?;
        write_through(&kept, RECORD, text)?;
        match how {
            Durable::Log => Ok(()),
            Durable::Each => {
                flush::through(&kept)?;
                flush::through(self.folder("undo")?)?;
                flush::through(&self.fd)
            }
        }
    }

    pub(crate) fn remove_journal(&self) -> io::Result<()> {
        Ok(unlinkat(&self.fd, JOURNAL, AtFlags::empty())?)
    }

    /// The numbers of the records, in order.
    pub(crate) fn records(&self) -> io::Result<Vec<RecordId>> {
        let undo = match self.folder("undo") {
            Ok(undo) => undo,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(&undo)? {
            let Some(number) = entry?
                .file_name()
                .to_str()
                .ok()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            if self.record(RecordId(number))?.is_some() {
                found.push(RecordId(number));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The bytes of a record; none when there is no such one.
    pub(crate) fn record(&self, id: RecordId) -> io::Result<Option<Vec<u8>>> {
        match self.folder(&format!("undo/{}", id.0)) {
            Ok(folder) => read_whole(&folder, RECORD),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The number that the next record gets.
    pub(crate) fn next(&self) -> io::Result<RecordId> {
        Ok(RecordId(
            self.records()?.last().map_or(1, |last| last.0 + 1),
        ))
    }

    /// The folder that a record lies in.
    pub(crate) fn record_path(&self, id: RecordId) -> AbsPath {
        self.path.resolve(format!("undo/{}", id.0))
    }

    /// The folder that a record keeps the displaced files in.
    pub(crate) fn slots_path(&self, id: RecordId) -> AbsPath {
        self.path.resolve(format!("undo/{}/{SLOTS}", id.0))
    }

    /// Makes that folder.
    pub(crate) fn make_slots(&self, id: RecordId) -> io::Result<OwnedFd> {
        let name = format!("undo/{}/{SLOTS}", id.0);
        self.make(&name)?;
        self.folder(&name)
    }

    /// That folder, if it is there.
    pub(crate) fn slots(&self, id: RecordId) -> io::Result<OwnedFd> {
        self.folder(&format!("undo/{}/{SLOTS}", id.0))
    }

    /// Makes the folder for a record, empty.
    pub(crate) fn make_kept(&self, id: RecordId) -> io::Result<OwnedFd> {
        self.make("undo")?;
        self.drop_kept(id)?;
        self.make(&format!("undo/{}", id.0))?;
        self.kept(id)
    }

    pub(crate) fn kept(&self, id: RecordId) -> io::Result<OwnedFd> {
        self.folder(&format!("undo/{}", id.0))
    }

    /// Removes the folder of a record that never came to count.
    pub(crate) fn drop_kept(&self, id: RecordId) -> io::Result<()> {
        let missing = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
        let kept = match self.kept(id) {
            Ok(kept) => kept,
            Err(e) if missing(&e) => return Ok(()),
            Err(e) => return Err(e),
        };
        match self.slots(id) {
            Ok(slots) => super::clear::clear(&slots)?,
            Err(e) if missing(&e) => {}
            Err(e) => return Err(e),
        }
        super::clear::clear(&kept)?;
        Ok(unlinkat(
            &self.fd,
            format!("undo/{}", id.0),
            AtFlags::REMOVEDIR,
        )?)
    }

    /// The folder for versions that could not be put back.
    pub(crate) fn aside(&self) -> io::Result<(OwnedFd, AbsPath)> {
        self.make("aside")?;
        Ok((self.folder("aside")?, self.path.resolve("aside")))
    }

    /// The name of the staging folder for a record: the same for the same one, so that a left-over is found again.
    pub(crate) fn staging_name(&self, id: RecordId) -> String {
        let hash = blake3::hash(self.path.as_bytes()).to_hex();
        format!("{STAGING_PREFIX}{}-{}", &hash[..8], id.0)
    }

    fn make(&self, name: &str) -> io::Result<()> {
        match mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn folder(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.fd, name, flags, Mode::empty())?)
    }
}

/// Writes `name` in `folder` and waits until its bytes are on the disk.
fn write_through(folder: &OwnedFd, name: &str, text: &[u8]) -> io::Result<()> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    let written = io::Write::write_all(&mut file, text).and_then(|()| flush::through(&file));
    if written.is_err() {
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
    written
}

fn read_whole(folder: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let mut text = Vec::new();
    io::Read::read_to_end(&mut std::fs::File::from(file), &mut text)?;
    Ok(Some(text))
}
