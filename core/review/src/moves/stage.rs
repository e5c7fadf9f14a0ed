//! Writes what is new into the staging folder, and copies what must survive onto another file system.
//!
//! The promise: what is staged is byte for byte what the plan names, because its hash is taken from what was written
//! and compared; a file of the copy that moved meanwhile is refused. Whole large files share their blocks with the
//! copy where the file system can; small ones are faster to write.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::flush;
use enclos_sys::open::open_file_at;
use enclos_sys::open::open_folder;
use enclos_sys::open::open_folder_at;
use enclos_sys::open::open_regular;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::mkdirat;
use rustix::fs::openat;
use rustix::fs::symlinkat;

use super::Attributes;
use super::Inode;
use super::Move;
use super::Source;
use super::Task;
use super::Trouble;
use super::attributes;
use super::durable::Batch;
use super::names::At;
use super::takeback::slot_name;
use crate::ContentHash;
use crate::FileKind;
use crate::FileState;
use crate::Lost;
use crate::Stopped;
use crate::source::Tree;
use crate::source::buffer_for;
use crate::source::hash_of;

/// From this size on, sharing blocks with the copy is tried before writing; measured on XFS, where reading back a
/// shared small file costs more than writing it.
const WORTH_SHARING: u64 = 128 * 1024;

/// Stages tasks; several at a time.
pub(super) struct Stager<'a> {
    pub(super) original: &'a Tree,
    pub(super) root: &'a AbsPath,
    pub(super) staging: BorrowedFd<'a>,
}

/// What came of staging a task.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) inode: Inode,
    /// The state after, with size and hash also where the plan left them open.
    pub(super) state: FileState,
    /// What of the attributes could not be carried over.
    pub(super) lost: Vec<Lost>,
    /// What is still to be made durable.
    pub(super) file: Option<OwnedFd>,
}

impl Stager<'_> {
    /// Stages the new contents of `task`.
    pub(super) fn stage(&self, task: &Task<'_>) -> Result<Staged, Trouble> {
        let fail = |e: io::Error| Trouble::of("write it", self.root, e);
        let slot = slot_name(task.step.slot);
        let Some(state) = task.step.after.clone() else {
            return Err(Stopped::CopyChanged.into());
        };
        match &state.kind {
            FileKind::Folder => self.folder(task, &slot, state).map_err(fail),
            FileKind::Link { target } => {
                symlinkat(target, self.staging, &slot[..]).map_err(|e| fail(e.into()))?;
                let inode = stat_at(self.staging, &slot[..]).map_err(fail)?.ino;
                Ok(Staged {
                    inode,
                    state,
                    lost: Vec::new(),
                    file: None,
                })
            }
            FileKind::File { .. } => self.file(task, &slot, state),
        }
    }

    /// Stages `step` as a further name of what `twin` staged.
    pub(super) fn twin(&self, step: &mut Move, twin: &Move) -> Result<(), Trouble> {
        let (from, to) = (slot_name(twin.slot), slot_name(step.slot));
        rustix::fs::linkat(
            self.staging,
            &from[..],
            self.staging,
            &to[..],
            AtFlags::empty(),
        )
        .map_err(|e| Trouble::of("link it", self.root, e.into()))?;
        step.staged = twin.staged;
        step.after.clone_from(&twin.after);
        Ok(())
    }

    fn folder(&self, task: &Task<'_>, slot: &str, state: FileState) -> io::Result<Staged> {
        mkdirat(self.staging, slot, Mode::RWXU)?;
        let folder = open_folder_at(self.staging, slot.as_ref())?;
        let stat = stat_fd(&folder)?;
        let lost = self.dress(task, folder.as_fd(), &stat, state.mode)?;
        Ok(Staged {
            inode: stat.ino,
            state,
            lost,
            file: Some(folder),
        })
    }

    fn file(&self, task: &Task<'_>, slot: &str, mut state: FileState) -> Result<Staged, Trouble> {
        let fail = |e: io::Error| Trouble::of("write it", self.root, e);
        let mut file = create(self.staging, slot, state.mode).map_err(fail)?;
        match &task.source {
            Source::Made(make) => {
                let bytes = make()?;
                file.write_all(&bytes).map_err(fail)?;
                state.kind = FileKind::File {
                    size: bytes.len() as u64,
                    hash: ContentHash::of(&bytes),
                };
            }
            Source::File { tree, path } => {
                let mut from = open_regular(tree.fd(), path).map_err(|_| Stopped::CopyChanged)?;
                let (size, hash) = fill(&mut file, &mut from).map_err(fail)?;
                if (FileKind::File { size, hash }) != state.kind {
                    return Err(Stopped::CopyChanged.into());
                }
            }
            Source::State | Source::Twin(_) => return Err(Stopped::CopyChanged.into()),
        }
        let stat = stat_fd(&file).map_err(fail)?;
        let lost = self
            .dress(task, file.as_fd(), &stat, state.mode)
            .map_err(fail)?;
        // Not every file system starts early; it is only a help.
        let _ = flush::start(&file);
        Ok(Staged {
            inode: stat.ino,
            state,
            lost,
            file: Some(file.into()),
        })
    }

    /// Gives what is staged its owner, group, attributes and mode.
    fn dress(
        &self,
        task: &Task<'_>,
        to: BorrowedFd<'_>,
        now: &Stat,
        mode: u32,
    ) -> io::Result<Vec<Lost>> {
        if let Attributes::Of { tree, path } = &task.attributes
            && let Ok(like) = open_regular(tree.fd(), path)
        {
            let like_stat = stat_fd(&like)?;
            return attributes::like(to, now, (like.as_fd(), &like_stat), mode);
        }
        let folder = self.nearest_folder(&task.step.path)?;
        let folder_stat = stat_fd(&folder)?;
        attributes::fresh(to, now, (folder.as_fd(), &folder_stat), mode)?;
        Ok(Vec::new())
    }

    /// The folder that `path` goes into, or the nearest above that is there already.
    fn nearest_folder(&self, path: &ProjectPath) -> io::Result<OwnedFd> {
        let mut above = path.parent();
        while let Some(folder) = above {
            if let Ok(fd) = open_folder(self.original.fd(), &folder) {
                return Ok(fd);
            }
            above = folder.parent();
        }
        self.original.fd().try_clone_to_owned()
    }
}

