//! Making a clone: chooses the way, says what it costs, and has it carried out.
//!
//! Nothing is written outside of the destination. A clone that ends early, by an error or a kill, leaves a destination
//! that has no baseline: the caller, who chose the place, removes it.

use std::collections::HashMap;
use std::io;

use enclos_paths::AbsPath;
use enclos_sys::open::open_root;
use rustix::io::Errno;

use crate::baseline::Baseline;
use crate::measure::Size;
use crate::measure::measure;
use crate::method::FallBack;
use crate::method::Method;
use crate::method::MethodUsed;
use crate::reflink::Sharing;
use crate::reflink::sharing;
use crate::request::CloneError;
use crate::request::CloneRequest;
use crate::request::Cloned;
use crate::request::Decision;
use crate::tree;
use crate::tree::Filling;
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
    let place = Place::look(request)?;
    let (method, filling) = choose(request, &place)?;
    let order = Order {
        source: request.source.path(),
        destination: request.destination,
        filling,
        instead: place.instead,
        leave_out: request.leave_out,
        hashing: place.hashing,
        progress: request.progress,
    };
    let copied = tree::copy(&order)?;
    let baseline = Baseline {
        source: request.source.path().clone(),
        taken: copied.taken,
        entries: copied.entries,
    };
    Ok(Cloned {
        method,
        baseline,
        overlays: Vec::new(),
        notes: copied.notes,
    })
}

/// What there is to know about the two places.
struct Place {
    /// The folder in which the copy is made.
    parent: AbsPath,
    instead: HashMap<enclos_paths::ProjectPath, Instead>,
    hashing: Hashing,
}

impl Place {
    fn look(request: &CloneRequest<'_>) -> Result<Self, CloneError> {
        let folder = request.source.path();
        let source_failed = |source| CloneError::Source {
            folder: folder.clone(),
            source,
        };
        let source = open_root(folder).map_err(|e| source_failed(io_error(e)))?;
        let no_parent = || CloneError::DestinationExists {
            destination: request.destination.clone(),
        };
        let parent = request.destination.parent().ok_or_else(no_parent)?;
        let write_failed = |source: io::Error| CloneError::Write {
            path: parent.clone(),
            source,
        };
        let holder = open_root(&parent).map_err(|e| write_failed(io_error(e)))?;
        match rustix::fs::statat(
            &holder,
            request.destination.name().unwrap_or_default(),
            NOFOLLOW,
        ) {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(write_failed(errno.into())),
            Ok(_) => return Err(no_parent()),
        }
        let trusted = [
            trust(&source).map_err(source_failed)?,
            trust(&holder).map_err(write_failed)?,
        ];
        let hashing = if trusted.contains(&Trust::Contents) {
            Hashing::Every
        } else {
            Hashing::Recent
        };
        Ok(Self {
            parent,
            instead: instead(request),
            hashing,
        })
    }
}

const NOFOLLOW: rustix::fs::AtFlags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;

/// What is not copied: what the request hides, what it keeps us out of, and the copy itself.
fn instead(request: &CloneRequest<'_>) -> HashMap<enclos_paths::ProjectPath, Instead> {
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

fn choose(request: &CloneRequest<'_>, place: &Place) -> Result<(MethodUsed, Filling), CloneError> {
    let why = match request.method {
        Method::Copy => None,
        Method::Auto | Method::Reflink => match sharing(request.source.path(), &place.parent) {
            Sharing::Works(filling) => return Ok((MethodUsed::Reflink, filling)),
            Sharing::Nothing => None,
            Sharing::Not(why) => Some(why),
        },
        method => Some(FallBack::NotOnThisSystem(method)),
    };
    agree_to_copy(request, place, why.as_ref())?;
    Ok((MethodUsed::Copy, Filling::Copy))
}

/// Says how much will be copied when that was not wanted, and makes sure that it fits.
fn agree_to_copy(
    request: &CloneRequest<'_>,
    place: &Place,
    why: Option<&FallBack>,
) -> Result<(), CloneError> {
    let folder = request.source.path();
    let size = measure(folder, &place.instead).map_err(|e| CloneError::Source {
        folder: folder.clone(),
        source: io_error(e),
    })?;
    if let Some(why) = why
        && request.progress.falling_back(size.bytes, size.files, why) == Decision::Stop
    {
        return Err(CloneError::Declined);
    }
    fits(request, place, size)
}

fn fits(request: &CloneRequest<'_>, place: &Place, size: Size) -> Result<(), CloneError> {
    let fs = rustix::fs::statvfs(place.parent.as_path()).map_err(|e| CloneError::Write {
        path: place.parent.clone(),
        source: e.into(),
    })?;
    let free = fs.f_bavail.saturating_mul(fs.f_frsize);
    if free < size.bytes {
        return Err(CloneError::NoSpace {
            path: request.destination.clone(),
            needed: size.bytes,
            free,
        });
    }
    Ok(())
}
