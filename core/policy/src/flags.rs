//! The command line as a layer.
//!
//! Values arrive as the shell gives them, any bytes, and leave as statements with the option's name as origin. Which
//! options exist and how they are spelt is the command's business; what they mean is here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use enclos_paths::{AbsPath, shown};

use crate::document::{Document, Statement};
use crate::hide::{HidePattern, HidePatternError};
use crate::origin::{Origin, Sourced};
use crate::values::{
    CloneMethod, EnvName, EnvNameError, EnvValue, EnvValueError, History, Local, Network, OnExit,
    Scope, WrittenPath, WrittenPathError,
};

/// What was typed, option by option.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--read PATH`.
    pub read: Vec<PathBuf>,
    /// `--write PATH`.
    pub write: Vec<PathBuf>,
    /// `--with PATH`.
    pub with: Vec<PathBuf>,
    /// `--socket PATH`.
    pub socket: Vec<PathBuf>,
    /// `--hide PATH`: a pattern as in a file, or an absolute path.
    pub hide: Vec<OsString>,
    /// `--env NAME` or `--env NAME=VALUE`.
    pub env: Vec<OsString>,
    /// `--no-network`.
    pub no_network: bool,
    /// `--no-local`.
    pub no_local: bool,
    /// `--no-history`.
    pub no_history: bool,
    /// `--clone-method METHOD`.
    pub clone_method: Option<CloneMethod>,
    /// Whole repository or this folder, when the person has chosen.
    pub scope: Option<Scope>,
    /// `--apply` or `--discard`, with the option that said so.
    pub on_exit: Option<(OnExit, &'static str)>,
}

impl Flags {
    /// The statements, for a run on the folder `project`.
    ///
    /// # Errors
    /// The first value that cannot be what its option takes.
    pub fn document(&self, project: &AbsPath) -> Result<Document, FlagError> {
        let mut document = Document::default();
        let mut state =
            |flag, statement| document.push(Sourced::new(statement, Origin::Flag(flag)));
        type Make = fn(WrittenPath) -> Statement;
        let paths: [(&str, &[PathBuf], Make); 4] = [
            ("--read", &self.read, Statement::Read),
            ("--write", &self.write, Statement::Write),
            ("--with", &self.with, Statement::With),
            ("--socket", &self.socket, Statement::Socket),
        ];
        for (flag, values, make) in paths {
            for value in values {
                let path =
                    WrittenPath::new(value).map_err(|source| FlagError::Path { flag, source })?;
                state(flag, make(path));
            }
        }
        for value in &self.hide {
            state("--hide", hide(value, project)?);
        }
        for value in &self.env {
            state("--env", variable(value)?);
        }
        if self.no_network {
            state("--no-network", Statement::Network(Network::None));
        }
        if self.no_local {
            state("--no-local", Statement::Local(Local::Closed));
        }
        if self.no_history {
            state("--no-history", Statement::History(History::None));
        }
        if let Some(method) = self.clone_method {
            state("--clone-method", Statement::CloneMethod(method));
        }
        if let Some(scope) = self.scope {
            state("your choice", Statement::Scope(scope));
        }
        if let Some((end, flag)) = self.on_exit {
            state(flag, Statement::OnExit(end));
        }
        Ok(document)
    }
}

/// An absolute path inside the project is that path alone, one outside is never lent, anything else is a pattern.
fn hide(value: &OsStr, project: &AbsPath) -> Result<Statement, FlagError> {
    if let Ok(path) = AbsPath::new(value)
        && value.as_bytes().starts_with(b"/")
    {
        return match path.below(project) {
            Some(inner) => Ok(Statement::Hide(HidePattern::exactly(&inner)?)),
            None => {
                let path = WrittenPath::new(path.as_path());
                Ok(Statement::Deny(path.map_err(|source| FlagError::Path {
                    flag: "--hide",
                    source,
                })?))
            }
        };
    }
    let text = value.to_str().ok_or_else(|| FlagError::NotText {
        value: value.into(),
    })?;
    Ok(Statement::Hide(HidePattern::new(
        text.strip_prefix("./").unwrap_or(text),
    )?))
}

