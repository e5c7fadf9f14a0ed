//! What is mounted where inside, in an order in which nested paths work; pure.
//!
//! The promise: a path of the jail's own is never replaced, nothing protected and no part of an original is shown, and
//! a folder is always mounted before what lies in it. How it could break: a folder that an agent can write may hold a
//! link where something is to be mounted in the next run. [`Mounts::mount_points`] lists those places, and the launch
//! walks to each without following links before anything is mounted.

use std::ffi::OsStr;

use enclos_paths::{AbsPath, ProjectPath};

use super::etc::COVER;
use super::plan::{OverlayMount, PlanError};
use super::survey::{Found, Kind, Survey};
use crate::{Access, Jail, Lent, Overlay};

/// All mounts of a jail besides those that every jail has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounts {
    /// Sorted by path inside: what contains comes before what is contained.
    pub(super) list: Vec<Mount>,
    /// What has to be overlaid first.
    pub(super) overlays: Vec<OverlayMount>,
    /// Sockets and named pipes that are covered, by their path inside.
    pub(super) covered_doors: Vec<AbsPath>,
}

/// Something of outside that is shown inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) inside: AbsPath,
    pub(super) outside: AbsPath,
    pub(super) show: Show,
    pub(super) folder: bool,
}

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    ReadOnly,
    ReadWrite,
    /// Writable, merged from an upper folder (the mount's `outside`) and a lower one.
    Merged,
}

/// A place below a folder that an agent may have written, on which something is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// The folder outside.
    pub root: AbsPath,
    /// The place in it.
    pub place: ProjectPath,
    /// Whether a folder is mounted there, or a file.
    pub folder: bool,
    /// Whether the place is made when it is not there; in an overlay it may be in the layer below.
    pub make: bool,
}

/// Where our executable is inside.
pub(super) const STAGE: &str = "/run/enclos/stage";

/// What the jail makes itself: nothing may be shown at or above these.
const OWN: [&str; 13] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev",
    "/tmp", "/var/tmp", STAGE,
];
/// And nothing below these.
const CLOSED: [&str; 6] = ["/etc", "/proc", "/dev", "/sys", "/boot", "/run/enclos"];
/// Never lent, whoever asks: the kernel's own, and where services keep their sockets.
const NEVER_LENT: [&str; 6] = ["/proc", "/sys", "/dev", "/run", "/var/run", "/boot"];
const NIX: &str = "/nix";
const NIX_STORE: &str = "/nix/store";

impl Mounts {
    /// Decides all mounts of `jail`.
    pub(super) fn of(jail: &Jail, survey: &Survey) -> Result<Self, PlanError> {
        if survey.lent.len() != jail.lent.len() || survey.sockets.len() != jail.sockets.len() {
            return Err(PlanError::NotSurveyed);
        }
        let mut mounts = Self {
            list: Vec::new(),
            overlays: Vec::new(),
            covered_doors: Vec::new(),
        };
        mounts.add(&jail.user.home, &jail.home, Show::ReadWrite, true);
        for tree in &jail.trees {
            mounts.add(&tree.inside, &tree.outside, Show::ReadWrite, true);
            for overlay in &tree.overlays {
                mounts.merge(overlay);
            }
        }
        for (lent, found) in jail.lent.iter().zip(&survey.lent) {
            mounts.lend(jail, survey, lent, found)?;
        }
        mounts.open_sockets(jail, survey)?;
        mounts.cover(jail, survey);
        mounts.sort(jail)?;
        Ok(mounts)
    }

    /// The places an agent may have had its hands on.
    pub(super) fn mount_points(&self) -> Vec<MountPoint> {
        self.list
            .iter()
            .filter_map(|mount| self.mount_point(mount))
            .collect()
    }

