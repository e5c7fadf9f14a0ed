//! What this machine can enforce, in words and with the line to type where something is missing.

use enclos_paths::AbsPath;
use enclos_session::health;

use crate::Api;
use crate::Code;
use crate::Error;
use crate::wire;
use crate::wire::Check;
use crate::wire::CheckState;

/// Checks the machine and, when a folder is named, how that would be copied.
///
/// # Errors
/// When the folder is no absolute path. A check that fails is in the answer.
pub fn doctor_check(api: &Api, request: &wire::DoctorReq) -> Result<wire::Health, Error> {
    let mut checks: Vec<Check> = health::machine(&api.environment)
        .into_iter()
        .map(check)
        .collect();
    if let Some(folder) = &request.folder {
        let folder =
            AbsPath::new(folder).map_err(|error| Error::new(Code::Request, error.to_string()))?;
        checks.push(check(health::folder(&api.environment, &folder)));
    }
    Ok(wire::Health {
        version: wire::VERSION,
        checks,
    })
}

fn check(finding: health::Finding) -> Check {
    let state = match finding.weight {
        health::Weight::Good => CheckState::Good,
        health::Weight::Weak => CheckState::Weak,
        health::Weight::Fatal => CheckState::Fails,
    };
    Check {
        state,
        what: finding.what,
        to_type: finding.to_type,
    }
}
