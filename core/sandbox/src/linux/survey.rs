//! What the lent paths of one jail really are: resolved, and searched for sockets.
//!
//! A read-only mount does not stop a program from connecting to a socket in it, nor from writing into a named pipe, and
//! no Landlock right covers either. So each lent folder is walked, without following links, and what is found is
//! covered by the planner; of the folders of tools only what the kernel lists is looked for ([`Doors`]). How it could break: a service that makes its socket after the walk, in a folder that is
//! lent; or a folder so big that the walk gives up, which the survey says. What lies in the machine's own program
//! folders is not walked: only its root can make sockets there.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use enclos_paths::{AbsPath, ProjectPath};
use rustix::fs::{Dir, FileType, Mode, OFlags};

use crate::{Doors, Jail};

/// What was found at the lent paths of a jail. May be taken while the project is still being cloned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// One per [`Jail::lent`], in its order.
    pub lent: Vec<Found>,
    /// One per [`Jail::sockets`], in its order; not walked.
    pub sockets: Vec<Found>,
    /// What must stay outside: each of [`Jail::protected`] as it was named and as it resolves.
    pub protected: Vec<AbsPath>,
    /// Files that are to be covered in lent folders but are not there.
    pub absent: BTreeSet<AbsPath>,
}

/// What a lent path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path with all links resolved.
    pub real: AbsPath,
    /// What is there.
    pub kind: Kind,
    /// Sockets and named pipes in it.
    pub doors: Vec<ProjectPath>,
    /// Whether all of it was searched for them.
    pub complete: bool,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A unix socket.
    Socket,
    /// A named pipe or a device.
    Other,
}

/// Why a survey could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// A lent path cannot be resolved.
    #[error("cannot lend {path}")]
    Resolve {
        /// The lent path.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Survey {
    /// Looks at everything `jail` lends.
    ///
    /// # Errors
    /// Names the first lent path that is not there or cannot be resolved.
    pub fn take(jail: &Jail) -> Result<Self, SurveyError> {
        let mut survey = Self::default();
        let listed = OnceCell::new();
        for lent in &jail.lent {
            let mut found = look(&lent.outside)?;
            match lent.doors {
                _ if found.kind != Kind::Folder || is_system(&found.real) => {}
                Doors::Searched => search(&mut found, MOST),
                Doors::Listed => {
                    let sockets = listed.get_or_init(|| listed_sockets(Path::new(SOCKETS)));
                    found.doors = sockets
                        .iter()
                        .filter_map(|socket| socket.below(&found.real))
                        .collect();
                }
            }
            survey.lent.push(found);
        }
        for socket in &jail.sockets {
            survey.sockets.push(look(socket)?);
        }
        for protected in &jail.protected {
            survey.protected.push(protected.clone());
            survey
                .protected
                .extend(resolve(protected).ok().filter(|real| real != protected));
        }
        survey.absent = jail
            .covered
            .iter()
            .filter(|file| is_absent(jail, file))
            .cloned()
            .collect();
        Ok(survey)
    }

    /// Whether there is anything to cover at `file`, a path inside.
    pub(super) fn is_there(&self, file: &AbsPath) -> bool {
        !self.absent.contains(file)
    }
}

/// The most entries that are looked at in one lent folder; about a fifth of a second.
const MOST: usize = 400_000;
/// Folders that only root can write and every jail may read anyway.
const SYSTEM: [&str; 2] = ["/usr", "/nix/store"];

fn look(path: &AbsPath) -> Result<Found, SurveyError> {
    let failed = |source| SurveyError::Resolve {
        path: path.clone(),
        source,
    };
    let real = resolve(path).map_err(failed)?;
    let stat = rustix::fs::lstat(real.as_path()).map_err(|errno| failed(errno.into()))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    };
    Ok(Found {
        real,
        kind,
        doors: Vec::new(),
        complete: true,
    })
}