/// Copies the file or link at `from` to the new name `to`, with its attributes; gives its hash, of a link none.
pub(super) fn copy_over(
    tree: &Tree,
    path: &ProjectPath,
    to: At<'_, &str>,
    batch: &mut Batch,
) -> io::Result<Option<(u64, ContentHash)>> {
    let stat = tree
        .stat(path)
        .ok()
        .flatten()
        .ok_or(io::ErrorKind::NotFound)?;
    if stat.node == Node::Link {
        let target =
            enclos_sys::open::read_link_beneath(tree.fd(), path).map_err(io::Error::other)?;
        symlinkat(&target, to.folder, to.name)?;
        return Ok(None);
    }
    let mut from = open_regular(tree.fd(), path).map_err(io::Error::other)?;
    let mut file = create(to.folder, to.name, 0o600)?;
    let written = fill(&mut file, &mut from)?;
    let (now, stat) = (stat_fd(&file)?, stat_fd(&from)?);
    // What cannot be carried over is told when it is put back.
    attributes::like(file.as_fd(), &now, (from.as_fd(), &stat), stat.mode)?;
    batch.add(file.into())?;
    Ok(Some(written))
}

/// Moves a name of our own to another folder of our own, by copying where they lie on different file systems.
pub(super) fn move_over(from: At<'_, &str>, to: At<'_, &String>) -> io::Result<()> {
    match rustix::fs::renameat(from.folder, from.name, to.folder, to.name.as_str()) {
        Err(rustix::io::Errno::XDEV) => {}
        result => return Ok(result?),
    }
    let stat = stat_at(from.folder, from.name)?;
    if stat.node == Node::Link {
        symlinkat(
            read_link_at(from.folder, from.name)?,
            to.folder,
            to.name.as_str(),
        )?;
    } else {
        let mut old = File::from(open_file_at(from.folder, from.name)?);
        let mut new = create(to.folder, to.name, 0o600)?;
        fill(&mut new, &mut old)?;
        let now = stat_fd(&new)?;
        attributes::like(new.as_fd(), &now, (old.as_fd(), &stat), stat.mode)?;
        flush::through(&new)?;
        flush::through(to.folder)?;
    }
    Ok(rustix::fs::unlinkat(
        from.folder,
        from.name,
        AtFlags::empty(),
    )?)
}

/// Creates a file with those of the permission bits that the caller's mask lets through; nobody else can enter the
/// folder. It spares setting them afterwards in the usual case.
fn create(folder: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(attributes::narrow(mode & 0o777)) | Mode::RUSR | Mode::WUSR;
    Ok(openat(folder, name, flags, mode)?.into())
}

/// Fills `to`, which is empty, with what `from` holds; gives the size and hash of what was written.
fn fill(to: &mut File, from: &mut File) -> io::Result<(u64, ContentHash)> {
    let about = stat_fd(&*from)?.size;
    if about >= WORTH_SHARING && share(to, from) {
        let (hash, size) = hash_of(to, about)?;
        return Ok((size, hash));
    }
    let mut hasher = blake3::Hasher::new();
    let mut buffer = buffer_for(about);
    let mut size = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok((size, ContentHash(*hasher.finalize().as_bytes()))),
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        size += count as u64;
    }
}

#[cfg(target_os = "linux")]
fn share(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_to: &File, _from: &File) -> bool {
    // macOS shares whole files by name only (`clonefile`), which would bring the copy's attributes along.
    false
}