fn variable(value: &OsStr) -> Result<Statement, FlagError> {
    let bytes = value.as_bytes();
    let end = bytes.iter().position(|&b| b == b'=').unwrap_or(bytes.len());
    let name = EnvName::new(&String::from_utf8_lossy(&bytes[..end]))?;
    match bytes.get(end + 1..) {
        Some(value) => Ok(Statement::Set(
            name,
            EnvValue::new(OsStr::from_bytes(value))?,
        )),
        None => Ok(Statement::Pass(name)),
    }
}

/// A value that cannot be what its option takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlagError {
    /// A path that cannot be one.
    #[error("{flag}: {source}")]
    Path {
        /// The option.
        flag: &'static str,
        /// Why.
        source: WrittenPathError,
    },
    /// A pattern that is not text.
    #[error("--hide: {} is not text; give it as an absolute path, or hide the folder it lies in", shown(.value.as_bytes()))]
    NotText {
        /// The value.
        value: OsString,
    },
    /// A pattern that cannot be one.
    #[error("--hide: {source}")]
    Pattern {
        /// Why.
        #[from]
        source: HidePatternError,
    },
    /// A name that no variable can have.
    #[error("--env: {source}")]
    EnvName {
        /// Why.
        #[from]
        source: EnvNameError,
    },
    /// A value that no variable can have.
    #[error("--env: {source}")]
    EnvValue {
        /// Why.
        #[from]
        source: EnvValueError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(flags: &Flags) -> Vec<String> {
        let project = AbsPath::new("/home/u/p").unwrap();
        let document = flags.document(&project).unwrap();
        document
            .statements()
            .iter()
            .map(|s| format!("{}: {}", s.origin, s.value))
            .collect()
    }

    #[test]
    fn every_option_becomes_a_statement_that_names_it() {
        let flags = Flags {
            read: vec!["~/data".into()],
            write: vec!["out".into()],
            with: vec!["../lib".into()],
            socket: vec!["/run/db.sock".into()],
            hide: vec![
                "*.pem".into(),
                "/home/u/p/a*b".into(),
                "/home/u/private".into(),
                "./x".into(),
            ],
            env: vec!["CI".into(), "A=b=c".into(), "E=".into()],
            no_network: true,
            no_local: true,
            no_history: true,
            clone_method: Some(CloneMethod::Copy),
            scope: Some(Scope::Folder),
            on_exit: Some((OnExit::Apply, "--apply")),
        };
        insta::assert_snapshot!(said(&flags).join("\n"), @r#"
        --read: read ~/data
        --write: change out directly, without review
        --with: copy and review ../lib as well
        --socket: connect to the socket /run/db.sock
        --hide: hide *.pem
        --hide: hide /a\*b
        --hide: never lend /home/u/private
        --hide: hide x
        --env: see your variable CI
        --env: set A to "b=c"
        --env: set E to ""
        --no-network: have the network mode none
        --no-local: reach no program on this machine
        --no-history: see no history of the repository
        --clone-method: copy with the method copy
        your choice: take this folder alone in
        --apply: apply its changes without asking you
        "#);
    }

    #[test]
    fn what_an_option_cannot_take_names_the_option() {
        let project = AbsPath::new("/p").unwrap();
        let error = |flags: Flags| flags.document(&project).unwrap_err().to_string();
        let hidden = OsString::from(OsStr::from_bytes(b"caf\xe9"));
        insta::assert_snapshot!(error(Flags { read: vec!["".into()], ..Flags::default() }), @"--read: an empty path names nothing");
        insta::assert_snapshot!(error(Flags { hide: vec![hidden], ..Flags::default() }), @r"--hide: caf\xe9 is not text; give it as an absolute path, or hide the folder it lies in");
        insta::assert_snapshot!(error(Flags { hide: vec!["../x".into()], ..Flags::default() }), @"--hide: `../x` is not below the project; `files.deny` is for paths outside");
        insta::assert_snapshot!(error(Flags { env: vec!["=x".into()], ..Flags::default() }), @"--env: `` cannot be the name of a variable: letters, digits and `_` only, no digit first");
    }
}
