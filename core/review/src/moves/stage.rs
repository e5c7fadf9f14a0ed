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
use super::Move;
use super::Source;
use super::Task;
use super::Trouble;
use super::attributes;
use super::durable::Batch;
use super::names::At;
use super::takeback::Workplace;
use super::takeback::slot_name;
use crate::ContentHash;
use crate::FileKind;
use crate::FileState;
use crate::Step;
use crate::Stopped;
use crate::source::Tree;
use crate::source::buffer_for;
use crate::source::hash_of;

/// From this size on, sharing blocks with the copy is tried before writing; measured on XFS, where reading back a
/// shared small file costs more than writing it.
const WORTH_SHARING: u64 = 128 * 1024;

impl Workplace<'_> {
    /// Stages the new contents of `task`, and learns their inode, and their hash if the plan left it open.
    pub(super) fn stage(&self, task: &mut Task<'_>, batch: &mut Batch) -> Result<(), Trouble> {
        if let Err(injected) = self.at(Step::Stage, Some(&task.step.path))? {
            return Err(self.trouble("write it", injected));
        }
        let slot = slot_name(task.step.slot);
        let Some(after) = task.step.after.clone() else {
            return Ok(());
        };
        match &after.kind {
            FileKind::Folder => self.stage_folder(task, &slot, after.mode, batch),
            FileKind::Link { target } => {
                symlinkat(target, &self.staging, &slot[..])
                    .map_err(|e| self.trouble("write it", e.into()))?;
                task.step.staged = self.inode_of(&slot);
                Ok(())
            }
            FileKind::File { size, hash } => {
                self.stage_file(task, &slot, (*size, *hash), after.mode, batch)
            }
        }
    }

    /// Stages `step` as a further name of what `twin` staged.
    pub(super) fn stage_twin(&self, step: &mut Move, twin: &Move) -> Result<(), Trouble> {
        let (from, to) = (slot_name(twin.slot), slot_name(step.slot));
        rustix::fs::linkat(
            &self.staging,
            &from[..],
            &self.staging,
            &to[..],
            AtFlags::empty(),
        )
        .map_err(|e| self.trouble("link it", e.into()))?;
        step.staged = twin.staged;
        step.after.clone_from(&twin.after);
        Ok(())
    }

    fn stage_folder(
        &self,
        task: &mut Task<'_>,
        slot: &str,
        mode: u32,
        batch: &mut Batch,
    ) -> Result<(), Trouble> {
        let fail = |e: io::Error| self.trouble("make the folder", e);
        mkdirat(&self.staging, slot, Mode::RWXU).map_err(|e| fail(e.into()))?;
        let folder = open_folder_at(self.staging.as_fd(), slot.as_ref()).map_err(fail)?;
        let stat = stat_fd(&folder).map_err(fail)?;
        self.dress(task, folder.as_fd(), &stat, mode)
            .map_err(fail)?;
        task.step.staged = Some(stat.ino);
        batch.add_folder(folder).map_err(fail)
    }

    fn stage_file(
        &self,
        task: &mut Task<'_>,
        slot: &str,
        expected: (u64, ContentHash),
        mode: u32,
        batch: &mut Batch,
    ) -> Result<(), Trouble> {
        let fail = |e: io::Error| self.trouble("write it", e);
        let mut file = create(self.staging.as_fd(), slot).map_err(fail)?;
        match &task.source {
            Source::Made(make) => {
                let bytes = make()?;
                file.write_all(&bytes).map_err(fail)?;
                let (size, hash) = (bytes.len() as u64, ContentHash::of(&bytes));
                task.step.after = Some(FileState {
                    kind: FileKind::File { size, hash },
                    mode,
                });
            }
            Source::File { tree, path } => {
                let mut from = open_regular(tree.fd(), path).map_err(|_| Stopped::CopyChanged)?;
                let written = fill(&mut file, &mut from).map_err(fail)?;
                if written != expected {
                    return Err(Stopped::CopyChanged.into());
                }
            }
            Source::State | Source::Twin(_) => return Err(Stopped::CopyChanged.into()),
        }
        let stat = stat_fd(&file).map_err(fail)?;
        self.dress(task, file.as_fd(), &stat, mode).map_err(fail)?;
        task.step.staged = Some(stat.ino);
        batch.add(file).map_err(fail)
    }

    /// Gives what is staged its owner, group, attributes and mode.
    fn dress(
        &self,
        task: &mut Task<'_>,
        to: BorrowedFd<'_>,
        now: &Stat,
        mode: u32,
    ) -> io::Result<()> {
        if let Attributes::Of { tree, path } = &task.attributes
            && let Ok(like) = open_regular(tree.fd(), path)
        {
            let like_stat = stat_fd(&like)?;
            task.lost = attributes::like(to, now, (like.as_fd(), &like_stat), mode)?;
            return Ok(());
        }
        let folder = self.nearest_folder(&task.step.path)?;
        let folder_stat = stat_fd(&folder)?;
        attributes::fresh(to, now, (folder.as_fd(), &folder_stat), mode)
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
    let mut file = create(to.folder, to.name)?;
    let written = fill(&mut file, &mut from)?;
    let (now, stat) = (stat_fd(&file)?, stat_fd(&from)?);
    // What cannot be carried over is told when it is put back.
    attributes::like(file.as_fd(), &now, (from.as_fd(), &stat), stat.mode)?;
    batch.add(file)?;
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
        let mut new = create(to.folder, to.name)?;
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

fn create(folder: BorrowedFd<'_>, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
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
