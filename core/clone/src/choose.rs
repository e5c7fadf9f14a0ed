//! Which way a clone is made here, what of it is copied in full, and whether that fits.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_sys::open::OpenError;
use enclos_sys::open::open_root;
use enclos_sys::stat::stat_fd;

use crate::clonefile;
use crate::hybrid::Fate;
use crate::hybrid::Held;
use crate::hybrid::Ignorable;
use crate::hybrid::fate;
use crate::hybrid::is_made_by_tools;
use crate::ignored::Ignored;
use crate::measure::Size;
use crate::measure::Survey;
use crate::measure::measure;
use crate::measure::survey;
use crate::measure::us;
use crate::method::FallBack;
use crate::method::Method;
use crate::method::MethodUsed;
use crate::reflink::Sharing;
use crate::reflink::sharing;
use crate::request::About;
use crate::request::CloneError;
use crate::request::CloneRequest;
use crate::request::Decision;
use crate::request::Note;
use crate::request::Overlaid;
use crate::tracked::Tracked;
use crate::tree::Filling;
use crate::tree::Instead;
use crate::tree::io_error;

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The way.
    pub(crate) method: MethodUsed,
    /// How files get their contents; of no use when everything is overlaid.
    pub(crate) filling: Filling,
    /// What happens to some entries instead of being copied.
    pub(crate) instead: HashMap<ProjectPath, Instead>,
    /// The folders that have to be overlaid.
    pub(crate) overlays: Vec<Overlaid>,
    /// What there is to say about the choice.
    pub(crate) notes: Vec<Note>,
}

/// Only Linux mounts an overlay for an ordinary user.
const OVERLAYS: bool = cfg!(target_os = "linux");

/// Where there is the call, it is the best way.
const CLONEFILE: bool = cfg!(target_os = "macos");

/// Chooses the way to make the clone in the folder `holder`, asks where bytes have to be copied against the wish, and
/// makes sure that they fit.
pub(crate) fn choose(
    request: &CloneRequest<'_>,
    holder: &AbsPath,
    instead: HashMap<ProjectPath, Instead>,
) -> Result<Choice, CloneError> {
    let source = request.source.path();
    let chooser = Chooser { request, holder };
    let choice = |method, filling| Choice {
        method,
        filling,
        instead: instead.clone(),
        overlays: Vec::new(),
        notes: Vec::new(),
    };
    let copy = |why: Option<&FallBack>| chooser.copy(choice(MethodUsed::Copy, Filling::Copy), why);
    let hybrid =
        |why: Option<&FallBack>| chooser.hybrid(choice(MethodUsed::Hybrid, Filling::Copy), why);
    match request.method {
        Method::Copy => copy(None),
        Method::Overlay if OVERLAYS => chooser.overlay(choice(MethodUsed::Overlay, Filling::Copy)),
        Method::Overlay => Err(CloneError::NotOnThisSystem {
            method: Method::Overlay,
        }),
        Method::Hybrid if OVERLAYS => hybrid(None),
        Method::Hybrid => copy(Some(&FallBack::NotOnThisSystem(Method::Hybrid))),
        method if method == Method::Clonefile || CLONEFILE => {
            match clonefile::available(source, holder) {
                Ok(()) => Ok(choice(MethodUsed::Clonefile, Filling::Clone)),
                Err(why) => copy(Some(&why)),
            }
        }
        method => match sharing(source, holder) {
            Sharing::Works(filling) => Ok(choice(MethodUsed::Reflink, filling)),
            Sharing::Nothing => copy(None),
            Sharing::Not(why) if OVERLAYS && method == Method::Auto => hybrid(Some(&why)),
            Sharing::Not(why) => copy(Some(&why)),
        },
    }
}

struct Chooser<'r> {
    request: &'r CloneRequest<'r>,
    holder: &'r AbsPath,
}