    /// What may be written, without what lies in a path listed already.
    pub(super) fn writable(&self) -> Vec<&Mount> {
        let mut writable: Vec<&Mount> = Vec::new();
        for mount in self
            .list
            .iter()
            .filter(|mount| mount.show != Show::ReadOnly)
        {
            if !writable
                .iter()
                .any(|above| mount.inside.is_within(&above.inside))
            {
                writable.push(mount);
            }
        }
        writable
    }

    /// Whether anything lies in `/var/tmp`, which otherwise is a link to `/tmp`.
    pub(super) fn needs_var_tmp(&self) -> bool {
        self.list
            .iter()
            .any(|mount| mount.inside.as_path().starts_with("/var/tmp"))
    }

    fn add(&mut self, inside: &AbsPath, outside: &AbsPath, show: Show, folder: bool) {
        self.list.push(Mount {
            inside: inside.clone(),
            outside: outside.clone(),
            show,
            folder,
        });
    }

    fn merge(&mut self, overlay: &Overlay) {
        let Overlay {
            inside,
            lower,
            upper,
            work,
        } = overlay.clone();
        self.add(&inside, &upper, Show::Merged, true);
        self.overlays.push(OverlayMount { lower, upper, work });
    }

    fn lend(
        &mut self,
        jail: &Jail,
        survey: &Survey,
        lent: &Lent,
        found: &Found,
    ) -> Result<(), PlanError> {
        lendable(jail, survey, lent, found)?;
        let folder = found.kind == Kind::Folder;
        match &lent.access {
            Access::ReadOnly => self.add(&lent.inside, &found.real, Show::ReadOnly, folder),
            Access::ReadWrite => self.add(&lent.inside, &found.real, Show::ReadWrite, folder),
            Access::Overlay { .. } if !folder => {
                return Err(PlanError::OverlayOfFile {
                    lent: lent.outside.clone(),
                });
            }
            Access::Overlay { upper, work } => self.merge(&Overlay {
                inside: lent.inside.clone(),
                lower: found.real.clone(),
                upper: upper.clone(),
                work: work.clone(),
            }),
        }
        for door in &found.doors {
            let opened = survey
                .sockets
                .iter()
                .any(|socket| socket.real == found.real.join(door));
            if !opened {
                self.covered_doors.push(lent.inside.join(door));
            }
        }
        Ok(())
    }

    /// Shows the sockets that are lent by name and are not in a lent folder anyway.
    fn open_sockets(&mut self, jail: &Jail, survey: &Survey) -> Result<(), PlanError> {
        for (path, found) in jail.sockets.iter().zip(&survey.sockets) {
            if found.kind != Kind::Socket {
                return Err(PlanError::NotASocket { path: path.clone() });
            }
            unprotected(survey, path, &found.real)?;
            if !jail.lent.iter().any(|lent| path.is_within(&lent.inside)) {
                self.add(path, &found.real, Show::ReadOnly, false);
            }
        }
        Ok(())
    }

    fn cover(&mut self, jail: &Jail, survey: &Survey) {
        let Ok(empty) = jail.etc.child(COVER) else {
            return;
        };
        for door in self.covered_doors.clone() {
            self.add(&door, &empty, Show::ReadOnly, false);
        }
        for file in jail.covered.iter().filter(|file| survey.is_there(file)) {
            // A socket may be named as a secret file as well.
            if !self.covered_doors.contains(file) {
                self.add(file, &empty, Show::ReadOnly, false);
            }
        }
    }

    fn sort(&mut self, jail: &Jail) -> Result<(), PlanError> {
        self.list.sort_by(|a, b| a.inside.cmp(&b.inside));
        for pair in self.list.windows(2) {
            if let [first, second] = pair
                && first.inside == second.inside
            {
                return Err(PlanError::Twice {
                    inside: first.inside.clone(),
                });
            }
        }
        for mount in &self.list {
            let is_tree = jail.trees.iter().any(|tree| tree.inside == mount.inside);
            free(mount, is_tree)?;
        }
        if let (Ok(tmp), Ok(var_tmp)) = (AbsPath::new("/tmp"), AbsPath::new("/var/tmp")) {
            if self.needs_var_tmp() {
                self.add(&var_tmp, &jail.tmp, Show::ReadWrite, true);
            }
            self.add(&tmp, &jail.tmp, Show::ReadWrite, true);
            self.list.sort_by(|a, b| a.inside.cmp(&b.inside));
        }
        Ok(())
    }

