//! Extended attributes, access control lists, mode and times of a copy.
//!
//! Kept: what a person or a build may depend on (`user.`, `trusted.` where permitted, capabilities, access control
//! lists). Deliberately not kept: labels of security modules and integrity measurements, which belong to the place
//! where a file lies and not to its contents.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use enclos_sys::stat::Stat;
use rustix::fs::Mode;
use rustix::fs::Timespec;
use rustix::fs::Timestamps;
use rustix::fs::XattrFlags;
use rustix::fs::fchmod;
use rustix::fs::fgetxattr;
use rustix::fs::flistxattr;
use rustix::fs::fsetxattr;
use rustix::fs::futimens;
use rustix::io::Errno;

/// What became of the extended attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attributes {
    /// There were none to keep.
    None,
    /// All were kept.
    Kept,
    /// Some could not be.
    Lost,
}

/// Buffers for names and values, used again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    names: Vec<u8>,
    value: Vec<u8>,
}

/// Copies the extended attributes of `from` to `to`, which the caller owns.
///
/// `to` is made writable for its owner on the way, so its mode must be set afterwards.
pub(crate) fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    scratch: &mut Scratch,
) -> Result<Attributes, Errno> {
    if !list(from, &mut scratch.names)? {
        return Ok(Attributes::None);
    }
    let mut outcome = Attributes::None;
    for name in scratch.names.split_inclusive(|&b| b == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if !is_kept(name.to_bytes()) {
            continue;
        }
        if outcome == Attributes::None {
            fchmod(to, Mode::RWXU)?;
            outcome = Attributes::Kept;
        }
        if !copy_one(from, to, name, &mut scratch.value) {
            outcome = Attributes::Lost;
        }
    }
    Ok(outcome)
}

/// Gives `to` the permission bits `mode`.
pub(crate) fn set_mode(to: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    fchmod(to, Mode::from_raw_mode(narrow(mode)))
}

/// Gives `to` the access and modification times in `stat`.
pub(crate) fn set_times(to: BorrowedFd<'_>, stat: &Stat) -> Result<(), Errno> {
    futimens(to, &times(stat))
}

/// The times in `stat` as the kernel takes them.
pub(crate) fn times(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: timespec(stat.atime),
        last_modification: timespec(stat.mtime),
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn narrow(mode: u32) -> rustix::fs::RawMode {
    mode
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn narrow(mode: u32) -> rustix::fs::RawMode {
    // Twelve bits are in use.
    (mode & 0o7777) as rustix::fs::RawMode
}

fn timespec(nanoseconds: i128) -> Timespec {
    const SECOND: i128 = 1_000_000_000;
    // Both fit: the kernel gave them in this form.
    let tv_sec = i64::try_from(nanoseconds.div_euclid(SECOND)).unwrap_or(i64::MAX);
    let tv_nsec = i64::try_from(nanoseconds.rem_euclid(SECOND)).unwrap_or(0);
    Timespec { tv_sec, tv_nsec }
}

/// Lists the names of the attributes; false when there are none.
fn list(from: BorrowedFd<'_>, names: &mut Vec<u8>) -> Result<bool, Errno> {
    const USUAL: usize = 4096;
    names.clear();
    names.reserve(USUAL);
    loop {
        match flistxattr(from, rustix::buffer::spare_capacity(names)) {
            Ok(got) => return Ok(got > 0),
            Err(Errno::RANGE) => names.reserve(2 * names.capacity()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(target_os = "linux")]
fn is_kept(name: &[u8]) -> bool {
    name.starts_with(b"user.")
        || name.starts_with(b"trusted.")
        || matches!(
            name,
            b"system.posix_acl_access" | b"system.posix_acl_default" | b"security.capability"
        )
}

#[cfg(not(target_os = "linux"))]
fn is_kept(name: &[u8]) -> bool {
    // Where a file came from is about the original; a copy that carried it would be refused to run.
    !matches!(
        name,
        b"com.apple.quarantine" | b"com.apple.provenance" | b"com.apple.macl"
    )
}

fn copy_one(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr, value: &mut Vec<u8>) -> bool {
    const USUAL: usize = 1024;
    value.clear();
    value.reserve(USUAL);
    loop {
        match fgetxattr(from, name, rustix::buffer::spare_capacity(value)) {
            Ok(_) => break,
            Err(Errno::RANGE) => value.reserve(2 * value.capacity()),
            // Removed since it was listed, as if it had never been there.
            Err(Errno::NODATA) => return true,
            Err(_) => return false,
        }
    }
    fsetxattr(to, name, value, XattrFlags::empty()).is_ok()
}
