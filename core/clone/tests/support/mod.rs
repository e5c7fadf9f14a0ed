//! Trees to clone, and a full description of a tree to compare.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail where they stand"
)]

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::ffi::CString;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use enclos_clone::CloneError;
use enclos_clone::CloneRequest;
use enclos_clone::Cloned;
use enclos_clone::LeaveOut;
use enclos_clone::Method;
use enclos_clone::Progress;
use enclos_clone::Quiet;
use enclos_clone::clone;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use proptest::prelude::*;

/// One thing in a tree.
#[derive(Debug, Clone)]
pub enum Item {
    File {
        contents: Vec<u8>,
        mode: u32,
    },
    Sparse {
        size: u64,
        data_at: u64,
    },
    Folder {
        mode: u32,
    },
    Link {
        target: Vec<u8>,
    },
    /// A further name of the n-th file made before.
    HardLink {
        of: usize,
    },
    Fifo,
}

/// A thing with its path, attributes and time.
#[derive(Debug, Clone)]
pub struct Made {
    pub path: Vec<Vec<u8>>,
    pub item: Item,
    pub attributes: Vec<(String, Vec<u8>)>,
    /// Nanoseconds since 1970, also before it.
    pub mtime: i64,
}

/// Everything about one entry that a clone must keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub kind: &'static str,
    pub mode: u32,
    pub mtime: (i64, i64),
    pub contents: Vec<u8>,
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The first name, by path, of the same file.
    pub same_as: PathBuf,
    /// Whether it takes much less space than its size.
    pub sparse: bool,
}

pub fn abs(path: &Path) -> AbsPath {
    AbsPath::new(path).unwrap()
}

pub fn project(path: &str) -> ProjectPath {
    ProjectPath::new(path).unwrap()
}

/// What a request says besides the places and the method.
pub struct Options<'a> {
    pub hidden: &'a [ProjectPath],
    pub keep_out: &'a [AbsPath],
    pub leave_out: LeaveOut,
    pub progress: &'a dyn Progress,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            hidden: &[],
            keep_out: &[],
            leave_out: LeaveOut::Nothing,
            progress: &Quiet,
        }
    }
}

/// Clones `source` to `destination`; everything that can be read, nothing hidden.
pub fn clone_plainly(
    source: &Path,
    destination: &Path,
    method: Method,
) -> Result<Cloned, CloneError> {
    clone_with(source, destination, method, &Options::default())
}

/// Clones with `options`.
pub fn clone_with(
    source: &Path,
    destination: &Path,
    method: Method,
    options: &Options<'_>,
) -> Result<Cloned, CloneError> {
    clone(&CloneRequest {
        source: &ProjectRoot::from_resolved(abs(source)),
        destination: &abs(destination),
        method,
        hidden: options.hidden,
        keep_out: options.keep_out,
        leave_out: options.leave_out,
        progress: options.progress,
    })
}

/// Trees with every kind of entry, few enough names that paths collide and nest.
pub fn trees() -> impl Strategy<Value = Vec<Made>> {
    prop::collection::vec(made(), 0..40)
}

fn made() -> impl Strategy<Value = Made> {
    let path = prop::collection::vec(name(), 1..5);
    let attributes = prop::collection::vec(("user\\.[a-z]{1,8}", bytes(64)), 0..3);
    // From 1935 to 2106: what every file system under test can hold.
    (
        path,
        item(),
        attributes,
        -1_100_000_000_000_000_000_i64..4_294_000_000_000_000_000,
    )
        .prop_map(|(path, item, attributes, mtime)| Made {
            path,
            item,
            attributes,
            mtime,
        })
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-d]".prop_map(String::into_bytes),
        1 => Just(b"caf\xe9\xff".to_vec()),
        1 => Just("日本 -n\t'\"$(x)".as_bytes().to_vec()),
        1 => Just(b"a-b".to_vec()),
        1 => Just(vec![b'n'; 255]),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let mode = prop_oneof![
        Just(0o644),
        Just(0o755),
        Just(0o600),
        Just(0o444),
        Just(0o4755),
        Just(0o000)
    ];
    let folder = prop_oneof![
        Just(0o755),
        Just(0o700),
        Just(0o555),
        Just(0o1777),
        Just(0o2755),
        Just(0o000)
    ];
    prop_oneof![
        6 => (bytes(70_000), mode).prop_map(|(contents, mode)| Item::File { contents, mode }),
        1 => (0_u64..4_000_000, 0_u64..4_000_000).prop_map(|(size, data_at)| Item::Sparse { size, data_at }),
        2 => folder.prop_map(|mode| Item::Folder { mode }),
        1 => bytes(40).prop_map(|target| Item::Link { target }),
        2 => (0_usize..40).prop_map(|of| Item::HardLink { of }),
        1 => Just(Item::Fifo),
    ]
}

