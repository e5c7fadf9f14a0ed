//! Finds which deleted file an added one is.
//!
//! A file is taken as moved when its inode in the copy is that of the deleted one and at least half of its lines are
//! the same (file systems give inodes out again, so the number alone says nothing), or when its bytes are the same.
//! Empty files are never paired, and neither are paths that the person touched: there a deletion and an addition are
//! easier to decide about.

use std::collections::HashMap;
use std::collections::HashSet;

use enclos_clone::Baseline;
use enclos_clone::Identity;
use enclos_clone::Presence;
use enclos_paths::ProjectPath;

use super::Found;
use super::Looker;
use super::judge::content;
use super::judge::wanted_mode;
use super::side::Body;
use super::side::Side;
use crate::ChangeKind;
use crate::ContentHash;
use crate::FileKind;
use crate::FileState;
use crate::Standing;
use crate::diff::diff;
use crate::text::lines;

/// Turns pairs of a deletion and an addition in `found` into moves.
pub(super) fn pair(looker: &Looker<'_>, found: &mut Vec<Found>) {
    let mut gone = Gone::new(looker.sources.baseline, found);
    if gone.by_path.is_empty() {
        return;
    }
    let mut moves = Vec::new();
    for (at, item) in found
        .iter()
        .enumerate()
        .filter(|(_, item)| is_file(item, &ChangeKind::Added))
    {
        if let Some(from) = gone.same_inode(looker, item) {
            moves.push((at, gone.take(&from)));
        }
    }
    let paired: HashSet<usize> = moves.iter().map(|(at, _)| *at).collect();
    for (at, item) in found
        .iter()
        .enumerate()
        .filter(|(_, item)| is_file(item, &ChangeKind::Added))
    {
        if !paired.contains(&at)
            && let Some(from) = gone.same_bytes(item)
        {
            moves.push((at, gone.take(&from)));
        }
    }
    for (to, from) in &moves {
        if let Some(from) = from {
            let before = found[*from].change.before.clone();
            let from = found[*from].change.path.clone();
            make_move(looker, &mut found[*to], from, before);
        }
    }
    let dropped: HashSet<usize> = moves.iter().filter_map(|(_, from)| *from).collect();
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        !dropped.contains(&(at - 1))
    });
}

/// The deleted files that have not found their new place.
struct Gone {
    /// The index in the list of what was found.
    by_path: HashMap<ProjectPath, usize>,
    by_inode: HashMap<(u64, u64), ProjectPath>,
    by_hash: HashMap<ContentHash, Vec<ProjectPath>>,
}

impl Gone {
    fn new(baseline: &Baseline, found: &[Found]) -> Self {
        let mut gone = Self {
            by_path: HashMap::new(),
            by_inode: HashMap::new(),
            by_hash: HashMap::new(),
        };
        for (at, item) in found
            .iter()
            .enumerate()
            .filter(|(_, item)| is_file(item, &ChangeKind::Deleted))
        {
            let path = &item.change.path;
            gone.by_path.insert(path.clone(), at);
            if let Some(hash) = hash_of(item.change.before.as_ref()) {
                gone.by_hash.entry(hash).or_default().push(path.clone());
            }
            if let Some(Presence::Copied(identity)) = baseline.get(path).map(|entry| entry.presence)
            {
                gone.by_inode
                    .insert((identity.dev, identity.ino), path.clone());
            }
        }
        gone
    }

    fn same_inode(&self, looker: &Looker<'_>, added: &Found) -> Option<ProjectPath> {
        let from = self.by_inode.get(&added.copy_inode?)?;
        self.by_path.get(from)?;
        is_alike(looker, from, &added.change.path).then(|| from.clone())
    }

    /// Among files of the same bytes one of the same name is the likeliest.
    fn same_bytes(&self, added: &Found) -> Option<ProjectPath> {
        let hash = hash_of(added.change.after.as_ref())?;
        let mut left = self
            .by_hash
            .get(&hash)?
            .iter()
            .filter(|path| self.by_path.contains_key(*path));
        let first = left.clone().next()?;
        Some(
            left.find(|path| path.name() == added.change.path.name())
                .unwrap_or(first)
                .clone(),
        )
    }

    fn take(&mut self, path: &ProjectPath) -> Option<usize> {
        self.by_path.remove(path)
    }
}

fn is_file(item: &Found, kind: &ChangeKind) -> bool {
    let change = &item.change;
    let state = if *kind == ChangeKind::Added {
        &change.after
    } else {
        &change.before
    };
    change.kind == *kind
        && change.standing == Standing::Untouched
        && hash_of(state.as_ref()).is_some()
}

/// The hash of a file that is not empty.
fn hash_of(state: Option<&FileState>) -> Option<ContentHash> {
    match state?.kind {
        FileKind::File { size, hash } if size > 0 => Some(hash),
        _ => None,
    }
}

fn is_alike(looker: &Looker<'_>, from: &ProjectPath, to: &ProjectPath) -> bool {
    let (Ok(old), Ok(new)) = (looker.ours(from), looker.theirs(to)) else {
        return false;
    };
    let kind = |side: &Side| side.state.as_ref().map(|state| state.kind.clone());
    match (&old.body, &new.body) {
        _ if kind(&old) == kind(&new) => true,
        (Body::Text(old), Body::Text(new)) => {
            let (old, new) = (lines(old), lines(new));
            let changed: u32 = diff(&old, &new)
                .changes
                .iter()
                .map(|change| change.old.count + change.new.count)
                .sum();
            changed as usize * 2 <= old.len() + new.len()
        }
        _ => false,
    }
}

fn make_move(looker: &Looker<'_>, found: &mut Found, from: ProjectPath, before: Option<FileState>) {
    let (Ok(old), Ok(mut new)) = (looker.ours(&from), looker.theirs(&found.change.path)) else {
        return;
    };
    let entry = looker.sources.baseline.get(&from);
    if let Some(state) = &mut new.state {
        state.mode = wanted_mode(entry, &old, state);
    }
    let change = &mut found.change;
    change.content = content(&old, &new, &mut |from, to| {
        looker.hunks(&change.path, from, to)
    });
    change.kind = ChangeKind::Renamed { from };
    change.before = before;
    change.seen = old.stat.as_ref().map(Identity::of);
    change.after = new.state;
}
