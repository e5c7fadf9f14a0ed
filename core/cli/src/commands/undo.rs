//! `enclos undo ID [PATH...]`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::changes_undo;
use enclos_api::wire::UndoReq;

use super::paths;
use super::print;
use super::print_json;
use crate::args::UndoArgs;
use crate::failure::Failure;
use crate::show;
use crate::show::Direction;
use crate::show::Style;

pub(super) fn undo(api: &Api, args: &UndoArgs) -> Result<ExitCode, Failure> {
    let undone = changes_undo(
        api,
        &UndoReq {
            id: args.id.clone(),
            paths: paths(&args.paths)?,
        },
    )?;
    if args.json {
        print_json(&undone)?;
    } else {
        print(&show::applied(
            &undone,
            Direction::Undone,
            &api.environment.user.home,
            Style::for_output(),
        ));
    }
    let all_there = undone.files.iter().all(|file| file.applied);
    Ok(if all_there {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
