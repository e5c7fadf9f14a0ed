//! A folder as it is: everything in it, in a form that two moments can be compared by.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use enclos_paths::shown;

/// Everything in `folder`: kinds, modes, sizes, contents, link targets and extended attributes.
///
/// # Panics
/// When something cannot be read.
#[must_use]
#[track_caller]
pub fn tree(folder: impl AsRef<Path>) -> Tree {
    Tree::of(folder.as_ref(), |_| None)
}

/// The same and when each entry was last modified: shows that not even the same bytes were written again.
///
/// # Panics
/// As [`tree`].
#[must_use]
#[track_caller]
pub fn tree_with_times(folder: impl AsRef<Path>) -> Tree {
    Tree::of(folder.as_ref(), |meta| {
        Some((meta.mtime(), meta.mtime_nsec()))
    })
}

/// The entries of a folder by their paths in it; displays itself one line per entry, sorted by bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Tree {
    /// Paths without a leading slash, their bytes kept.
    pub nodes: BTreeMap<Vec<u8>, Node>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `f`ile, `d`irectory, `l`ink, `p`ipe, `s`ocket, `c`haracter or `b`lock device.
    pub kind: char,
    /// Permission bits.
    pub mode: u32,
    /// Bytes of a file; 0 for everything else.
    pub size: u64,
    /// A hash of a file's contents, or a link's target.
    pub content: Vec<u8>,
    /// How many names the file has.
    pub names: u64,
    /// Extended attributes that programs set, with their values.
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Seconds and nanoseconds of the last modification, where they are asked for.
    pub modified: Option<(i64, i64)>,
}

type Time = fn(&fs::Metadata) -> Option<(i64, i64)>;

impl Tree {
    #[track_caller]
    fn of(folder: &Path, time: Time) -> Self {
        let mut tree = Self {
            nodes: BTreeMap::new(),
        };
        tree.add(folder, b"", time);
        tree
    }

    /// The paths of all entries, as people may see them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.nodes
            .keys()
            .map(|path| shown(path).to_string())
            .collect()
    }

    /// What differs in `other`: one line per entry, `+` only there, `-` only here, `*` in both but not equal.
    #[must_use]
    pub fn changes(&self, other: &Self) -> Vec<String> {
        let mut changes = BTreeMap::new();
        for (path, node) in &self.nodes {
            match other.nodes.get(path) {
                None => drop(changes.insert(path, '-')),
                Some(there) if there != node => drop(changes.insert(path, '*')),
                Some(_) => {}
            }
        }
        let only_there = other
            .nodes
            .keys()
            .filter(|path| !self.nodes.contains_key(*path));
        changes.extend(only_there.map(|path| (path, '+')));
        changes
            .into_iter()
            .map(|(path, sign)| format!("{sign} {}", shown(path)))
            .collect()
    }

    #[track_caller]
    fn add(&mut self, folder: &Path, prefix: &[u8], time: Time) {
        let entries =
            fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let entry = entry.expect("an entry");
            let path = [prefix, entry.file_name().as_bytes()].concat();
            let node = Node::of(&entry.path(), time);
            let is_folder = node.kind == 'd';
            self.nodes.insert(path.clone(), node);
            if is_folder {
                self.add(&entry.path(), &[&path, b"/".as_slice()].concat(), time);
            }
        }
    }
}

impl Node {
    #[track_caller]
    fn of(path: &Path, time: Time) -> Self {
        let meta = fs::symlink_metadata(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kind = kind(&meta);
        let content = match kind {
            'f' => blake3::hash(
                &fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            )
            .as_bytes()
            .to_vec(),
            'l' => fs::read_link(path)
                .expect("a link")
                .as_os_str()
                .as_bytes()
                .to_vec(),
            _ => Vec::new(),
        };
        Self {
            kind,
            mode: meta.mode() & 0o7777,
            size: if kind == 'f' { meta.len() } else { 0 },
            content,
            names: if kind == 'd' { 1 } else { meta.nlink() },
            attributes: attributes(path),
            modified: time(&meta),
        }
    }
}

fn kind(meta: &fs::Metadata) -> char {
    let kind = meta.file_type();
    match () {
        () if kind.is_file() => 'f',
        () if kind.is_dir() => 'd',
        () if kind.is_symlink() => 'l',
        () if kind.is_fifo() => 'p',
        () if kind.is_socket() => 's',
        () if kind.is_char_device() => 'c',
        () => 'b',
    }
}

/// The attributes that programs set; those that a system adds to every file say nothing.
fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut list = vec![0; 64 << 10];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list[..]) else {
        return BTreeMap::new();
    };
    let names = list[..length]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    let of_programs =
        names.filter(|name| !name.starts_with(b"security.") && *name != b"com.apple.provenance");
    let with_value = |name: &[u8]| {
        let mut value = vec![0; 64 << 10];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some((name.to_vec(), value))
    };
    of_programs.filter_map(with_value).collect()
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, node) in &self.nodes {
            write!(f, "{} {:04o} ", node.kind, node.mode)?;
            match node.kind {
                'f' => {
                    let hash: String = node
                        .content
                        .iter()
                        .take(4)
                        .map(|byte| format!("{byte:02x}"))
                        .collect();
                    write!(f, "{} {} {hash}", shown(path), node.size)?;
                }
                'l' => write!(f, "{} -> {}", shown(path), shown(&node.content))?,
                _ => write!(f, "{}", shown(path))?,
            }
            if node.names > 1 {
                write!(f, " names={}", node.names)?;
            }
            for (name, value) in &node.attributes {
                write!(f, " {}={}", shown(name), shown(value))?;
            }
            if let Some((seconds, nanoseconds)) = node.modified {
                write!(f, " @{seconds}.{nanoseconds:09}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Project;
    use crate::World;

    fn project(world: &World) -> Project {
        world
            .project("web")
            .file("src/a.rs", "a")
            .link("l", "src/a.rs")
            .modified("src/a.rs", 1)
            .build()
    }

    #[test]
    fn a_tree_is_listed_line_by_line() {
        let world = World::new();
        let listing = tree(project(&world)).to_string();
        assert_eq!(
            listing,
            "l 0777 l -> src/a.rs\nd 0755 src\nf 0644 src/a.rs 1 17762fdd\n"
        );
    }

    #[test]
    fn every_kind_of_change_is_seen() {
        let world = World::new();
        let project = project(&world);
        let (before, with_times) = (tree(&project), tree_with_times(&project));
        assert_eq!(before.changes(&tree(&project)), [""; 0]);

        project.write("src/a.rs", "a");
        assert_eq!(before.changes(&tree(&project)), [""; 0], "the same bytes");
        assert_eq!(
            with_times.changes(&tree_with_times(&project)),
            ["* src/a.rs"],
            "written again"
        );

        project.write("src/a.rs", "b");
        project.write("new", "");
        fs::remove_file(project.path("l")).unwrap();
        assert_eq!(
            before.changes(&tree(&project)),
            ["- l", "+ new", "* src/a.rs"]
        );
    }

    #[test]
    fn attributes_are_seen() {
        let world = World::new();
        let project = world
            .project("web")
            .file("a", "")
            .attribute("a", "user.note", b"x\n")
            .build();
        assert!(
            tree(&project).to_string().ends_with("user.note=x\\n\n"),
            "{:?}",
            tree(&project)
        );
    }
}
