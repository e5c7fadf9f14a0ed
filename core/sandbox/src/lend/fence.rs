//! What may never be lent, whatever row or variable leads to it.
//!
//! Promise: a path that passes is not home or above it, neither holds nor lies in a place of secrets, the project, a
//! session or Enclos's state, and is no whole dot folder. A path with links has to be judged twice, as written and
//! resolved; [`Ground::may_lend`] does both.

use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;

use super::ground::Ground;

/// Why something is not lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fenced {
    /// It is home, or holds it.
    #[error("it is the home folder or holds it")]
    Home,
    /// It is the root folder or directly below it.
    #[error("it is too much of the machine")]
    TooWide,
    /// It holds secrets or lies in a folder of them.
    #[error("secrets are kept there")]
    Secrets,
    /// The policy, another session or Enclos itself keeps it.
    #[error("it is protected")]
    Protected,
    /// The original would be visible through it.
    #[error("it holds the project")]
    HoldsProject,
    /// It belongs to the project and is in the copy.
    #[error("it lies in the project")]
    InProject,
    /// Inside, its path means something else.
    #[error("it lies in a folder that is private inside")]
    Replaced,
    /// Tools keep their secrets in folders with such names.
    #[error("it is a whole dot folder")]
    DotFolder,
    /// A variable names it, but nothing in it says that it is what the tool keeps.
    #[error("nothing in it shows that it belongs to the tool")]
    Unmarked,
}

impl Ground<'_> {
    /// Whether `path` may be lent: as it is written, and as it resolves. Gives the resolved path.
    pub(super) fn may_lend(&self, path: &AbsPath) -> Option<Result<AbsPath, Fenced>> {
        let real = self.probe.resolve(path)?;
        if let Some(why) = self.fenced(path).or_else(|| self.fenced(&real)) {
            return Some(Err(why));
        }
        Some(Ok(real))
    }

    /// What keeps `path` itself from being lent, links in it aside.
    pub(super) fn fenced(&self, path: &AbsPath) -> Option<Fenced> {
        if let Some(why) = self.too_wide(path) {
            return Some(why);
        }
        let outside = self.outside;
        if outside.project.is_within(path) {
            return Some(Fenced::HoldsProject);
        }
        if path.is_within(&outside.project) {
            return Some(Fenced::InProject);
        }
        if self.never.iter().any(|place| meets(path, place)) {
            return Some(Fenced::Secrets);
        }
        if self.protected.iter().any(|place| meets(path, place)) {
            return Some(Fenced::Protected);
        }
        if self.is_replaced(path) {
            return Some(Fenced::Replaced);
        }
        let dot = path
            .name()
            .is_some_and(|name| name.as_bytes().starts_with(b"."));
        dot.then_some(Fenced::DotFolder)
    }

    /// Whether `path` is so much of the machine that no row below it may be trusted to be the tool's.
    pub(super) fn too_wide(&self, path: &AbsPath) -> Option<Fenced> {
        if self.outside.home.is_within(path) {
            return Some(Fenced::Home);
        }
        let shallow = path.parent().is_none_or(|parent| parent.parent().is_none());
        shallow.then_some(Fenced::TooWide)
    }

    /// Whether secrets are kept at `path`, or it is protected; unlike [`Ground::fenced`] what contains such a place
    /// passes, because nothing is lent by it.
    pub(super) fn is_private(&self, path: &AbsPath) -> bool {
        self.never.iter().any(|place| path.is_within(place))
            || self.protected.iter().any(|place| path.is_within(place))
    }

    /// Whether `path` lies in a folder that is another one inside. Home may lie in one: it is mounted in it.
    pub(super) fn is_replaced(&self, path: &AbsPath) -> bool {
        !path.is_within(&self.outside.home)
            && self.replaced.iter().any(|folder| path.is_within(folder))
    }
}

/// Whether one of the two is or holds the other.
fn meets(one: &AbsPath, other: &AbsPath) -> bool {
    one.is_within(other) || other.is_within(one)
}
