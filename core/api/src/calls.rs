//! The calls themselves: each finds the session, lets the core do the work and says what happened in wire types.

use std::time::Duration;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_review as review;
use enclos_session::Environment;
use enclos_session::Found;
use enclos_session::LookFor;
use enclos_session::Registry;
use enclos_session::Shown;
use enclos_session::State;
use enclos_session::Store;
use enclos_session::look;
use enclos_session::outcome;
use enclos_session::outcome::Approve;

use crate::Code;
use crate::Error;
use crate::chosen::chosen;
use crate::convert;
use crate::wire;

/// What every call needs: the person and the machine as the main found them, and the sessions.
#[derive(Debug)]
pub struct Api {
    /// The person and the machine.
    pub environment: Environment,
    /// The person's sessions.
    pub registry: Registry,
}

impl Api {
    /// Opens the person's sessions.
    ///
    /// # Errors
    /// When the folder of all sessions cannot be used.
    pub fn open(environment: Environment) -> Result<Self, Error> {
        let registry = Registry::open(&environment)?;
        Ok(Self {
            environment,
            registry,
        })
    }

    /// The session called `id`, or the only one whose name starts like that.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, id: &str) -> Result<Found, Error> {
        Ok(self.registry.find(id)?)
    }

    /// Puts right what a crash interrupted in the session's originals, and says so.
    fn recover(&self, found: &Found) -> Result<Vec<String>, Error> {
        let mut said = Vec::new();
        for tree in outcome::recover(&self.environment, found)? {
            let count = tree.recovered.taken_back.len();
            match tree.recovered.found {
                review::Found::Unfinished => {
                    said.push(format!(
                        "an apply to {} had been interrupted; {count} files were put back",
                        tree.original
                    ));
                }
                _ => said.push(format!(
                    "an apply to {} had been interrupted after it was complete; tidied up",
                    tree.original
                )),
            }
            for left in &tree.recovered.left {
                let kept = left
                    .kept
                    .as_ref()
                    .map(|kept| format!("; what it was before is kept as {kept}"));
                said.push(format!(
                    "{} has changed since and was left as it is{}",
                    left.path,
                    kept.unwrap_or_default()
                ));
            }
        }
        Ok(said)
    }
}

/// Every session with its state.
///
/// # Errors
/// When the sessions cannot be listed.
pub fn sessions_list(api: &Api, request: &wire::SessionsListReq) -> Result<wire::Sessions, Error> {
    let (found, unreadable) = api.registry.list()?;
    let shown = found
        .iter()
        .filter(|found| request.discarded || !matches!(found.record.state, State::Discarded { .. }))
        .map(convert::session);
    Ok(wire::Sessions {
        version: wire::VERSION,
        sessions: shown.collect(),
        unreadable: unreadable
            .iter()
            .map(|error| crate::error::sentence(error))
            .collect(),
    })
}

/// What a session changed.
///
/// # Errors
/// When there is no such session, a path is none of its own, or there is no frozen state to look at.
pub fn session_diff(api: &Api, request: &wire::DiffReq) -> Result<wire::Diff, Error> {
    let found = api.find(&request.id)?;
    api.recover(&found)?;
    let wanted = chosen(&found.record, &api.environment.cwd, &request.paths)?;
    let look = look(
        &api.environment,
        &found,
        &LookFor {
            include: wanted.clone(),
        },
    )?;
    if !request.names_only {
        let mut shown = Shown::read(&found.folder);
        let is_wanted = |root: &AbsPath, path: &ProjectPath| {
            wanted.is_empty()
                || wanted
                    .iter()
                    .any(|(in_root, below)| in_root == root && path.is_within(below))
        };
        shown.add(&look, is_wanted);
        shown
            .write(&found.folder)
            .map_err(|error| Error::internal(&error))?;
    }
    Ok(convert::diff(found.record.id.as_str(), &look, &wanted))
}

