//! Carries a lending out as far as folders and files of ours go: fills the private home, makes the project's part of
//! each cache, and says what the jail is to mount.
//!
//! Promise: nothing outside of the two folders that it is given is changed, even when what ran inside before left links
//! in the private home: every step on the way is opened without following, and files come to their place by a rename,
//! which replaces a link rather than writing through it. It decides nothing; see [`super::caches::plan`] for that.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use enclos_paths::{AbsPath, ProjectPath};
use enclos_sys::open::{OpenError, open_folder_at, open_root};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::caches::{CachePlan, Means, plan};
use super::{Access, Contents, Folder, GeneratedFile};
use crate::jail::{Access as Shown, Doors, Lent};

/// Why a lending cannot be laid out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayError {
    /// The private home is not a folder.
    #[error("the private home cannot be opened")]
    Home(#[source] OpenError),
    /// A generated file cannot be made; a link or something else of the session's may be in the way.
    #[error("{place} in the private home cannot be made")]
    File {
        /// Where, below home.
        place: ProjectPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The project's part of a cache cannot be made.
    #[error("the project's own {folder} cannot be made")]
    Cache {
        /// The folder.
        folder: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// Makes `files` in the private home; files of the same names are replaced.
///
/// # Errors
/// Names the first that cannot be made; those before it are there.
pub fn home(home: &AbsPath, files: &[GeneratedFile]) -> Result<(), LayError> {
    let root = open_root(home).map_err(LayError::Home)?;
    for file in files {
        let failed = |source| LayError::File {
            place: file.inside_home.clone(),
            source,
        };
        let parent = parent(&root, &file.inside_home).map_err(failed)?;
        put(&parent, file.inside_home.name(), file).map_err(failed)?;
    }
    Ok(())
}

/// Makes the project's part of each cache below `caches`, and lists everything for the jail. `clone` makes a
/// copy-on-write copy of a whole folder where there was none; it is called where `means` asks for one.
///
/// # Errors
/// Names the folder that cannot be made.
pub fn folders(
    folders: &[Folder],
    caches: &AbsPath,
    means: Means,
    clone: &dyn Fn(&AbsPath, &AbsPath) -> io::Result<()>,
) -> Result<Vec<Lent>, LayError> {
    let mut lent = Vec::new();
    for folder in folders {
        let Some(planned) = plan(folder, caches, means) else {
            lent.extend(read_only(folder));
            continue;
        };
        match planned {
            CachePlan::Overlay {
                inside,
                lower,
                upper,
                work,
            } => {
                make(&upper)?;
                make(&work)?;
                lent.push(Lent {
                    outside: lower,
                    inside,
                    access: Shown::Overlay { upper, work },
                    doors: Doors::Listed,
                });
            }
            CachePlan::Clone {
                inside,
                from,
                folder,
            } => {
                if let (false, Some(parent)) = (folder.as_path().exists(), folder.parent()) {
                    make(&parent)?;
                    clone(&from, &folder).map_err(|source| LayError::Cache {
                        folder: folder.clone(),
                        source,
                    })?;
                }
                lent.extend(shown(folder, inside));
            }
            CachePlan::Private { inside, folder } => {
                make(&folder)?;
                lent.extend(shown(folder, inside));
            }
        }
    }
    Ok(lent)
}

fn read_only(folder: &Folder) -> Option<Lent> {
    let read_only = folder.access == Access::ReadOnly;
    read_only.then(|| Lent {
        outside: folder.outside.clone(),
        inside: folder.inside.clone(),
        access: Shown::ReadOnly,
        doors: Doors::Listed,
    })
}

/// A folder of the project's, unless it is in its place already because it lies in the private home.
fn shown(folder: AbsPath, inside: AbsPath) -> Option<Lent> {
    (folder != inside).then_some(Lent {
        outside: folder,
        inside,
        access: Shown::ReadWrite,
        doors: Doors::Listed,
    })
}

fn make(folder: &AbsPath) -> Result<(), LayError> {
    std::fs::create_dir_all(folder).map_err(|source| LayError::Cache {
        folder: folder.clone(),
        source,
    })
}

/// Opens the folder that `place` lies in, making what is not there.
fn parent(root: &OwnedFd, place: &ProjectPath) -> io::Result<OwnedFd> {
    let mut folder = rustix::io::fcntl_dupfd_cloexec(root, 0)?;
    let Some(path) = place.parent() else {
        return Ok(folder);
    };
    for name in path.components() {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        folder = open_folder_at(folder.as_fd(), name)?;
    }
    Ok(folder)
}

/// The name under which a file is made before it comes to its place. Sessions have a home of their own each, so there
/// is one writer.
const UNDER_WAY: &str = ".enclos-under-way";

fn put(parent: &OwnedFd, name: &OsStr, file: &GeneratedFile) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, UNDER_WAY, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    match &file.contents {
        Contents::Link(target) => rustix::fs::symlinkat(target, parent, UNDER_WAY)?,
        Contents::Bytes(bytes) => {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = rustix::fs::openat(parent, UNDER_WAY, flags, Mode::RUSR | Mode::WUSR)?;
            // Mode bits are what the umask would take away; the raw type differs between systems.
            rustix::fs::fchmod(
                &made,
                Mode::from_bits_truncate(file.mode as rustix::fs::RawMode),
            )?;
            File::from(made).write_all(bytes)?;
        }
    }
    Ok(rustix::fs::renameat(parent, UNDER_WAY, parent, name)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::lend::Lower;

    fn at(folder: &tempfile::TempDir, name: &str) -> AbsPath {
        AbsPath::new(folder.path().canonicalize().unwrap().join(name)).unwrap()
    }

    fn file(place: &str, text: &str) -> GeneratedFile {
        let contents = Contents::Bytes(text.as_bytes().to_vec());
        GeneratedFile {
            inside_home: ProjectPath::new(place).unwrap(),
            contents,
            mode: 0o640,
        }
    }

    #[test]
    fn files_and_links_are_made_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = GeneratedFile {
            contents: Contents::Link("/opt/tools".into()),
            ..file("a/link", "")
        };
        for text in ["first", "second"] {
            home(
                &at(&folder, ""),
                &[file("a/b/c", text), link.clone(), file("top", text)],
            )
            .unwrap();
            assert_eq!(std::fs::read_to_string(at(&folder, "a/b/c")).unwrap(), text);
        }
        assert_eq!(
            std::fs::read_link(at(&folder, "a/link")).unwrap().to_str(),
            Some("/opt/tools")
        );
        let mode = std::fs::metadata(at(&folder, "top"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 2, "nothing is left over: {names:?}");
    }

    #[test]
    fn links_left_in_the_private_home_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "person"] {
            std::fs::create_dir(at(&folder, name)).unwrap();
        }
        std::fs::write(at(&folder, "person/.gitconfig"), "theirs").unwrap();
        symlink(
            at(&folder, "person/.gitconfig"),
            at(&folder, "home/.gitconfig"),
        )
        .unwrap();
        symlink(at(&folder, "person"), at(&folder, "home/.config")).unwrap();
        symlink(
            at(&folder, "person/.gitconfig"),
            at(&folder, "home/.enclos-under-way"),
        )
        .unwrap();
        // Without the defence: what one writes at the place lands in the person's own file.
        std::fs::write(at(&folder, "home/.gitconfig"), "overwritten").unwrap();
        assert_eq!(
            std::fs::read_to_string(at(&folder, "person/.gitconfig")).unwrap(),
            "overwritten"
        );
        // With it.
        home(&at(&folder, "home"), &[file(".gitconfig", "ours")]).unwrap();
        assert_eq!(
            std::fs::read_to_string(at(&folder, "person/.gitconfig")).unwrap(),
            "overwritten"
        );
        assert_eq!(
            std::fs::read_to_string(at(&folder, "home/.gitconfig")).unwrap(),
            "ours"
        );
        let refused = home(&at(&folder, "home"), &[file(".config/git/ignore", "x")]);
        assert!(
            matches!(refused, Err(LayError::File { .. })),
            "a folder that is a link: {refused:?}"
        );
        assert!(!at(&folder, "person/git").as_path().exists());
    }

    #[test]
    fn every_kind_of_cache_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |name: &str, lower| Folder {
            outside: at(&folder, "lower"),
            inside: at(&folder, "inside").resolve(name),
            access: Access::Cache {
                name: name.into(),
                lower,
            },
            tool: "x".into(),
            why: String::new(),
        };
        let all = [cache("there", Lower::Present), cache("not", Lower::Absent)];
        let own = at(&folder, "caches");
        let never = |_: &AbsPath, _: &AbsPath| panic!("nothing is cloned");
        let lent = super::folders(&all, &own, Means::Overlay, &never).unwrap();
        let (upper, work) = (own.resolve("there/upper"), own.resolve("there/work"));
        assert!(upper.as_path().is_dir() && work.as_path().is_dir());
        assert_eq!(lent[0].access, Shown::Overlay { upper, work });
        assert_eq!(
            (&lent[1].outside, &lent[1].access),
            (&own.resolve("not/whole"), &Shown::ReadWrite)
        );

        let cloned = std::cell::Cell::new(0);
        let clone = |_: &AbsPath, to: &AbsPath| {
            cloned.set(cloned.get() + 1);
            std::fs::create_dir(to)
        };
        for _ in 0..2 {
            let lent = super::folders(&all[..1], &own, Means::Reflink, &clone).unwrap();
            assert_eq!(
                (&lent[0].outside, &lent[0].access),
                (&own.resolve("there/whole"), &Shown::ReadWrite)
            );
        }
        assert_eq!(cloned.get(), 1, "what is there is kept");
        assert_eq!(
            super::folders(&all, &own, Means::InPlace, &clone).unwrap(),
            [],
            "it is in its place already"
        );
        assert!(all.iter().all(|folder| folder.inside.as_path().is_dir()));
    }
}
