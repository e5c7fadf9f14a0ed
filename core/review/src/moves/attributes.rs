//! Owner, group, access lists and extended attributes of what is staged.
//!
//! A replacement keeps what the replaced file had; a new file gets what it would have had if it had been made in its
//! folder. Where a file came from (quarantine, provenance) belongs to the old bytes and is not kept, and neither are
//! capabilities: the kernel drops them too when someone writes to a file. Times are those of the writing, because
//! builds must see that it is new.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use enclos_sys::stat::Stat;
use rustix::fs::Gid;
use rustix::fs::Mode;
use rustix::fs::Uid;
use rustix::fs::XattrFlags;
use rustix::fs::fchmod;
use rustix::fs::fchown;
use rustix::fs::fgetxattr;
use rustix::fs::flistxattr;
use rustix::fs::fsetxattr;
use rustix::io::Errno;

use crate::Lost;

/// Gives `to`, which `now` describes, the owner, group and attributes of `from`, then `mode`; names what could not be
/// kept.
pub(super) fn like(
    to: BorrowedFd<'_>,
    now: &Stat,
    from: (BorrowedFd<'_>, &Stat),
    mode: u32,
) -> io::Result<Vec<Lost>> {
    let mut lost = Vec::new();
    let owned = own(to, now, from.1, &mut lost);
    let copied = copy_all(from.0, to, &mut lost)?;
    if platform::copy_list(from.0, to).is_err() {
        lost.push(Lost::Attribute {
            name: "access control list".into(),
        });
    }
    // Both may change the mode.
    if owned == Changed::Yes || copied == Changed::Yes || now.mode != mode {
        set_mode(to, mode)?;
    }
    Ok(lost)
}

/// Gives `to` what a new file in `folder` has: its group where the folder hands it on, its owner where root writes for
/// someone else, and its default access list.
pub(super) fn fresh(
    to: BorrowedFd<'_>,
    now: &Stat,
    folder: (BorrowedFd<'_>, &Stat),
    mode: u32,
) -> io::Result<()> {
    const SET_GROUP_ID: u32 = 0o2000;
    let (dir, dir_stat) = folder;
    let as_root = now.uid == 0 && dir_stat.uid != 0;
    let wanted = Stat {
        uid: if as_root { dir_stat.uid } else { now.uid },
        gid: if as_root || dir_stat.mode & SET_GROUP_ID != 0 {
            dir_stat.gid
        } else {
            now.gid
        },
        ..*now
    };
    let owned = own(to, now, &wanted, &mut Vec::new());
    let inherited = platform::inherit(dir, to);
    if owned == Changed::Yes || inherited == Changed::Yes || now.mode != mode {
        set_mode(to, mode)?;
    }
    Ok(())
}

/// Whether something was touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Yes,
    No,
}

pub(super) use self::platform::narrow;

/// Sets the permission bits of an open file or folder.
pub(super) fn set_mode(to: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
    Ok(fchmod(to, Mode::from_raw_mode(narrow(mode)))?)
}

fn own(to: BorrowedFd<'_>, now: &Stat, wanted: &Stat, lost: &mut Vec<Lost>) -> Changed {
    if (wanted.uid, wanted.gid) == (now.uid, now.gid) {
        return Changed::No;
    }
    if wanted.gid != now.gid && fchown(to, None, Some(Gid::from_raw(wanted.gid))).is_err() {
        lost.push(Lost::Group { gid: wanted.gid });
    }
    if wanted.uid != now.uid && fchown(to, Some(Uid::from_raw(wanted.uid)), None).is_err() {
        lost.push(Lost::Owner { uid: wanted.uid });
    }
    Changed::Yes
}

fn copy_all(from: BorrowedFd<'_>, to: BorrowedFd<'_>, lost: &mut Vec<Lost>) -> io::Result<Changed> {
    let names = match list(from) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Changed::No),
        Err(errno) => return Err(errno.into()),
    };
    let mut changed = Changed::No;
    for name in names.split_inclusive(|&b| b == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if !platform::is_kept(name.to_bytes()) {
            continue;
        }
        changed = Changed::Yes;
        if copy_one(from, to, name).is_err() {
            lost.push(Lost::Attribute {
                name: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(changed)
}

fn copy_one(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match value(from, name) {
        Ok(value) => fsetxattr(to, name, &value, XattrFlags::empty()),
        // Removed since it was listed, as if it had never been there.
        Err(errno) if errno == platform::NO_SUCH_ATTRIBUTE => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn list(from: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut names = Vec::with_capacity(1024);
    loop {
        match flistxattr(from, rustix::buffer::spare_capacity(&mut names)) {
            Err(Errno::RANGE) => names.reserve(2 * names.capacity()),
            result => return result.map(|_| names),
        }
    }
}

fn value(from: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(256);
    loop {
        match fgetxattr(from, name, rustix::buffer::spare_capacity(&mut value)) {
            Err(Errno::RANGE) => value.reserve(2 * value.capacity()),
            result => return result.map(|_| value),
        }
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use super::*;

    pub(super) const NO_SUCH_ATTRIBUTE: Errno = Errno::NODATA;

    pub(super) fn is_kept(name: &[u8]) -> bool {
        // A file's own label (SELinux, Smack) is kept, its capabilities and measurements are about the old bytes.
        !matches!(
            name,
            b"security.capability" | b"security.ima" | b"security.evm"
        )
    }

    /// Access lists are extended attributes.
    pub(super) fn copy_list(_from: BorrowedFd<'_>, _to: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }

    /// A folder's default access list is the list of what is made in it.
    pub(super) fn inherit(folder: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Changed {
        match value(folder, c"system.posix_acl_default") {
            Ok(list) => {
                let _ = fsetxattr(to, c"system.posix_acl_access", &list, XattrFlags::empty());
                Changed::Yes
            }
            Err(_) => Changed::No,
        }
    }

    pub(in crate::moves) fn narrow(mode: u32) -> rustix::fs::RawMode {
        mode
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::*;

    pub(super) const NO_SUCH_ATTRIBUTE: Errno = Errno::NOATTR;

    pub(super) fn is_kept(name: &[u8]) -> bool {
        !matches!(
            name,
            b"com.apple.quarantine" | b"com.apple.provenance" | b"com.apple.macl"
        )
    }

    pub(super) fn copy_list(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
        enclos_sys::darwin::acl::copy(from, to)
    }

    /// The system does it when the file is made.
    pub(super) fn inherit(_folder: BorrowedFd<'_>, _to: BorrowedFd<'_>) -> Changed {
        Changed::No
    }

    pub(in crate::moves) fn narrow(mode: u32) -> rustix::fs::RawMode {
        // Twelve bits are in use.
        (mode & 0o7777) as rustix::fs::RawMode
    }
}
