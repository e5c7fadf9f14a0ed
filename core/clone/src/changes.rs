//! What is not as the baseline says, in the copy or in the original, without reading contents.
//!
//! The promise: whatever changed since the baseline is among the candidates, also a file of the same size whose time
//! was set back; what changed nothing is not, save for touched files. Nothing outside of the tree is looked at, and a
//! pipe or a tree that changes meanwhile makes nobody wait. It could break by a file system that moves no `ctime`
//! (there, contents are hashed), by two changes within one tick of the clock (files that were recorded so close to a
//! change are hashed as well), and by a mapped page that is written without any trace: the tree has to stand still.
//!
//! Names that the baseline knows are looked at one by one; a folder is listed only when it moved. Deliberately not
//! here: what changed inside a file, and overlaid folders, whose upper layer is walked instead.

mod known;
mod new;

use std::io;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_root;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_fd;

use self::known::Worker;
use crate::baseline::Baseline;
use crate::baseline::Entry;
use crate::baseline::Identity;
use crate::baseline::Kind;
use crate::baseline::Presence;
use crate::place::Place;
use crate::queue;
use crate::tree::io_error;
use crate::trust::Trust;
use crate::trust::trust;

/// Which tree is compared with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The folder that was cloned.
    Original,
    /// The copy.
    Copy,
}

/// Something that is, or may be, not as the baseline says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it is.
    pub path: ProjectPath,
    /// The index of its entry in the baseline; none when there was nothing.
    pub before: Option<usize>,
    /// What is there now; none when there is nothing.
    pub now: Option<Now>,
    /// In which way it differs.
    pub difference: Difference,
}

/// What an entry is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// What it is.
    pub kind: Kind,
    /// Permission bits with set-id and sticky.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The number of hard links.
    pub links: u64,
    /// What tells its state.
    pub identity: Identity,
}

/// In which way a candidate differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Difference {
    /// It is a folder that cannot be entered, for lack of a right or because something is mounted there. Nothing is
    /// known about what lies below, and nothing below is among the candidates.
    Closed,
    /// It was not there, or not in the copy: then its entry says that it was skipped.
    Added,
    /// It is not there any more.
    Gone,
    /// It is of another kind.
    Kind,
    /// Its contents may differ: they have to be read. A link certainly leads elsewhere.
    Contents,
    /// Its mode, owner or group differs, and its contents certainly do not.
    Metadata,
}

