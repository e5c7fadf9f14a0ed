//! Turns rows into what is lent. Nothing else makes a [`Folder`], except the search path for whole packages of `/opt`
//! and the terminal's description, and both do it through here.
//!
//! On Linux a place is shown at its own path, links in that path or not, and at the path it resolves to as well,
//! because programs keep the one or the other. On macOS nothing can be mounted: what is only read stays where it is
//! and gets a link in the private home, what is written is private there.

use enclos_paths::{AbsPath, ProjectPath};

use super::fence::Fenced;
use super::ground::{Ground, rebase, under};
use super::places::{Place, Places, State};
use super::probe::Kind;
use super::rows::{Absent, CacheRow, LendRow, Links, Root, Tool};
use super::{Access, Contents, Folder, GeneratedFile, LendNote, Lower, Os};

/// What is lent so far.
#[derive(Debug, Default)]
pub(super) struct Folders {
    list: Vec<Folder>,
    links: Vec<GeneratedFile>,
}

/// Who lends and why, for the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason<'a> {
    pub(super) tool: &'a str,
    pub(super) why: &'a str,
}

impl Folders {
    pub(super) fn of(ground: &Ground<'_>, places: &Places, notes: &mut Vec<LendNote>) -> Self {
        let mut folders = Self::default();
        for tool in places.present(ground) {
            for root in &tool.roots {
                if let Some(place) = places
                    .get(&root.id)
                    .filter(|place| place.state != State::InProject)
                {
                    let refused = folders.lend_root(ground, tool, root, place);
                    notes.extend(refused.into_iter().map(|(path, why)| LendNote::NotLent {
                        tool: tool.name.clone(),
                        path,
                        why,
                    }));
                }
            }
        }
        folders
    }

    fn lend_root(
        &mut self,
        ground: &Ground<'_>,
        tool: &Tool,
        root: &Root,
        place: &Place,
    ) -> Vec<(AbsPath, Fenced)> {
        let reason = Reason {
            tool: &tool.name,
            why: &tool.why,
        };
        let mut refused = Vec::new();
        if place.state == State::Found {
            for row in &root.lend {
                if let Err(why) = whole(row, root, place, ground) {
                    refused.push((place.outside.clone(), why));
                    continue;
                }
                refused.extend(self.lend_row(ground, row, place, reason));
            }
        }
        for row in &root.cache {
            refused.extend(self.lend_cache(ground, row, (root, place), reason));
        }
        refused
    }

