//! The one way to open what an agent may have written.
//!
//! The promise: whatever someone does to the tree meanwhile, nothing outside `root` is ever opened, no link is
//! followed, no mount is entered, no named pipe makes the caller wait and no terminal becomes the caller's own. Linux
//! resolves the whole path in the kernel by `openat2` (since 5.6); where that call is missing or filtered, and on
//! macOS, each component is opened by itself without following links. The latter cannot see a bind mount of the same
//! file system; a mount needs a right that nothing in a jail has.
//!
//! Deliberately not here: writing. A writer takes [`open_parent`] and works on one name in the folder it got.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::stat::Node;
use crate::stat::Stat;
use crate::stat::stat_at;
use crate::stat::stat_fd;

#[cfg(target_os = "linux")]
#[path = "open/linux.rs"]
mod platform;
mod steps;
#[cfg(not(target_os = "linux"))]
use self::steps as platform;

/// Why something below a root was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is nothing of that name.
    #[error("{path} is not there")]
    Missing {
        /// What was asked for, below the root.
        path: ProjectPath,
    },
    /// The path or a folder on the way is a symbolic link.
    #[error("{path} is a symbolic link or lies behind one, which is never followed")]
    Link {
        /// What was asked for, below the root.
        path: ProjectPath,
    },
    /// Another file system is mounted at the path or on the way.
    #[error("{path} is a mount or lies below one, which is never entered")]
    Mount {
        /// What was asked for, below the root.
        path: ProjectPath,
    },
    /// Something on the way, or the path where a folder is wanted, is not a folder.
    #[error("{path} is not a folder or lies below something that is not one")]
    NotFolder {
        /// What was asked for, below the root.
        path: ProjectPath,
    },
    /// The path is there, but it is not a regular file.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// What was asked for, below the root.
        path: ProjectPath,
        /// What it is instead.
        node: Node,
    },
    /// The root folder itself could not be opened.
    #[error("cannot open the folder {root}")]
    Root {
        /// The folder.
        root: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The root folder could not be opened once more.
    #[error("cannot open the folder again")]
    Again {
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The kernel refused for another reason, such as a missing permission.
    #[error("cannot open {path}")]
    Io {
        /// What was asked for, below the root.
        path: ProjectPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    /// Whether the path, or a folder on the way, was simply not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NotFolder { .. })
    }
}

/// Opens the folder that the other functions start from; the last component must not be a link.
///
/// # Errors
/// [`OpenError::Root`] with what the kernel said.
pub fn open_root(root: &AbsPath) -> Result<OwnedFd, OpenError> {
    let flags = FOLDER | OFlags::NOFOLLOW;
    rustix::fs::open(root.as_path(), flags, Mode::empty()).map_err(|e| OpenError::Root {
        root: root.clone(),
        source: e.into(),
    })
}

/// Opens the folder that `root` stands for once more, with a reading position of its own.
///
/// # Errors
/// [`OpenError::Again`] with what the kernel said.
pub fn reopen(root: BorrowedFd<'_>) -> Result<OwnedFd, OpenError> {
    rustix::fs::openat(root, ".", FOLDER, Mode::empty())
        .map_err(|e| OpenError::Again { source: e.into() })
}

/// Opens the regular file `path` below `root` for reading.
///
/// # Errors
/// Refuses everything but a regular file reached without links and mounts; see [`OpenError`].
pub fn open_regular(root: BorrowedFd<'_>, path: &ProjectPath) -> Result<File, OpenError> {
    let fd = platform::open_beneath(root, path.as_bytes(), FILE).map_err(|e| refused(e, path))?;
    let stat = stat_fd(&fd).map_err(|source| OpenError::Io {
        path: path.clone(),
        source,
    })?;
    match stat.node {
        Node::File => Ok(File::from(fd)),
        node => Err(OpenError::NotRegular {
            path: path.clone(),
            node,
        }),
    }
}

/// Opens the folder `path` below `root`.
///
/// # Errors
/// Refuses everything but a folder reached without links and mounts; see [`OpenError`].
pub fn open_folder(root: BorrowedFd<'_>, path: &ProjectPath) -> Result<OwnedFd, OpenError> {
    platform::open_beneath(root, path.as_bytes(), FOLDER).map_err(|e| refused(e, path))
}

/// Opens the folder that `path` lies in, and gives the name to use in it.
///
/// For writers: every call on the name must itself not follow links (`O_NOFOLLOW`, `AT_SYMLINK_NOFOLLOW`).
///
/// # Errors
/// As [`open_folder`] for the parent.
pub fn open_parent<'p>(
    root: BorrowedFd<'_>,
    path: &'p ProjectPath,
) -> Result<(OwnedFd, &'p OsStr), OpenError> {
    let fd = match path.parent() {
        Some(parent) => open_folder(root, &parent)?,
        None => reopen(root)?,
    };
    Ok((fd, path.name()))
}

