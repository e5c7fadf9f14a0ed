//! Folders that nobody reviews file by file: what is ignored, and what a build makes.
//!
//! The promise: only the *original's* rules count, so an agent cannot hide a change by ignoring it; and what is
//! grouped here is still counted and named, and is never applied unless asked for.
//!
//! It could break where git ignores by other rules than its ignore files, such as the index: a file that is tracked
//! although a rule matches it is grouped as ignored.

mod output;
mod rules;

use std::collections::HashMap;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

use self::rules::Rules;
use crate::source::Tree;

/// Why a folder is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreviewable {
    /// The original's ignore rules ignore it.
    Ignored {
        /// The command that makes it again, where that is known.
        rebuild: Option<&'static str>,
    },
    /// It lies in more folders than are looked through.
    TooDeep,
    /// It is a build's or a package manager's output.
    BuildOutput {
        /// The command that makes it again, where that is known.
        rebuild: Option<&'static str>,
    },
}

/// Decides which paths of one review are grouped.
pub(crate) struct Grouping<'a> {
    rules: Rules<'a>,
    output: output::Outputs<'a>,
    include: &'a [ProjectPath],
    known: HashMap<ProjectPath, Option<Group>>,
}

/// The folder or file that a path is grouped under, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) path: ProjectPath,
    pub(crate) why: Unreviewable,
}

/// Whether a path is a folder; an ignore rule that ends in `/` matches only those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Folder,
    Other,
}

impl<'a> Grouping<'a> {
    /// `extra` are ignore files outside the project; `include` are paths that are never grouped.
    pub(crate) fn new(
        original: &'a Tree,
        copy: &'a Tree,
        extra: &[AbsPath],
        include: &'a [ProjectPath],
    ) -> Self {
        Self {
            rules: Rules::new(original, extra),
            output: output::Outputs::new(copy),
            include,
            known: HashMap::new(),
        }
    }

    /// The outermost folder above `path`, or `path` itself, that is grouped.
    pub(crate) fn group(&mut self, path: &ProjectPath, shape: Shape) -> Option<Group> {
        if self.include.iter().any(|asked| path.is_within(asked)) {
            return None;
        }
        let above = path.parent().and_then(|folder| self.above(folder));
        above.or_else(|| self.judge(path, shape))
    }

    /// The outermost grouped folder at or above `folder`; asked once for each, because many paths share theirs.
    fn above(&mut self, folder: ProjectPath) -> Option<Group> {
        let mut unknown = vec![folder];
        let mut found = None;
        while let Some(folder) = unknown.last() {
            if let Some(known) = self.known.get(folder) {
                found = known.clone();
                unknown.pop();
                break;
            }
            match folder.parent() {
                Some(parent) => unknown.push(parent),
                None => break,
            }
        }
        while let Some(folder) = unknown.pop() {
            found = found.or_else(|| self.judge(&folder, Shape::Folder));
            self.known.insert(folder, found.clone());
        }
        found
    }

    /// Whether exactly `path` is grouped.
    fn judge(&mut self, path: &ProjectPath, shape: Shape) -> Option<Group> {
        let is_folder = shape == Shape::Folder;
        let output = if is_folder {
            self.output.of(path)
        } else {
            None
        };
        let rebuild = output.as_ref().and_then(|output| output.rebuild);
        let why = match (self.rules.ignore(path, is_folder), output) {
            (true, _) => Unreviewable::Ignored { rebuild },
            (false, Some(_)) => Unreviewable::BuildOutput { rebuild },
            (false, None) => return None,
        };
        Some(Group {
            path: path.clone(),
            why,
        })
    }
}
