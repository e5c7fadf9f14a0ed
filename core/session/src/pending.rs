//! x
#![allow(missing_docs, clippy::needless_pass_by_value)]
use enclos_paths::*;
use enclos_review::*;
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct RecoverError;
pub(crate) fn scan(_: &TreeSources<'_>, _: &ScanOptions) -> Result<Review, ScanError> {
    unimplemented!()
}
pub(crate) fn apply(
    _: &TreeSources<'_>,
    _: &Review,
    _: &Approval,
    _: &AbsPath,
    _: &dyn Faults,
) -> Result<Applied, ApplyError> {
    unimplemented!()
}
pub(crate) fn undo(
    _: &ProjectRoot,
    _: &AbsPath,
    _: &UndoRequest,
    _: &dyn Faults,
) -> Result<Undone, UndoError> {
    unimplemented!()
}
pub(crate) fn recover(
    _: &ProjectRoot,
    _: &AbsPath,
    _: &dyn Faults,
) -> Result<Recovered, RecoverError> {
    unimplemented!()
}
