//! What one difference between the copy and the start means for the original as it is now.
//!
//! Three states are compared: at the start, the person's, the agent's. Pure but for the merge of texts; what was read
//! is passed in.

use enclos_clone::Absence;
use enclos_clone::Entry;
use enclos_clone::Identity;
use enclos_clone::Kind;
use enclos_clone::Side as Tree;
use enclos_paths::ProjectPath;

use super::side::Body;
use super::side::Side;
use crate::ChangeKind;
use crate::Conflict;
use crate::Content;
use crate::FileChange;
use crate::FileKind;
use crate::FileState;
use crate::Meeting;
use crate::Standing;
use crate::merge::Merged;
use crate::merge::merge;

/// The three states of one path.
pub(crate) struct Sides<'a> {
    pub(crate) path: &'a ProjectPath,
    pub(crate) entry: Option<&'a Entry>,
    /// At the start. Where the person changed nothing this is `ours`.
    pub(crate) base: Result<Side, Absence>,
    /// In the original, now.
    pub(crate) ours: Side,
    /// In the copy, with the mode that applying would give.
    pub(crate) theirs: Side,
    pub(crate) person: Person,
}

/// Whether the person changed the path since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    Untouched,
    Changed,
}

/// Whether `ours`, as it was read just now, is still what `entry` says of the start.
///
/// Judged by the very bytes that were read: what the person does to a file between two looks would otherwise pass for
/// the start, and be replaced as if they had never done it.
pub(crate) fn is_as_recorded(entry: Option<&Entry>, ours: &Side) -> bool {
    let (Some(entry), Some(state), Some(stat)) = (entry, &ours.state, &ours.stat) else {
        return entry.is_none() && ours.state.is_none();
    };
    if !entry.has_mode(stat.mode, Tree::Original) && !matches!(entry.kind, Kind::Link(_)) {
        return false;
    }
    match (&entry.kind, &state.kind) {
        (Kind::Folder, FileKind::Folder) => true,
        (Kind::Link(then), FileKind::Link { target }) => then == target,
        (Kind::File, FileKind::File { hash, .. }) => match entry.hash {
            Some(then) => then == hash.0,
            // The device is left out: some file systems get another number at every mount.
            None => {
                let now = Identity::of(stat);
                Identity {
                    dev: now.dev,
                    ..entry.original
                } == now
            }
        },
        _ => false,
    }
}

/// Makes hunks of two texts, or says that they come later.
pub(crate) type MakeHunks<'a> = dyn FnMut(&[u8], &[u8]) -> Content + 'a;

/// What a difference turned out to be.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Both sides hold the same now, or only the person changed it.
    Nothing,
    Change(Box<FileChange>),
}

/// The mode that applying `theirs` gives: the person's, unless the agent changed it. Set-id bits never come from a
/// copy: they would lend the person's rights to a program that the agent wrote.
pub(crate) fn wanted_mode(entry: Option<&Entry>, ours: &Side, theirs: &FileState) -> u32 {
    const SET_ID_AND_STICKY: u32 = 0o7000;
    let same_kind = ours
        .state
        .as_ref()
        .filter(|ours| same_kind(&ours.kind, &theirs.kind));
    match (entry, same_kind) {
        (Some(entry), Some(ours)) if entry.has_mode(theirs.mode, Tree::Copy) => ours.mode,
        _ => theirs.mode & !SET_ID_AND_STICKY,
    }
}

