//! What is at a name right now, in the same terms as the plan.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use enclos_sys::open::open_file_at;
use enclos_sys::open::read_link_at;
use enclos_sys::stat::Node;
use enclos_sys::stat::Stat;
use enclos_sys::stat::stat_at;
use enclos_sys::stat::stat_fd;
use rustix::path::Arg;

use crate::FileKind;
use crate::FileState;
use crate::source::hash_of;

/// What was found at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// None for a socket, pipe or device.
    pub(crate) state: Option<FileState>,
    pub(crate) stat: Stat,
}

/// Looks at `name` in `folder` and hashes what it holds; none when nothing is there.
///
/// # Errors
/// What the kernel says.
pub(crate) fn observe(
    folder: BorrowedFd<'_>,
    name: impl Arg + Copy,
) -> io::Result<Option<Observed>> {
    let stat = match stat_at(folder, name) {
        Ok(stat) => stat,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let (kind, stat) = match stat.node {
        Node::File => {
            let mut file = File::from(open_file_at(folder, name)?);
            let (hash, size) = hash_of(&mut file, stat.size)?;
            (FileKind::File { size, hash }, stat_fd(&file)?)
        }
        Node::Folder => (FileKind::Folder, stat),
        Node::Link => (
            FileKind::Link {
                target: read_link_at(folder, name)?,
            },
            stat,
        ),
        Node::Socket | Node::Fifo | Node::Device => {
            return Ok(Some(Observed { state: None, stat }));
        }
    };
    let state = Some(FileState::new(kind, &stat));
    Ok(Some(Observed { state, stat }))
}