/// Brings changes into the original.
///
/// # Errors
/// When there is no such session or something chosen is no change of it. A file that cannot be applied is in the
/// answer, and the others are applied.
pub fn changes_apply(api: &Api, request: &wire::ApplyReq) -> Result<wire::Applied, Error> {
    let found = api.find(&request.id)?;
    let recovered = api.recover(&found)?;
    let hunks = request
        .hunks
        .iter()
        .map(|text| review::HunkId::parse(text))
        .collect::<Result<Vec<_>, _>>();
    let hunks = hunks.map_err(|error| {
        Error::new(Code::Request, error.to_string()).hint("hunks are named in: enclos diff ID")
    })?;
    let paths = chosen(&found.record, &api.environment.cwd, &request.paths)?;
    let approve = match (paths.is_empty() && hunks.is_empty(), request.all) {
        (false, _) => Approve::Chosen { paths, hunks },
        (true, true) => Approve::All,
        (true, false) => Approve::Safe,
    };
    let done = outcome::apply(&api.environment, &api.registry, &found, &approve)?;
    let mut files = Vec::new();
    for tree in &done {
        let original = tree.original.to_string();
        files.extend(
            tree.applied
                .files
                .iter()
                .map(|(path, outcome)| applied_file(&original, &path.to_string(), outcome)),
        );
    }
    let left = if matches!(approve, Approve::Chosen { .. }) {
        Vec::new()
    } else {
        left(api, &found)?
    };
    Ok(wire::Applied {
        version: wire::VERSION,
        session: found.record.id.to_string(),
        files,
        left,
        recovered,
    })
}

/// Takes the last apply back.
///
/// # Errors
/// When there is no such session, or it has applied nothing.
pub fn changes_undo(api: &Api, request: &wire::UndoReq) -> Result<wire::Applied, Error> {
    let found = api.find(&request.id)?;
    let recovered = api.recover(&found)?;
    let paths = chosen(&found.record, &api.environment.cwd, &request.paths)?;
    let wanted = review::UndoRequest {
        which: review::Which::Last,
        paths: paths.into_iter().map(|(_, path)| path).collect(),
        edited: review::Edited::Leave,
    };
    let done = outcome::undo(&api.environment, &api.registry, &found, &wanted)?;
    let mut files = Vec::new();
    for (original, undone) in &done {
        let original = original.to_string();
        files.extend(
            undone
                .files
                .iter()
                .map(|(path, outcome)| applied_file(&original, &path.to_string(), outcome)),
        );
    }
    Ok(wire::Applied {
        version: wire::VERSION,
        session: found.record.id.to_string(),
        files,
        left: Vec::new(),
        recovered,
    })
}

/// Removes a session that changed nothing, as if it had not been.
///
/// # Errors
/// When there is no such session, or it still runs.
pub fn session_forget(api: &Api, id: &str) -> Result<(), Error> {
    let found = api.find(id)?;
    Ok(outcome::forget(&api.environment, &api.registry, &found)?)
}

/// Throws a session's copy away.
///
/// # Errors
/// When there is no such session, or it still runs.
pub fn changes_discard(api: &Api, request: &wire::DiscardReq) -> Result<wire::Discarded, Error> {
    let found = api.find(&request.id)?;
    if matches!(found.record.state, State::Discarded { .. }) {
        return Err(Error::new(
            Code::Request,
            format!("{} was discarded already", found.record.id),
        ));
    }
    let trash = outcome::discard(&api.environment, &api.registry, &found)?;
    let kept_in = if request.now {
        enclos_session::delete_later(&api.environment, &trash)
            .map_err(|error| Error::internal(&error))?;
        None
    } else {
        Some(trash.to_string())
    };
    Ok(wire::Discarded {
        version: wire::VERSION,
        session: found.record.id.to_string(),
        kept_in,
    })
}

/// Ends every process of a session.
///
/// # Errors
/// When there is no such session, or it does not run.
pub fn session_stop(api: &Api, request: &wire::StopReq) -> Result<wire::Stopped, Error> {
    let found = api.find(&request.id)?;
    outcome::stop(&api.environment, &found)?;
    Ok(wire::Stopped {
        version: wire::VERSION,
        session: found.record.id.to_string(),
    })
}

/// How long a discarded copy is kept.
const KEPT_DAYS: u32 = 7;