    fn lend_row(
        &mut self,
        ground: &Ground<'_>,
        row: &LendRow,
        place: &Place,
        reason: Reason<'_>,
    ) -> Vec<(AbsPath, Fenced)> {
        let mut refused = Vec::new();
        for name in ground.matching(&place.outside, &row.path) {
            let name = std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str()).to_vec();
            if row.path.contains('*') && name.starts_with(b".") {
                continue;
            }
            let (Some(outside), Some(inside)) =
                (under(&place.outside, &name), under(&place.inside, &name))
            else {
                continue;
            };
            match self.lend_read_only(ground, &outside, &inside, reason) {
                Ok(Some(real)) if row.links == Links::Lent => self.follow(ground, &real, reason),
                Ok(_) => {}
                Err(why) => refused.push((outside, why)),
            }
        }
        refused
    }

    /// Lends `outside` for reading at `inside` and at its resolved path; nothing when it is not there. Gives the
    /// resolved path.
    pub(super) fn lend_read_only(
        &mut self,
        ground: &Ground<'_>,
        outside: &AbsPath,
        inside: &AbsPath,
        reason: Reason<'_>,
    ) -> Result<Option<AbsPath>, Fenced> {
        let Some(real) = ground.may_lend(outside).transpose()? else {
            return Ok(None);
        };
        match ground.os() {
            Os::Linux => {
                self.show(ground, &real, inside, reason);
                self.show(ground, &real, &real, reason);
            }
            Os::Macos => {
                self.show(ground, &real, &real, reason);
                if let Some(below) = inside.below(&ground.inside.home) {
                    self.link(below, &real);
                }
            }
        }
        Ok(Some(real))
    }

    /// Lends what the links in `folder` lead to outside of it, such as a toolchain that was linked into the others.
    fn follow(&mut self, ground: &Ground<'_>, folder: &AbsPath, reason: Reason<'_>) {
        let names = ground.probe.list_dir(folder);
        let entries = names.iter().filter_map(|name| folder.child(name).ok());
        let links: Vec<AbsPath> = entries
            .filter(|path| ground.probe.kind(path) == Some(Kind::Link))
            .collect();
        for link in links {
            let Some(real) = ground
                .probe
                .resolve(&link)
                .filter(|real| !real.is_within(folder))
            else {
                continue;
            };
            // A link that leads to something fenced is a link to nothing inside; the version it names is just missing.
            if ground.fenced(&real).is_none() && ground.probe.is_dir(&real) {
                self.show(ground, &real, &real, reason);
            }
        }
    }

    /// Records one folder, unless the jail shows it already.
    fn show(
        &mut self,
        ground: &Ground<'_>,
        outside: &AbsPath,
        inside: &AbsPath,
        reason: Reason<'_>,
    ) {
        let same = outside == inside;
        let shown = |folder: &Folder| {
            folder.access == Access::ReadOnly
                && rebase(inside, &folder.inside, &folder.outside)
                    .is_some_and(|there| there == *outside)
        };
        if (ground.is_system(outside) && (same || ground.is_system(inside)))
            || self.list.iter().any(shown)
        {
            return;
        }
        self.list.push(Folder {
            outside: outside.clone(),
            inside: inside.clone(),
            access: Access::ReadOnly,
            tool: reason.tool.to_owned(),
            why: reason.why.to_owned(),
        });
    }

    fn link(&mut self, inside_home: ProjectPath, to: &AbsPath) {
        if self
            .links
            .iter()
            .any(|link| link.inside_home == inside_home)
        {
            return;
        }
        self.links.push(GeneratedFile {
            inside_home,
            contents: Contents::Link(to.as_path().to_owned()),
            mode: 0o777,
        });
    }

    fn lend_cache(
        &mut self,
        ground: &Ground<'_>,
        row: &CacheRow,
        from: (&Root, &Place),
        reason: Reason<'_>,
    ) -> Option<(AbsPath, Fenced)> {
        let (root, place) = from;
        let (outside, inside) = (
            under(&place.outside, &row.path)?,
            under(&place.inside, &row.path)?,
        );
        let judged = match ground
            .may_lend(&outside)
            .filter(|_| place.state == State::Found)
        {
            Some(Ok(real)) if row.path == "." => Some(place.marked(ground, root).map(|()| real)),
            judged => judged,
        };
        let (outside, lower, refused) = match judged {
            Some(Ok(real)) if ground.probe.is_dir(&real) => (real, Lower::Present, None),
            Some(Err(why)) => (outside.clone(), Lower::Absent, Some((outside, why))),
            _ => (outside, Lower::Absent, None),
        };
        if lower == Lower::Present || row.absent == Absent::Private {
            self.list.push(Folder {
                outside,
                inside: private_inside(ground, inside, refused.is_some()),
                access: Access::Cache {
                    name: row.name.clone(),
                    lower,
                },
                tool: reason.tool.to_owned(),
                why: reason.why.to_owned(),
            });
        }
        refused
    }

    /// Where `path` of this machine can be read inside, if anywhere.
    pub(super) fn reachable(&self, ground: &Ground<'_>, path: &AbsPath) -> Option<AbsPath> {
        if let Some(inside) = rebase(path, &ground.outside.project, &ground.inside.project) {
            return Some(inside);
        }
        let real = ground.probe.resolve(path)?;
        if let Some(inside) = rebase(&real, &ground.outside.project, &ground.inside.project) {
            return Some(inside);
        }
        if ground.is_system(path) && ground.is_system(&real) {
            return Some(path.clone());
        }
        let at_its_path = |folder: &&Folder| {
            rebase(path, &folder.inside, &folder.outside)
                .and_then(|there| ground.probe.resolve(&there))
                .is_some_and(|there| there == real)
        };
        if self.list.iter().any(|folder| at_its_path(&folder)) {
            return Some(path.clone());
        }
        let holders = self
            .list
            .iter()
            .filter(|folder| real.is_within(&folder.outside));
        let inside = holders
            .filter(|folder| {
                !matches!(
                    folder.access,
                    Access::Cache {
                        lower: Lower::Absent,
                        ..
                    }
                )
            })
            .filter_map(|folder| rebase(&real, &folder.outside, &folder.inside))
            .min_by_key(|inside| *inside != real);
        let named = ground
            .outside
            .readable
            .iter()
            .any(|folder| real.is_within(folder));
        inside.or_else(|| (named || ground.is_system(&real)).then_some(real))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Folder> {
        self.list.iter()
    }

    /// The folders, what contains before contents, and the links of the private home.
    pub(super) fn finish(mut self) -> (Vec<Folder>, Vec<GeneratedFile>) {
        self.list.sort_by(|a, b| a.inside.cmp(&b.inside));
        self.list
            .dedup_by(|later, first| later.inside == first.inside);
        (self.list, self.links)
    }
}

/// Whether a row that lends a whole place may: what a variable chose must look like the tool's.
fn whole(row: &LendRow, root: &Root, place: &Place, ground: &Ground<'_>) -> Result<(), Fenced> {
    if row.path == "." {
        place.marked(ground, root)
    } else {
        Ok(())
    }
}

/// A cache that was refused keeps no path of the machine: its own would be writable there.
fn private_inside(ground: &Ground<'_>, inside: AbsPath, refused: bool) -> AbsPath {
    let moved = || {
        under(&ground.inside.home, ".local/share/enclos-lent")
            .and_then(|at| at.child(inside.name()?).ok())
    };
    if refused && !inside.is_within(&ground.inside.home) {
        moved().unwrap_or(inside)
    } else {
        inside
    }
}
