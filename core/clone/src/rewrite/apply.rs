//! Rewriting the files of a copy right after it was made, before anyone works in it.

use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_parent;
use enclos_sys::open::open_regular;
use enclos_sys::open::open_root;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::fs::AtFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;

use super::LARGEST;
use super::Turned;
use super::bears_paths;
use super::leads_to_git;
use super::rewrite_link;
use super::turn;
use crate::baseline::Baseline;
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::tree::io_error;
use crate::tree::times;

/// What was rewritten in a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Files and links that now hold the copy's path. A review turns them back before it compares.
    pub paths: Vec<ProjectPath>,
    /// Files that hold the original's path and could not be turned so that they come back the same.
    pub left: Vec<ProjectPath>,
}

/// Why a copy could not be rewritten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The copy cannot be opened.
    #[error("cannot open the copy {copy}")]
    Copy {
        /// The copy.
        copy: AbsPath,
        /// What the kernel said.
        #[source]
        source: OpenError,
    },
    /// A file or link in it cannot be rewritten.
    #[error("cannot rewrite {path}")]
    Rewrite {
        /// The entry of the copy.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// Turns the original's path into the copy's in every file that tools write it into, and in absolute links, and
/// records in `baseline` what the copy is then. Times stay as they are.
///
/// `others` are further folders that are copied, each with its copy: git's ways to them are turned as well.
///
/// # Errors
/// When the copy or something in it cannot be written.
pub fn rewrite_copy(
    baseline: &mut Baseline,
    copy: &AbsPath,
    others: &[(AbsPath, AbsPath)],
) -> Result<Rewritten, RewriteError> {
    let root = open_root(copy).map_err(|source| RewriteError::Copy {
        copy: copy.clone(),
        source,
    })?;
    let from = baseline.source.clone();
    let mut rewritten = Rewritten::default();
    for entry in &mut baseline.entries {
        if !matches!(entry.presence, Presence::Copied(_)) {
            continue;
        }
        let outcome = match &entry.kind {
            Kind::File if entry.original.size > LARGEST => continue,
            Kind::File if bears_paths(&entry.path) => {
                rewrite_file(root.as_fd(), entry, &[(&from, copy)])
            }
            Kind::File if leads_to_git(&entry.path) => {
                let others = others.iter().map(|(from, to)| (from, to));
                let turns: Vec<_> = std::iter::once((&from, copy)).chain(others).collect();
                rewrite_file(root.as_fd(), entry, &turns)
            }
            Kind::Link(target) => match rewrite_link(target, &from, copy) {
                Some(target) => replace_link(root.as_fd(), &entry.path, &target),
                None => continue,
            },
            _ => continue,
        };
        let outcome = outcome.map_err(|source| RewriteError::Rewrite {
            path: copy.join(&entry.path),
            source,
        })?;
        match outcome {
            Outcome::Nothing => {}
            Outcome::Left => rewritten.left.push(entry.path.clone()),
            Outcome::Done(stat) => {
                entry.presence = Presence::Copied(Identity::of(&stat));
                rewritten.paths.push(entry.path.clone());
            }
        }
    }
    Ok(rewritten)
}

enum Outcome {
    /// The path is not in it.
    Nothing,
    /// It holds the path and cannot be turned.
    Left,
    /// It was turned.
    Done(Box<Stat>),
}

fn rewrite_file(
    root: BorrowedFd<'_>,
    entry: &Entry,
    turns: &[(&AbsPath, &AbsPath)],
) -> io::Result<Outcome> {
    let mut contents = Vec::new();
    let mut file = open_regular(root, &entry.path).map_err(io_error)?;
    Read::by_ref(&mut file)
        .take(LARGEST)
        .read_to_end(&mut contents)?;
    let new = match turn(&contents, turns) {
        Turned::Nothing => return Ok(Outcome::Nothing),
        // What holds NULs is a program, where a longer path would move everything behind it.
        Turned::To(new) if !contents.contains(&0) && entry.links <= 1 => new,
        _ => return Ok(Outcome::Left),
    };
    let before = stat_fd(&file)?;
    let (parent, name) = open_parent(root, &entry.path).map_err(io_error)?;
    let mode = |mode: u32| Mode::from_raw_mode(crate::tree::narrow(mode));
    rustix::fs::fchmod(&file, mode(before.mode | 0o200))?;
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::openat(&parent, name, flags, Mode::empty())?);
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&new)?;
    rustix::fs::fchmod(&file, mode(before.mode))?;
    rustix::fs::futimens(&file, &times(&before))?;
    Ok(Outcome::Done(Box::new(stat_fd(&file)?)))
}

