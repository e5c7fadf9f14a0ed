//! A generated `/etc` that is kept for the next session, as it is the same until something changes outside.
//!
//! The promise: a kept folder is whole, and made from what the machine has now. It is named by a hash of the identity of
//! everything it is made from, and gets its name when it is finished. Many jails may show one at once: it is read-only
//! in each. Deliberately not here: deleting old ones; whoever owns the folder they are kept in does that.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use enclos_paths::AbsPath;

use super::{COPIED, EtcError, generate};
use crate::User;
use crate::linux::HostFacts;

/// The folder below `cache`, which is private to the person, that is filled as [`generate`] does.
///
/// Takes a tenth of a millisecond when it was made before. Two that make the same one at once are fine.
///
/// # Errors
/// As [`generate`].
pub fn kept(
    cache: &AbsPath,
    user: &User,
    facts: &HostFacts,
    host: &AbsPath,
) -> Result<AbsPath, EtcError> {
    let name = format!("etc-{:016x}", identity(user, facts, host));
    let finished = cache.resolve(&name);
    if finished.as_path().is_dir() {
        return Ok(finished);
    }
    let making = cache.resolve(format!("{name}.{}", std::process::id()));
    let failed = |source| EtcError::Write {
        path: making.clone(),
        source,
    };
    remove(&making).map_err(failed)?;
    std::fs::create_dir(&making).map_err(failed)?;
    generate(&making, user, facts, host)?;
    match std::fs::rename(&making, &finished) {
        // Another was faster; theirs is the same.
        Err(_) if finished.as_path().is_dir() => remove(&making).map_err(failed)?,
        result => result.map_err(failed)?,
    }
    Ok(finished)
}

/// Changes whenever the generated folder would be another one.
fn identity(user: &User, facts: &HostFacts, host: &AbsPath) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    (
        &user.name,
        user.uid,
        user.gid,
        user.home.as_bytes(),
        user.shell.as_bytes(),
    )
        .hash(&mut hasher);
    for name in COPIED.iter().copied().chain(["localtime"]) {
        stamp(&host.as_path().join(name)).hash(&mut hasher);
    }
    for folder in &facts.etc_folders {
        stamp_folders(folder.as_path(), &mut hasher);
    }
    hasher.finish()
}

/// Packages replace files rather than write into them, so a folder's own times tell of any change in it.
fn stamp_folders(folder: &Path, hasher: &mut DefaultHasher) {
    stamp(folder).hash(hasher);
    // Two links are a folder's own name and its `.`: there is no folder in it. File systems that do not count say 1.
    if std::fs::metadata(folder).is_ok_and(|found| found.nlink() == 2) {
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    for folder in below {
        stamp_folders(&folder, hasher);
    }
}

/// Which file this is and when it was last changed; none when it is not there.
fn stamp(path: &Path) -> Option<(PathBuf, [i64; 6])> {
    let found = std::fs::metadata(path).ok()?;
    let (device, inode) = (found.dev().cast_signed(), found.ino().cast_signed());
    let size = found.size().cast_signed();
    let changed = (found.ctime(), found.ctime_nsec());
    Some((
        path.to_owned(),
        [device, inode, size, found.mtime(), changed.0, changed.1],
    ))
}

fn remove(folder: &AbsPath) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_again_when_something_changed() {
        let dir = tempfile::tempdir().unwrap();
        let [cache, host] =
            ["cache", "host"].map(|name| AbsPath::new(dir.path().join(name)).unwrap());
        std::fs::create_dir(&cache).unwrap();
        std::fs::create_dir_all(host.as_path().join("fonts/conf.d")).unwrap();
        std::fs::write(host.as_path().join("timezone"), "Etc/UTC\n").unwrap();
        let mut facts = HostFacts::gather(&[]);
        facts.etc_folders = vec![host.resolve("fonts")];
        let user = User {
            name: "ada".into(),
            uid: 1000,
            gid: 1000,
            home: AbsPath::new("/home/ada").unwrap(),
            shell: AbsPath::new("/bin/sh").unwrap(),
        };
        let make = |user: &User| kept(&cache, user, &facts, &host).unwrap();
        let first = make(&user);
        assert_eq!(
            std::fs::read_to_string(first.as_path().join("timezone")).unwrap(),
            "Etc/UTC\n"
        );
        assert_eq!(make(&user), first, "nothing has changed");
        std::fs::write(host.as_path().join("fonts/conf.d/10.conf"), "").unwrap();
        let second = make(&user);
        assert_ne!(second, first, "a file came into a folder");
        assert!(second.as_path().join("fonts/conf.d/10.conf").exists());
        assert_ne!(
            make(&User {
                uid: 1001,
                ..user.clone()
            }),
            second,
            "another person"
        );
        let kept = std::fs::read_dir(&cache).unwrap().count();
        assert_eq!(kept, 3, "nothing half-made is left");
    }
}