/// What `path` below `root` stands for; a link as the last component is reported, not followed.
///
/// # Errors
/// Links and mounts on the way are refused; see [`OpenError`].
pub fn stat_beneath(root: BorrowedFd<'_>, path: &ProjectPath) -> Result<Stat, OpenError> {
    let (parent, name) = open_parent(root, path)?;
    let stat = stat_at(&parent, name).map_err(|e| io_refused(e, path))?;
    let folder = stat_fd(&parent).map_err(|e| io_refused(e, path))?;
    if steps::is_mount(&stat, &folder) {
        return Err(OpenError::Mount { path: path.clone() });
    }
    Ok(stat)
}

/// The bytes that the symbolic link `path` below `root` holds.
///
/// # Errors
/// As [`stat_beneath`]; something that is not a link is [`OpenError::Io`] with `EINVAL`.
pub fn read_link_beneath(root: BorrowedFd<'_>, path: &ProjectPath) -> Result<PathBuf, OpenError> {
    let (parent, name) = open_parent(root, path)?;
    read_link_at(&parent, name).map_err(|e| io_refused(e, path))
}

/// The bytes that the symbolic link `name` in the folder `dir` holds.
///
/// # Errors
/// What the kernel says; `EINVAL` when it is not a link.
pub fn read_link_at(dir: impl AsFd, name: impl rustix::path::Arg) -> io::Result<PathBuf> {
    let bytes = rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes();
    Ok(OsString::from_vec(bytes).into())
}

/// Opens `name`, one component, in the folder `dir` for reading, without following, waiting or taking a terminal.
///
/// It is for walkers that hold each folder open already. The caller looks at what it got by [`stat_fd`]. Reading moves
/// the access time only where that cannot be avoided.
///
/// # Errors
/// What the kernel says: `ELOOP` for a link, `EXDEV` for a mount (Linux), `ENXIO` for a socket.
pub fn open_file_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let name = name.into_c_str()?;
    #[cfg(target_os = "linux")]
    {
        // Only the owner and root may leave the access time alone.
        match rustix::fs::openat(dir, &*name, FILE | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => {}
            result => return Ok(result?),
        }
    }
    Ok(rustix::fs::openat(dir, &*name, FILE, Mode::empty())?)
}

/// Opens the folder `name`, one component, in the folder `dir`; a link or mount is refused.
///
/// # Errors
/// What the kernel says: `ELOOP` or `ENOTDIR` for a link, `EXDEV` for a mount.
pub fn open_folder_at(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(platform::open_beneath(
        dir,
        name.as_encoded_bytes(),
        FOLDER,
    )?)
}

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(CALM);
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::DIRECTORY)
    .union(CALM);
const CALM: OFlags = OFlags::NOCTTY.union(OFlags::CLOEXEC);

fn io_refused(error: io::Error, path: &ProjectPath) -> OpenError {
    match Errno::from_io_error(&error) {
        Some(errno) => refused(errno, path),
        None => OpenError::Io {
            path: path.clone(),
            source: error,
        },
    }
}

