//! Looking at what a session changed: a frozen state of every copied folder, compared with its original.
//!
//! A session that has ended is frozen by nature. One that runs is asked to hold all its processes still while the
//! look lasts; if this process dies meanwhile, its connection does too, and the processes go on.

use enclos_clone::Baseline;
use enclos_clone::BaselineError;
use enclos_clone::Kind;
use enclos_clone::LayerChange;
use enclos_clone::LayerEntry;
use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::ProjectRoot;
use enclos_review::FolderChange;
use enclos_review::Review;
use enclos_review::ScanError;
use enclos_review::ScanOptions;
use enclos_review::TreeSources;
use enclos_review::Unreviewable;

use crate::Environment;
use crate::State;
use crate::TreeRecord;
use crate::TreeRole;
use crate::base;
use crate::control::Client;
use crate::control::ClientError;
use crate::control::FrameKind;
use crate::control::Role;
use crate::control::SocketPlace;
use crate::prepare::read_baseline;
use crate::registry::Found;

/// What a session changed, seen at one moment.
#[derive(Debug)]
pub struct Look {
    /// Every folder under review.
    pub trees: Vec<TreeLook>,
    /// Whether the session's processes were held still for it.
    pub while_running: bool,
}

/// What changed in one copied folder.
#[derive(Debug)]
pub struct TreeLook {
    /// The folder and its copy.
    pub tree: TreeRecord,
    /// Its number within the session.
    pub number: usize,
    /// What it looked like at the start.
    pub baseline: Baseline,
    /// The changes.
    pub review: Review,
}

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct LookFor {
    /// Paths below ignored or known build folders that are to be shown file by file, by tree.
    pub include: Vec<(AbsPath, ProjectPath)>,
}

/// A session's processes held still; dropped, they go on.
#[derive(Debug)]
pub(crate) struct Still(Option<Client>);

impl Drop for Still {
    fn drop(&mut self) {
        if let Some(client) = &mut self.0 {
            // The end of the connection says the same, a little later.
            let _ = client.send(FrameKind::Thaw, &[]);
        }
    }
}

/// Holds the processes of a running session still; nothing to do for one that has ended.
///
/// # Errors
/// When the supervisor does not answer or could not stop every process: then there is no frozen state to look at.
pub(crate) fn hold_still(environment: &Environment, found: &Found) -> Result<Still, ClientError> {
    if !(found.alive && matches!(found.record.state, State::Running { .. })) {
        return Ok(Still(None));
    }
    let place = SocketPlace::new(
        &environment.places.runtime,
        &found.folder,
        environment.user.uid,
    );
    let mut client = Client::connect(&place, Role::Decide, false)?;
    client.ask(FrameKind::Freeze)?;
    Ok(Still(Some(client)))
}

/// Looks at every folder of a session that is under review.
///
/// # Errors
/// When there is no frozen state, or a folder cannot be compared; nothing is changed.
pub fn look(environment: &Environment, found: &Found, wanted: &LookFor) -> Result<Look, LookError> {
    if matches!(found.record.state, State::Discarded { .. }) {
        return Err(LookError::Discarded);
    }
    let still = hold_still(environment, found)?;
    let mut trees = Vec::new();
    for (number, tree) in found.record.trees.iter().enumerate() {
        if tree.role == TreeRole::Git {
            continue;
        }
        let baseline = read_baseline(&found.folder, number)?;
        let mut review = scan(environment, found, (number, tree), &baseline, wanted)?;
        add_overlaid(&mut review, tree)?;
        trees.push(TreeLook {
            tree: tree.clone(),
            number,
            baseline,
            review,
        });
    }
    let while_running = still.0.is_some();
    Ok(Look {
        trees,
        while_running,
    })
}

/// What was written to the overlaid folders of a tree: a line each, like all that nobody reviews file by file.
fn add_overlaid(review: &mut Review, tree: &TreeRecord) -> Result<(), LookError> {
    for overlaid in &tree.overlaid {
        let Some(path) = &overlaid.path else { continue };
        let changes = enclos_clone::overlay_changes(&overlaid.upper)?;
        let is_file = |entry: &&LayerEntry| match &entry.change {
            LayerChange::Written(now) => now.kind != Kind::Folder,
            LayerChange::Removed | LayerChange::Replaced(_) => true,
        };
        let files = changes.entries.iter().filter(is_file).count() as u64;
        if files > 0 {
            let why = Unreviewable::Ignored { rebuild: None };
            review.folders.push(FolderChange {
                path: path.clone(),
                files,
                why,
            });
        }
    }
    review.folders.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

fn scan(
    environment: &Environment,
    found: &Found,
    (number, tree): (usize, &TreeRecord),
    baseline: &Baseline,
    wanted: &LookFor,
) -> Result<Review, ScanError> {
    let base = base::store(&found.record, number, tree);
    let original = ProjectRoot::from_resolved(tree.original.clone());
    let sources = TreeSources {
        original: &original,
        copy: &tree.copy,
        baseline,
        base: &base,
    };
    let mut options = ScanOptions::at(environment.clock.now());
    options.include = wanted
        .include
        .iter()
        .filter(|(root, _)| *root == tree.original)
        .map(|(_, path)| path.clone())
        .collect();
    options.ignore_files = vec![environment.user.home.resolve(".config/git/ignore")];
    options.rust_analyzer = enclos_review::RustAnalyzer::Reads;
    enclos_review::scan(&sources, &options)
}

/// Why a session's changes cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// Its copy is in the trash.
    #[error("the session was discarded")]
    Discarded,
    /// There is no frozen state.
    #[error(transparent)]
    Supervisor(#[from] ClientError),
    /// The baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// A folder cannot be compared.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// An overlaid folder cannot be looked at.
    #[error(transparent)]
    Layer(#[from] enclos_clone::ScanError),
}
