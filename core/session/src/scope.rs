//! How much of a repository goes in, as the person answered once for each folder they start in.

use std::fs;

use enclos_paths::AbsPath;
use enclos_policy::Scope;

use crate::Environment;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;

/// What the person answered for `folder`; none when they were never asked.
pub(crate) fn remembered(environment: &Environment, folder: &AbsPath) -> Option<Scope> {
    let text = fs::read_to_string(file(environment, folder)).ok()?;
    Scope::from_name(text.trim())
}

/// Remembers an answer.
pub(crate) fn remember(
    environment: &Environment,
    folder: &AbsPath,
    scope: Scope,
) -> Result<(), PrivateError> {
    private::folder(&environment.places.state, environment.user.uid)?;
    private::folder(
        &environment.places.state.resolve(FOLDER),
        environment.user.uid,
    )?;
    private::replace(
        &file(environment, folder),
        scope.name().as_bytes(),
        Durability::Process,
    )
}

fn file(environment: &Environment, folder: &AbsPath) -> AbsPath {
    let name = blake3::hash(folder.as_bytes()).to_hex();
    environment
        .places
        .state
        .resolve(FOLDER)
        .resolve(name.as_str())
}

const FOLDER: &str = "scopes";
