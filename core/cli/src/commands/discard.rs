//! `enclos discard ID [--now]`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::changes_discard;
use enclos_api::wire::DiscardReq;

use super::print;
use crate::args::DiscardArgs;
use crate::failure::Failure;

pub(super) fn discard(api: &Api, args: &DiscardArgs) -> Result<ExitCode, Failure> {
    let discarded = changes_discard(
        api,
        &DiscardReq {
            id: args.id.clone(),
            now: args.now,
        },
    )?;
    let session = &discarded.session;
    Ok(print(&match discarded.kept_in {
        Some(_) => {
            format!("Discarded {session}. Its copy is kept for 7 days.\n")
        }
        None => format!("Discarded {session}. Its copy is being deleted.\n"),
    }))
}
