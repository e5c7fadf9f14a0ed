//! There is no generated `/etc` on macOS, as nothing can be shown in its place: the profile says what of it is read.
//!
//! The same functions as on Linux, so that whoever prepares a session need not know.

use enclos_paths::AbsPath;

use super::HostFacts;
use crate::User;
pub use crate::linux::etc::EtcError;

/// Makes nothing.
///
/// # Errors
/// None.
pub fn generate(
    _etc: &AbsPath,
    _user: &User,
    _facts: &HostFacts,
    _host: &AbsPath,
) -> Result<(), EtcError> {
    Ok(())
}

/// Makes nothing, and gives the folder it was given.
///
/// # Errors
/// None.
pub fn kept(
    cache: &AbsPath,
    _user: &User,
    _facts: &HostFacts,
    _host: &AbsPath,
) -> Result<AbsPath, EtcError> {
    Ok(cache.clone())
}
