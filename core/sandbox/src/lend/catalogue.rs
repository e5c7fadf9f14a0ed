//! The allow lists of `lend/*.toml`: what of each tool may be seen, kept or set inside.
//!
//! Promise: a row that is malformed, names an unknown place, could lend a whole dot folder or sets something that
//! looks like a secret does not parse, so a mistake in the data cannot reach a session. It would break if code lent
//! anything that no row names; only `found.rs` makes folders, and only from rows. Nothing here looks at a machine.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::guard;
use super::rows::{EnvironmentRows, NeverRows, Root, SystemRows, Tool};
use super::versions::Manager;

/// All rows, parsed and checked.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub(super) tools: Vec<Tool>,
    pub(super) environment: EnvironmentRows,
    pub(super) never: NeverRows,
    pub(super) system: SystemRows,
}

impl Catalogue {
    /// The rows that are built in.
    ///
    /// # Errors
    /// A row that breaks a rule. The tests hold every built-in row against the rules, so a released build has none.
    pub fn built_in() -> Result<Self, CatalogueError> {
        let tools = TOOLS
            .iter()
            .map(|(file, text)| parse(file, text))
            .collect::<Result<Vec<Tool>, _>>()?;
        let all = Self {
            tools,
            environment: parse("environment", include_str!("../../lend/environment.toml"))?,
            never: parse("never", include_str!("../../lend/never.toml"))?,
            system: parse("system", include_str!("../../lend/system.toml"))?,
        };
        all.check()?;
        Ok(all)
    }

