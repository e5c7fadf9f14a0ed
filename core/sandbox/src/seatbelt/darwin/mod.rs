//! Carries a profile out on macOS: tries it, enters it, ends what runs in it. No decision is made here.

mod end;
mod self_test;

use std::ffi::CString;
use std::io;

use enclos_sys::darwin::sandbox;

pub use enclos_sys::darwin::sandbox::EnterError;
pub use end::{CONTINUE, end, hold, release, signal, table};
pub use self_test::{SelfTestError, self_test};

/// Enters the sandbox of a profile's text and parameters for good. Call it in a program that has one thread, right before
/// the command is executed.
///
/// # Errors
/// The process is as it was; the command must not be executed.
pub fn enter(text: &str, params: &[(String, String)]) -> Result<(), EnterError> {
    let c_string = |text: &str| {
        CString::new(text).map_err(|error| EnterError::Rejected {
            said: "the profile holds a NUL byte".into(),
            source: io::Error::new(io::ErrorKind::InvalidInput, error),
        })
    };
    let params = params
        .iter()
        .map(|(name, value)| Ok((c_string(name)?, c_string(value)?)));
    sandbox::enter(&c_string(text)?, &params.collect::<Result<Vec<_>, _>>()?)
}
