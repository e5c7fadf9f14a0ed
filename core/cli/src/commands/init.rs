//! `enclos init [FOLDER]`

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::Code;
use enclos_api::Error;
use enclos_api::run::config::PROJECT_FILE;
use enclos_api::run::policy::from_parcai;

use super::print;
use crate::args::FolderArgs;
use crate::failure::Failure;

/// The file of another tool of this kind, whose settings carry over.
const PARCAI: &str = ".parcai.json";

pub(super) fn init(api: &Api, args: &FolderArgs) -> Result<ExitCode, Failure> {
    let folder = api.environment.cwd.resolve(&args.folder);
    let other = folder.resolve(PARCAI);
    let (text, from) = match std::fs::read_to_string(&other) {
        Ok(json) => {
            let converted = from_parcai(&json).map_err(|error| {
                Error::new(Code::Request, format!("{other}: {error}"))
                    .untouched("Nothing was written.")
            })?;
            (converted, format!(" from {PARCAI}"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (STARTER.to_owned(), String::new())
        }
        Err(error) => {
            return Err(
                Error::new(Code::Request, format!("{other} cannot be read: {error}"))
                    .untouched("Nothing was written.")
                    .into(),
            );
        }
    };
    let path = folder.resolve(PROJECT_FILE);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(print(&format!(
            "Wrote {path}{from}. See what it asks for, and agree: enclos trust {folder}\n"
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(Error::new(
            Code::Request,
            format!("{path} is there already"),
        )
        .untouched("It was not changed.")
        .into()),
        Err(error) => {
            Err(Error::new(Code::Request, format!("{path} cannot be written: {error}")).into())
        }
    }
}

/// A file that changes nothing and shows what can be said.
const STARTER: &str = "\
# What sessions of this project may do. Lines that give more count once you agree to them: enclos trust
# Lines that take away (hide, deny, limits) count at once.

[files]
# read = [\"~/datasets\"]       # readable inside, at the same path
# write = []                  # changed directly, without review
# hide = [\"*.pem\"]            # kept out of the copy
# with = [\"../shared-lib\"]    # copied along, under the same review

[env]
# pass = [\"CI\"]               # handed on from your environment
# set = { RUST_LOG = \"info\" }

[clone]
# scope = \"repository\"        # or \"folder\", when you start in a folder of a repository

[session]
# on_exit = \"ask\"             # or \"keep\", \"apply\", \"discard\"
";
