//! From a draft to a session whose copy is whole and whose jail is planned.
//!
//! The session's folder and record exist before the first file is copied, and its lock is held, so whatever ends this
//! process leaves something that the next start recognises as unfinished and removes. The original is only read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

use enclos_clone::About;
use enclos_clone::Baseline;
use enclos_clone::CloneError;
use enclos_clone::CloneRequest;
use enclos_clone::Cloned;
use enclos_clone::Method;
use enclos_clone::Note;
use enclos_clone::Progress;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_policy::EntryKind;
use enclos_policy::HideRules;
use enclos_policy::History;
use enclos_policy::Policy;
use enclos_sandbox::lend::Os;
use enclos_sandbox::seen;

use crate::Draft;
use crate::Environment;
use crate::OnExit;
use crate::Record;
use crate::RecordError;
use crate::State;
use crate::TreeRecord;
use crate::TreeRole;
use crate::jail;
use crate::jail::JailError;
use crate::launch::Launch;
use crate::launch::LaunchError;
use crate::layout;
use crate::private::Durability;
use crate::private::PrivateError;
use crate::record::OverlaidRecord;
use crate::registry::Held;
use crate::registry::Registry;
use crate::registry::RegistryError;
use crate::registry::remove_tree;
use crate::store::Store;

/// A session that can be started.
#[derive(Debug)]
pub struct Prepared {
    /// Its folder and lock.
    pub held: Held,
    /// Its record.
    pub record: Record,
    /// What the person should know about the copied folders.
    pub notes: Vec<TreeNote>,
    /// What it may do.
    pub policy: Policy,
    /// What was lent, and what could not be, in words.
    pub lending: Vec<String>,
}

/// Something about one entry of a copied folder.
#[derive(Debug, Clone)]
pub struct TreeNote {
    /// The folder.
    pub tree: AbsPath,
    /// The entry and what about it.
    pub note: Note,
}

/// Makes the copies of a draft and plans its jail.
///
/// # Errors
/// Whatever goes wrong, the original is untouched and what was made is removed again.
pub fn prepare(
    environment: &Environment,
    draft: Draft,
    progress: &dyn Progress,
) -> Result<Prepared, PrepareError> {
    let registry = Registry::open(environment)?;
    registry.sweep()?;
    let store = Store::choose(environment, draft.project.path())?;
    let folder = store
        .allocate(&draft.stem())
        .map_err(|source| PrepareError::Store {
            path: store.root().clone(),
            source,
        })?;
    let created = i64::try_from(environment.clock.now() / 1_000_000).unwrap_or(i64::MAX);
    let command = draft.request.command.clone();
    let made = registry.create(&draft.stem(), draft.request.id.as_ref(), |id| {
        Record::new(id.clone(), created, command.clone(), folder.clone())
    });
    let (held, record) = made.inspect_err(|_| discard_made(&folder, None))?;
    let session = held.folder.clone();
    let caches = caches(environment, draft.project.path());
    let mut preparation = Preparation {
        environment,
        draft,
        progress,
        held,
        record,
        notes: Vec::new(),
    };
    match preparation.carry_out(&registry, &caches) {
        Ok(lending) => {
            let Preparation {
                draft,
                held,
                record,
                notes,
                ..
            } = preparation;
            Ok(Prepared {
                held,
                record,
                notes,
                policy: draft.policy,
                lending,
            })
        }
        Err(error) => {
            discard_made(&folder, Some(&session));
            Err(error)
        }
    }
}

/// Where the caches of a project lie, which outlive its sessions.
fn caches(environment: &Environment, project: &AbsPath) -> AbsPath {
    let name: String = blake3::hash(project.as_bytes())
        .to_hex()
        .chars()
        .take(16)
        .collect();
    environment.places.caches.resolve(name)
}

/// Removes what an unfinished preparation made; what cannot be removed now, the next sweep does.
fn discard_made(store: &AbsPath, session: Option<&AbsPath>) {
    let _ = remove_tree(store);
    if let Some(session) = session {
        let _ = remove_tree(session);
    }
}

struct Preparation<'a> {
    environment: &'a Environment,
    draft: Draft,
    progress: &'a dyn Progress,
    held: Held,
    record: Record,
    notes: Vec<TreeNote>,
}

