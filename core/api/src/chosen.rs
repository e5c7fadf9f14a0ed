//! From paths as a person types them to files below a session's originals.

use std::path::Path;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_session::Record;
use enclos_session::TreeRole;

use crate::Code;
use crate::Error;

/// Finds the original that each of `paths` lies in and the path below it.
///
/// A relative path is taken from `cwd` when that lies in one of the originals, else from the project's root.
pub(crate) fn chosen(
    record: &Record,
    cwd: &AbsPath,
    paths: &[String],
) -> Result<Vec<(AbsPath, ProjectPath)>, Error> {
    let roots: Vec<&AbsPath> = record
        .trees
        .iter()
        .filter(|tree| tree.role != TreeRole::Git)
        .map(|tree| &tree.original)
        .collect();
    let Some(project) = roots.first() else {
        return Err(Error::new(Code::Request, "the session has no copy"));
    };
    let from = if roots.iter().any(|root| cwd.is_within(root)) {
        cwd
    } else {
        project
    };
    paths.iter().map(|path| one(&roots, from, path)).collect()
}

fn one(roots: &[&AbsPath], from: &AbsPath, path: &str) -> Result<(AbsPath, ProjectPath), Error> {
    let absolute = from.resolve(Path::new(path));
    let lies_in = |root: &&&AbsPath| absolute.is_within(root);
    let Some(root) = roots
        .iter()
        .filter(lies_in)
        .max_by_key(|root| root.as_bytes().len())
    else {
        let what = format!(
            "{} is not in the session's folders",
            enclos_paths::shown(path.as_bytes())
        );
        return Err(Error::new(Code::Request, what));
    };
    let Some(below) = absolute.below(root) else {
        let what = format!(
            "{} is the whole folder; leave it out to mean everything",
            enclos_paths::shown(path.as_bytes())
        );
        return Err(Error::new(Code::Request, what));
    };
    Ok(((*root).clone(), below))
}
