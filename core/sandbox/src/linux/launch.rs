//! Carries a plan out: starts bubblewrap, and through the stage the command.
//!
//! The promise: nothing of the caller is handed in (bubblewrap starts with an empty environment, in a session of its
//! own, with descriptors that were made for it), and when the launch fails nothing is left behind. The jail's life
//! hangs on one socket: its other end closes when this process dies, however it dies, and then the stage, which is
//! process 1 of the jail's pid namespace, ends and every process of the jail with it. No thread has to stay for that.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use enclos_paths::{AbsPath, shown};
use enclos_sys::open::{OpenError, open_folder_at, open_root};
use enclos_sys::spawn::Spawn;
use rustix::fs::{AtFlags, FileType, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use super::channel::Channel;
use super::facts::Userns;
use super::mounts::{MountPoint, STAGE};
use super::plan::Plan;
use super::running::{Half, Running};
use super::wire::{Order, Step};
use crate::SpawnError;

/// Why a jail did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A descriptor, a pipe or memory could not be had.
    #[error("cannot prepare the jail")]
    Resources(#[source] io::Error),
    /// Bubblewrap, or our stage before it, could not be executed.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Something would be mounted on a link, or on the wrong kind of thing, that was left in a folder of the agent's.
    #[error("cannot mount anything at {place} in {root}: there is something else")]
    MountPoint {
        /// The folder.
        root: AbsPath,
        /// The place in it.
        place: enclos_paths::ProjectPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// User namespaces are forbidden.
    #[error("user namespaces are forbidden: {by} ({})", shown(.said))]
    Namespaces {
        /// What is known about why.
        by: Userns,
        /// What bubblewrap said.
        said: Vec<u8>,
    },
    /// Bubblewrap failed to make the jail.
    #[error("bubblewrap could not make the jail: {}", shown(.said))]
    Bwrap {
        /// Its exit code; none when a signal ended it.
        code: Option<u8>,
        /// What it said.
        said: Vec<u8>,
    },
    /// The jail was made, but what the plan says could not be enforced in it.
    #[error("the jail could not be closed ({step})")]
    NotConfined {
        /// At which step.
        step: Confining,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The jail did not answer in time.
    #[error("the jail did not start within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The jail was made but the command could not be started.
    #[error(transparent)]
    Command(#[from] SpawnError),
}

/// A step into confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confining {
    /// Giving up privileges for good.
    Privileges,
    /// The Landlock rule for this path inside.
    Rule(AbsPath),
    /// Landlock as a whole.
    Landlock,
    /// The system call filter.
    Filter,
}

impl LaunchError {
    /// The exit code of `run` for this error: 127 not found, 126 cannot execute, else 125.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Command(SpawnError::NotFound { .. }) => 127,
            Self::Command(SpawnError::CannotExecute { .. }) => 126,
            _ => 125,
        }
    }

    /// The one line to type that allows it, where there is one.
    #[must_use]
    pub fn to_type(&self) -> Option<&'static str> {
        match self {
            Self::Namespaces { by, .. } => by.to_type(),
            _ => None,
        }
    }
}

impl std::fmt::Display for Confining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Privileges => f.write_str("giving up privileges"),
            Self::Rule(path) => write!(f, "the file rule for {path}"),
            Self::Landlock => f.write_str("the file rules"),
            Self::Filter => f.write_str("the system call filter"),
        }
    }
}

impl From<Step> for Confining {
    fn from(step: Step) -> Self {
        match step {
            Step::Privileges => Self::Privileges,
            Step::Rule(path) => Self::Rule(path),
            Step::Landlock => Self::Landlock,
            Step::Filter => Self::Filter,
        }
    }
}

/// Starts the jail of `plan` and its command; returns once the command was executed. Takes a few milliseconds.
///
/// May be called from any thread. The folders that the plan names must exist, and no other process may be writing
/// those of an agent: a jail that still runs could change a folder between the look at it and the mount.
///
/// # Errors
/// Says whether the jail or the command is to blame; nothing is left behind.
pub fn launch(plan: &Plan) -> Result<Running, LaunchError> {
    for point in &plan.mount_points {
        prepare(point).map_err(|source| LaunchError::MountPoint {
            root: point.root.clone(),
            place: point.place.clone(),
            source,
        })?;
    }
    let (control, theirs) = Channel::pair().map_err(LaunchError::Resources)?;
    control
        .set_patience(Some(PATIENCE))
        .map_err(LaunchError::Resources)?;
    let (complaints, to_complain) = io::pipe().map_err(LaunchError::Resources)?;
    let (pid, child) = start(plan, theirs.as_fd(), to_complain.as_fd())?;
    drop((theirs, to_complain));
    let half = Half {
        pid,
        child,
        control,
        init: None,
    };
    match half.enter(&plan.confinement, &plan.command) {
        Ok(running) => Ok(running),
        Err((half, failure)) => Err(failure.explain(plan, half, complaints)),
    }
}

/// How long a jail may take to start: far more than it does on the slowest machine, far less than forever.
const PATIENCE: Duration = Duration::from_secs(30);

/// What went wrong between the start of bubblewrap and that of the command.
pub(super) enum Failure {
    /// The other end of the socket is gone.
    Silence,
    /// Nothing was heard for too long.
    TimedOut,
    /// The stage could not confine itself.
    NotConfined { step: Step, errno: i32 },
    /// The command.
    Command(SpawnError),
    /// A pipe could not be made, or the stage does not speak our language.
    Resources(io::Error),
}

