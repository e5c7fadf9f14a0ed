//! Who is at the other end of a Unix socket.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;
use std::os::fd::AsFd;

/// The effective user id of the process that connected (or listened), as the kernel recorded it then.
///
/// Linux: `SO_PEERCRED`, unix(7). macOS: `getpeereid(3)`.
///
/// # Errors
/// When the descriptor is not a connected Unix socket.
pub fn uid(socket: impl AsFd) -> io::Result<u32> {
    of(socket)
}

#[cfg(not(target_os = "macos"))]
fn of(socket: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw())
}

#[cfg(target_os = "macos")]
fn of(socket: impl AsFd) -> io::Result<u32> {
    use std::os::fd::AsRawFd;
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: the descriptor is open for the length of the call and both pointers are to live integers.
    let result =
        unsafe { libc::getpeereid(socket.as_fd().as_raw_fd(), &raw mut uid, &raw mut gid) };
    if result == 0 {
        Ok(uid)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_peer_of_our_own_pair_is_us() {
        let (a, _b) = UnixStream::pair().unwrap();
        assert_eq!(super::uid(&a).unwrap(), rustix::process::geteuid().as_raw());
    }
}