/// Why a tree could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The folder itself cannot be opened.
    #[error("cannot open the folder {folder}")]
    Root {
        /// The folder.
        folder: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Something in it cannot be looked at.
    #[error("cannot look at {path}")]
    Look {
        /// The entry.
        path: AbsPath,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// Finds what in the tree at `root` is not as `baseline` says for `side`; the candidates are sorted by path.
///
/// Owner and group are compared in the original only: the copy belongs to whoever made it.
///
/// # Errors
/// When the folder or something in it cannot be looked at. What vanishes meanwhile is no error.
pub fn changes(
    baseline: &Baseline,
    root: &AbsPath,
    side: Side,
) -> Result<Vec<Candidate>, ScanError> {
    let failed = |source| ScanError::Root {
        folder: root.clone(),
        source,
    };
    let opened = open_root(root).map_err(|e| failed(io_error(e)))?;
    let trust = trust(&opened).map_err(failed)?;
    changes_by(baseline, (root, opened), side, trust)
}

fn changes_by(
    baseline: &Baseline,
    (path, root): (&AbsPath, OwnedFd),
    side: Side,
    trust: Trust,
) -> Result<Vec<Candidate>, ScanError> {
    let failed = |source| ScanError::Root {
        folder: path.clone(),
        source,
    };
    let device = stat_fd(&root).map_err(failed)?.dev;
    let devices = Devices::new(baseline, side, device);
    let task = Task {
        baseline,
        side,
        path,
        root,
        trust,
        devices,
    };
    let crew = (0..queue::workers()).map(|_| Worker::new(&task)).collect();
    let ranges = (0..baseline.entries.len()).step_by(RANGE);
    let ranges = ranges.map(|start| Job::Known(start..(start + RANGE).min(baseline.entries.len())));
    // The root is no entry, so nothing says whether it moved; it is the first to be listed.
    let jobs = ranges.rev().chain([Job::List(Place::ROOT)]).collect();
    let workers = queue::run(jobs, crew)?;
    let mut found: Vec<Candidate> = workers
        .into_iter()
        .flat_map(|worker| worker.found)
        .collect();
    found.sort_by(|a, b| (&a.path, a.difference).cmp(&(&b.path, b.difference)));
    found.dedup_by(|a, b| a.path == b.path);
    forget_below_closed(&mut found);
    Ok(found)
}

/// What lies below a folder that cannot be entered was looked at too late or too early to say anything.
fn forget_below_closed(found: &mut Vec<Candidate>) {
    let closed = found.iter().filter(|c| c.difference == Difference::Closed);
    let mut closed: Vec<Vec<u8>> = closed.map(|c| [c.path.as_bytes(), b"/"].concat()).collect();
    closed.sort();
    // What starts with another one directly follows it or others that do. Afterwards none starts with another, and then
    // only the last one up to a path can be its start: looking is quick, however deep and many the folders are.
    closed.dedup_by(|later, first| later.starts_with(first));
    found.retain(|candidate| {
        let path = candidate.path.as_bytes();
        let after = closed.partition_point(|start| start.as_slice() <= path);
        !closed[..after]
            .last()
            .is_some_and(|start| path.starts_with(start))
    });
}

/// How many entries a worker takes at once: enough to share the open folder, few enough to share the work.
const RANGE: usize = 512;

/// A piece of the work.
enum Job {
    /// Look at what the baseline knows, by index.
    Known(std::ops::Range<usize>),
    /// List a folder that moved, for names that the baseline does not know.
    List(Place),
}

/// What all workers share.
struct Task<'a> {
    baseline: &'a Baseline,
    side: Side,
    path: &'a AbsPath,
    root: OwnedFd,
    trust: Trust,
    devices: Devices,
}

impl Task<'_> {
    /// What the entry was on this side; none when it was not there.
    fn recorded<'e>(&self, entry: &'e Entry) -> Option<&'e Identity> {
        match (self.side, &entry.presence) {
            (Side::Original, Presence::Copied(_) | Presence::Overlaid) => Some(&entry.original),
            (Side::Copy, Presence::Copied(copy)) => Some(copy),
            // What was changed in an overlaid folder is in its upper layer.
            (Side::Copy, Presence::Overlaid) | (_, Presence::Skipped(_)) => None,
        }
    }

    /// Whether a folder that moved is listed. Of one that is overlaid without being recorded nothing is known.
    fn is_listed(&self, entry: &Entry) -> bool {
        entry.presence != Presence::Overlaid || !self.baseline.below(Some(&entry.path)).is_empty()
    }

    /// Whether the entry was recorded so soon after a change that a second one may have left no trace.
    ///
    /// The copy is not in question, because nobody touched it before the clock had moved on.
    fn is_close_call(&self, entry: &Entry) -> bool {
        /// More than it takes to copy one folder.
        const WHILE: i128 = 10_000_000_000;
        match (self.side, &entry.presence) {
            (Side::Original, Presence::Copied(copy)) => entry.original.ctime + WHILE >= copy.ctime,
            _ => false,
        }
    }

    fn look_failed(&self, path: &ProjectPath, source: io::Error) -> ScanError {
        ScanError::Look {
            path: self.path.join(path),
            source,
        }
    }
}

/// Device numbers that are handed out anew at every mount, such as those of btrfs: another number of the whole tree
/// says nothing about its files.
struct Devices {
    renumbered: Option<(u64, u64)>,
}

impl Devices {
    fn new(baseline: &Baseline, side: Side, now: u64) -> Self {
        let recorded = baseline
            .entries
            .iter()
            .filter_map(|entry| match (side, &entry.presence) {
                (Side::Original, Presence::Copied(_)) => Some(entry.original.dev),
                (Side::Copy, Presence::Copied(copy)) => Some(copy.dev),
                _ => None,
            });
        let mut devices: Vec<u64> = Vec::new();
        for device in recorded {
            // Nearly always the one of the entry before.
            if devices.last() != Some(&device) && !devices.contains(&device) {
                devices.push(device);
            }
        }
        let mut devices = devices.into_iter();
        match (devices.next(), devices.next()) {
            (Some(then), None) if then != now => Self {
                renumbered: Some((then, now)),
            },
            _ => Self { renumbered: None },
        }
    }

    /// Whether `stat` shows exactly what was recorded.
    fn is_same(&self, recorded: &Identity, stat: &Stat) -> bool {
        let now = Identity::of(stat);
        match self.renumbered {
            Some((then, new)) if recorded.dev == then && now.dev == new => {
                now == Identity {
                    dev: new,
                    ..*recorded
                }
            }
            _ => now == *recorded,
        }
    }
}

