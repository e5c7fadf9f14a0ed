//! The decision: what comes back into the original, what is taken back again, and what is thrown away.
//!
//! Whoever decides holds two locks: the session's (or its processes are held still), and the original's, so that two
//! sessions of a project never apply at once. An apply that a crash interrupted is taken back or tidied up before
//! anything else happens to that original.

use std::io;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_review::Applied;
use enclos_review::ApplyError;
use enclos_review::Approval;
use enclos_review::Choice;
use enclos_review::FileChange;
use enclos_review::HunkId;
use enclos_review::NoFaults;
use enclos_review::RecoverError;
use enclos_review::Recovered;
use enclos_review::TreeSources;
use enclos_review::UndoError;
use enclos_review::UndoRequest;
use enclos_review::Undone;

use crate::ApplyRecord;
use crate::Environment;
use crate::Record;
use crate::RecordError;
use crate::Shown;
use crate::State;
use crate::TreeRole;
use crate::base;
use crate::control::Client;
use crate::control::ClientError;
use crate::control::FrameKind;
use crate::control::Role;
use crate::control::SocketPlace;
use crate::lock::Lock;
use crate::lock::LockError;
use crate::look;
use crate::look::Look;
use crate::look::LookError;
use crate::look::LookFor;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;
use crate::registry::Found;
use crate::registry::Held;
use crate::registry::Registry;
use crate::registry::RegistryError;
use crate::store::Store;

/// What of a session's changes is approved.
#[derive(Debug, Clone)]
pub enum Approve {
    /// Everything but conflicts, what starts by itself, and what nobody can review.
    Safe,
    /// That and what starts by itself.
    All,
    /// These files, folders and hunks, by name.
    Chosen {
        /// Files and folders, with the copied folder they lie in.
        paths: Vec<(AbsPath, ProjectPath)>,
        /// Hunks of any file; with paths, only hunks of those.
        hunks: Vec<HunkId>,
    },
}

/// What an apply did in one folder.
#[derive(Debug)]
pub struct TreeApplied {
    /// The original.
    pub original: AbsPath,
    /// What became of each file.
    pub applied: Applied,
}

/// What was interrupted in one folder, and what was done about it.
#[derive(Debug)]
pub struct TreeRecovered {
    /// The original.
    pub original: AbsPath,
    /// What was found and done.
    pub recovered: Recovered,
}

/// Applies what is approved of a session's changes.
///
/// # Errors
/// [`OutcomeError::NotThere`] names what was chosen and is no change. A file that cannot be applied is no error: it is
/// in the result, and the others are applied.
pub fn apply(
    environment: &Environment,
    registry: &Registry,
    found: &Found,
    approve: &Approve,
) -> Result<Vec<TreeApplied>, OutcomeError> {
    let include = match approve {
        Approve::Chosen { paths, .. } => paths.clone(),
        Approve::Safe | Approve::All => Vec::new(),
    };
    let deciding = Deciding::begin(environment, registry, found)?;
    if let Approve::Chosen { paths, .. } = approve
        && let Some((_, path)) = paths
            .iter()
            .find(|(root, path)| is_overlaid(found, root, path))
    {
        return Err(OutcomeError::Overlaid { path: path.clone() });
    }
    let look = look::look(environment, found, &LookFor { include })?;
    let mut approvals = approvals(&look, approve)?;
    let shown = Shown::read(&found.folder);
    for (tree, approval) in look.trees.iter().zip(&mut approvals) {
        shown.bind(&tree.tree.original, approval, look.while_running);
    }
    let mut done = Vec::new();
    for (tree, approval) in look.trees.iter().zip(&approvals) {
        if approval.files.is_empty() {
            continue;
        }
        let original = ProjectRoot::from_resolved(tree.tree.original.clone());
        let base = base::store(&found.record, tree.number, &tree.tree);
        let sources = TreeSources {
            original: &original,
            copy: &tree.tree.copy,
            baseline: &tree.baseline,
            base: &base,
        };
        let store = apply_store(environment, found, tree.number)?;
        let applied = enclos_review::apply(&sources, &tree.review, approval, &store, &NoFaults)?;
        done.push(TreeApplied {
            original: tree.tree.original.clone(),
            applied,
        });
    }
    deciding.record(environment, &done)?;
    Ok(done)
}