fn replace_link(
    root: BorrowedFd<'_>,
    path: &ProjectPath,
    target: &std::path::Path,
) -> io::Result<Outcome> {
    let (parent, name) = open_parent(root, path).map_err(io_error)?;
    let (before, folder) = (stat_at(&parent, name)?, stat_fd(&parent)?);
    rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
    rustix::fs::symlinkat(target, &parent, name)?;
    rustix::fs::utimensat(&parent, name, &times(&before), AtFlags::SYMLINK_NOFOLLOW)?;
    // The folder then counts as moved, is listed once more, and shows the same names.
    rustix::fs::futimens(&parent, &times(&folder))?;
    Ok(Outcome::Done(Box::new(stat_at(&parent, name)?)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use enclos_paths::ProjectRoot;

    use super::*;
    use crate::CloneRequest;
    use crate::LeaveOut;
    use crate::Method;
    use crate::Quiet;
    use crate::Side;
    use crate::changes;

    #[test]
    fn a_rewritten_copy_points_to_itself_and_shows_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::new(folder.path().join(name)).unwrap();
        let (source, copy) = (at("source"), at("copy"));
        let script = format!("#!{source}/.venv/bin/python\nprint('x')\n");
        let write = |name: &str, text: &str| {
            let path = source.as_path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        };
        write(".venv/bin/pytest", &script);
        write(".venv/pyvenv.cfg", "home = /usr/bin\n");
        write(".venv/bin/binary", &format!("\0{source}/x"));
        write("build/CMakeCache.txt", &format!("A={source}\nB={copy}\n"));
        write("notes.txt", &script);
        std::os::unix::fs::symlink(
            source.as_path().join("notes.txt"),
            source.as_path().join("link"),
        )
        .unwrap();
        let mode = fs::Permissions::from_mode(0o555);
        fs::set_permissions(source.as_path().join(".venv/bin/pytest"), mode).unwrap();

        let cloned = crate::clone(&CloneRequest {
            source: &ProjectRoot::from_resolved(source.clone()),
            destination: &copy,
            method: Method::Copy,
            hidden: &[],
            keep_out: &[],
            leave_out: LeaveOut::Nothing,
            progress: &Quiet,
        });
        let mut baseline = cloned.unwrap().baseline;
        let rewritten = rewrite_copy(&mut baseline, &copy, &[]).unwrap();
        let names =
            |paths: &[ProjectPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&rewritten.paths), [".venv/bin/pytest", "link"]);
        assert_eq!(
            names(&rewritten.left),
            [".venv/bin/binary", "build/CMakeCache.txt"]
        );
        let read = |name: &str| fs::read_to_string(copy.as_path().join(name)).unwrap();
        assert_eq!(
            read(".venv/bin/pytest"),
            format!("#!{copy}/.venv/bin/python\nprint('x')\n")
        );
        assert_eq!(
            read("notes.txt"),
            script,
            "a file that tools do not write is the person's"
        );
        let link = fs::read_link(copy.as_path().join("link")).unwrap();
        assert_eq!(link, copy.as_path().join("notes.txt"));
        assert_eq!(changes(&baseline, &copy, Side::Copy).unwrap(), []);
        let stat = |root: &AbsPath| {
            fs::metadata(root.as_path().join(Path::new(".venv/bin/pytest"))).unwrap()
        };
        assert_eq!(
            stat(&copy).modified().unwrap(),
            stat(&source).modified().unwrap()
        );
        assert_eq!(stat(&copy).permissions(), stat(&source).permissions());
    }
}