impl Now {
    pub(crate) fn of(stat: &Stat, kind: Kind) -> Self {
        Self {
            kind,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            links: stat.links,
            identity: Identity::of(stat),
        }
    }
}

fn root_fd<'t>(task: &'t Task<'_>) -> std::os::fd::BorrowedFd<'t> {
    task.root.as_fd()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;

    use super::*;
    use crate::Quiet;
    use crate::request::LeaveOut;
    use crate::tree;
    use crate::tree::Filling;
    use crate::tree::Hashing;
    use crate::tree::Order;

    struct Pair {
        _folder: tempfile::TempDir,
        source: AbsPath,
        copy: AbsPath,
        baseline: Baseline,
    }

    fn pair(hashing: Hashing) -> Pair {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::new(folder.path().join(name)).unwrap();
        let (source, copy) = (at("source"), at("copy"));
        fs::create_dir_all(source.as_path().join("folder")).unwrap();
        fs::write(source.as_path().join("folder/file"), "before").unwrap();
        fs::write(source.as_path().join("other"), "before").unwrap();
        let order = Order {
            source: &source,
            destination: &copy,
            filling: Filling::Copy,
            instead: HashMap::new(),
            leave_out: LeaveOut::Nothing,
            hashing,
            progress: &Quiet,
        };
        let copied = tree::copy(&order).unwrap();
        let baseline = Baseline {
            source: source.clone(),
            taken: copied.taken,
            entries: copied.entries,
        };
        Pair {
            _folder: folder,
            source,
            copy,
            baseline,
        }
    }

    impl Pair {
        fn find(&self, side: Side, trust: Trust) -> Vec<String> {
            let path = if side == Side::Copy {
                &self.copy
            } else {
                &self.source
            };
            let found = changes_by(
                &self.baseline,
                (path, open_root(path).unwrap()),
                side,
                trust,
            );
            found
                .unwrap()
                .iter()
                .map(|c| format!("{} {:?}", c.path, c.difference))
                .collect()
        }

        /// Makes the baseline say what a file system without a `ctime` to trust would let it say: the same as now.
        fn forget_change(&mut self, path: &str) {
            let at = self
                .baseline
                .index_of(&ProjectPath::new(path).unwrap())
                .unwrap();
            let stat = |root: &AbsPath| {
                let file = fs::File::open(root.as_path().join(path)).unwrap();
                Identity::of(&stat_fd(&file).unwrap())
            };
            let (original, copy) = (stat(&self.source), stat(&self.copy));
            self.baseline.entries[at].original = original;
            self.baseline.entries[at].presence = Presence::Copied(copy);
        }
    }

    #[test]
    fn contents_are_compared_where_times_cannot_be_trusted() {
        let mut pair = pair(Hashing::Every);
        fs::write(pair.copy.as_path().join("folder/file"), "BEFORE").unwrap();
        pair.forget_change("folder/file");
        assert_eq!(
            pair.find(Side::Copy, Trust::Identity),
            [""; 0],
            "the identity tells nothing"
        );
        assert_eq!(
            pair.find(Side::Copy, Trust::Contents),
            ["folder/file Contents"]
        );
    }

    #[test]
    fn numbers_and_times_that_changed_with_a_mount_are_no_change_of_contents() {
        let mut pair = pair(Hashing::Every);
        for entry in &mut pair.baseline.entries {
            entry.original.ino += 1000;
            entry.original.ctime += 1;
        }
        assert_eq!(pair.find(Side::Original, Trust::Contents), [""; 0]);
        for entry in &mut pair.baseline.entries {
            entry.hash = None;
        }
        assert_eq!(
            pair.find(Side::Original, Trust::Identity),
            ["folder/file Contents", "other Contents"]
        );
    }

    #[test]
    fn a_second_change_within_the_tick_of_the_first_is_found_by_contents() {
        let mut pair = pair(Hashing::Recent);
        fs::write(pair.source.as_path().join("other"), "BEFORE").unwrap();
        pair.forget_change("other");
        assert_eq!(
            pair.find(Side::Original, Trust::Identity),
            ["other Contents"]
        );
    }

    #[test]
    fn another_number_of_the_whole_device_is_no_change() {
        let mut pair = pair(Hashing::Recent);
        for entry in &mut pair.baseline.entries {
            entry.original.dev += 7;
            entry.hash = None;
        }
        assert_eq!(pair.find(Side::Original, Trust::Identity), [""; 0]);
        pair.baseline.entries[0].original.dev -= 1;
        assert_eq!(
            pair.find(Side::Original, Trust::Identity).len(),
            2,
            "but of some files it is one"
        );
    }
}