/// Bytes that are cheap to make and to shrink, some long.
fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![Just(0), 1..20_usize, 1..longest];
    (length, any::<u8>()).prop_map(|(length, seed)| {
        (0..length)
            .map(|i| seed.wrapping_add(u8::try_from(i % 251).unwrap_or(0)))
            .collect()
    })
}

/// Makes the tree; what cannot be made because something else is in its place is left away.
pub fn make(root: &Path, tree: &[Made]) {
    fs::create_dir_all(root).unwrap();
    let mut files = Vec::new();
    let mut done = Vec::new();
    for made in tree {
        let path = made.path.iter().fold(root.to_path_buf(), |path, name| {
            path.join(OsStr::from_bytes(name))
        });
        if fs::create_dir_all(path.parent().unwrap()).is_err() || path.symlink_metadata().is_ok() {
            continue;
        }
        if make_one(&path, made, &mut files) {
            done.push((path, made));
        }
    }
    // From the inside out, so that a folder's time is not moved again.
    done.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
    for (path, made) in done {
        finish_one(&path, made);
    }
}

fn make_one(path: &Path, made: &Made, files: &mut Vec<PathBuf>) -> bool {
    match &made.item {
        Item::File { contents, .. } => {
            fs::write(path, contents).unwrap();
            files.push(path.to_path_buf());
        }
        Item::Sparse { size, data_at } => {
            let file = fs::File::create(path).unwrap();
            file.set_len(*size).unwrap();
            file.write_all_at(b"data in the middle", *data_at).unwrap();
            files.push(path.to_path_buf());
        }
        Item::Folder { .. } => fs::create_dir(path).unwrap(),
        Item::Link { target } => {
            let target: Vec<u8> = target.iter().copied().filter(|&b| b != 0).collect();
            if target.is_empty()
                || std::os::unix::fs::symlink(OsStr::from_bytes(&target), path).is_err()
            {
                return false;
            }
        }
        Item::HardLink { of } => {
            let Some(first) = files.get(of % files.len().max(1)) else {
                return false;
            };
            fs::hard_link(first, path).unwrap();
            return false;
        }
        Item::Fifo => {
            make_pipe(path);
            return false;
        }
    }
    true
}

fn finish_one(path: &Path, made: &Made) {
    let mode = match &made.item {
        Item::File { mode, .. } | Item::Folder { mode } => Some(*mode),
        _ => None,
    };
    if !matches!(made.item, Item::Link { .. }) {
        for (name, value) in &made.attributes {
            set_attribute(path, name, value);
        }
    }
    if let Some(mode) = mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    set_mtime(path, made.mtime);
}

pub fn make_pipe(path: &Path) {
    assert!(
        Command::new("mkfifo").arg(path).status().unwrap().success(),
        "mkfifo {}",
        path.display()
    );
}