/// Has copies deleted that were thrown away long enough ago; nobody waits for it.
///
/// # Errors
/// When the sessions cannot be listed. A deletion that cannot be started is tried again next time.
pub fn trash_expire(api: &Api) -> Result<(), Error> {
    for found in discarded(api, KEPT_DAYS)? {
        if found.record.store.as_path().exists() {
            let _ = enclos_session::delete_later(&api.environment, &found.record.store);
        } else if found.record.applies.iter().all(|apply| apply.undone)
            && outcome::is_unfinished(&found).is_ok_and(|unfinished| !unfinished)
            && let Ok(held) = api.registry.hold(&found.record.id)
        {
            // Its copy is gone and nothing of it can be undone: the record has told what it had to tell.
            let _ = enclos_session::remove_tree(&held.folder);
        }
    }
    Ok(())
}

/// The sessions that were discarded at least `days` ago.
fn discarded(api: &Api, days: u32) -> Result<Vec<Found>, Error> {
    let age = i128::from(days) * 24 * 60 * 60 * 1000;
    let now = api.environment.clock.now() / 1_000_000;
    let is_old = |found: &Found| matches!(found.record.state, State::Discarded { at } if now - i128::from(at) >= age);
    Ok(api.registry.list()?.0.into_iter().filter(is_old).collect())
}

/// Deletes what was thrown away, and what unfinished sessions left.
///
/// # Errors
/// When the sessions cannot be listed. A copy that cannot be deleted is left for the next time.
pub fn trash_empty(api: &Api, request: &wire::TrashReq) -> Result<wire::Trash, Error> {
    let swept = api.registry.sweep()?;
    let age = Duration::from_secs(u64::from(request.older_than_days) * 24 * 60 * 60);
    let mut copies = 0;
    for found in discarded(api, request.older_than_days)? {
        if found.record.store.as_path().exists()
            && enclos_session::remove_tree(&found.record.store).is_ok()
        {
            copies += 1;
        }
    }
    if let Ok(store) = Store::choose(&api.environment, &api.environment.user.home) {
        copies += store.empty_orphans(&api.registry, age).unwrap_or(0);
    }
    Ok(wire::Trash {
        version: wire::VERSION,
        copies,
        swept: swept.iter().map(ToString::to_string).collect(),
    })
}

fn applied_file(original: &str, path: &str, outcome: &review::Outcome) -> wire::AppliedFile {
    let (applied, note) = match outcome {
        review::Outcome::Applied { lost } if lost.is_empty() => (true, None),
        review::Outcome::Applied { lost } => (
            true,
            Some(lost.iter().map(lost_words).collect::<Vec<_>>().join(", ")),
        ),
        review::Outcome::Stopped(review::Stopped::NotAsApproved) => (
            false,
            Some("it is not what was shown last; look again: enclos diff".to_owned()),
        ),
        review::Outcome::Stopped(why) => (false, Some(crate::error::sentence(why))),
        _ => (false, None),
    };
    wire::AppliedFile {
        original: original.to_owned(),
        path: path.to_owned(),
        applied,
        note,
    }
}

fn lost_words(lost: &review::Lost) -> String {
    match lost {
        review::Lost::Owner { uid } => format!("it belonged to user {uid} and is yours now"),
        review::Lost::Group { gid } => format!("its group was {gid}"),
        review::Lost::Attribute { name } => format!("its attribute {name} was lost"),
        _ => "an attribute was lost".to_owned(),
    }
}

/// What stays in the session after an apply of everything that may be applied without being named.
fn left(api: &Api, found: &Found) -> Result<Vec<wire::LeftFile>, Error> {
    let look = look(&api.environment, found, &LookFor::default())?;
    let mut left = Vec::new();
    for tree in &look.trees {
        let original = tree.tree.original.to_string();
        let mut add = |path: String, why, words: String| {
            left.push(wire::LeftFile {
                original: original.clone(),
                path,
                why,
                words,
            })
        };
        for file in &tree.review.files {
            if let wire::Standing::Conflict { why } = convert::standing(&file.standing) {
                add(file.path.to_string(), wire::LeftWhy::Conflict, why);
            } else if let Some(held) = &file.held {
                add(
                    file.path.to_string(),
                    wire::LeftWhy::StartsByItself,
                    format!("{} would run {}", held.what, held.when),
                );
            }
        }
        for folder in &tree.review.folders {
            let folder = convert::diff_folder(folder);
            add(
                folder.path,
                wire::LeftWhy::NotReviewable,
                format!("{} files; {}", folder.files, folder.why),
            );
        }
    }
    Ok(left)
}
