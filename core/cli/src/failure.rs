//! How the command says that something went wrong: what happened, what is untouched, what to do.

use std::io::Write;
use std::process::ExitCode;

use enclos_api::Error;

use crate::show::Paint;
use crate::show::Style;

/// An error on its way to the person, and the exit code that goes with it.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Error,
    code: u8,
}

impl Failure {
    /// The exit code when Enclos itself failed; the command's own codes are below.
    pub(crate) const CODE: u8 = 125;

    /// The same with another exit code.
    pub(crate) fn exits(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Tells the person and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let style = Style::for_errors();
        let mut text = format!(
            "{} {}\n",
            style.paint(Paint::Bad, "enclos:"),
            self.error.what
        );
        if let Some(untouched) = &self.error.untouched {
            text.push_str(&format!("        {untouched}\n"));
        }
        for hint in &self.error.hints {
            text.push_str(&format!(
                "        {} {hint}\n",
                style.paint(Paint::Name, "->")
            ));
        }
        // Nobody is left to tell when this fails.
        let _ = std::io::stderr().write_all(text.as_bytes());
        ExitCode::from(self.code)
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            code: Self::CODE,
        }
    }
}
