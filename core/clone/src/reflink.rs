//! Whether files here can share their blocks, and from which size on that is worth it.

use enclos_paths::AbsPath;

use crate::method::FallBack;
use crate::tree::Filling;

/// What came of trying to share a file's blocks.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "elsewhere it never works")
)]
pub(crate) enum Sharing {
    /// It works, best done this way.
    Works(Filling),
    /// It does not.
    Not(FallBack),
    /// There is no file to share, so it does not matter.
    Nothing,
}

/// Tries whether a file of `source` can share its blocks with a new one in `holder`.
///
/// Only trying tells: whether two folders lie on one file system is not in their device numbers (btrfs), and an XFS
/// may have been made without.
pub(crate) fn sharing(source: &AbsPath, holder: &AbsPath) -> Sharing {
    platform::sharing(source, holder)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::os::fd::AsFd;
    use std::os::fd::OwnedFd;

    use enclos_paths::AbsPath;
    use enclos_sys::open::open_file_at;
    use enclos_sys::open::open_root;
    use enclos_sys::stat::Node;
    use enclos_sys::stat::stat_at;
    use rustix::fs::Mode;
    use rustix::fs::OFlags;
    use rustix::fs::fstatfs;
    use rustix::fs::ioctl_ficlone;
    use rustix::io::Errno;

    use super::Sharing;
    use crate::listing::Listing;
    use crate::method::FallBack;
    use crate::place::Place;
    use crate::tree::Filling;

    const XFS: u32 = 0x5846_5342;

    /// Up to this size copying a file is cheaper than sharing it on XFS, and reading it afterwards as well.
    const SMALL: u64 = 16 * 1024;

    /// How many folders are looked through for a file to try with.
    const LOOKED_THROUGH: usize = 1000;

    pub(super) fn sharing(source: &AbsPath, holder: &AbsPath) -> Sharing {
        let Some(from) = any_file(source) else {
            return Sharing::Nothing;
        };
        let Ok(holder) = open_root(holder) else {
            return Sharing::Not(FallBack::NoSharing);
        };
        // A file without a name: nothing is left behind, whatever happens.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let Ok(to) = rustix::fs::openat(&holder, ".", flags, Mode::RUSR | Mode::WUSR) else {
            return Sharing::Not(FallBack::NoSharing);
        };
        match ioctl_ficlone(&to, &from) {
            Ok(()) => Sharing::Works(filling(&to)),
            Err(Errno::XDEV) => Sharing::Not(FallBack::OtherFileSystem),
            Err(_) => Sharing::Not(FallBack::NoSharing),
        }
    }

    fn filling(on: &OwnedFd) -> Filling {
        let magic = fstatfs(on).map_or(0, |fs| (fs.f_type as u64 & 0xffff_ffff) as u32);
        let above = if magic == XFS { SMALL } else { 0 };
        Filling::Share {
            above,
            written_by: i128::MAX,
        }
    }

    /// Any regular file that can be read; the first ones found are those near the top.
    fn any_file(source: &AbsPath) -> Option<OwnedFd> {
        let root = open_root(source).ok()?;
        let mut listing = Listing::default();
        let mut folders = std::collections::VecDeque::from([Place::ROOT]);
        for _ in 0..LOOKED_THROUGH {
            let place = folders.pop_front()?;
            let Ok(dir) = place.open(root.as_fd()) else {
                continue;
            };
            if listing.read(dir.as_fd()).is_err() {
                continue;
            }
            for (name, _) in (0..listing.len()).filter_map(|i| listing.get(i)) {
                let Ok(stat) = stat_at(&dir, name) else {
                    continue;
                };
                if stat.mount_root {
                    continue;
                }
                match stat.node {
                    // Settled ones only: sharing a file that is being written would wait for the disk.
                    Node::File => {
                        if let Ok(file) = open_file_at(dir.as_fd(), name) {
                            return Some(file);
                        }
                    }
                    Node::Folder => folders.extend(place.child(name.to_bytes()).map(Place::at)),
                    _ => {}
                }
            }
        }
        None
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use enclos_paths::AbsPath;

    use super::Sharing;
    use crate::method::FallBack;
    use crate::method::Method;

    pub(super) fn sharing(_source: &AbsPath, _holder: &AbsPath) -> Sharing {
        Sharing::Not(FallBack::NotOnThisSystem(Method::Reflink))
    }
}