impl Chooser<'_> {
    /// Everything is copied.
    fn copy(&self, choice: Choice, why: Option<&FallBack>) -> Result<Choice, CloneError> {
        let size = measure(self.request.source.path(), &choice.instead)
            .map_err(|e| self.source_failed(e))?;
        self.agree(size, why)?;
        Ok(choice)
    }

    /// Heavy folders that tools can make again are overlaid, the rest is copied.
    fn hybrid(&self, mut choice: Choice, why: Option<&FallBack>) -> Result<Choice, CloneError> {
        let source = self.request.source.path();
        let rules = Mutex::new(Ignored::of(source));
        let is_apart = |path: &ProjectPath| {
            is_made_by_tools(path.name().as_encoded_bytes())
                && rules
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .folder(path)
        };
        let Survey { rest, apart } =
            survey(source, &choice.instead, &is_apart).map_err(|e| self.source_failed(e))?;
        let tracked = Tracked::of(source);
        let mut size = rest.size;
        for (path, part) in apart {
            let held = |yes: bool| if yes { Held::Yes } else { Held::No };
            let folder = Ignorable {
                bytes: part.size.bytes,
                files: part.size.files,
                tracked: held(tracked.any_in(&path)),
                obstacle: held(part.obstacle.is_some()),
                path,
            };
            match fate(&folder) {
                Fate::Overlay => {
                    choice.overlays.push(Overlaid {
                        lower: source.join(&folder.path),
                        path: Some(folder.path.clone()),
                    });
                    choice.instead.insert(folder.path, Instead::Overlaid);
                    continue;
                }
                Fate::CopyAllTheSame => {
                    choice.notes.push(Note {
                        path: folder.path,
                        about: About::NotOverlaid(FallBack::NotOverlayable),
                    });
                }
                Fate::Copy => {}
            }
            size = size.plus(part.size);
        }
        choice.overlays.sort_by(|a, b| a.path.cmp(&b.path));
        if choice.overlays.is_empty() {
            choice.method = MethodUsed::Copy;
        }
        self.agree(size, why)?;
        Ok(choice)
    }

    /// Nothing is copied.
    fn overlay(&self, mut choice: Choice) -> Result<Choice, CloneError> {
        let source = self.request.source.path();
        let refused = |path| CloneError::NotOverlayable {
            path,
            why: FallBack::NotOverlayable,
        };
        let root = open_root(source).map_err(|e| self.source_failed(e))?;
        let stat = stat_fd(&root).map_err(|e| CloneError::Source {
            folder: source.clone(),
            source: e,
        })?;
        if (stat.uid, stat.gid) != us() {
            return Err(refused(source.clone()));
        }
        let survey =
            survey(source, &HashMap::new(), &|_| false).map_err(|e| self.source_failed(e))?;
        if let Some(path) = survey.rest.obstacle {
            return Err(refused(source.join(&path)));
        }
        choice.overlays.push(Overlaid {
            path: None,
            lower: source.clone(),
        });
        Ok(choice)
    }

    /// Asks about copying that was not wanted, and makes sure that it fits.
    fn agree(&self, size: Size, why: Option<&FallBack>) -> Result<(), CloneError> {
        if let Some(why) = why
            && self
                .request
                .progress
                .falling_back(size.bytes, size.files, why)
                == Decision::Stop
        {
            return Err(CloneError::Declined);
        }
        let fs = rustix::fs::statvfs(self.holder.as_path()).map_err(|e| CloneError::Write {
            path: self.holder.clone(),
            source: e.into(),
        })?;
        let free = fs.f_bavail.saturating_mul(fs.f_frsize);
        if free < size.bytes {
            return Err(CloneError::NoSpace {
                path: self.request.destination.clone(),
                needed: size.bytes,
                free,
            });
        }
        Ok(())
    }

    fn source_failed(&self, error: OpenError) -> CloneError {
        CloneError::Source {
            folder: self.request.source.path().clone(),
            source: io_error(error),
        }
    }
}
