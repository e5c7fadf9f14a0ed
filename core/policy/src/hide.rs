//! Patterns that keep parts of the project out of the copy.
//!
//! They read like lines of a `.gitignore`: a name without a slash matches at any depth, a slash in it ties it to the
//! project's root, a slash at the end means folders only, `*` stays within one name and `**` crosses folders. What
//! lies below something hidden is hidden. Two differences, both on the side of hiding: upper and lower case are the
//! same, because the commonest file system of macOS has it so, and there is no `!`, because then a line of the
//! project could bring back what the person hid.

use std::fmt;

use enclos_paths::{ProjectPath, shown};
use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::origin::Sourced;

/// A pattern of names below the project's root.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HidePattern(Box<str>);

/// Longest accepted pattern in bytes; a path of Linux has at most 4096.
const LONGEST: usize = 4096;

impl HidePattern {
    /// Checks `pattern`.
    ///
    /// # Errors
    /// Says what the pattern holds that no name below a project can match.
    pub fn new(pattern: &str) -> Result<Self, HidePatternError> {
        let own = || pattern.to_owned();
        if pattern.trim_matches('/').is_empty() || pattern.len() > LONGEST {
            return Err(HidePatternError::Length { pattern: own() });
        }
        if pattern.chars().any(char::is_control) {
            return Err(HidePatternError::Control { pattern: own() });
        }
        if pattern.starts_with('!') {
            return Err(HidePatternError::Negated { pattern: own() });
        }
        if pattern.starts_with('~') {
            return Err(HidePatternError::Outside { pattern: own() });
        }
        let body = pattern.trim_start_matches('/').trim_end_matches('/');
        if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(HidePatternError::Outside { pattern: own() });
        }
        let one = Self(pattern.into());
        let built = one
            .glob()
            .and_then(|glob| GlobSetBuilder::new().add(glob).build());
        built.map_err(|source| HidePatternError::Glob {
            pattern: own(),
            source,
        })?;
        Ok(one)
    }

    /// The pattern that matches `path` and nothing else but its spellings in other case.
    ///
    /// # Errors
    /// A path that is not text cannot be written as a pattern.
    pub fn exactly(path: &ProjectPath) -> Result<Self, HidePatternError> {
        let text = std::str::from_utf8(path.as_bytes()).map_err(|_| HidePatternError::NotText {
            path: path.to_string(),
        })?;
        let escaped = text.chars().flat_map(|c| {
            let special = matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '!' | '\\');
            special.then_some('\\').into_iter().chain([c])
        });
        Self::new(&std::iter::once('/').chain(escaped).collect::<String>())
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn folders_only(&self) -> bool {
        self.0.ends_with('/')
    }

    fn glob(&self) -> Result<globset::Glob, globset::Error> {
        let body = self.0.trim_end_matches('/');
        let tied = body.contains('/');
        let body = body.trim_start_matches('/');
        let full = if tied || body.starts_with("**") {
            body.to_owned()
        } else {
            format!("**/{body}")
        };
        GlobBuilder::new(&full)
            .literal_separator(true)
            .backslash_escape(true)
            .case_insensitive(true)
            .build()
    }
}

impl fmt::Display for HidePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(self.0.as_bytes()).fmt(f)
    }
}

impl fmt::Debug for HidePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HidePattern({self})")
    }
}

/// Why a text is not a [`HidePattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HidePatternError {
    /// Nothing is left of it, or it is longer than any path.
    #[error("a pattern is 1 to {LONGEST} bytes and more than slashes")]
    Length {
        /// The text found.
        pattern: String,
    },
    /// It holds a control character.
    #[error("`{}` holds a control character", shown(.pattern.as_bytes()))]
    Control {
        /// The text found.
        pattern: String,
    },
    /// It starts with `!`.
    #[error("`{}`: nothing hidden can be brought back with `!`", shown(.pattern.as_bytes()))]
    Negated {
        /// The text found.
        pattern: String,
    },
    /// It speaks of something that is not below the project.
    #[error("`{}` is not below the project; `files.deny` is for paths outside", shown(.pattern.as_bytes()))]
    Outside {
        /// The text found.
        pattern: String,
    },
    /// A path that is not UTF-8 cannot be a pattern.
    #[error("{path} is not text and cannot be written as a pattern")]
    NotText {
        /// The path, escaped for display.
        path: String,
    },
    /// The glob itself is malformed.
    #[error("`{}` is not a pattern", shown(.pattern.as_bytes()))]
    Glob {
        /// The text found.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
}

/// Whether an entry of a folder is a folder itself. A link is a file here, whatever it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// Anything else.
    File,
}

/// All hide patterns of a policy, ready to be asked about many paths.
#[derive(Clone, Default)]
pub struct HideRules {
    rules: Vec<Sourced<HidePattern>>,
    set: GlobSet,
}

impl HideRules {
    /// Prepares `rules`.
    ///
    /// # Errors
    /// The patterns together are too large to be compiled.
    pub fn new(rules: Vec<Sourced<HidePattern>>) -> Result<Self, globset::Error> {
        let mut builder = GlobSetBuilder::new();
        for rule in &rules {
            builder.add(rule.value.glob()?);
        }
        Ok(Self {
            set: builder.build()?,
            rules,
        })
    }