impl Preparation<'_> {
    fn carry_out(
        &mut self,
        registry: &Registry,
        caches: &AbsPath,
    ) -> Result<Vec<String>, PrepareError> {
        self.record.on_exit =
            self.draft
                .request
                .on_exit
                .unwrap_or(match self.draft.policy.on_exit.value {
                    enclos_policy::OnExit::Apply => OnExit::Apply,
                    enclos_policy::OnExit::Discard => OnExit::Discard,
                    enclos_policy::OnExit::Ask | enclos_policy::OnExit::Keep => OnExit::Keep,
                });
        for folder in ["home", "tmp", "overlays"] {
            self.make(folder)?;
        }
        fs::set_permissions(
            self.record.store.resolve("tmp"),
            fs::Permissions::from_mode(0o1777),
        )
        .map_err(|source| PrepareError::Store {
            path: self.record.store.clone(),
            source,
        })?;
        self.copy_trees()?;
        let slots = (0..SLOTS).map(|number| enclos_sandbox::lend::caches::slot(caches, number));
        let caches = registry.claim_caches(&self.held, &mut self.record, slots)?;
        let caches = caches.unwrap_or_else(|| self.record.store.resolve("caches"));
        let jail::Planned { jail, shell, notes } =
            jail::plan(self.environment, &self.draft, &self.record, &caches)?;
        let search = jail::bwrap_search(self.environment);
        let watched = self.draft.request.watched == crate::Watched::Yes;
        Launch::new(jail, shell, search, watched).write(&self.held.folder)?;
        self.record.state = State::Prepared;
        self.record.write(&self.held.folder, Durability::Process)?;
        Ok(notes)
    }

    fn copy_trees(&mut self) -> Result<(), PrepareError> {
        let project = self.draft.project.clone();
        let method = method(self.draft.policy.clone_method.value);
        let hide = std::mem::take(&mut self.draft.policy.hide);
        let mut hidden = hidden_paths(&project, &hide);
        let whole = self.draft.policy.history.value == History::Full;
        if !whole {
            hidden.extend(ProjectPath::new(".git"));
        }
        self.draft.policy.hide = hide;
        let mut roots = vec![(project.clone(), TreeRole::Project)];
        for sibling in &self.draft.policy.with {
            let root = ProjectRoot::from_resolved(real_folder(&sibling.value)?);
            enclos_clone::refuse(root.path(), &self.environment.user.home, &self.own())?;
            roots.push((root, TreeRole::With));
        }
        let outside = self
            .draft
            .repository
            .as_ref()
            .map(|found| found.outside.clone())
            .unwrap_or_default();
        let outside = outside
            .into_iter()
            .filter(|git| whole && !git.is_within(project.path()))
            .map(|git| (ProjectRoot::from_resolved(git), TreeRole::Git));
        roots.extend(outside);
        let originals: Vec<AbsPath> = roots.iter().map(|(root, _)| root.path().clone()).collect();
        let copies = layout::copies(Os::this(), &self.record.store, &originals);
        let pairs: Vec<_> = originals.into_iter().zip(copies).collect();
        for (at, (root, role)) in roots.into_iter().enumerate() {
            let hidden = if at == 0 { &hidden[..] } else { &[] };
            self.copy_tree((&root, role), method, hidden, &pairs)?;
        }
        Ok(())
    }

    /// Copies the next of the folders; `pairs` are all of them, each with the place of its copy.
    fn copy_tree(
        &mut self,
        (root, role): (&ProjectRoot, TreeRole),
        method: Method,
        hidden: &[ProjectPath],
        pairs: &[(AbsPath, AbsPath)],
    ) -> Result<(), PrepareError> {
        let number = self.record.trees.len();
        let mut others = pairs.to_vec();
        let (_, copy) = others.remove(number);
        if let Some(holder) = copy.parent() {
            fs::create_dir_all(&holder).map_err(|source| PrepareError::Store {
                path: holder.clone(),
                source,
            })?;
        }
        let keep_out = self.own();
        let request = CloneRequest {
            source: root,
            destination: &copy,
            method,
            hidden,
            keep_out: &keep_out,
            leave_out: self.draft.request.leave_out,
            progress: self.progress,
        };
        let Cloned {
            method,
            mut baseline,
            overlays,
            mut notes,
            ..
        } = enclos_clone::clone(&request)?;
        if seen::tree(Os::this(), root.path(), &copy) == copy {
            let rewritten = enclos_clone::rewrite_copy(&mut baseline, &copy, &others)?;
            notes.extend(rewritten.left.into_iter().map(|path| Note {
                path,
                about: About::HoldsPath,
            }));
        }
        baseline.write_for_now(&baseline_file(&self.held.folder, number))?;
        let overlaid = overlays
            .into_iter()
            .enumerate()
            .map(|(at, overlay)| OverlaidRecord {
                path: overlay.path,
                upper: self
                    .record
                    .store
                    .resolve(format!("overlays/{number}-{at}/upper")),
            });
        let overlaid: Vec<OverlaidRecord> = overlaid.collect();
        for overlay in &overlaid {
            let work = overlay.upper.resolve("../work");
            for folder in [&overlay.upper, &work] {
                fs::create_dir_all(folder).map_err(|source| PrepareError::Store {
                    path: folder.clone(),
                    source,
                })?;
            }
        }
        let tree = root.path().clone();
        self.notes.extend(notes.into_iter().map(|note| TreeNote {
            tree: tree.clone(),
            note,
        }));
        self.record.trees.push(TreeRecord {
            original: tree,
            copy,
            role,
            method: method.to_string(),
            overlaid,
        });
        Ok(())
    }

    fn own(&self) -> Vec<AbsPath> {
        let places = &self.environment.places;
        let mut own = vec![
            places.state.clone(),
            places.copies.clone(),
            places.runtime.clone(),
        ];
        own.extend(self.record.store.parent());
        own
    }

    fn make(&self, name: &str) -> Result<(), PrepareError> {
        let path = self.record.store.resolve(name);
        fs::create_dir(&path).map_err(|source| PrepareError::Store { path, source })
    }
}

