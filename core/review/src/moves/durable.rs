//! Making many files durable at the price of a few flushes.
//!
//! ext4 and XFS write names, sizes and allocations of all files through one log: once the bytes of all files are on
//! their way and have arrived, one flush of any file makes everything before it durable. That was measured and tried
//! by pulling the plug on images; it is relied on only where the kernel says that there is such a log. Everywhere else
//! each file and folder is flushed by itself, many at a time, because flushes that wait together cost one.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_sys::flush;

/// How things are made durable where the original lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// One flush for everything that was started before.
    Log,
    /// One flush each.
    Each,
}

impl Durable {
    /// What the file system of `folder` keeps.
    pub(super) fn of(folder: impl AsFd) -> Self {
        if platform::keeps_log(folder) {
            Self::Log
        } else {
            Self::Each
        }
    }
}

/// Files on their way to the disk.
#[derive(Debug)]
pub(super) struct Batch {
    how: Durable,
    open: VecDeque<OwnedFd>,
}

/// How many files are kept open; the usual limit of a process is 1,024, and others need some.
const MOST_OPEN: usize = 512;

/// How many flushes wait together.
const TOGETHER: usize = 16;

impl Batch {
    pub(super) fn new(how: Durable) -> Self {
        Self {
            how,
            open: VecDeque::new(),
        }
    }

    /// Takes a file or folder that is written.
    pub(super) fn add(&mut self, file: OwnedFd) -> io::Result<()> {
        self.open.push_back(file);
        // The older half has had its time, so that there is little to wait for.
        if self.open.len() < MOST_OPEN {
            Ok(())
        } else {
            self.oldest(MOST_OPEN / 2)
        }
    }

    /// Waits until everything taken so far is on the disk, and then the names in `folder`.
    pub(super) fn finish(&mut self, folder: impl AsFd) -> io::Result<()> {
        self.arrive()?;
        flush::through(folder)
    }

    /// Waits until the bytes of everything taken so far are on the disk. With a log the next flush of anything makes
    /// the rest durable; without, all was handed over, which macOS needs a last flush for.
    pub(super) fn arrive(&mut self) -> io::Result<()> {
        self.oldest(self.open.len())
    }

    fn oldest(&mut self, count: usize) -> io::Result<()> {
        let files: Vec<OwnedFd> = self.open.drain(..count).collect();
        match self.how {
            Durable::Log => files.iter().try_for_each(flush::wait),
            Durable::Each => flush_together(&files),
        }
    }
}

fn flush_together(files: &[OwnedFd]) -> io::Result<()> {
    if files.len() < 3 {
        return files.iter().try_for_each(flush::hand_over);
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || loop {
        let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match files.get(at) {
            Some(file) => flush::hand_over(file)?,
            None => return Ok(()),
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..TOGETHER.min(files.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mine = work();
        let theirs = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        });
        theirs.fold(mine, Result::and)
    })
}

#[cfg(target_os = "linux")]
mod platform {
    use std::os::fd::AsFd;

    use rustix::fs::fstatfs;
    use rustix::fs::major;
    use rustix::fs::minor;

    const XFS: u64 = 0x5846_5342;
    const EXT: u64 = 0xef53;

    pub(super) fn keeps_log(folder: impl AsFd) -> bool {
        let Ok(stat) = enclos_sys::stat::stat_fd(&folder) else {
            return false;
        };
        match fstatfs(folder).map(|fs| fs.f_type as u64 & 0xffff_ffff) {
            Ok(XFS) => true,
            Ok(EXT) => has_journal(stat.dev),
            _ => false,
        }
    }

    /// An ext4 file system can be made without a journal; the kernel then names no thread for it.
    fn has_journal(dev: u64) -> bool {
        let block = format!("/sys/dev/block/{}:{}", major(dev), minor(dev));
        let Ok(device) = std::fs::canonicalize(block) else {
            return false;
        };
        let Some(name) = device.file_name() else {
            return false;
        };
        let path = std::path::Path::new("/sys/fs/ext4")
            .join(name)
            .join("journal_task");
        std::fs::read_to_string(path).is_ok_and(|task| !task.trim().starts_with('<'))
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::os::fd::AsFd;

    pub(super) fn keeps_log(_folder: impl AsFd) -> bool {
        false
    }
}
