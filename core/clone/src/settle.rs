//! Waiting until a change of the copy can no longer carry the time of its making.
//!
//! Since Linux 6.13 the common file systems take a fresh, fine time for a change of a file that was looked at since
//! its last change, so nothing has to be waited for. Before that, and elsewhere, times move in ticks of up to 4 ms,
//! and a change within the tick of the copying would leave no trace.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use enclos_sys::stat::stat_fd;
use rustix::fs::Mode;
use rustix::fs::fchmod;

use crate::tree::TICKS;

/// Waits, for a few milliseconds at most, until a change of anything in the folder `copy`, whose latest entry was made
/// at `taken`, gets another time than that. Of the folder itself only the `ctime` moves.
pub(crate) fn settle(copy: BorrowedFd<'_>, taken: i128) -> io::Result<()> {
    /// A clock that stands still this long is not stepping backwards; somebody has set it.
    const LONGEST: Duration = Duration::from_millis(100);
    let begun = Instant::now();
    if is_fine(copy)? {
        return Ok(());
    }
    while touch(copy)? <= taken + TICKS && begun.elapsed() < LONGEST {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Whether changes one right after the other get different times, several times within less than a tick.
fn is_fine(copy: BorrowedFd<'_>) -> io::Result<bool> {
    const LESS_THAN_A_TICK: Duration = Duration::from_micros(900);
    let begun = Instant::now();
    let mut before = touch(copy)?;
    for _ in 0..4 {
        let now = touch(copy)?;
        if now == before {
            return Ok(false);
        }
        before = now;
    }
    Ok(begun.elapsed() < LESS_THAN_A_TICK)
}

/// Moves the `ctime` of the folder and says where to.
fn touch(copy: BorrowedFd<'_>) -> io::Result<i128> {
    let mode = stat_fd(copy)?.mode;
    fchmod(copy, Mode::from_raw_mode(crate::tree::narrow(mode)))?;
    Ok(stat_fd(copy)?.ctime)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn after_it_a_change_has_another_time() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(round.to_string());
            std::fs::write(&path, "x").unwrap();
            let file = File::open(&path).unwrap();
            let taken = stat_fd(&file).unwrap().ctime;
            let holder = File::open(folder.path()).unwrap();
            settle(holder.as_fd(), taken).unwrap();
            std::fs::write(&path, "y").unwrap();
            assert!(stat_fd(&file).unwrap().ctime > taken);
        }
    }

    #[test]
    fn it_ends_although_the_clock_stands_still() {
        let folder = tempfile::tempdir().unwrap();
        let holder = File::open(folder.path()).unwrap();
        let begun = Instant::now();
        settle(holder.as_fd(), i128::MAX - TICKS).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
