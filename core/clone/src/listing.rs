//! The names in one folder, read in one go into buffers that are used again.
//!
//! Reading all names before acting on any keeps the listing independent of what the caller, or somebody else, then
//! does to the folder.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::FileType;

/// The names in a folder, without `.` and `..`.
#[derive(Default)]
pub(crate) struct Listing {
    /// All names, each closed by a NUL.
    names: Vec<u8>,
    items: Vec<Item>,
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Item {
    start: usize,
    end: usize,
    hint: FileType,
}

impl Listing {
    /// Reads the folder `dir` anew; what was listed before is gone.
    pub(crate) fn read(&mut self, dir: BorrowedFd<'_>) -> io::Result<()> {
        self.names.clear();
        self.items.clear();
        self.fill(dir)
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The name at `at`, and what the folder says it is; [`FileType::Unknown`] where the file system does not say.
    pub(crate) fn get(&self, at: usize) -> Option<(&CStr, FileType)> {
        let item = self.items.get(at)?;
        let name = CStr::from_bytes_with_nul(self.names.get(item.start..item.end)?).ok()?;
        Some((name, item.hint))
    }

    fn push(&mut self, name: &CStr, hint: FileType) {
        if matches!(name.to_bytes(), b"." | b"..") {
            return;
        }
        let start = self.names.len();
        self.names.extend_from_slice(name.to_bytes_with_nul());
        self.items.push(Item {
            start,
            end: self.names.len(),
            hint,
        });
    }

    #[cfg(target_os = "linux")]
    fn fill(&mut self, dir: BorrowedFd<'_>) -> io::Result<()> {
        use rustix::fs::RawDir;

        // Large enough for the longest name of any file system, and for most folders in one call.
        const BUFFER: usize = 64 * 1024;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.reserve(BUFFER);
        let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            self.push(entry.file_name(), entry.file_type());
        }
        self.buffer = buffer;
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&mut self, dir: BorrowedFd<'_>) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            self.push(entry.file_name(), entry.file_type());
        }
        Ok(())
    }
}