    fn mount_point(&self, mount: &Mount) -> Option<MountPoint> {
        let around = self
            .list
            .iter()
            .rev()
            .find_map(|above| Some((above, mount.inside.below(&above.inside)?)));
        let (above, place) = around?;
        let make = match above.show {
            Show::ReadOnly => return None,
            Show::ReadWrite => true,
            Show::Merged => false,
        };
        Some(MountPoint {
            root: above.outside.clone(),
            place,
            folder: mount.folder,
            make,
        })
    }
}

/// Whether the path of `mount` is free for it.
fn free(mount: &Mount, is_tree: bool) -> Result<(), PlanError> {
    let inside = mount.inside.as_path();
    let reserved = OWN
        .iter()
        .any(|own| std::path::Path::new(own).starts_with(inside))
        || CLOSED.iter().any(|closed| inside.starts_with(closed));
    // /usr is the machine's own: only what is there anyway has a place to be mounted on, and files with secrets, such as
    // the `npmrc` of a whole machine, are covered in it.
    let cover = mount.outside.name() == Some(OsStr::new(COVER));
    let elsewhere =
        inside.starts_with("/usr") && mount.inside != mount.outside && !is_tree && !cover;
    if reserved || elsewhere {
        return Err(PlanError::Reserved {
            inside: mount.inside.clone(),
        });
    }
    Ok(())
}

fn lendable(jail: &Jail, survey: &Survey, lent: &Lent, found: &Found) -> Result<(), PlanError> {
    let real = &found.real;
    match found.kind {
        Kind::File | Kind::Folder => {}
        Kind::Socket => {
            return Err(PlanError::SocketLent {
                lent: lent.outside.clone(),
            });
        }
        Kind::Other => {
            return Err(PlanError::NotLendable {
                lent: lent.outside.clone(),
            });
        }
    }
    for path in [real, &lent.outside] {
        unprotected(survey, &lent.outside, path)?;
        for never in NEVER_LENT
            .iter()
            .filter_map(|never| AbsPath::new(never).ok())
        {
            if touches(path, &never) {
                return Err(PlanError::Protected {
                    lent: lent.outside.clone(),
                    protected: never,
                });
            }
        }
        let nix = path.as_path().starts_with(NIX) && !path.as_path().starts_with(NIX_STORE);
        if let (true, Ok(protected)) = (nix, AbsPath::new(NIX)) {
            return Err(PlanError::Protected {
                lent: lent.outside.clone(),
                protected,
            });
        }
    }
    for tree in &jail.trees {
        let within = real.is_within(&tree.inside);
        // A folder around the original is fine where the copy then covers the original.
        let uncovered = tree.inside.is_within(real) && lent.inside != *real;
        if within || uncovered {
            return Err(PlanError::ShowsOriginal {
                lent: lent.outside.clone(),
                original: tree.inside.clone(),
            });
        }
    }
    Ok(())
}

fn unprotected(survey: &Survey, lent: &AbsPath, path: &AbsPath) -> Result<(), PlanError> {
    match survey
        .protected
        .iter()
        .find(|protected| touches(path, protected))
    {
        Some(protected) => Err(PlanError::Protected {
            lent: lent.clone(),
            protected: protected.clone(),
        }),
        None => Ok(()),
    }
}

/// Whether one contains the other.
fn touches(one: &AbsPath, other: &AbsPath) -> bool {
    one.is_within(other) || other.is_within(one)
}
