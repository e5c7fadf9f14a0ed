//! The table of processes: who is whose child, since when, on which terminal, in which folder.
//!
//! libproc answers for one process at a time, so a table is never one moment: a process may be gone, or another may
//! have its number, before the next call. Every entry therefore carries its start time, and whoever signals compares
//! it again right before. Which processes belong to a session is decided elsewhere.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One process as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub pid: i32,
    /// Its parent's number; 1 once the parent is gone.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its effective user.
    pub uid: u32,
    /// When it started, seconds and microseconds of the wall clock.
    pub started: (u64, u64),
    /// The device of its controlling terminal.
    pub terminal: Option<u32>,
    /// What it is doing.
    pub state: State,
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, or could.
    Running,
    /// A signal has stopped it.
    Stopped,
    /// It is ending: none of its own instructions is executed any more. One with unread output in a terminal can be in
    /// this state for long.
    Ending,
}

/// All processes that may be asked about.
///
/// # Errors
/// The kernel does not list processes.
pub fn all() -> io::Result<Vec<Entry>> {
    Ok(pids()?.into_iter().filter_map(entry).collect())
}

/// The process `pid`, if it is there and may be asked about.
#[must_use]
pub fn entry(pid: i32) -> Option<Entry> {
    let info: libc::proc_bsdinfo = info(pid, libc::PROC_PIDTBSDINFO)?;
    let number = |n: u32| i32::try_from(n).ok();
    Some(Entry {
        pid,
        parent: number(info.pbi_ppid)?,
        group: number(info.pbi_pgid)?,
        uid: info.pbi_uid,
        started: (info.pbi_start_tvsec, info.pbi_start_tvusec),
        // NODEV is -1; a process without a terminal has 0 or NODEV.
        terminal: Some(info.e_tdev).filter(|device| *device != 0 && *device != u32::MAX),
        state: match info.pbi_status {
            _ if info.pbi_flags & ENDING != 0 => State::Ending,
            libc::SZOMB => State::Ending,
            libc::SSTOP => State::Stopped,
            _ => State::Running,
        },
    })
}

/// The working folder of process `pid`, resolved.
#[must_use]
pub fn working_folder(pid: i32) -> Option<PathBuf> {
    let info: libc::proc_vnodepathinfo = info(pid, libc::PROC_PIDVNODEPATHINFO)?;
    let bytes: Vec<u8> = info
        .pvi_cdir
        .vip_path
        .as_flattened()
        .iter()
        .map(|c| c.cast_unsigned())
        .collect();
    let path = CStr::from_bytes_until_nul(&bytes).ok()?.to_bytes();
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

/// Sends `signal` to process `pid` alone, if it is still the one that started at `started`.
///
/// Between the comparison and the signal the number can change hands; the kernel hands a number out again only after
/// all others, so that takes 99,999 new processes in a few microseconds.
///
/// # Errors
/// The kernel refuses. A process that is gone, or is another by now, is not an error.
pub fn signal(pid: i32, started: (u64, u64), signal: c_int) -> io::Result<()> {
    if pid <= 1 || entry(pid).is_none_or(|now| now.started != started) {
        return Ok(());
    }
    // SAFETY: `kill` takes plain numbers; `pid` is above 1 and so names one process.
    let result = unsafe { libc::kill(pid, signal) };
    let error = io::Error::last_os_error();
    if result == 0 || error.raw_os_error() == Some(libc::ESRCH) {
        Ok(())
    } else {
        Err(error)
    }
}

/// `PROC_FLAG_INEXIT` of `<sys/proc_info.h>`.
const ENDING: u32 = 4;

fn pids() -> io::Result<Vec<i32>> {
    // SAFETY: a null buffer of size 0 asks for the number of processes.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // Room for those that start meanwhile.
    let mut pids = vec![0_i32; count + 512];
    let bytes = c_int::try_from(mem::size_of_val(pids.as_slice())).map_err(io::Error::other)?;
    // SAFETY: the buffer is valid for `bytes` bytes and any bytes are valid numbers.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast::<c_void>(), bytes) };
    pids.truncate(usize::try_from(count).map_err(|_| io::Error::last_os_error())?);
    pids.retain(|pid| *pid > 0);
    Ok(pids)
}

/// Asks libproc for the structure `T` that belongs to `flavour`.
fn info<T: Plain>(pid: i32, flavour: c_int) -> Option<T> {
    let size = c_int::try_from(mem::size_of::<T>()).ok()?;
    let mut info = mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the buffer is valid for `size` bytes; libproc writes at most that many.
    let written =
        unsafe { libc::proc_pidinfo(pid, flavour, 0, info.as_mut_ptr().cast::<c_void>(), size) };
    // SAFETY: `T` is plain, so zeros are a value of it even where the kernel wrote nothing.
    (written == size).then(|| unsafe { info.assume_init() })
}

/// Structures of numbers alone, for which any bytes are a value.
trait Plain {}

impl Plain for libc::proc_bsdinfo {}
impl Plain for libc::proc_vnodepathinfo {}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_in_the_table_with_its_parent_and_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let mut child = Command::new("/bin/sleep")
            .arg("60")
            .current_dir(&folder)
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let seen = all()
            .unwrap()
            .into_iter()
            .find(|entry| entry.pid == pid)
            .unwrap();
        assert_eq!(seen.parent, own);
        assert_eq!(seen.state, State::Running);
        signal(pid, seen.started, libc::SIGSTOP).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(entry(pid).unwrap().state, State::Stopped);
        assert_eq!(working_folder(pid).unwrap(), folder);

        signal(pid, (seen.started.0 + 1, 0), libc::SIGKILL).unwrap();
        assert!(
            child.try_wait().unwrap().is_none(),
            "another start time is another process"
        );
        signal(pid, seen.started, libc::SIGKILL).unwrap();
        child.wait().unwrap();
        signal(pid, seen.started, libc::SIGKILL).unwrap();
    }
}
