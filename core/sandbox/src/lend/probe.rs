//! The questions that lending asks a machine.
//!
//! Promise: everything lending knows of a disk comes through [`Probe`], so the decision is the same function of its
//! answers on every system and in every test. What it reads are settings of the person's own tools and one-line
//! version files of the project; contents are used as names to look up, never shown and never executed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use enclos_paths::AbsPath;
use rustix::fs::{FileType, Mode, OFlags};

/// What a path names, a final link not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A socket, FIFO or device.
    Special,
}

/// Answers about a machine. A question that cannot be answered (no such file, no right) is answered by nothing.
pub trait Probe {
    /// What `path` is, a final link not followed.
    fn kind(&self, path: &AbsPath) -> Option<Kind>;
    /// What the link `path` holds.
    fn read_link(&self, path: &AbsPath) -> Option<PathBuf>;
    /// The contents of the regular file `path`, links followed, if it has at most [`SMALL`] bytes.
    fn read_small_file(&self, path: &AbsPath) -> Option<Vec<u8>>;
    /// The names in the folder `path`, sorted.
    fn list_dir(&self, path: &AbsPath) -> Vec<OsString>;

    /// Whether `path` is there, links followed.
    fn exists(&self, path: &AbsPath) -> bool {
        self.resolve(path).is_some()
    }

    /// Whether `path` is a folder, links followed.
    fn is_dir(&self, path: &AbsPath) -> bool {
        self.resolve(path)
            .is_some_and(|real| self.kind(&real) == Some(Kind::Folder))
    }

    /// Whether `path` is a regular file, links followed.
    fn is_file(&self, path: &AbsPath) -> bool {
        self.resolve(path)
            .is_some_and(|real| self.kind(&real) == Some(Kind::File))
    }

    /// The path without links that `path` names; nothing when it is not there or goes through more than 40 links,
    /// the limit of Linux (`MAXSYMLINKS`) and above that of macOS (32).
    fn resolve(&self, path: &AbsPath) -> Option<AbsPath> {
        let root = AbsPath::new("/").ok()?;
        let mut todo: VecDeque<OsString> = parts(path);
        let mut at = root.clone();
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                at = at.parent().unwrap_or_else(|| root.clone());
                continue;
            }
            let next = at.child(&name).ok()?;
            if self.kind(&next)? != Kind::Link {
                at = next;
                continue;
            }
            links += 1;
            if links > 40 {
                return None;
            }
            let target = self.read_link(&next)?;
            if target.is_absolute() {
                at = root.clone();
            }
            for part in target.components().rev() {
                match part {
                    std::path::Component::Normal(name) => todo.push_front(name.to_owned()),
                    std::path::Component::ParentDir => todo.push_front("..".into()),
                    _ => {}
                }
            }
        }
        Some(at)
    }
}

/// The largest file that is read, in bytes.
pub const SMALL: usize = 256 * 1024;

/// The machine this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Probe for Disk {
    fn kind(&self, path: &AbsPath) -> Option<Kind> {
        let stat = rustix::fs::lstat(path.as_path()).ok()?;
        Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        })
    }

    fn read_link(&self, path: &AbsPath) -> Option<PathBuf> {
        std::fs::read_link(path).ok()
    }

    /// Opens without waiting and asks what was opened: a FIFO in a file's place cannot hang the start of a session,
    /// nor a terminal become its controlling one.
    fn read_small_file(&self, path: &AbsPath) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path.as_path(), flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        std::fs::File::from(file)
            .take(SMALL as u64 + 1)
            .read_to_end(&mut bytes)
            .ok()?;
        (bytes.len() <= SMALL).then_some(bytes)
    }

    fn list_dir(&self, path: &AbsPath) -> Vec<OsString> {
        let Ok(entries) = std::fs::read_dir(path) else {
            return Vec::new();
        };
        let mut names: Vec<OsString> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .collect();
        names.sort();
        names
    }

    fn resolve(&self, path: &AbsPath) -> Option<AbsPath> {
        AbsPath::new(std::fs::canonicalize(path).ok()?).ok()
    }
}

fn parts(path: &AbsPath) -> VecDeque<OsString> {
    let names = path
        .as_bytes()
        .split(|&b| b == b'/')
        .filter(|part| !part.is_empty());
    names
        .map(|part| std::ffi::OsStr::from_bytes(part).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Answers as [`Disk`] does, but resolves by the trait's own rule.
    struct Slow;

    impl Probe for Slow {
        fn kind(&self, path: &AbsPath) -> Option<Kind> {
            Disk.kind(path)
        }
        fn read_link(&self, path: &AbsPath) -> Option<PathBuf> {
            Disk.read_link(path)
        }
        fn read_small_file(&self, path: &AbsPath) -> Option<Vec<u8>> {
            Disk.read_small_file(path)
        }
        fn list_dir(&self, path: &AbsPath) -> Vec<OsString> {
            Disk.list_dir(path)
        }
    }

    #[test]
    fn resolving_by_questions_agrees_with_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::new(folder.path()).unwrap().resolve(name);
        std::fs::create_dir_all(at("a/b").as_path()).unwrap();
        std::fs::write(at("a/b/f").as_path(), "x").unwrap();
        symlink("b/../b", at("a/up").as_path()).unwrap();
        symlink(at("a").as_path(), at("whole").as_path()).unwrap();
        symlink("loop", at("loop").as_path()).unwrap();
        symlink("gone", at("broken").as_path()).unwrap();
        for name in [
            "a/up/f",
            "whole/up/f",
            "whole",
            "a/b",
            "loop",
            "broken",
            "a/b/f/x",
            "none",
        ] {
            assert_eq!(Slow.resolve(&at(name)), Disk.resolve(&at(name)), "{name}");
        }
        assert!(
            Slow.is_dir(&at("whole/up")),
            "a link to a folder is a folder"
        );
        assert!(!Slow.exists(&at("broken")), "a link to nothing is nothing");
    }

    // `mkfifo` is a call of its own on macOS.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_fifo_in_a_files_place_does_not_hang() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(folder.path().join("fifo")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path.as_path(),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(Disk.read_small_file(&path), None);
    }

    #[test]
    fn large_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::new(folder.path().join("big")).unwrap();
        std::fs::write(&path, vec![b'x'; SMALL]).unwrap();
        assert_eq!(Disk.read_small_file(&path).map(|b| b.len()), Some(SMALL));
        std::fs::write(&path, vec![b'x'; SMALL + 1]).unwrap();
        assert_eq!(Disk.read_small_file(&path), None);
    }
}
