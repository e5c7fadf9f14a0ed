//! What files held at the start, kept in the background for the day both sides change one.
//!
//! A process of its own does it, at the lowest priority and a moment after the start, so that neither the command nor
//! a short session waits for it. It holds no lock: when the session is discarded meanwhile, its folder is gone and so
//! is the work. Killed, it leaves a store that lacks some contents, and a review says which.

use std::io;
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use enclos_clone::BaseStore;
use enclos_clone::Baseline;
use enclos_paths::AbsPath;
use enclos_paths::ProjectRoot;

use crate::Record;
use crate::State;
use crate::TreeRecord;
use crate::TreeRole;
use crate::prepare::baseline_file;
use crate::prepare::read_baseline;

/// The hidden subcommand by which our executable keeps what files held.
pub const KEEP_BASE: &str = "keep-base";

/// Starts the process that keeps what the files of a session held.
pub(crate) fn keep_in_background(executable: &AbsPath, session: &AbsPath) {
    let mut command = Command::new(executable);
    command
        .arg(KEEP_BASE)
        .arg(session)
        .env_clear()
        .current_dir("/");
    // Without it conflicts are shown without what was there before, and say so.
    let _ = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

/// What `enclos keep-base SESSION` does.
///
/// # Errors
/// When the session's record or baseline cannot be read, or there is no room.
pub fn keep_base(session: &AbsPath) -> io::Result<()> {
    // A session that ends at once, and one that was discarded at once, are not worth the work.
    std::thread::sleep(Duration::from_millis(300));
    // A priority that cannot be lowered is no reason to keep nothing.
    let _ = rustix::process::nice(19);
    let record = Record::read(session).map_err(io::Error::other)?;
    if matches!(record.state, State::Discarded { .. }) {
        return Ok(());
    }
    for number in 0..record.trees.len() {
        // The start did not wait for the disk.
        Baseline::flush(&baseline_file(session, number)).map_err(io::Error::other)?;
    }
    for (number, tree) in record
        .trees
        .iter()
        .enumerate()
        .filter(|(_, tree)| tree.role != TreeRole::Git)
    {
        let baseline = read_baseline(session, number).map_err(io::Error::other)?;
        store(&record, number, tree)
            .record(&baseline, &AtomicBool::new(false))
            .map_err(io::Error::other)?;
    }
    Ok(())
}

/// The contents at the start of one tree of a session.
pub(crate) fn store(record: &Record, number: usize, tree: &TreeRecord) -> BaseStore {
    let folder = record.store.resolve(format!("base-{number}"));
    BaseStore::new(folder, ProjectRoot::from_resolved(tree.original.clone()))
}
