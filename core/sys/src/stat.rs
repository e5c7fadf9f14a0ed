//! What the kernel says about one file, the same on every system.
//!
//! The promise is that a symbolic link is never followed and a mount point is seen as one. Linux reports mount points
//! by `STATX_ATTR_MOUNT_ROOT` (since 5.8), which also catches a bind mount of the same file system; elsewhere only a
//! different device tells. Opening, which must not be led astray on the way, is in [`crate::open`].

use std::io;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use rustix::fs::FileType;
use rustix::path::Arg;

/// What kind of node a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, not followed.
    Link,
    /// A socket.
    Socket,
    /// A named pipe.
    Fifo,
    /// A character or block device, or something this system has no other word for.
    Device,
}

/// What the kernel says about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub node: Node,
    /// Permission bits with set-id and sticky (`st_mode & 0o7777`).
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The number of hard links.
    pub links: u64,
    /// The device it lies on.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// The space it takes, in units of 512 bytes.
    pub blocks: u64,
    /// The last access, in nanoseconds since 1970.
    pub atime: i128,
    /// The last change of contents, in nanoseconds since 1970.
    pub mtime: i128,
    /// The last change of contents or inode, in nanoseconds since 1970.
    pub ctime: i128,
    /// Another file system (or a bind mount) is mounted exactly here.
    pub mount_root: bool,
    /// Its contents are in the cloud (macOS `SF_DATALESS`); reading would fetch them.
    pub dataless: bool,
    /// A flag forbids changing or deleting it (Linux `chattr +i`/`+a`, macOS `uchg`/`uappnd` and their system forms).
    pub immutable: bool,
}

/// What an open descriptor stands for.
///
/// # Errors
/// What the kernel says.
pub fn stat_fd(fd: impl AsFd) -> io::Result<Stat> {
    platform::stat(fd, c"", platform::EMPTY)
}

/// What `name` in the folder `dir` stands for; a link is not followed.
///
/// Components of `name` before the last are followed, so it should be a single one.
///
/// # Errors
/// What the kernel says.
pub fn stat_at(dir: impl AsFd, name: impl Arg) -> io::Result<Stat> {
    platform::stat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn node(file_type: FileType) -> Node {
    match file_type {
        FileType::RegularFile => Node::File,
        FileType::Directory => Node::Folder,
        FileType::Symlink => Node::Link,
        FileType::Socket => Node::Socket,
        FileType::Fifo => Node::Fifo,
        _ => Node::Device,
    }
}

fn nanoseconds(seconds: i64, rest: impl Into<i128>) -> i128 {
    i128::from(seconds) * 1_000_000_000 + rest.into()
}

#[cfg(target_os = "linux")]
mod platform {
    use rustix::fs::Statx;
    use rustix::fs::StatxAttributes;
    use rustix::fs::StatxFlags;
    use rustix::fs::makedev;
    use rustix::fs::statx;

    use super::*;

    pub(super) const EMPTY: AtFlags = AtFlags::EMPTY_PATH.union(AtFlags::SYMLINK_NOFOLLOW);

    pub(super) fn stat(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> io::Result<Stat> {
        // An automount point is looked at, not triggered: cloning must not mount things.
        let raw = statx(
            dir,
            name,
            flags | AtFlags::NO_AUTOMOUNT,
            StatxFlags::BASIC_STATS,
        )?;
        Ok(from_raw(&raw))
    }

    fn from_raw(raw: &Statx) -> Stat {
        let mode = u32::from(raw.stx_mode);
        let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
        Stat {
            node: node(FileType::from_raw_mode(mode)),
            mode: mode & 0o7777,
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            links: raw.stx_nlink.into(),
            dev: makedev(raw.stx_dev_major, raw.stx_dev_minor),
            ino: raw.stx_ino,
            size: raw.stx_size,
            blocks: raw.stx_blocks,
            atime: nanoseconds(raw.stx_atime.tv_sec, raw.stx_atime.tv_nsec),
            mtime: nanoseconds(raw.stx_mtime.tv_sec, raw.stx_mtime.tv_nsec),
            ctime: nanoseconds(raw.stx_ctime.tv_sec, raw.stx_ctime.tv_nsec),
            mount_root: raw.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
            dataless: false,
            immutable: raw.stx_attributes.intersects(fixed),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::*;

    pub(super) const EMPTY: AtFlags = AtFlags::empty();

    // From <sys/stat.h> of macOS; `libc` has the same values but not all of them on every version.
    const UF_IMMUTABLE: u32 = 0x0000_0002;
    const UF_APPEND: u32 = 0x0000_0004;
    const SF_IMMUTABLE: u32 = 0x0002_0000;
    const SF_APPEND: u32 = 0x0004_0000;
    const SF_DATALESS: u32 = 0x4000_0000;

    pub(super) fn stat(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> io::Result<Stat> {
        // There is no AT_EMPTY_PATH here: an empty name means the descriptor itself.
        let raw = if flags.is_empty() {
            rustix::fs::fstat(dir)?
        } else {
            rustix::fs::statat(dir, name, flags)?
        };
        let mode = u32::from(raw.st_mode);
        Ok(Stat {
            node: node(FileType::from_raw_mode(raw.st_mode)),
            mode: mode & 0o7777,
            uid: raw.st_uid,
            gid: raw.st_gid,
            links: raw.st_nlink.into(),
            // The kernel's value is signed; only equality counts.
            dev: u64::from(raw.st_dev.cast_unsigned()),
            ino: raw.st_ino,
            size: u64::try_from(raw.st_size).unwrap_or(0),
            blocks: u64::try_from(raw.st_blocks).unwrap_or(0),
            atime: nanoseconds(raw.st_atime, raw.st_atime_nsec),
            mtime: nanoseconds(raw.st_mtime, raw.st_mtime_nsec),
            ctime: nanoseconds(raw.st_ctime, raw.st_ctime_nsec),
            mount_root: false,
            dataless: raw.st_flags & SF_DATALESS != 0,
            immutable: raw.st_flags & (UF_IMMUTABLE | UF_APPEND | SF_IMMUTABLE | SF_APPEND) != 0,
        })
    }
}
