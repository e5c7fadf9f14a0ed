//! `enclos shell ID`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::run;
use enclos_api::run::Left;

use super::attach;
use crate::failure::Failure;

/// Opens the person's shell in a session's copy: beside the command when it runs, alone when it has ended.
pub(super) fn shell(api: &Api, id: &str) -> Result<ExitCode, Failure> {
    let found = api.find(id)?;
    if found.alive {
        return Ok(match attach::join_shell(&run::place(api, &found))? {
            Left::Exited(exit) => ExitCode::from(exit.code()),
            other => attach::finish(found.record.id.as_str(), other),
        });
    }
    let place = run::resume_with_shell(api, &found, super::run::streams())?;
    Ok(attach::finish(
        found.record.id.as_str(),
        attach::join(&place)?,
    ))
}
