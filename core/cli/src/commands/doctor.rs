//! `enclos doctor [--json] [FOLDER]`

use std::fmt::Write;
use std::process::ExitCode;

use enclos_api::Api;
use enclos_api::doctor_check;
use enclos_api::wire::CheckState;
use enclos_api::wire::DoctorReq;

use super::print;
use super::print_json;
use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::show::Paint;
use crate::show::Style;

pub(super) fn doctor(api: &Api, args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let folder = args
        .folder
        .as_ref()
        .map(|folder| api.environment.cwd.resolve(folder).to_string());
    let health = doctor_check(api, &DoctorReq { folder })?;
    let fails = health
        .checks
        .iter()
        .any(|check| check.state == CheckState::Fails);
    let code = if fails {
        ExitCode::from(Failure::CODE)
    } else {
        ExitCode::SUCCESS
    };
    if args.json {
        print_json(&health)?;
        return Ok(code);
    }
    let style = Style::for_output();
    let mut text = String::new();
    for check in &health.checks {
        let state = match check.state {
            CheckState::Good => style.paint(Paint::Good, "ok  "),
            CheckState::Weak => style.paint(Paint::Warn, "weak"),
            CheckState::Fails => style.paint(Paint::Bad, "no  "),
        };
        let _ = writeln!(text, "{state}  {}", check.what);
        if let Some(line) = &check.to_type {
            let _ = writeln!(text, "      {} {line}", style.paint(Paint::Name, "->"));
        }
    }
    print(&text);
    Ok(code)
}
