//! Starts a program with exactly the descriptors that are named: `posix_spawn`.
//!
//! The C library starts the child without copying the caller's memory, so a big process pays no more than a small one,
//! and reports a failing `execve` as this call's own error. The child has default signal actions and an empty signal
//! mask whatever the caller's are. Deliberately not here: anything that would run code of ours between fork and exec.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::os::fd::RawFd;
use std::ptr;

use rustix::process::Pid;

/// A program to start.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// The executable; not looked up anywhere.
    pub program: CString,
    /// The arguments, the first being the program's own name.
    pub argv: Vec<CString>,
    /// The whole environment, as `NAME=VALUE`.
    pub env: Vec<CString>,
    /// A terminal that becomes the standard streams and the controlling terminal, opened by the child itself.
    pub terminal: Option<CString>,
    /// Descriptors that the child gets, each under the number beside it (below [`SOURCES_FROM`]).
    ///
    /// All others must be close-on-exec; a descriptor that is not stays open in the child. macOS closes them all the
    /// same (`POSIX_SPAWN_CLOEXEC_DEFAULT`).
    pub descriptors: Vec<(BorrowedFd<'a>, RawFd)>,
}

/// Numbers below this may be given to a child.
pub const SOURCES_FROM: RawFd = 64;

impl Spawn<'_> {
    /// Starts the program in a session of its own, without a controlling terminal unless one is given.
    ///
    /// The caller must wait for the child.
    ///
    /// # Errors
    /// What `execve` said, or that a descriptor or the memory for it is missing.
    pub fn start(&self) -> io::Result<Pid> {
        let sources = self.lifted()?;
        let actions = self.actions(&sources)?;
        let attributes = Attributes::new()?;
        let argv = pointers(&self.argv);
        let env = pointers(&self.env);
        let mut pid = 0;
        // SAFETY: all pointers are to live, initialised values; both lists end with a null pointer and their strings
        // outlive the call; the child shares our memory only until it has executed the program.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.program.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                argv.as_ptr().cast(),
                env.as_ptr().cast(),
            )
        };
        checked(error)?;
        Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }

    /// Copies of the descriptors above all numbers given to the child, so that placing one never overwrites another.
    fn lifted(&self) -> io::Result<Vec<std::os::fd::OwnedFd>> {
        let lift = |(fd, _): &(BorrowedFd<'_>, RawFd)| {
            Ok(rustix::io::fcntl_dupfd_cloexec(fd, SOURCES_FROM)?)
        };
        self.descriptors.iter().map(lift).collect()
    }

    fn actions(&self, sources: &[std::os::fd::OwnedFd]) -> io::Result<Actions> {
        let mut actions = Actions::new()?;
        if let Some(path) = &self.terminal {
            actions.open(0, path)?;
            actions.copy(0, 1)?;
            actions.copy(0, 2)?;
        }
        for (source, (_, number)) in sources.iter().zip(&self.descriptors) {
            actions.copy(source.as_raw_fd(), *number)?;
        }
        Ok(actions)
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings
        .iter()
        .map(|s| s.as_ptr())
        .chain([ptr::null()])
        .collect()
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises the object it is given.
        checked(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: it was initialised, as the call succeeded.
        Ok(Self(unsafe { actions.assume_init() }))
    }

    fn open(&mut self, number: RawFd, path: &CString) -> io::Result<()> {
        // SAFETY: the object is initialised and the path a live string, which the C library copies.
        checked(unsafe {
            libc::posix_spawn_file_actions_addopen(
                &raw mut self.0,
                number,
                path.as_ptr(),
                libc::O_RDWR,
                0,
            )
        })
    }

    fn copy(&mut self, from: RawFd, to: RawFd) -> io::Result<()> {
        // SAFETY: the object is initialised.
        checked(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, from, to) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the object is initialised and not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises the object it is given.
        checked(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: it was initialised, as the call succeeded.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        // SAFETY: the object is initialised; both sets are initialised by the calls that fill them.
        unsafe {
            checked(libc::posix_spawnattr_setflags(&raw mut attributes.0, FLAGS))?;
            let mut set = std::mem::MaybeUninit::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            checked(libc::posix_spawnattr_setsigmask(
                &raw mut attributes.0,
                set.as_ptr(),
            ))?;
            libc::sigfillset(set.as_mut_ptr());
            checked(libc::posix_spawnattr_setsigdefault(
                &raw mut attributes.0,
                set.as_ptr(),
            ))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the object is initialised and not used again.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

/// A session of its own, default actions for all signals, an empty signal mask.
#[allow(
    clippy::cast_possible_truncation,
    reason = "small flags whose C type is a short"
)]
const FLAGS: libc::c_short =
    (SETSID | libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK | CLOSE_OTHERS)
        as libc::c_short;

#[cfg(not(target_os = "macos"))]
const SETSID: libc::c_int = libc::POSIX_SPAWN_SETSID as libc::c_int;
#[cfg(not(target_os = "macos"))]
const CLOSE_OTHERS: libc::c_int = 0;

/// `<spawn.h>` since macOS 10.15.
#[cfg(target_os = "macos")]
const SETSID: libc::c_int = 0x0400;
#[cfg(target_os = "macos")]
const CLOSE_OTHERS: libc::c_int = libc::POSIX_SPAWN_CLOEXEC_DEFAULT;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use rustix::process::WaitOptions;

    use super::*;

    fn sh<'a>(script: &str, descriptors: Vec<(BorrowedFd<'a>, RawFd)>) -> Spawn<'a> {
        let c = |text: &str| CString::new(text).unwrap();
        Spawn {
            program: c("/bin/sh"),
            argv: vec![c("sh"), c("-c"), c(script)],
            env: vec![c("WORD=word")],
            terminal: None,
            descriptors,
        }
    }

    fn output(script: &str) -> String {
        let (mut read, write) = std::io::pipe().unwrap();
        let pid = sh(script, vec![(write.as_fd(), 1)]).start().unwrap();
        drop(write);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        rustix::process::waitpid(Some(pid), WaitOptions::empty()).unwrap();
        text
    }

    #[test]
    fn the_environment_is_what_was_given() {
        assert_eq!(output("echo $WORD-$HOME"), "word-\n");
    }

    #[test]
    fn descriptors_may_swap_places() {
        let (mut read, write) = std::io::pipe().unwrap();
        let (mut other_read, other_write) = std::io::pipe().unwrap();
        let given = vec![
            (write.as_fd(), other_write.as_raw_fd()),
            (other_write.as_fd(), write.as_raw_fd()),
        ];
        let script = format!(
            "echo a >&{}; echo b >&{}",
            other_write.as_raw_fd(),
            write.as_raw_fd()
        );
        let pid = sh(&script, given).start().unwrap();
        drop((write, other_write));
        let (mut first, mut second) = (String::new(), String::new());
        read.read_to_string(&mut first).unwrap();
        other_read.read_to_string(&mut second).unwrap();
        rustix::process::waitpid(Some(pid), WaitOptions::empty()).unwrap();
        assert_eq!((first.as_str(), second.as_str()), ("a\n", "b\n"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_child_leads_a_session_and_ignores_no_signal() {
        // Rust programs ignore SIGPIPE (signal 13, bit 12); a child that inherited that would not end with its reader.
        let text = output("cut -d' ' -f6 /proc/$$/stat; echo $$; grep SigIgn /proc/self/status");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], lines[1], "the session id is the child's own");
        let ignored = lines[2].strip_prefix("SigIgn:\t").unwrap();
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        assert_eq!(
            ignored & 0x7fff_ffff,
            0,
            "only the C library's own signals 32 and 33 may be ignored"
        );
    }

    /// macOS closes what is not given, whether or not it is close-on-exec.
    #[cfg(target_os = "macos")]
    #[test]
    fn the_child_leads_a_session_and_holds_nothing_else() {
        let open = std::fs::File::open("/dev/null").unwrap();
        let fd = rustix::io::fcntl_dupfd_cloexec(&open, 100).unwrap();
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::empty()).unwrap();
        let script = format!("ls /dev/fd | grep -c {}", fd.as_raw_fd());
        assert_eq!(output(&script), "0\n");
        let (_read, write) = std::io::pipe().unwrap();
        let pid = sh("sleep 60", vec![(write.as_fd(), 1)]).start().unwrap();
        assert_eq!(rustix::process::getsid(Some(pid)).unwrap(), pid);
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        rustix::process::waitpid(Some(pid), WaitOptions::empty()).unwrap();
    }

    #[test]
    fn a_failing_exec_is_an_error() {
        let mut spawn = sh("", Vec::new());
        spawn.program = CString::new("/nowhere").unwrap();
        assert_eq!(
            spawn.start().unwrap_err().raw_os_error(),
            Some(libc::ENOENT)
        );
    }
}
