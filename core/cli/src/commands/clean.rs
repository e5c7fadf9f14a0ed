//! `enclos clean`

use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::trash_empty;
use enclos_api::wire::TrashReq;

use super::print;
use crate::failure::Failure;

pub(super) fn clean(api: &Api) -> Result<ExitCode, Failure> {
    let trash = trash_empty(api, &TrashReq::default())?;
    let mut text = match trash.copies {
        0 => "Nothing to delete.\n".to_owned(),
        1 => "Deleted 1 copy.\n".to_owned(),
        copies => format!("Deleted {copies} copies.\n"),
    };
    for name in &trash.swept {
        text.push_str(&format!(
            "Removed what an interrupted start of {name} left.\n"
        ));
    }
    Ok(print(&text))
}
