//! Which changed files are one file under several names.

use std::collections::HashMap;

use super::Found;
use crate::HardLinked;

/// Marks the changes of files that have further names in the original.
///
/// Names belong together when they are one file on both sides; a name whose tie the agent cut stands for itself.
pub(super) fn mark(found: &mut [Found]) {
    let mut groups: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, item) in found.iter().enumerate() {
        if let (Some(original), Some(copy)) = (item.original_inode, item.copy_inode)
            && item.original_links > 1
        {
            groups.entry((original, copy)).or_default().push(at);
        }
    }
    for members in groups.into_values() {
        for &at in &members {
            let others = members.iter().filter(|&&other| other != at);
            let group: Vec<_> = others
                .map(|&other| found[other].change.path.clone())
                .collect();
            let left_behind = found[at]
                .original_links
                .saturating_sub(members.len() as u64);
            found[at].change.hard_linked = Some(HardLinked { group, left_behind });
        }
    }
}
