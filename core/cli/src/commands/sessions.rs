//! `enclos sessions`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::sessions_list;
use enclos_api::trash_expire;
use enclos_api::wire::SessionsListReq;

use super::print;
use super::print_json;
use super::say;
use crate::args::SessionsArgs;
use crate::failure::Failure;
use crate::show;
use crate::show::Style;

pub(super) fn sessions(api: &Api, args: &SessionsArgs) -> Result<ExitCode, Failure> {
    // What was thrown away long ago is deleted by whoever comes by; when that fails, somebody else comes by.
    let _ = trash_expire(api);
    let list = sessions_list(
        api,
        &SessionsListReq {
            discarded: args.all,
        },
    )?;
    if args.json {
        return print_json(&list);
    }
    for unreadable in &list.unreadable {
        say(&format!("enclos: {unreadable}\n"));
    }
    let now = i64::try_from(api.environment.clock.now() / 1_000_000).unwrap_or(i64::MAX);
    Ok(print(&show::sessions(
        &list,
        &api.environment.user.home,
        now,
        Style::for_output(),
    )))
}