impl Sides<'_> {
    pub(crate) fn verdict(&self, hunks: &mut MakeHunks<'_>) -> Verdict {
        if self.ours.state == self.theirs.state || self.both_are_folders() && self.entry.is_none() {
            return Verdict::Nothing;
        }
        if self.person == Person::Changed && self.agent_did_nothing() {
            return Verdict::Nothing;
        }
        let standing = self.standing();
        let base = self
            .base
            .as_ref()
            .ok()
            .filter(|_| standing != Standing::Untouched);
        Verdict::Change(Box::new(FileChange {
            path: self.path.clone(),
            kind: self.kind(),
            before: self.ours.state.clone(),
            after: self.theirs.state.clone(),
            content: content(self.shown_from(), &self.theirs, hunks),
            standing,
            held: None,
            hard_linked: None,
            base: base.and_then(|base| base.state.clone()),
            seen: self.ours.stat.as_ref().map(Identity::of),
        }))
    }

    /// Hunks are what the agent did, so they start at the base if it is known, else at what the person has.
    fn shown_from(&self) -> &Side {
        match &self.base {
            Ok(base) if base.is_there() && base.body != Body::None => base,
            _ => &self.ours,
        }
    }

    fn agent_did_nothing(&self) -> bool {
        let Ok(base) = &self.base else { return false };
        match (&base.state, &self.theirs.state) {
            (None, None) => true,
            (Some(base), Some(theirs)) => base.kind == theirs.kind && !self.agent_changed_mode(),
            _ => false,
        }
    }

    /// `theirs` has the person's mode where the agent left it alone.
    fn agent_changed_mode(&self) -> bool {
        match (&self.ours.state, &self.theirs.state) {
            (Some(ours), Some(theirs)) => ours.mode != theirs.mode,
            _ => false,
        }
    }

    fn both_are_folders(&self) -> bool {
        let is_folder = |side: &Side| {
            side.state
                .as_ref()
                .is_some_and(|state| state.kind == FileKind::Folder)
        };
        is_folder(&self.ours) && is_folder(&self.theirs)
    }

    fn kind(&self) -> ChangeKind {
        let base = self.base.as_ref().unwrap_or(&self.ours);
        match (&base.state, &self.theirs.state) {
            (None, _) if self.entry.is_none() => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            // The person deleted what the agent changed; what it was at the start is known by its entry alone.
            (None, Some(_)) => ChangeKind::Modified,
            (Some(base), Some(theirs)) if !same_kind(&base.kind, &theirs.kind) => {
                ChangeKind::TypeChanged
            }
            (Some(base), Some(theirs)) if base.kind == theirs.kind => ChangeKind::ModeOnly,
            (Some(_), Some(theirs)) if matches!(theirs.kind, FileKind::Link { .. }) => {
                ChangeKind::LinkChanged
            }
            _ => ChangeKind::Modified,
        }
    }

    fn standing(&self) -> Standing {
        if self.person == Person::Untouched {
            return Standing::Untouched;
        }
        let conflict = match (&self.base, &self.ours.state, &self.theirs.state) {
            (Ok(base), ours, _) if base.state == *ours => return Standing::Untouched,
            _ if self.entry.is_none() => Conflict::BothAdded,
            (_, _, None) => Conflict::DeletedByAgent,
            (_, None, _) => Conflict::DeletedByPerson,
            (_, Some(ours), Some(theirs)) if !same_kind(&ours.kind, &theirs.kind) => {
                Conflict::KindsDiffer
            }
            (Err(absence), _, _) => Conflict::BothChanged(Meeting::NoBase(*absence)),
            (Ok(base), Some(ours), Some(theirs)) => match self.together(base, ours, theirs) {
                None => return Standing::Merges,
                Some(conflict) => conflict,
            },
        };
        Standing::Conflict(conflict)
    }

    /// None when the person's and the agent's changes of a file fit together.
    fn together(&self, base: &Side, ours: &FileState, theirs: &FileState) -> Option<Conflict> {
        let start = base.state.as_ref()?;
        if !same_kind(&start.kind, &ours.kind) {
            return Some(Conflict::KindsDiffer);
        }
        let person_changed_mode = start.mode != ours.mode;
        if self.agent_changed_mode() && person_changed_mode {
            return Some(Conflict::BothChanged(Meeting::Mode));
        }
        if start.kind == ours.kind || start.kind == theirs.kind || ours.kind == theirs.kind {
            return None;
        }
        match (&base.body, &self.ours.body, &self.theirs.body) {
            (Body::Text(base), Body::Text(ours), Body::Text(theirs)) => {
                match merge(base, ours, theirs) {
                    Merged::Clean(_) => None,
                    Merged::Conflict(regions) => {
                        Some(Conflict::BothChanged(Meeting::Regions(regions)))
                    }
                }
            }
            _ => Some(Conflict::BothChanged(Meeting::NotText)),
        }
    }
}

/// What can be shown of the way from one side to the other. `hunks` makes them, or says that they come later.
pub(crate) fn content(from: &Side, to: &Side, hunks: &mut MakeHunks<'_>) -> Content {
    let kind = |side: &Side| side.state.as_ref().map(|state| state.kind.clone());
    if kind(from) == kind(to) {
        return Content::None;
    }
    match (&from.body, &to.body) {
        (Body::None, Body::None) => Content::None,
        (Body::Binary, _) | (_, Body::Binary) => Content::Binary,
        (Body::TooLarge, _) | (_, Body::TooLarge) => Content::TooLarge,
        (Body::Text(from), Body::Text(to)) => hunks(from, to),
        (Body::Text(from), Body::None) => hunks(from, b""),
        (Body::None, Body::Text(to)) => hunks(b"", to),
    }
}

fn same_kind(one: &FileKind, other: &FileKind) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}