    /// The rule that hides `path` or a folder it lies in, the outermost first.
    #[must_use]
    pub fn matched(&self, path: &ProjectPath, kind: EntryKind) -> Option<&Sourced<HidePattern>> {
        if self.rules.is_empty() {
            return None;
        }
        let mut folders: Vec<ProjectPath> =
            std::iter::successors(path.parent(), ProjectPath::parent).collect();
        folders.reverse();
        let above = folders
            .iter()
            .find_map(|folder| self.matched_entry(folder, EntryKind::Folder));
        above.or_else(|| self.matched_entry(path, kind))
    }

    /// The rule that hides `path` itself; for a walk that does not enter hidden folders.
    #[must_use]
    pub fn matched_entry(
        &self,
        path: &ProjectPath,
        kind: EntryKind,
    ) -> Option<&Sourced<HidePattern>> {
        let hits = self.set.matches_candidate(&Candidate::new(path.as_path()));
        let mut rules = hits.into_iter().filter_map(|at| self.rules.get(at));
        rules.find(|rule| kind == EntryKind::Folder || !rule.value.folders_only())
    }

    /// The patterns with their origins, in the order they were stated.
    #[must_use]
    pub fn rules(&self) -> &[Sourced<HidePattern>] {
        &self.rules
    }

    /// Whether nothing is hidden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl fmt::Debug for HideRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rules).finish()
    }
}

impl PartialEq for HideRules {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl Eq for HideRules {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(patterns: &[&str]) -> HideRules {
        let one = |text: &&str| Sourced::default_of(HidePattern::new(text).unwrap());
        HideRules::new(patterns.iter().map(one).collect()).unwrap()
    }

    fn hidden(pattern: &str, path: &str) -> bool {
        rules(&[pattern])
            .matched(&ProjectPath::new(path).unwrap(), EntryKind::File)
            .is_some()
    }

    #[test]
    fn patterns_read_like_lines_of_a_gitignore() {
        for (pattern, path, expected) in [
            ("*.pem", "key.pem", true),
            ("*.pem", "a/b/key.pem", true),
            ("*.pem", "key.pem.txt", false),
            ("secrets/", "secrets/a", true),
            ("secrets/", "a/secrets/b/c", true),
            ("secrets/", "secrets", false),
            ("/secrets", "secrets", true),
            ("/secrets", "a/secrets", false),
            ("a/*.key", "a/x.key", true),
            ("a/*.key", "a/b/x.key", false),
            ("a/*.key", "b/a/x.key", false),
            ("a/**/x", "a/b/c/x", true),
            ("**/x", "b/x", true),
            ("**/x", "x", true),
            ("a/**", "a/b/c", true),
            ("*", "anything/at/all", true),
            (".env*", "app/.env.local", true),
            (".ENV", "app/.env", true),
        ] {
            assert_eq!(hidden(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn names_that_are_not_text_are_matched_too() {
        let path = ProjectPath::new(b"d/caf\xe9.pem").unwrap();
        assert!(rules(&["*.pem"]).matched(&path, EntryKind::File).is_some());
    }

    #[test]
    fn what_could_bring_back_or_reach_outside_is_refused() {
        assert!(matches!(
            HidePattern::new("!a"),
            Err(HidePatternError::Negated { .. })
        ));
        for outside in ["~/x", "../x", "a/../b", "a//b", "./a"] {
            assert!(
                matches!(
                    HidePattern::new(outside),
                    Err(HidePatternError::Outside { .. })
                ),
                "{outside}"
            );
        }
        for empty in ["", "/", "//"] {
            assert!(
                matches!(
                    HidePattern::new(empty),
                    Err(HidePatternError::Length { .. })
                ),
                "{empty:?}"
            );
        }
        assert!(matches!(
            HidePattern::new("a["),
            Err(HidePatternError::Glob { .. })
        ));
    }

    #[test]
    fn the_rule_that_hides_is_named() {
        let rules = rules(&["*.pem", "keys/"]);
        let rule = rules
            .matched(&ProjectPath::new("keys/a.pem").unwrap(), EntryKind::File)
            .unwrap();
        assert_eq!(
            rule.value.as_str(),
            "keys/",
            "the outermost hidden folder decides"
        );
    }

    proptest! {
        #[test]
        fn an_exact_pattern_hides_its_path_and_no_sibling(path in "[ -~]{1,12}(/[ -~]{1,12}){0,2}") {
            if let (Ok(path), Ok(other)) = (ProjectPath::new(&path), ProjectPath::new(format!("{path}x"))) {
                let pattern = HidePattern::exactly(&path).unwrap();
                let rules = HideRules::new(vec![Sourced::default_of(pattern)]).unwrap();
                prop_assert!(rules.matched(&path, EntryKind::File).is_some());
                prop_assert!(rules.matched(&other, EntryKind::File).is_none());
            }
        }

        #[test]
        fn no_pattern_panics(text in "\\PC{0,40}", path in "\\PC{1,20}") {
            if let (Ok(pattern), Ok(path)) = (HidePattern::new(&text), ProjectPath::new(path))
                && let Ok(rules) = HideRules::new(vec![Sourced::default_of(pattern)])
            {
                let _ = rules.matched(&path, EntryKind::File);
            }
        }
    }
}
