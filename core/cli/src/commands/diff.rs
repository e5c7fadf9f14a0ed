//! `enclos diff ID [PATH...]`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::session_diff;
use enclos_api::wire::DiffReq;

use super::paths;
use super::print;
use super::print_json;
use crate::args::DiffArgs;
use crate::failure::Failure;
use crate::show;
use crate::show::Style;

pub(super) fn diff(api: &Api, args: &DiffArgs) -> Result<ExitCode, Failure> {
    let request = DiffReq {
        id: args.id.clone(),
        paths: paths(&args.paths)?,
        names_only: args.stat,
    };
    let diff = session_diff(api, &request)?;
    if args.json {
        return print_json(&diff);
    }
    let style = Style::for_output();
    let text = if args.stat {
        show::stat(&diff, style)
    } else {
        show::diff(&diff, style)
    };
    Ok(print(if text.is_empty() {
        "Nothing changed.\n"
    } else {
        &text
    }))
}
