//! How what is said between launcher and stage is put into bytes, and taken out again.
//!
//! Numbers are little-endian, lists and strings have their length before them. A count that what is left cannot hold is
//! malformed, so nothing is allocated for it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use enclos_paths::AbsPath;

use super::filter::Instruction;
use super::plan::{Confinement, FileRule, Landlock};
use super::wire::Step;
use crate::{Command, Piped, Stdio};

/// A confinement.
pub(super) fn put_confinement(out: &mut Vec<u8>, confinement: &Confinement) {
    let rules = confinement.landlock.as_ref();
    out.push(u8::from(rules.is_some()));
    if let Some(Landlock {
        handled,
        scoped,
        rules,
    }) = rules
    {
        put_u64(out, *handled);
        put_u64(out, *scoped);
        put_len(out, rules.len());
        for rule in rules {
            put_bytes(out, rule.path.as_bytes());
            put_u64(out, rule.rights);
        }
    }
    put_len(out, confinement.filter.len());
    for step in &confinement.filter {
        out.extend(step.code.to_le_bytes());
        out.extend([step.jt, step.jf]);
        put_u32(out, step.k);
    }
}

/// A command.
pub(super) fn put_command(out: &mut Vec<u8>, command: &Command) {
    put_len(out, command.argv.len());
    for word in &command.argv {
        put_bytes(out, word.as_bytes());
    }
    put_len(out, command.env.len());
    for (name, value) in &command.env {
        put_bytes(out, name.as_bytes());
        put_bytes(out, value.as_bytes());
    }
    put_bytes(out, command.cwd.as_bytes());
    put_u32(out, command.umask);
    match command.stdio {
        Stdio::Pipes => out.push(0),
        Stdio::Terminal { rows, cols } => {
            out.push(1);
            out.extend(rows.to_le_bytes());
            out.extend(cols.to_le_bytes());
        }
        Stdio::Mixed { rows, cols, .. } => {
            out.push(2);
            out.extend(rows.to_le_bytes());
            out.extend(cols.to_le_bytes());
            out.extend(command.stdio.piped().map(u8::from));
        }
    }
}

/// A step.
pub(super) fn put_step(out: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Privileges => out.push(0),
        Step::Rule(path) => {
            out.push(1);
            put_bytes(out, path.as_bytes());
        }
        Step::Landlock => out.push(2),
        Step::Filter => out.push(3),
    }
}

/// A number.
pub(super) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

/// A long number.
pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

/// What the kernel said.
pub(super) fn put_errno(out: &mut Vec<u8>, value: i32) {
    out.extend(value.to_le_bytes());
}

/// A length that does not fit makes a frame that is longer than [`LONGEST`], which is refused when it is sent.
pub(super) fn put_len(out: &mut Vec<u8>, len: usize) {
    put_u32(out, u32::try_from(len).unwrap_or(u32::MAX));
}

/// A string.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend(bytes);
}

/// What is left to be read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// One byte.
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A number.
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// What the kernel said.
    pub(super) fn errno(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// A count of things of at least `each` bytes; more than can still follow is malformed.
    pub(super) fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.u32()?).ok()?;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.count(1)?;
        self.take(len)
    }

    fn word(&mut self) -> Option<OsString> {
        Some(OsString::from_vec(self.bytes()?.to_vec()))
    }

    /// A path.
    pub(super) fn path(&mut self) -> Option<AbsPath> {
        AbsPath::new(std::ffi::OsStr::from_bytes(self.bytes()?)).ok()
    }

    /// A confinement.
    pub(super) fn confinement(&mut self) -> Option<Confinement> {
        let landlock = match self.u8()? {
            0 => None,
            1 => {
                let (handled, scoped) = (self.u64()?, self.u64()?);
                let count = self.count(12)?;
                let rule = |_| {
                    Some(FileRule {
                        path: self.path()?,
                        rights: self.u64()?,
                    })
                };
                let rules = (0..count).map(rule).collect::<Option<_>>()?;
                Some(Landlock {
                    handled,
                    scoped,
                    rules,
                })
            }
            _ => return None,
        };
        let count = self.count(8)?;
        let step = |_| {
            Some(Instruction {
                code: self.u16()?,
                jt: self.u8()?,
                jf: self.u8()?,
                k: self.u32()?,
            })
        };
        let filter = (0..count).map(step).collect::<Option<_>>()?;
        Some(Confinement { landlock, filter })
    }

    fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A command.
    pub(super) fn command(&mut self) -> Option<Command> {
        let count = self.count(4)?;
        let argv = (0..count).map(|_| self.word()).collect::<Option<_>>()?;
        let count = self.count(8)?;
        let env = (0..count)
            .map(|_| Some((self.word()?, self.word()?)))
            .collect::<Option<_>>()?;
        let (cwd, umask) = (self.path()?, self.u32()?);
        let stdio = match self.u8()? {
            0 => Stdio::Pipes,
            1 => Stdio::Terminal {
                rows: self.u16()?,
                cols: self.u16()?,
            },
            2 => Stdio::Mixed {
                rows: self.u16()?,
                cols: self.u16()?,
                piped: Piped {
                    input: self.flag()?,
                    output: self.flag()?,
                    errors: self.flag()?,
                },
            },
            _ => return None,
        };
        Some(Command {
            argv,
            env,
            cwd,
            umask,
            stdio,
        })
    }

    /// A step.
    pub(super) fn step(&mut self) -> Option<Step> {
        Some(match self.u8()? {
            0 => Step::Privileges,
            1 => Step::Rule(self.path()?),
            2 => Step::Landlock,
            3 => Step::Filter,
            _ => return None,
        })
    }
}