fn resolve(path: &AbsPath) -> io::Result<AbsPath> {
    let real = std::fs::canonicalize(path.as_path())?;
    AbsPath::new(real).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

fn is_system(real: &AbsPath) -> bool {
    SYSTEM
        .iter()
        .any(|system| real.as_path().starts_with(system))
}

/// Whether `file`, a path inside, lies in a lent folder that has no such file.
fn is_absent(jail: &Jail, file: &AbsPath) -> bool {
    let around = jail.lent.iter().filter(|lent| file.is_within(&lent.inside));
    let Some(lent) = around.max_by_key(|lent| lent.inside.as_bytes().len()) else {
        return false;
    };
    let outside = match file.below(&lent.inside) {
        Some(below) => lent.outside.join(&below),
        None => lent.outside.clone(),
    };
    rustix::fs::lstat(outside.as_path()).is_err()
}

/// Where the kernel lists the sockets of our network namespace; format in `proc_net(5)`.
const SOCKETS: &str = "/proc/self/net/unix";

/// The sockets with a path that the kernel lists, resolved. Which ones a path leads to is not known for those of other
/// network namespaces and for those that were bound by a relative path.
fn listed_sockets(list: &Path) -> BTreeSet<AbsPath> {
    let list = std::fs::read(list).unwrap_or_default();
    let paths = list.split(|&byte| byte == b'\n').filter_map(|line| {
        // Six words and an inode number, each followed by a space; what is left is the path, spaces and all.
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            rest = &rest[rest.iter().position(|&byte| byte == b' ')?..];
        }
        let path = rest.strip_prefix(b" ")?;
        path.starts_with(b"/")
            .then(|| Path::new(std::ffi::OsStr::from_bytes(path)))
    });
    paths
        .filter_map(|path| AbsPath::new(std::fs::canonicalize(path).ok()?).ok())
        .collect()
}

/// Lists the doors in the folder that was `found`, looking at `most` entries.
///
/// A folder that cannot be opened is passed over: what the person cannot enter, the jail cannot either.
fn search(found: &mut Found, most: usize) {
    let mut left = most;
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::open(found.real.as_path().join(&folder), flags, Mode::empty())
        else {
            continue;
        };
        let Ok(mut entries) = Dir::new(fd) else {
            continue;
        };
        while let Some(Ok(entry)) = entries.read() {
            if left == 0 {
                found.complete = false;
                return;
            }
            left -= 1;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let path = || folder.join(std::ffi::OsStr::from_bytes(name));
            match kind_of(&entries, &entry) {
                FileType::Directory => folders.push(path()),
                FileType::Socket | FileType::Fifo => {
                    found
                        .doors
                        .extend(ProjectPath::new(path().as_os_str().as_bytes()).ok());
                }
                _ => {}
            }
        }
    }
    found.doors.sort();
}

/// The entry's type; asked for where the file system does not list it.
fn kind_of(folder: &Dir, entry: &rustix::fs::DirEntry) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            let stat = folder
                .fd()
                .and_then(|fd| rustix::fs::statat(fd, entry.file_name(), flags));
            stat.map_or(FileType::Unknown, |stat| {
                FileType::from_raw_mode(stat.st_mode)
            })
        }
        known => known,
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn folder() -> (tempfile::TempDir, Found) {
        let dir = tempfile::tempdir().unwrap();
        let real = AbsPath::new(dir.path().canonicalize().unwrap()).unwrap();
        (
            dir,
            Found {
                real,
                kind: Kind::Folder,
                doors: Vec::new(),
                complete: true,
            },
        )
    }

    #[test]
    fn sockets_and_named_pipes_are_found_at_any_depth_and_links_are_not_followed() {
        let (dir, mut found) = folder();
        let (outside, _) = folder();
        let _away = UnixListener::bind(outside.path().join("away.sock")).unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let _deep = UnixListener::bind(dir.path().join("a/b/deep.sock")).unwrap();
        let fifo = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        search(&mut found, MOST);
        let doors: Vec<_> = found.doors.iter().map(ToString::to_string).collect();
        assert_eq!(doors, ["a/b/deep.sock", "pipe"]);
        assert!(found.complete);
    }

    #[test]
    fn the_kernels_list_has_sockets_by_any_path_to_them() {
        let (dir, found) = folder();
        std::fs::create_dir(dir.path().join("a b")).unwrap();
        std::os::unix::fs::symlink("a b", dir.path().join("link")).unwrap();
        let listener = UnixListener::bind(dir.path().join("link/by link.sock")).unwrap();
        let _datagrams =
            std::os::unix::net::UnixDatagram::bind(dir.path().join("datagrams.sock")).unwrap();
        let listed = || {
            let sockets = listed_sockets(Path::new(SOCKETS));
            let below = sockets
                .iter()
                .filter_map(|socket| socket.below(&found.real));
            below.map(|door| door.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(listed(), ["a b/by link.sock", "datagrams.sock"]);
        drop(listener);
        assert_eq!(listed(), ["datagrams.sock"], "nobody answers at the other");
    }

    #[test]
    fn a_search_that_gives_up_says_so() {
        let (dir, mut found) = folder();
        for n in 0..10 {
            std::fs::write(dir.path().join(n.to_string()), "").unwrap();
        }
        search(&mut found, 5);
        assert!(!found.complete);
    }
}