    fn check(&self) -> Result<(), CatalogueError> {
        let mut ids = BTreeSet::new();
        let mut caches = BTreeSet::new();
        for tool in &self.tools {
            let fault = |rule| CatalogueError::Rule {
                tool: tool.name.clone(),
                rule,
            };
            if tool.why.is_empty() || tool.source.is_empty() {
                return Err(fault(Rule::NoReason));
            }
            for root in &tool.roots {
                check_root(root).map_err(fault)?;
                if !ids.insert(root.id.as_str()) {
                    return Err(fault(Rule::Twice(root.id.clone())));
                }
                for cache in &root.cache {
                    if !caches.insert(cache.name.as_str()) {
                        return Err(fault(Rule::Twice(cache.name.clone())));
                    }
                }
            }
            check_values(tool, &ids).map_err(fault)?;
        }
        let names = self
            .environment
            .pass
            .iter()
            .chain(&self.environment.pass_path);
        let secret = names
            .chain(&self.environment.pass_prefix)
            .find(|n| guard::names_a_secret(n.as_bytes()));
        match secret {
            Some(name) => Err(CatalogueError::Rule {
                tool: "environment".into(),
                rule: Rule::SecretName(name.clone()),
            }),
            None => Ok(()),
        }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(file: &str, text: &str) -> Result<T, CatalogueError> {
    toml::from_str(text).map_err(|source| CatalogueError::Toml {
        file: file.to_owned(),
        source: Box::new(source),
    })
}

fn check_root(root: &Root) -> Result<(), Rule> {
    if root.linux.is_empty() && root.macos.is_empty() {
        return Err(Rule::NoPlace(root.id.clone()));
    }
    for candidate in root.linux.iter().chain(&root.macos) {
        check_candidate(candidate)?;
    }
    let lent = root
        .lend
        .iter()
        .map(|row| &row.path)
        .chain(root.cache.iter().map(|row| &row.path));
    for path in lent {
        if path == "." {
            let whole_dot = root
                .linux
                .iter()
                .chain(&root.macos)
                .find(|c| last_name(c).starts_with('.'));
            if let Some(dot) = whole_dot {
                return Err(Rule::WholeDotFolder(dot.clone()));
            }
            if root.marker.is_empty() && !root.var.is_empty() {
                return Err(Rule::NoMarker(root.id.clone()));
            }
        } else if enclos_paths::ProjectPath::new(path).is_err() || last_name(path).starts_with('.')
        {
            return Err(Rule::BadPath(path.clone()));
        }
    }
    for cache in &root.cache {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if cache.name.is_empty() || !cache.name.bytes().all(plain) {
            return Err(Rule::BadCacheName(cache.name.clone()));
        }
    }
    match root
        .secret
        .iter()
        .find(|path| enclos_paths::ProjectPath::new(path).is_err())
    {
        Some(bad) => Err(Rule::BadPath(bad.clone())),
        None => Ok(()),
    }
}

fn check_candidate(candidate: &str) -> Result<(), Rule> {
    let anchored = ["~/", "/", "{"]
        .iter()
        .any(|start| candidate.starts_with(start));
    if anchored && !candidate.split('/').any(|part| part == "..") {
        Ok(())
    } else {
        Err(Rule::BadPath(candidate.to_owned()))
    }
}

fn check_values(tool: &Tool, ids: &BTreeSet<&str>) -> Result<(), Rule> {
    let names = tool
        .pass
        .iter()
        .chain(&tool.pass_path)
        .chain(tool.set.iter().map(|row| &row.name));
    for name in names {
        if guard::names_a_secret(name.as_bytes()) {
            return Err(Rule::SecretName(name.clone()));
        }
    }
    let values = tool
        .set
        .iter()
        .map(|row| &row.value)
        .chain(tool.files.iter().map(|row| &row.path));
    let known = |id: &str| ids.contains(id) || BASES.contains(&id);
    for value in values {
        for part in value.split('{').skip(1) {
            let id = part.split('}').next().unwrap_or_default();
            if !known(id) {
                return Err(Rule::UnknownRoot(id.to_owned()));
            }
        }
    }
    let found = tool.set.iter().filter_map(|row| row.when_found.as_deref());
    match found
        .chain(tool.versions.iter().map(Manager::root))
        .find(|id| !known(id))
    {
        Some(id) => Err(Rule::UnknownRoot(id.to_owned())),
        None => Ok(()),
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Why the catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// A file is not of the form described here.
    #[error("lend/{file}.toml cannot be read")]
    Toml {
        /// The file's name without its ending.
        file: String,
        /// Where and what.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A row breaks a rule.
    #[error("lend/{tool}.toml: {rule}")]
    Rule {
        /// The file's name without its ending.
        tool: String,
        /// The rule.
        rule: Rule,
    },
}

/// A rule that every row keeps; the payload is the offending text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// Every tool says why it is lent and where its layout is documented.
    #[error("a reason and a source are missing")]
    NoReason,
    /// Ids and cache names are used once.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A root has at least one place.
    #[error("root `{0}` has no place")]
    NoPlace(String),
    /// A dot folder is never lent as a whole: tools keep their secrets in it.
    #[error("`{0}` would be lent whole, and it is a dot folder")]
    WholeDotFolder(String),
    /// A place that a variable may choose and that is lent whole is known by what lies in it.
    #[error("root `{0}` is lent whole and moved by a variable, but has no marker")]
    NoMarker(String),
    /// Paths are normal and below their root.
    #[error("`{0}` is not a path that may be lent")]
    BadPath(String),
    /// Cache names are names of folders of ours.
    #[error("`{0}` is not a cache name (lower-case letters, digits, dashes)")]
    BadCacheName(String),
    /// Values refer to roots that are there.
    #[error("`{{{0}}}` is no root")]
    UnknownRoot(String),
    /// Nothing that is called a secret goes in.
    #[error("`{0}` is a name of secrets")]
    SecretName(String),
}

/// Names of places that are no roots: home, the base folders of the XDG specification, the project, `TMPDIR`.
pub(super) const BASES: &[&str] = &[
    "home", "cache", "config", "data", "state", "project", "tmp", "session",
];

macro_rules! tools {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../lend/", $name, ".toml")))),*]
    };
}

/// Earlier rows win where two lend the same place, and managers come before what they manage.
const TOOLS: &[(&str, &str)] = tools![
    "user-bin",
    "cargo",
    "rustup",
    "nvm",
    "fnm",
    "volta",
    "nodenv",
    "asdf",
    "mise",
    "npm",
    "corepack",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "node-downloads",
    "pyenv",
    "conda",
    "pip",
    "uv",
    "pipx",
    "poetry",
    "pre-commit",
    "goenv",
    "go",
    "sdkman",
    "jenv",
    "jdk",
    "gradle",
    "maven",
    "rbenv",
    "ruby",
    "composer",
    "dotnet",
    "dart",
    "swift",
    "xcode",
    "ccache",
    "brew",
    "nix",
    "git",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_row_keeps_the_rules() {
        let all = Catalogue::built_in().unwrap();
        assert_eq!(all.tools.len(), TOOLS.len());
        for (tool, (file, _)) in all.tools.iter().zip(TOOLS) {
            assert_eq!(&tool.name, file, "a file is named after its tool");
            for url in &tool.source {
                assert!(
                    url.starts_with("https://"),
                    "{}: `{url}` is no address",
                    tool.name
                );
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/lend");
        let known: BTreeSet<String> = TOOLS
            .iter()
            .map(|t| t.0)
            .chain(["environment", "never", "system"])
            .map(|n| format!("{n}.toml"))
            .collect();
        let found: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, known);
    }

    fn rule(text: &str) -> Rule {
        let tool: Tool = toml::from_str(text).unwrap();
        let mut all = Catalogue::built_in().unwrap();
        all.tools = vec![tool];
        match all.check() {
            Err(CatalogueError::Rule { rule, .. }) => rule,
            other => panic!("expected a broken rule, got {other:?}"),
        }
    }

    const HEAD: &str = "name = \"x\"\nwhy = \"y\"\nsource = [\"https://z\"]\n";

    #[test]
    fn a_row_that_would_leak_does_not_parse() {
        let root = |rest: &str| format!("{HEAD}[[root]]\nid = \"x\"\n{rest}");
        assert_eq!(
            rule(&root("linux = [\"~/.x\"]\nlend = [{ path = \".\" }]")),
            Rule::WholeDotFolder("~/.x".into()),
            "a dot folder as a whole"
        );
        assert_eq!(
            rule(&root("linux = [\"~/x\"]\nlend = [{ path = \"../.ssh\" }]")),
            Rule::BadPath("../.ssh".into()),
            "a way up"
        );
        assert_eq!(
            rule(&root("linux = [\"~/x\"]\nlend = [{ path = \"a/.b\" }]")),
            Rule::BadPath("a/.b".into()),
            "a dot folder below"
        );
        assert_eq!(
            rule(&root(
                "linux = [\"~/x\"]\nvar = [\"X\"]\nlend = [{ path = \".\" }]"
            )),
            Rule::NoMarker("x".into()),
            "any folder a variable names"
        );
        assert_eq!(
            rule(&format!("{HEAD}pass = [\"NPM_TOKEN\"]")),
            Rule::SecretName("NPM_TOKEN".into()),
            "a token passed through"
        );
        assert_eq!(
            rule("name = \"x\"\nwhy = \"y\"\nsource = []"),
            Rule::NoReason,
            "nothing to check it by"
        );
    }

    #[test]
    fn a_row_that_misspells_a_key_does_not_parse() {
        assert!(toml::from_str::<Tool>(&format!("{HEAD}lends = []")).is_err());
    }
}
