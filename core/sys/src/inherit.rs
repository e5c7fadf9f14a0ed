//! Takes over what an executed process was given, and closes all that it was not.
//!
//! The promise: after [`take_over`] the process holds its three standard streams and the descriptors that were asked for;
//! whatever the caller's parents left open by mistake is gone. Linux closes a range at once (5.9); before it, and on
//! macOS, the open ones are listed.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::fd::FromRawFd;
use std::os::fd::OwnedFd;
use std::os::fd::RawFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// Takes the `N` descriptors that were inherited as 3 and on, and closes every later one.
///
/// To be called once, first thing in `main`, before any descriptor was opened and any thread started.
///
/// # Errors
/// When one of them is not open, when called a second time, or when the kernel refuses.
pub fn take_over<const N: usize>() -> io::Result<[OwnedFd; N]> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let count = RawFd::try_from(N).unwrap_or(RawFd::MAX - FIRST);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for number in FIRST..FIRST + count {
        // SAFETY: makes a descriptor close-on-exec; fails for a number that is not open.
        if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    close_range(FIRST + count, RawFd::MAX)?;
    let mut numbers = FIRST..;
    // SAFETY: each number is open, and as this runs once before anything else was opened nobody else owns it.
    Ok(std::array::from_fn(|_| unsafe {
        OwnedFd::from_raw_fd(numbers.next().unwrap_or(-1))
    }))
}

/// The first number after the standard streams.
const FIRST: RawFd = 3;

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    if close_at_once(first, last)? {
        return Ok(());
    }
    let listed: Vec<RawFd> = std::fs::read_dir(OPEN)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| (first..=last).contains(fd))
        .collect();
    for fd in listed {
        // SAFETY: as above; closing the listing's own descriptor, which is closed already, only fails.
        unsafe { libc::close(fd) };
    }
    Ok(())
}

/// A folder that lists the descriptors of whoever reads it.
#[cfg(target_os = "linux")]
const OPEN: &str = "/proc/self/fd";
#[cfg(target_os = "macos")]
const OPEN: &str = "/dev/fd";

/// Whether the kernel could close the whole range in one call.
#[cfg(target_os = "linux")]
fn close_at_once(first: RawFd, last: RawFd) -> io::Result<bool> {
    // SAFETY: plain numbers; by the contract of `take_over` nothing in this process owns a descriptor in the range.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOSYS) => Ok(false),
        error => Err(error),
    }
}

#[cfg(target_os = "macos")]
#[expect(clippy::unnecessary_wraps, reason = "the same on every system")]
fn close_at_once(_first: RawFd, _last: RawFd) -> io::Result<bool> {
    Ok(false)
}
