//! File systems made for a test, mounted from a file.
//!
//! Sharing blocks needs XFS or btrfs, and a missing `ctime` needs FAT; a machine seldom has them where its temporary
//! folder lies. Mounting needs root. Whoever cannot mount gets an error that says what is missing: a test must fail
//! by it rather than pass without having looked.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;

use enclos_paths::AbsPath;
use tempfile::TempDir;

/// A mounted file system, unmounted and removed when this is dropped.
#[derive(Debug)]
pub struct LoopFs {
    folder: TempDir,
    mounted: PathBuf,
}

/// Why there is no file system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopFsError {
    /// The file for it could not be made.
    #[error("cannot make a file to hold a file system")]
    Image(#[source] io::Error),
    /// A program is not installed.
    #[error("`{program}` cannot be started; install the package that has it")]
    Program {
        /// Its name.
        program: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program failed; for `mount` it usually takes root and loop devices.
    #[error("`{program}` failed (it takes root and loop devices): {said}")]
    Failed {
        /// Its name.
        program: &'static str,
        /// What it printed.
        said: String,
    },
}

impl LoopFs {
    /// XFS that can share blocks.
    ///
    /// # Errors
    /// When it cannot be made or mounted.
    pub fn xfs() -> Result<Self, LoopFsError> {
        Self::make("mkfs.xfs", &["-q", "-m", "reflink=1"], Self::SMALL)
    }

    /// XFS that can share blocks, with room for `bytes`.
    ///
    /// # Errors
    /// When it cannot be made or mounted.
    pub fn xfs_of(bytes: u64) -> Result<Self, LoopFsError> {
        Self::make("mkfs.xfs", &["-q", "-m", "reflink=1"], bytes)
    }

    /// btrfs.
    ///
    /// # Errors
    /// When it cannot be made or mounted.
    pub fn btrfs() -> Result<Self, LoopFsError> {
        Self::make("mkfs.btrfs", &["-q"], Self::SMALL)
    }

    /// ext4, which cannot share blocks.
    ///
    /// # Errors
    /// When it cannot be made or mounted.
    pub fn ext4() -> Result<Self, LoopFsError> {
        Self::make("mkfs.ext4", &["-q", "-F"], Self::SMALL)
    }

    /// ext4 with room for about `bytes`, to run out of it.
    ///
    /// # Errors
    /// When it cannot be made or mounted.
    pub fn ext4_of(bytes: u64) -> Result<Self, LoopFsError> {
        Self::make("mkfs.ext4", &["-q", "-F"], bytes)
    }

    /// The root of the file system.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    /// The path of `name` in the root of the file system.
    ///
    /// # Panics
    /// When `name` is not one component, which a test knows.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "for tests only, which say names that are names"
    )]
    pub fn at(&self, name: &str) -> AbsPath {
        AbsPath::new(self.mounted.join(name)).expect("a name in a mounted file system")
    }

    /// XFS takes no less than 300 MiB; the file is sparse, so little of it is used.
    const SMALL: u64 = 512 << 20;

    fn make(program: &'static str, arguments: &[&str], bytes: u64) -> Result<Self, LoopFsError> {
        let folder = tempfile::tempdir().map_err(LoopFsError::Image)?;
        let image = folder.path().join("image");
        let file = std::fs::File::create(&image).map_err(LoopFsError::Image)?;
        file.set_len(bytes).map_err(LoopFsError::Image)?;
        let mounted = folder.path().join("mounted");
        std::fs::create_dir(&mounted).map_err(LoopFsError::Image)?;
        run(program, Command::new(program).args(arguments).arg(&image))?;
        run(
            "mount",
            Command::new("mount")
                .args(["-o", "loop"])
                .arg(&image)
                .arg(&mounted),
        )?;
        Ok(Self { folder, mounted })
    }
}

impl Drop for LoopFs {
    fn drop(&mut self) {
        // Lazily, so that a descriptor which a failing test still holds does not keep the mount.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(&self.mounted)
            .output();
        debug_assert!(
            self.folder.path().is_absolute(),
            "removed after the mount is gone"
        );
    }
}

fn run(program: &'static str, command: &mut Command) -> Result<(), LoopFsError> {
    let Output {
        status,
        stdout,
        mut stderr,
    } = command
        .output()
        .map_err(|source| LoopFsError::Program { program, source })?;
    if status.success() {
        return Ok(());
    }
    stderr.extend_from_slice(&stdout);
    Err(LoopFsError::Failed {
        program,
        said: String::from_utf8_lossy(&stderr).trim().to_owned(),
    })
}
