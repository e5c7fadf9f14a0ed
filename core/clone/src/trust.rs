//! On which file systems a change always moves `ctime`, and how fine that clock is.

use std::io;
use std::os::fd::AsFd;

/// Whether an unchanged identity proves unchanged contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Every change of contents or inode moves `ctime`, which nothing but the kernel's clock sets.
    Identity,
    /// There is no such time, or another machine or program hands it out: contents have to be compared.
    Contents,
}

/// Whether the file system that holds `fd` has a `ctime` to trust.
pub(crate) fn trust(fd: impl AsFd) -> io::Result<Trust> {
    Ok(platform::trust(&rustix::fs::fstatfs(fd)?))
}

#[cfg(target_os = "linux")]
mod platform {
    use rustix::fs::StatFs;

    use super::Trust;

    /// Local file systems that keep an inode change time themselves (`include/uapi/linux/magic.h`, and their own
    /// sources for the last ones). FAT and exFAT have none, network and FUSE file systems hand out somebody else's.
    const TRUSTED: [(u32, &str); 12] = [
        (0x0000_ef53, "ext2, ext3, ext4"),
        (0x5846_5342, "xfs"),
        (0x9123_683e, "btrfs"),
        (0x0102_1994, "tmpfs"),
        (0x794c_7630, "overlay"),
        (0xf2f5_2010, "f2fs"),
        (0x2fc1_2fc1, "zfs"),
        (0xca45_1a4e, "bcachefs"),
        (0x8584_58f6, "ramfs"),
        (0x3153_464a, "jfs"),
        (0x5265_4973, "reiserfs"),
        (0x0000_3434, "nilfs2"),
    ];

    pub(super) fn trust(fs: &StatFs) -> Trust {
        // The magic is 32 bits wide; the type it comes in differs between machines.
        let magic = (fs.f_type as u64 & 0xffff_ffff) as u32;
        if TRUSTED.iter().any(|&(trusted, _)| trusted == magic) {
            Trust::Identity
        } else {
            Trust::Contents
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use rustix::fs::StatFs;

    use super::Trust;

    pub(super) fn trust(fs: &StatFs) -> Trust {
        let name = fs
            .f_fstypename
            .iter()
            .take_while(|&&c| c != 0)
            .map(|&c| c.cast_unsigned());
        let trusted = [&b"apfs"[..], b"hfs"]
            .iter()
            .any(|trusted| name.clone().eq(trusted.iter().copied()));
        if trusted {
            Trust::Identity
        } else {
            Trust::Contents
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_keep_its_times_is_not_trusted() {
        let proc = std::fs::File::open("/proc/self").unwrap();
        assert_eq!(trust(&proc).unwrap(), Trust::Contents);
    }
}