/// Whether a path lies in a folder that was overlaid instead of copied.
fn is_overlaid(found: &Found, root: &AbsPath, path: &ProjectPath) -> bool {
    let trees = found
        .record
        .trees
        .iter()
        .filter(|tree| tree.original == *root);
    let mut overlaid = trees
        .flat_map(|tree| &tree.overlaid)
        .filter_map(|overlaid| overlaid.path.as_ref());
    overlaid.any(|overlaid| path.is_within(overlaid))
}

/// Takes the last apply of a session back, or what of it lies under `paths`.
///
/// # Errors
/// When nothing was applied, or the kept contents cannot be read. A file that moved on since is no error: it is left
/// as it is and named.
pub fn undo(
    environment: &Environment,
    registry: &Registry,
    found: &Found,
    request: &UndoRequest,
) -> Result<Vec<(AbsPath, Undone)>, OutcomeError> {
    let deciding = Deciding::begin(environment, registry, found)?;
    let mut undone = Vec::new();
    for (number, tree) in found
        .record
        .trees
        .iter()
        .enumerate()
        .filter(|(_, tree)| tree.role != TreeRole::Git)
    {
        let original = ProjectRoot::from_resolved(tree.original.clone());
        let store = apply_store(environment, found, number)?;
        match enclos_review::undo(&original, &store, request, &NoFaults) {
            Ok(done) => undone.push((tree.original.clone(), done)),
            Err(UndoError::Nothing) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if undone.is_empty() {
        return Err(OutcomeError::NothingApplied);
    }
    Record::update(&deciding.found.folder, Durability::Disk, |record| {
        if let Some(last) = record.applies.iter_mut().rev().find(|apply| !apply.undone) {
            last.undone = true;
        }
    })?;
    Ok(undone)
}

/// Throws a session's copy away: it moves into the trash at once, and is deleted later.
///
/// # Errors
/// When the session still runs, or its copy cannot be moved.
pub fn discard(
    environment: &Environment,
    registry: &Registry,
    found: &Found,
) -> Result<AbsPath, OutcomeError> {
    let held = registry.hold(&found.record.id)?;
    let record = Record::read(&held.folder)?;
    if matches!(record.state, State::Discarded { .. }) {
        return Err(OutcomeError::Look(LookError::Discarded));
    }
    let store = Store::of(&record.store).ok_or(OutcomeError::NoStore)?;
    let fail = |source| OutcomeError::Discard {
        path: record.store.clone(),
        source,
    };
    let trash = store
        .discard(&record.store, record.id.as_str())
        .map_err(fail)?;
    let at = milliseconds(environment);
    Record::update(&held.folder, Durability::Process, |record| {
        record.store.clone_from(&trash);
        record.state = State::Discarded { at };
    })?;
    Ok(trash)
}

/// Removes a session that changed nothing, its record too: there is nothing to remember.
///
/// One that was applied while it ran also ends without a difference. What it replaced is in its folder and nowhere
/// else, so of such a session only the copy goes.
///
/// # Errors
/// As [`discard`]; a record that cannot be removed stays, as that of a discarded session.
pub fn forget(
    environment: &Environment,
    registry: &Registry,
    found: &Found,
) -> Result<(), OutcomeError> {
    let trash = discard(environment, registry, found)?;
    let fail = |source| OutcomeError::Discard {
        path: trash.clone(),
        source,
    };
    if !holds(found, &["undo", "journal", "aside"]).map_err(fail)? {
        crate::registry::remove_tree(&found.folder).map_err(fail)?;
    }
    crate::delete_later(environment, &trash).map_err(fail)
}

/// Whether an apply was interrupted and not yet taken back, or something could not be put back where it was: the
/// session's folder then holds contents that are nowhere else.
///
/// # Errors
/// When the folder cannot be looked at.
pub fn is_unfinished(found: &Found) -> io::Result<bool> {
    holds(found, &["journal", "aside"])
}

/// Whether one of `parts` of what the applies of a session keep is there.
fn holds(found: &Found, parts: &[&str]) -> io::Result<bool> {
    let stores = (0..found.record.trees.len()).map(|number| apply_store_path(found, number));
    for path in stores.flat_map(|store| parts.iter().map(move |part| store.resolve(part))) {
        match std::fs::symlink_metadata(&path) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Ends every process of a session and waits until none is left.
///
/// # Errors
/// When the supervisor does not answer.
pub fn stop(environment: &Environment, found: &Found) -> Result<(), OutcomeError> {
    if !found.alive {
        return Err(OutcomeError::NotRunning);
    }
    let place = SocketPlace::new(
        &environment.places.runtime,
        &found.folder,
        environment.user.uid,
    );
    let mut client = Client::connect(&place, Role::Decide, false)?;
    client.ask(FrameKind::Stop)?;
    // The supervisor says how the command ended once every process is gone, and not before.
    while client.receive()?.kind != FrameKind::Exited {}
    Ok(())
}

/// Takes back or tidies up what a crash interrupted in the originals of a session.
///
/// # Errors
/// When the journal or the kept contents cannot be read; nothing was touched then.
pub fn recover(
    environment: &Environment,
    found: &Found,
) -> Result<Vec<TreeRecovered>, OutcomeError> {
    let mut done = Vec::new();
    for (number, tree) in found
        .record
        .trees
        .iter()
        .enumerate()
        .filter(|(_, tree)| tree.role != TreeRole::Git)
    {
        let store = apply_store_path(found, number);
        if !store.as_path().exists() {
            continue;
        }
        let _original = lock_original(environment, &tree.original)?;
        let original = ProjectRoot::from_resolved(tree.original.clone());
        let recovered = enclos_review::recover(&original, &store, &NoFaults)?;
        if recovered.found != enclos_review::Found::Nothing {
            done.push(TreeRecovered {
                original: tree.original.clone(),
                recovered,
            });
        }
    }
    Ok(done)
}

/// The locks of a decision, and the record it will change.
struct Deciding {
    found: Found,
    _session: Option<Held>,
    _originals: Vec<Lock>,
}

impl Deciding {
    fn begin(
        environment: &Environment,
        registry: &Registry,
        found: &Found,
    ) -> Result<Self, OutcomeError> {
        let session = if found.alive {
            None
        } else {
            Some(registry.hold(&found.record.id)?)
        };
        let mut originals: Vec<&AbsPath> = found
            .record
            .trees
            .iter()
            .map(|tree| &tree.original)
            .collect();
        // Always in the same order, so that two decisions cannot wait for each other.
        originals.sort();
        let locks = originals
            .into_iter()
            .map(|original| lock_original(environment, original));
        let locks = locks.collect::<Result<_, _>>()?;
        // What was known before the locks were held may have been changed by whoever held them.
        let record = Record::read(&found.folder)?;
        if matches!(record.state, State::Discarded { .. }) && session.is_none() {
            return Err(OutcomeError::Look(LookError::Discarded));
        }
        Ok(Self {
            found: Found {
                record,
                ..found.clone()
            },
            _session: session,
            _originals: locks,
        })
    }

    fn record(self, environment: &Environment, done: &[TreeApplied]) -> Result<(), OutcomeError> {
        let is_applied = |outcome: &enclos_review::Outcome| {
            matches!(outcome, enclos_review::Outcome::Applied { .. })
        };
        let files = done
            .iter()
            .flat_map(|tree| &tree.applied.files)
            .filter(|(_, outcome)| is_applied(outcome))
            .count();
        if files == 0 {
            return Ok(());
        }
        let at = milliseconds(environment);
        Record::update(&self.found.folder, Durability::Disk, |record| {
            let number = record.applies.last().map_or(1, |last| last.number + 1);
            record.applies.push(ApplyRecord {
                number,
                at,
                files: files as u64,
                undone: false,
            });
        })?;
        Ok(())
    }
}

fn approvals(look: &Look, approve: &Approve) -> Result<Vec<Approval>, OutcomeError> {
    let (paths, hunks) = match approve {
        Approve::Safe => {
            return Ok(look
                .trees
                .iter()
                .map(|tree| Approval::without_risks(&tree.review))
                .collect());
        }
        Approve::All => {
            return Ok(look
                .trees
                .iter()
                .map(|tree| Approval::with_risks(&tree.review))
                .collect());
        }
        Approve::Chosen { paths, hunks } => (paths, hunks),
    };
    let mut approvals: Vec<Approval> = look.trees.iter().map(|_| Approval::default()).collect();
    let mut used = vec![false; paths.len()];
    let mut found = vec![false; hunks.len()];
    for (tree, approval) in look.trees.iter().zip(&mut approvals) {
        for file in &tree.review.files {
            let mut named = false;
            for (at, (root, path)) in paths.iter().enumerate() {
                if *root == tree.tree.original && concerns(file, path) {
                    used[at] = true;
                    named = true;
                }
            }
            if !hunks.is_empty() {
                let own = file
                    .content
                    .hunks()
                    .iter()
                    .filter(|hunk| hunks.contains(&hunk.id));
                let own: Vec<HunkId> = own.map(|hunk| hunk.id).collect();
                if !own.is_empty() && (named || paths.is_empty()) {
                    hunks
                        .iter()
                        .enumerate()
                        .filter(|(_, id)| own.contains(id))
                        .for_each(|(at, _)| found[at] = true);
                    approval.add(file, Choice::Hunks(own.into_iter().collect()));
                }
            } else if named {
                approval.add(file, Choice::Whole);
            }
        }
    }
    if let Some(at) = used.iter().position(|used| !used) {
        return Err(OutcomeError::NotThere {
            what: paths[at].1.to_string(),
        });
    }
    if let Some(at) = found.iter().position(|found| !found) {
        return Err(OutcomeError::NotThere {
            what: format!("the hunk {}", hunks[at]),
        });
    }
    Ok(approvals)
}

fn concerns(file: &FileChange, path: &ProjectPath) -> bool {
    let from = match &file.kind {
        enclos_review::ChangeKind::Renamed { from } => Some(from),
        _ => None,
    };
    file.path.is_within(path) || from.is_some_and(|from| from.is_within(path))
}

fn apply_store(
    environment: &Environment,
    found: &Found,
    tree: usize,
) -> Result<AbsPath, PrivateError> {
    let store = apply_store_path(found, tree);
    private::folder(&store, environment.user.uid)?;
    Ok(store)
}

fn apply_store_path(found: &Found, tree: usize) -> AbsPath {
    found.folder.resolve(format!("applies-{tree}"))
}

fn lock_original(environment: &Environment, original: &AbsPath) -> Result<Lock, OutcomeError> {
    let folder = environment.places.state.resolve("originals");
    private::folder(&folder, environment.user.uid)?;
    let name = blake3::hash(original.as_bytes()).to_hex();
    Ok(Lock::wait(&folder.resolve(name.as_str()))?)
}

fn milliseconds(environment: &Environment) -> i64 {
    i64::try_from(environment.clock.now() / 1_000_000).unwrap_or(i64::MAX)
}

/// Why a decision was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutcomeError {
    /// The changes cannot be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
    /// What was chosen is no change.
    #[error("{what} is not among the session's changes")]
    NotThere {
        /// What was chosen.
        what: String,
    },
    /// What was chosen lies in an overlaid folder.
    #[error("{path} was overlaid, not copied, so it cannot be brought back file by file")]
    Overlaid {
        /// What was chosen.
        path: ProjectPath,
    },
    /// The apply could not be carried out.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// Nothing was applied, so there is nothing to undo.
    #[error("the session has applied nothing that could be undone")]
    NothingApplied,
    /// The undo could not be carried out.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// An interrupted apply could not be put right.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The session does not run.
    #[error("the session is not running")]
    NotRunning,
    /// The copy does not lie in a store.
    #[error("the session's copy is not where it should be")]
    NoStore,
    /// The copy cannot be moved.
    #[error("{path} cannot be moved into the trash")]
    Discard {
        /// The session's folder in the store.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The sessions cannot be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A lock cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A private folder cannot be made.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The supervisor does not answer.
    #[error(transparent)]
    Supervisor(#[from] ClientError),
}
