//! Trees of files to measure on, the same in every run.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::failure::Failure;

/// How big a tree is.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) files: usize,
    pub(crate) bytes_per_file: usize,
}

impl Size {
    /// A large project: 50,000 files, 300 MB.
    pub(crate) const LARGE: Size = Size {
        files: 50_000,
        bytes_per_file: 6_000,
    };
    /// A small one.
    pub(crate) const SMALL: Size = Size {
        files: 200,
        bytes_per_file: 6_000,
    };
    /// What an agent may change in a long session.
    pub(crate) const CHANGES: Size = Size {
        files: 1_000,
        bytes_per_file: 6_000,
    };
}

const FILES_PER_FOLDER: usize = 52;

/// Writes a tree of text files below `root`: most of them small, a few large, as sources are.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn plant(root: &Path, size: Size) -> Result<(), Failure> {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let text = words(&mut chance, size.bytes_per_file * 8);
    for number in 0..size.files {
        let path = file(root, number);
        let failed = |source| Failure::File {
            path: path.clone(),
            source,
        };
        if number % FILES_PER_FOLDER == 0 {
            fs::create_dir_all(path.parent().unwrap_or(root)).map_err(failed)?;
        }
        // A third of the average for nine of ten files, seven times as much for the tenth.
        let length = if chance.below(10) == 0 {
            size.bytes_per_file * 7
        } else {
            size.bytes_per_file / 3
        };
        let start = chance.below(text.len() - length);
        fs::write(&path, &text[start..start + length]).map_err(failed)?;
    }
    Ok(())
}

/// The file with this number.
pub(crate) fn file(root: &Path, number: usize) -> PathBuf {
    let folder = number / FILES_PER_FOLDER;
    root.join(format!("d{:02}/e{folder:03}/f{number:05}.txt", folder % 30))
}

/// Printable text in lines.
fn words(chance: &mut Chance, length: usize) -> Vec<u8> {
    let letter = |chance: &mut Chance| b"etaoin shrdlu cmfwyp\n"[chance.below(21)];
    (0..length).map(|_| letter(chance)).collect()
}

/// Marsaglia's xorshift: chance that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_size_and_is_the_same_in_every_run() {
        let size = Size {
            files: 300,
            bytes_per_file: 600,
        };
        let grow = || {
            let root = tempfile::tempdir().unwrap();
            plant(root.path(), size).unwrap();
            (0..size.files)
                .map(|number| fs::read(file(root.path(), number)).unwrap())
                .collect::<Vec<_>>()
        };
        let first = grow();
        assert_eq!(first, grow());
        let average = first.iter().map(Vec::len).sum::<usize>() / size.files;
        assert!(
            (400..800).contains(&average),
            "{average} bytes per file on average"
        );
    }
}