pub fn set_attribute(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

/// Sets the time of the last change to `nanoseconds` since 1970, of a link itself.
pub fn set_mtime(path: &Path, nanoseconds: i64) {
    let last_modification = rustix::fs::Timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    };
    let times = rustix::fs::Timestamps {
        last_access: last_modification,
        last_modification,
    };
    rustix::fs::utimensat(
        rustix::fs::CWD,
        path,
        &times,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .unwrap();
}

/// Describes a tree. Pipes and sockets are left away, because no clone has them.
pub fn see(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    walk(root, Path::new(""), &mut seen);
    let mut first: HashMap<(u64, u64), PathBuf> = HashMap::new();
    for (path, one) in &mut seen {
        let stat = root.join(path).symlink_metadata().unwrap();
        one.same_as = first
            .entry((stat.dev(), stat.ino()))
            .or_insert_with(|| path.clone())
            .clone();
    }
    seen
}

fn walk(root: &Path, at: &Path, seen: &mut BTreeMap<PathBuf, Seen>) {
    let path = root.join(at);
    let stat = path.symlink_metadata().unwrap();
    let kind = stat.file_type();
    let (kind, contents) = if kind.is_dir() {
        ("folder", Vec::new())
    } else if kind.is_symlink() {
        (
            "link",
            fs::read_link(&path)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec(),
        )
    } else if kind.is_file() {
        ("file", fs::read(&path).unwrap())
    } else {
        return;
    };
    let one = Seen {
        kind,
        mode: stat.mode() & 0o7777,
        mtime: (stat.mtime(), stat.mtime_nsec()),
        contents,
        attributes: attributes(&path, kind),
        same_as: PathBuf::new(),
        sparse: stat.blocks() * 512 + 256 * 1024 < stat.size(),
    };
    seen.insert(at.to_path_buf(), one);
    if kind == "folder" {
        for entry in fs::read_dir(&path).unwrap() {
            walk(root, &at.join(entry.unwrap().file_name()), seen);
        }
    }
}

pub fn attributes(path: &Path, kind: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    if kind == "link" {
        return BTreeMap::new();
    }
    let mut names = vec![0; 65536];
    let got = rustix::fs::llistxattr(path, &mut names[..]).unwrap();
    let mut attributes = BTreeMap::new();
    for name in names[..got]
        .split(|&b| b == 0)
        .filter(|name| !name.is_empty())
    {
        if name.starts_with(b"security.") {
            continue;
        }
        let mut value = vec![0; 65536];
        let got = rustix::fs::lgetxattr(path, CString::new(name).unwrap(), &mut value[..]).unwrap();
        attributes.insert(name.to_vec(), value[..got].to_vec());
    }
    attributes
}

/// Runs `act` as an ordinary user who owns nothing, in a thread of its own.
pub fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_nobody();
            act()
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Of this thread only: the kernel keeps rights per thread.
#[cfg(target_os = "linux")]
fn become_nobody() {
    use rustix::process::Gid;
    use rustix::process::Uid;

    if rustix::process::geteuid().is_root() {
        let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(group, group, group).unwrap();
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
    }
}

#[cfg(not(target_os = "linux"))]
fn become_nobody() {
    assert!(
        !rustix::process::geteuid().is_root(),
        "run the tests as an ordinary user here"
    );
}

/// Mounts `what` over `place` as well; takes root.
#[cfg(target_os = "linux")]
pub fn bind(what: &Path, place: &Path) {
    rustix::mount::mount_bind(what, place).unwrap();
}

/// Takes away what is mounted at `place`.
#[cfg(target_os = "linux")]
pub fn unmount(place: &Path) {
    rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH).unwrap();
}

/// A temporary folder that an ordinary user may enter.
pub fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

/// Starts the ignored test `name` of this program in a process of its own, to be killed.
pub fn child(name: &str, paths: &[&Path]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--quiet"]);
    command.env("ENCLOS_TEST_PATHS", std::env::join_paths(paths).unwrap());
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// The paths that [`child`] was given, in the child.
pub fn child_arguments<const N: usize>() -> [PathBuf; N] {
    let paths = std::env::var_os("ENCLOS_TEST_PATHS").expect("started by another test");
    let paths: Vec<PathBuf> = std::env::split_paths(&paths).collect();
    paths.try_into().unwrap()
}