/// How many sessions of a project at once have caches that stay; what the next ones add goes with their copies.
pub(crate) const SLOTS: u32 = 64;

/// Where the baseline of a session's tree lies.
pub(crate) fn baseline_file(session: &AbsPath, tree: usize) -> AbsPath {
    session.resolve(format!("baseline-{tree}"))
}

/// Reads the baseline of a session's tree.
pub(crate) fn read_baseline(
    session: &AbsPath,
    tree: usize,
) -> Result<Baseline, enclos_clone::BaselineError> {
    Baseline::read(&baseline_file(session, tree))
}

fn method(policy: enclos_policy::CloneMethod) -> Method {
    match policy {
        enclos_policy::CloneMethod::Auto => Method::Auto,
        enclos_policy::CloneMethod::Reflink => Method::Reflink,
        enclos_policy::CloneMethod::Clonefile => Method::Clonefile,
        enclos_policy::CloneMethod::Hybrid => Method::Hybrid,
        enclos_policy::CloneMethod::Overlay => Method::Overlay,
        enclos_policy::CloneMethod::Copy => Method::Copy,
    }
}

fn real_folder(path: &AbsPath) -> Result<AbsPath, PrepareError> {
    let fail = |source| PrepareError::With {
        path: path.clone(),
        source,
    };
    let real = fs::canonicalize(path).map_err(fail)?;
    AbsPath::new(real).map_err(|error| fail(io::Error::other(error)))
}

/// What of a project the policy hides. Nothing is read when there is no rule.
fn hidden_paths(root: &ProjectRoot, rules: &HideRules) -> Vec<ProjectPath> {
    let mut hidden = Vec::new();
    let mut folders: Vec<Option<ProjectPath>> = if rules.is_empty() {
        Vec::new()
    } else {
        vec![None]
    };
    while let Some(folder) = folders.pop() {
        let at = folder
            .as_ref()
            .map_or_else(|| root.path().clone(), |inner| root.join(inner));
        // A folder that cannot be listed is the clone's to complain about.
        let Ok(entries) = fs::read_dir(&at) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let path = folder
                .as_ref()
                .map_or_else(|| ProjectPath::new(name), |folder| folder.join(name));
            let (Ok(path), Ok(kind)) = (path, entry.file_type()) else {
                continue;
            };
            let kind = if kind.is_dir() {
                EntryKind::Folder
            } else {
                EntryKind::File
            };
            if rules.matched(&path, kind).is_some() {
                hidden.push(path);
            } else if kind == EntryKind::Folder {
                folders.push(Some(path));
            }
        }
    }
    hidden
}

/// Why there is no session. The original is untouched; what had been made is removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The folder of all sessions is in the way.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A private folder cannot be made.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The place for copies cannot be used.
    #[error("{path} cannot be made")]
    Store {
        /// What cannot be made.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A sibling folder cannot be taken along.
    #[error("{path} cannot be copied along")]
    With {
        /// The sibling.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A sibling folder is none that Enclos copies.
    #[error(transparent)]
    Refused(#[from] enclos_clone::Refusal),
    /// The copy could not be made.
    #[error(transparent)]
    Clone(#[from] CloneError),
    /// Files that hold the original's path could not be rewritten.
    #[error(transparent)]
    Rewrite(#[from] enclos_clone::RewriteError),
    /// The baseline could not be recorded.
    #[error(transparent)]
    Baseline(#[from] enclos_clone::BaselineError),
    /// The jail cannot be planned.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// The launch file cannot be written.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}
