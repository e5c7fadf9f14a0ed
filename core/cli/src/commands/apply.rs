//! `enclos apply ID [PATH...] [--hunk HUNK-ID...]`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::changes_apply;
use enclos_api::wire::ApplyReq;

use super::paths;
use super::print;
use super::print_json;
use crate::args::ApplyArgs;
use crate::failure::Failure;
use crate::show;
use crate::show::Direction;
use crate::show::Style;

pub(super) fn apply(api: &Api, args: &ApplyArgs) -> Result<ExitCode, Failure> {
    let request = ApplyReq {
        id: args.id.clone(),
        paths: paths(&args.paths)?,
        hunks: args.hunk.clone(),
        all: false,
    };
    let applied = changes_apply(api, &request)?;
    if args.json {
        print_json(&applied)?;
    } else {
        print(&show::applied(
            &applied,
            Direction::Applied,
            &api.environment.user.home,
            Style::for_output(),
        ));
    }
    let all_there = applied.files.iter().all(|file| file.applied);
    Ok(if all_there {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