fn refused(errno: Errno, path: &ProjectPath) -> OpenError {
    let path = path.clone();
    match errno {
        Errno::NOENT => OpenError::Missing { path },
        Errno::LOOP => OpenError::Link { path },
        Errno::XDEV => OpenError::Mount { path },
        Errno::NOTDIR => OpenError::NotFolder { path },
        // open(2) answers ENXIO for a socket (Linux), EOPNOTSUPP (macOS); nothing else here can cause them.
        Errno::NXIO | Errno::OPNOTSUPP => OpenError::NotRegular {
            path,
            node: Node::Socket,
        },
        errno => OpenError::Io {
            path,
            source: errno.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;

    type Opener = fn(BorrowedFd<'_>, &[u8], OFlags) -> Result<OwnedFd, Errno>;

    /// Both ways of resolving a path must keep the same promise.
    const OPENERS: [(&str, Opener); 2] = [
        ("platform", platform::open_beneath),
        ("steps", steps::open_beneath),
    ];

    fn tree() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("root/a/b")).unwrap();
        std::fs::write(at("root/a/b/file"), "inside").unwrap();
        std::fs::create_dir(at("outside")).unwrap();
        std::fs::write(at("outside/secret"), "secret").unwrap();
        symlink("../outside/secret", at("root/link")).unwrap();
        symlink("../outside", at("root/way")).unwrap();
        symlink("a", at("root/inward")).unwrap();
        let root = open_root(&AbsPath::new(at("root")).unwrap()).unwrap();
        (dir, root)
    }

    fn path(text: &str) -> ProjectPath {
        ProjectPath::new(text).unwrap()
    }

    #[test]
    fn a_regular_file_opens() {
        let (_dir, root) = tree();
        let mut text = String::new();
        open_regular(root.as_fd(), &path("a/b/file"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "inside");
    }

    #[test]
    fn links_are_never_followed() {
        let (dir, root) = tree();
        let plain = std::fs::read_to_string(dir.path().join("root/way/secret")).unwrap();
        assert_eq!(plain, "secret", "an ordinary open is led outside");
        for name in ["link", "way/secret", "inward/b/file"] {
            let result = open_regular(root.as_fd(), &path(name));
            assert!(
                matches!(result, Err(OpenError::Link { .. })),
                "{name}: {result:?}"
            );
            for (way, open) in OPENERS {
                assert_eq!(
                    open(root.as_fd(), name.as_bytes(), FILE).unwrap_err(),
                    Errno::LOOP,
                    "{way}: {name}"
                );
            }
        }
        assert_eq!(
            read_link_beneath(root.as_fd(), &path("way")).unwrap(),
            Path::new("../outside")
        );
        assert_eq!(
            stat_beneath(root.as_fd(), &path("link")).unwrap().node,
            Node::Link
        );
    }

    #[test]
    fn only_regular_files_open_and_none_makes_the_caller_wait() {
        let (dir, root) = tree();
        let fifo = dir.path().join("root/fifo");
        let status = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap();
        assert!(status.success());
        let _socket = UnixListener::bind(dir.path().join("root/socket")).unwrap();
        let result = open_regular(root.as_fd(), &path("fifo"));
        assert!(
            matches!(
                result,
                Err(OpenError::NotRegular {
                    node: Node::Fifo,
                    ..
                })
            ),
            "{result:?}"
        );
        let result = open_regular(root.as_fd(), &path("socket"));
        assert!(
            matches!(
                result,
                Err(OpenError::NotRegular {
                    node: Node::Socket,
                    ..
                })
            ),
            "{result:?}"
        );
        let result = open_regular(root.as_fd(), &path("a"));
        assert!(
            matches!(
                result,
                Err(OpenError::NotRegular {
                    node: Node::Folder,
                    ..
                })
            ),
            "{result:?}"
        );
    }

    #[test]
    fn what_is_not_there_is_told_from_what_is_refused() {
        let (_dir, root) = tree();
        assert!(
            open_regular(root.as_fd(), &path("a/none"))
                .unwrap_err()
                .is_missing()
        );
        assert!(
            open_regular(root.as_fd(), &path("a/b/file/below"))
                .unwrap_err()
                .is_missing()
        );
        assert!(
            !open_regular(root.as_fd(), &path("link"))
                .unwrap_err()
                .is_missing()
        );
    }

    #[test]
    fn a_path_longer_than_one_call_takes_is_opened_in_pieces() {
        let (_dir, root) = tree();
        let name = "n".repeat(200);
        let mut folder = rustix::io::dup(&root).unwrap();
        let mut long = String::new();
        for _ in 0..60 {
            rustix::fs::mkdirat(&folder, &name, Mode::RWXU).unwrap();
            folder = open_folder_at(folder.as_fd(), OsStr::new(&name)).unwrap();
            long.push_str(&name);
            long.push('/');
        }
        let flags = OFlags::CREATE | OFlags::WRONLY;
        rustix::fs::openat(&folder, "end", flags, Mode::RUSR).unwrap();
        long.push_str("end");
        assert!(long.len() > 12_000, "longer than PATH_MAX");
        open_regular(root.as_fd(), &path(&long)).unwrap();
        let (parent, name) = (open_parent(root.as_fd(), &path(&long)).unwrap().0, "end");
        assert_eq!(
            stat_at(&parent, name).unwrap().ino,
            stat_beneath(root.as_fd(), &path(&long)).unwrap().ino
        );
        for (way, open) in OPENERS {
            open(root.as_fd(), long.as_bytes(), FILE).unwrap_or_else(|e| panic!("{way}: {e}"));
        }
    }

    #[test]
    fn a_name_that_is_swapped_for_a_link_meanwhile_never_leads_outside() {
        let (dir, root) = tree();
        let (real, spare) = (dir.path().join("root/a"), dir.path().join("root/spare"));
        std::fs::create_dir(dir.path().join("outside/b")).unwrap();
        std::fs::write(dir.path().join("outside/b/file"), "secret").unwrap();
        symlink("../outside", &spare).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    exchange(&real, &spare);
                }
            });
            for _ in 0..20_000 {
                for (way, open) in OPENERS {
                    let Ok(fd) = open(root.as_fd(), b"a/b/file", FILE) else {
                        continue;
                    };
                    let mut text = String::new();
                    File::from(fd).read_to_string(&mut text).unwrap();
                    assert_eq!(text, "inside", "{way}");
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[cfg(target_os = "linux")]
    fn exchange(one: &Path, other: &Path) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(one: &Path, other: &Path) {
        let held = one.with_extension("held");
        std::fs::rename(one, &held).unwrap();
        std::fs::rename(other, one).unwrap();
        std::fs::rename(&held, other).unwrap();
    }
}
