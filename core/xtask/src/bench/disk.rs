//! A file system with reflinks in a file, for the time of a measurement.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::step::capture;

/// Sparse, so what is not written costs nothing.
const BYTES: u64 = 16 << 30;

/// An XFS file system, unmounted and removed when this is dropped.
pub(crate) struct Disk {
    folder: PathBuf,
    mounted: PathBuf,
}

impl Disk {
    /// Makes and mounts one below `temp`.
    ///
    /// # Errors
    /// The file cannot be made, or `mkfs.xfs` or `mount` fails.
    pub(crate) fn make(temp: &Path) -> Result<Self, Failure> {
        sweep(temp);
        let folder = temp.join(format!("{PREFIX}{}", std::process::id()));
        let mounted = folder.join("disk");
        let image = folder.join("image");
        let failed = |source| Failure::File {
            path: image.clone(),
            source,
        };
        fs::create_dir_all(&mounted).map_err(failed)?;
        let disk = Self {
            folder: folder.clone(),
            mounted,
        };
        File::create(&image)
            .and_then(|file| file.set_len(BYTES))
            .map_err(failed)?;
        capture(
            Command::new("mkfs.xfs")
                .args(["-q", "-m", "reflink=1"])
                .arg(&image),
        )?;
        capture(
            Command::new("mount")
                .args(["-o", "loop"])
                .arg(&image)
                .arg(&disk.mounted),
        )?;
        Ok(disk)
    }

    /// Its root.
    pub(crate) fn path(&self) -> &Path {
        &self.mounted
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// What the name of a disk's folder starts with; the number of the process that made it follows.
const PREFIX: &str = "enclos-bench-";

/// Removes the disks of measurements that were killed.
fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .filter(|id| !id.is_empty());
        if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            remove(&entry.path());
        }
    }
}

/// Unmounts lazily: what a failed job left running must not keep the mount for good. Nothing is deleted through a mount
/// that is still there: folders go only when they are empty.
fn remove(folder: &Path) {
    let mounted = folder.join("disk");
    let _ = Command::new("umount").arg("--lazy").arg(&mounted).output();
    let _ = fs::remove_file(folder.join("image"));
    let _ = fs::remove_dir(&mounted).and_then(|()| fs::remove_dir(folder));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_process_left_is_removed_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let living = format!("{PREFIX}{}", std::process::id());
        let dead = format!("{PREFIX}{}", u32::MAX);
        for name in [living.as_str(), &dead, PREFIX, "other"] {
            fs::create_dir_all(temp.path().join(name).join("disk")).unwrap();
        }
        sweep(temp.path());
        let is_there = |name: &str| temp.path().join(name).exists();
        assert!(!is_there(&dead), "no process has the largest number");
        assert!(
            is_there(&living) && is_there(PREFIX) && is_there("other"),
            "not ours to remove"
        );
    }
}
