//! Making a clone: looks at both places, chooses the way, and has it carried out.
//!
//! Nothing is written outside of the destination. A clone that ends early, by an error or a kill, leaves a destination
//! that has no baseline: the caller, who chose the place, removes it.

use std::collections::HashMap;
use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::open_root;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::baseline::Baseline;
use crate::choose::Choice;
use crate::choose::choose;
use crate::clonefile;
use crate::clonefile::Whole;
use crate::method::MethodUsed;
use crate::overlay;
use crate::request::CloneError;
use crate::request::CloneRequest;
use crate::request::Cloned;
use crate::tree;
use crate::tree::Copied;
use crate::tree::Hashing;
use crate::tree::Instead;
use crate::tree::Order;
use crate::tree::io_error;
use crate::trust::Trust;
use crate::trust::trust;

/// Clones a folder.
///
/// # Errors
/// See [`CloneError`]. The original is untouched in any case. When anything but [`CloneError::DestinationExists`] or
/// [`CloneError::Declined`] is returned, or the process is killed meanwhile, the destination may exist in part and is
/// for the caller to remove; folders in it may lack the rights that removing needs.
pub fn clone(request: &CloneRequest<'_>) -> Result<Cloned, CloneError> {
    let source = request.source.path();
    let (holder, hashing) = look(request)?;
    let choice = choose(request, &holder, instead(request))?;
    let Choice {
        method,
        filling,
        instead,
        overlays,
        mut notes,
    } = choice;
    let order = Order {
        source,
        destination: request.destination,
        filling,
        instead,
        leave_out: request.leave_out,
        hashing,
        progress: request.progress,
    };
    let copied = match method {
        MethodUsed::Overlay => overlay::record(source, request.destination, &order.instead)?,
        MethodUsed::Clonefile => by_clonefile(&order)?,
        _ => tree::copy(&order)?,
    };
    notes.extend(copied.notes);
    notes.sort();
    let baseline = Baseline {
        source: source.clone(),
        taken: copied.taken,
        entries: copied.entries,
    };
    Ok(Cloned {
        method,
        baseline,
        overlays,
        notes,
    })
}

/// Clones in one go where nothing has to be left out, else file by file.
fn by_clonefile(order: &Order<'_>) -> Result<Copied, CloneError> {
    let absent = |path: &ProjectPath| {
        order
            .source
            .join(path)
            .as_path()
            .symlink_metadata()
            .is_err()
    };
    if order.hashing == Hashing::Recent && order.instead.keys().all(absent) {
        let whole = clonefile::clone_folder(order.source, order.destination);
        let whole = whole.map_err(|source| CloneError::Write {
            path: order.destination.clone(),
            source,
        })?;
        if whole == Whole::Cloned {
            return clonefile::record(order.source, order.destination, order.progress);
        }
    }
    tree::copy(order)
}

/// Looks at both places: the folder in which the copy is made, and which files have to be hashed.
fn look(request: &CloneRequest<'_>) -> Result<(AbsPath, Hashing), CloneError> {
    let folder = request.source.path();
    let source_failed = |source| CloneError::Source {
        folder: folder.clone(),
        source,
    };
    let source = open_root(folder).map_err(|e| source_failed(io_error(e)))?;
    let exists = || CloneError::DestinationExists {
        destination: request.destination.clone(),
    };
    let holder = request.destination.parent().ok_or_else(exists)?;
    let write_failed = |source: io::Error| CloneError::Write {
        path: holder.clone(),
        source,
    };
    let opened = open_root(&holder).map_err(|e| write_failed(io_error(e)))?;
    let name = request.destination.name().unwrap_or_default();
    match rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(write_failed(errno.into())),
        Ok(_) => return Err(exists()),
    }
    let trusted = [
        trust(&source).map_err(source_failed)?,
        trust(&opened).map_err(write_failed)?,
    ];
    let hashing = if trusted.contains(&Trust::Contents) {
        Hashing::Every
    } else {
        Hashing::Recent
    };
    Ok((holder, hashing))
}

/// What is not copied: what the request hides, what it keeps us out of, and the copy itself.
fn instead(request: &CloneRequest<'_>) -> HashMap<ProjectPath, Instead> {
    let ours = request.keep_out.iter().chain([request.destination]);
    let kept_out = ours
        .filter_map(|path| path.below(request.source.path()))
        .map(|path| (path, Instead::KeptOut));
    let hidden = request
        .hidden
        .iter()
        .map(|path| (path.clone(), Instead::Hidden));
    kept_out.chain(hidden).collect()
}