impl Failure {
    /// Ends what was started and says what happened.
    fn explain(self, plan: &Plan, half: Half, complaints: io::PipeReader) -> LaunchError {
        let code = half.abandon();
        match self {
            Self::Silence => silence(plan, code, complaints),
            Self::TimedOut => LaunchError::TimedOut(PATIENCE),
            Self::NotConfined { step, errno } => LaunchError::NotConfined {
                step: step.into(),
                source: io::Error::from_raw_os_error(errno),
            },
            Self::Command(error) => LaunchError::Command(error),
            Self::Resources(error) => LaunchError::Resources(error),
        }
    }
}

/// The jail ended before the stage could speak: bubblewrap has said why.
fn silence(plan: &Plan, code: Option<u8>, mut complaints: io::PipeReader) -> LaunchError {
    let mut said = vec![0; 4096];
    // Everyone who could write has ended, but another of our own threads may hold a copy while it starts a program.
    let len = rustix::io::ioctl_fionbio(&complaints, true)
        .ok()
        .and_then(|()| complaints.read(&mut said).ok());
    said.truncate(len.unwrap_or(0));
    while said.last().is_some_and(u8::is_ascii_whitespace) {
        said.pop();
    }
    let forbidden: [&[u8]; 6] = [
        b"unshare user ns",
        b"No permissions to create",
        b"Creating new namespace failed",
        b"setting up uid map",
        b"Failed RTM_NEWADDR",
        b"cannot enter a user namespace",
    ];
    if forbidden
        .iter()
        .any(|text| said.windows(text.len()).any(|window| window == *text))
    {
        return LaunchError::Namespaces {
            by: plan.userns,
            said,
        };
    }
    LaunchError::Bwrap { code, said }
}

/// Starts bubblewrap, or the outer stage that executes it.
fn start(
    plan: &Plan,
    control: BorrowedFd<'_>,
    complaints: BorrowedFd<'_>,
) -> Result<(Pid, OwnedFd), LaunchError> {
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| LaunchError::Resources(errno.into()))?;
    let options = in_memory(&nul_separated(&plan.bwrap_options)).map_err(LaunchError::Resources)?;
    let mut descriptors = vec![
        (nothing.as_fd(), 0),
        (nothing.as_fd(), 1),
        (complaints, 2),
        (control, 3),
    ];
    descriptors.push((options.as_fd(), OPTIONS));
    let order;
    let (program, argv) = match &plan.outer {
        None => (&plan.bwrap, bwrap_argv()),
        Some(outer) => {
            let bytes = Order {
                bwrap: plan.bwrap.clone(),
                overlays: outer.overlays.clone(),
            }
            .encode();
            order = in_memory(&bytes).map_err(LaunchError::Resources)?;
            descriptors.push((order.as_fd(), OPTIONS + 1));
            (&outer.stage, words(&["enclos", "stage", "outer"]))
        }
    };
    let failed = |source| LaunchError::Start {
        program: program.clone(),
        source,
    };
    let name = CString::new(program.as_bytes()).map_err(|_| failed(Errno::INVAL.into()))?;
    let spawn = Spawn {
        program: name,
        argv,
        env: Vec::new(),
        terminal: None,
        descriptors,
    };
    let pid = spawn.start().map_err(failed)?;
    let child = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        .map_err(|errno| failed(errno.into()))?;
    Ok((pid, child))
}

/// The descriptor under which bubblewrap gets its options.
const OPTIONS: i32 = 4;

/// Bubblewrap's command line: nothing of the person's is on it.
pub(super) fn bwrap_argv() -> Vec<CString> {
    words(&["bwrap", "--args", "4", "--", STAGE, "stage", "inner"])
}

fn words(words: &[&str]) -> Vec<CString> {
    words
        .iter()
        .filter_map(|word| CString::new(*word).ok())
        .collect()
}

fn nul_separated(words: &[OsString]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| word.as_bytes().iter().copied().chain([0]))
        .collect()
}

fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create("enclos", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Walks to a mount point without following anything, and makes it.
///
/// What lies there may be of an agent's making: a link would lead bubblewrap, which follows them and still sees the
/// machine's files, to a place outside.
fn prepare(point: &MountPoint) -> io::Result<()> {
    let mut folder = open_root(&point.root).map_err(|error| match error {
        OpenError::Root { source, .. } => source,
        _ => io::Error::from(io::ErrorKind::InvalidInput),
    })?;
    let mut names = point.place.components().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() && !point.folder {
            return prepare_file(folder.as_fd(), name, point.make);
        }
        folder = match open_folder_at(folder.as_fd(), name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !point.make {
                    return Ok(());
                }
                rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755))?;
                open_folder_at(folder.as_fd(), name)?
            }
            opened => opened?,
        };
    }
    Ok(())
}

fn prepare_file(folder: BorrowedFd<'_>, name: &OsStr, make: bool) -> io::Result<()> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Err(Errno::LOOP.into()),
            FileType::Directory => Err(Errno::ISDIR.into()),
            _ => Ok(()),
        },
        Err(Errno::NOENT) if make => {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
            Ok(())
        }
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
