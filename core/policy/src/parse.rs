//! The text of a layer's file becomes a document, or the list of everything that is wrong with it.
//!
//! Nothing is ignored: an unknown key or a value out of range is an error with its place, because a misspelt `hide`
//! that is skipped in silence is a leak. Every value keeps its line and column. No input panics; what is larger than
//! 256 KiB is not read at all.

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::document::{Document, Effect, Statement};
use crate::hide::HidePattern;
use crate::origin::{Layer, Origin, Sourced};
use crate::problem::{ParseError, Problem, ProblemKind};
use crate::values::{
    CloneMethod, EnvName, EnvValue, History, Local, Network, OnExit, Scope, WrittenPath,
    parse_duration,
};

/// The version of the format that is read; a file may say so with `version = 1`.
pub const VERSION: u32 = 1;

/// The most bytes of a file that are read.
const MOST_BYTES: usize = 256 * 1024;

/// Reads the text of `layer`'s file.
///
/// # Errors
/// All problems of the file at once; when it is not TOML, those of the syntax alone.
pub fn parse(text: impl AsRef<[u8]>, layer: Layer) -> Result<Document, ParseError> {
    let bytes = text.as_ref();
    let mut parser = Parser {
        layer,
        places: Places::default(),
        document: Document::default(),
        problems: Vec::new(),
    };
    if bytes.len() > MOST_BYTES {
        parser.problem(
            0,
            ProblemKind::TooLarge {
                bytes: bytes.len(),
                most: MOST_BYTES,
            },
        );
    } else {
        match std::str::from_utf8(bytes) {
            Ok(text) => parser.file(text),
            Err(error) => {
                parser.places = Places::of(&String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
                parser.problem(error.valid_up_to(), ProblemKind::NotText);
            }
        }
    }
    match ParseError::of(parser.problems) {
        None => Ok(parser.document),
        Some(error) => Err(error),
    }
}

/// The keys of each table; the empty name is the file itself.
const TABLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "version", "files", "env", "network", "clone", "session", "limits",
        ],
    ),
    (
        "files",
        &["read", "write", "hide", "deny", "with", "sockets"],
    ),
    ("env", &["pass", "set"]),
    ("network", &["mode", "local"]),
    ("clone", &["method", "scope", "history"]),
    ("session", &["on_exit"]),
    ("limits", &["time", "idle"]),
];

/// Modes that come with the proxy.
const LATER_MODES: [&str; 4] = ["open", "guarded", "ask", "listed"];

type Key<'i> = Spanned<DeString<'i>>;
type Value<'i> = Spanned<DeValue<'i>>;

struct Parser {
    layer: Layer,
    places: Places,
    document: Document,
    problems: Vec<Problem>,
}

impl Parser {
    fn file(&mut self, text: &str) {
        self.places = Places::of(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for source in errors {
            let at = source.span().map_or(0, |span| span.start);
            self.problem(
                at,
                ProblemKind::Syntax {
                    source: Box::new(source),
                },
            );
        }
        if !self.problems.is_empty() {
            return;
        }
        for (key, value) in in_order(table.get_ref()) {
            match key.get_ref().as_ref() {
                "version" => self.version(value),
                // `network = "none"` is short for the table with the mode in it.
                "network" if value.get_ref().is_str() => self.entry("network", "mode", value),
                name => match TABLES
                    .iter()
                    .find(|(table, _)| !table.is_empty() && *table == name)
                {
                    Some((table, keys)) => self.table(table, keys, value),
                    None => self.unknown("", key),
                },
            }
        }
    }

    fn table(&mut self, table: &'static str, keys: &'static [&'static str], value: &Value<'_>) {
        let DeValue::Table(entries) = value.get_ref() else {
            self.wrong_type(table, value, "a table");
            return;
        };
        for (key, value) in in_order(entries) {
            match keys.iter().find(|known| *known == key.get_ref()) {
                Some(known) => self.entry(table, known, value),
                None => self.unknown(table, key),
            }
        }
    }

    fn entry(&mut self, table: &'static str, key: &'static str, value: &Value<'_>) {
        match (table, key) {
            ("files", "read") => self.paths("files.read", value, Statement::Read),
            ("files", "write") => self.paths("files.write", value, Statement::Write),
            ("files", "with") => self.paths("files.with", value, Statement::With),
            ("files", "sockets") => self.paths("files.sockets", value, Statement::Socket),
            ("files", "deny") => self.paths("files.deny", value, Statement::Deny),
            ("files", "hide") => self.patterns(value),
            ("env", "pass") => self.pass(value),
            ("env", "set") => self.set(value),
            ("network", "mode") => self.mode(value),
            ("network", "local") => self.local(value),
            ("clone", "method") => {
                self.name("clone.method", value, CloneMethod::NAMES, |n| {
                    CloneMethod::from_name(n).map(Statement::CloneMethod)
                });
            }
            ("clone", "scope") => {
                self.name("clone.scope", value, Scope::NAMES, |n| {
                    Scope::from_name(n).map(Statement::Scope)
                });
            }
            ("clone", "history") => {
                self.name("clone.history", value, History::NAMES, |n| {
                    History::from_name(n).map(Statement::History)
                });
            }
            ("session", "on_exit") => {
                self.name("session.on_exit", value, OnExit::NAMES, |n| {
                    OnExit::from_name(n).map(Statement::OnExit)
                });
            }
            ("limits", "time") => self.duration("limits.time", value, Statement::TimeLimit),
            ("limits", "idle") => self.duration("limits.idle", value, Statement::IdleLimit),
            _ => {}
        }
    }

    fn version(&mut self, value: &Value<'_>) {
        match value.get_ref() {
            DeValue::Integer(found) if found.to_string() == VERSION.to_string() => {}
            DeValue::Integer(found) => {
                let found = found.to_string();
                self.problem(value.span().start, ProblemKind::Version { found });
            }
            _ => self.wrong_type("version", value, "a whole number"),
        }
    }

    fn paths(&mut self, key: &'static str, value: &Value<'_>, make: fn(WrittenPath) -> Statement) {
        for (text, at) in self.texts(key, value, "a list of paths") {
            match WrittenPath::new(text) {
                Ok(path) if path.is_relative() && self.layer != Layer::Project => {
                    self.problem(
                        at,
                        ProblemKind::RelativePath {
                            key,
                            found: text.to_owned(),
                        },
                    );
                }
                Ok(path) => self.state(at, make(path)),
                Err(source) => self.problem(at, ProblemKind::Path { key, source }),
            }
        }
    }

    fn patterns(&mut self, value: &Value<'_>) {
        for (text, at) in self.texts("files.hide", value, "a list of patterns") {
            match HidePattern::new(text) {
                Ok(pattern) => self.state(at, Statement::Hide(pattern)),
                Err(source) => self.problem(at, ProblemKind::Pattern { source }),
            }
        }
    }

    fn pass(&mut self, value: &Value<'_>) {
        for (text, at) in self.texts("env.pass", value, "a list of names") {
            match EnvName::new(text) {
                Ok(name) => self.state(at, Statement::Pass(name)),
                Err(source) => self.problem(
                    at,
                    ProblemKind::EnvName {
                        key: "env.pass",
                        source,
                    },
                ),
            }
        }
    }

    fn set(&mut self, value: &Value<'_>) {
        let DeValue::Table(entries) = value.get_ref() else {
            self.wrong_type("env.set", value, "a table of names and texts");
            return;
        };
        for (key, value) in in_order(entries) {
            let Some((text, at)) = self.text("env.set", value, "a table of names and texts") else {
                continue;
            };
            match (EnvName::new(key.get_ref()), EnvValue::new(text)) {
                (Ok(name), Ok(value)) => self.state(key.span().start, Statement::Set(name, value)),
                (Err(source), _) => {
                    self.problem(
                        key.span().start,
                        ProblemKind::EnvName {
                            key: "env.set",
                            source,
                        },
                    );
                }
                (_, Err(source)) => self.problem(at, ProblemKind::EnvValue { source }),
            }
        }
    }

    fn mode(&mut self, value: &Value<'_>) {
        let later = value
            .get_ref()
            .as_str()
            .and_then(|text| LATER_MODES.iter().find(|mode| **mode == text));
        match later {
            Some(found) => self.problem(value.span().start, ProblemKind::NetworkNotYet { found }),
            None => {
                self.name("network.mode", value, Network::NAMES, |n| {
                    Network::from_name(n).map(Statement::Network)
                });
            }
        }
    }

    fn local(&mut self, value: &Value<'_>) {
        match value.get_ref().as_bool() {
            Some(true) => self.state(value.span().start, Statement::Local(Local::Reachable)),
            Some(false) => self.state(value.span().start, Statement::Local(Local::Closed)),
            None => self.wrong_type("network.local", value, "true or false"),
        }
    }

    fn name(
        &mut self,
        key: &'static str,
        value: &Value<'_>,
        allowed: &'static [&'static str],
        make: impl Fn(&str) -> Option<Statement>,
    ) {
        let Some((text, at)) = self.text(key, value, "a text") else {
            return;
        };
        match make(text) {
            Some(statement) => self.state(at, statement),
            None => {
                let nearest = nearest(text, allowed.iter().copied());
                self.problem(
                    at,
                    ProblemKind::UnknownValue {
                        key,
                        found: text.to_owned(),
                        nearest,
                        allowed,
                    },
                );
            }
        }
    }

    fn duration(
        &mut self,
        key: &'static str,
        value: &Value<'_>,
        make: fn(std::time::Duration) -> Statement,
    ) {
        let Some((text, at)) = self.text(key, value, "a text such as \"1h30m\"") else {
            return;
        };
        match parse_duration(text) {
            Some(duration) => self.state(at, make(duration)),
            None => self.problem(
                at,
                ProblemKind::Duration {
                    key,
                    found: text.to_owned(),
                },
            ),
        }
    }

    /// The texts of a list with their places; what is not a text is a problem.
    fn texts<'v>(
        &mut self,
        key: &'static str,
        value: &'v Value<'_>,
        wanted: &'static str,
    ) -> Vec<(&'v str, usize)> {
        let DeValue::Array(entries) = value.get_ref() else {
            self.wrong_type(key, value, wanted);
            return Vec::new();
        };
        let entries: &DeArray<'_> = entries;
        entries
            .iter()
            .filter_map(|entry| self.text(key, entry, wanted))
            .collect()
    }

    fn text<'v>(
        &mut self,
        key: &'static str,
        value: &'v Value<'_>,
        wanted: &'static str,
    ) -> Option<(&'v str, usize)> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong_type(key, value, wanted);
        }
        text.map(|text| (text, value.span().start))
    }

    /// Takes a statement, unless this layer may not make it.
    fn state(&mut self, at: usize, statement: Statement) {
        if self.layer == Layer::Managed && statement.effect() != Effect::Narrows {
            let (key, asked) = (statement.key(), statement.to_string());
            self.problem(at, ProblemKind::ManagedWidens { key, asked });
            return;
        }
        let (line, column) = self.places.at(at);
        self.document.push(Sourced::new(
            statement,
            Origin::File {
                layer: self.layer,
                line,
                column,
            },
        ));
    }

    fn unknown(&mut self, table: &'static str, key: &Key<'_>) {
        let allowed = TABLES
            .iter()
            .find(|(name, _)| *name == table)
            .map_or(&[][..], |(_, keys)| keys);
        let dotted = |table: &str, key: &str| {
            if table.is_empty() {
                key.into()
            } else {
                format!("{table}.{key}")
            }
        };
        let found = key.get_ref().as_ref();
        let here = nearest(found, allowed.iter().copied()).map(|near| dotted(table, near));
        let elsewhere = || {
            let mut others = TABLES.iter().filter(|(name, _)| *name != table);
            others
                .find(|(_, keys)| keys.contains(&found))
                .map(|(other, _)| dotted(other, found))
        };
        let exact = elsewhere();
        let kind = ProblemKind::UnknownKey {
            found: dotted(table, found),
            nearest: exact.or(here),
            allowed,
        };
        self.problem(key.span().start, kind);
    }

    fn wrong_type(&mut self, key: &'static str, value: &Value<'_>, wanted: &'static str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.problem(
            value.span().start,
            ProblemKind::WrongType { key, found, wanted },
        );
    }

    fn problem(&mut self, at: usize, kind: ProblemKind) {
        let (line, column) = self.places.at(at);
        self.problems.push(Problem {
            layer: self.layer,
            line,
            column,
            kind,
        });
    }
}

/// The entries of a table in the order of the file.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Key<'i>, &'t Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The name that was probably meant: a third of it may be wrong.
fn nearest(found: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // Longer than any name of ours: nothing can be near, and comparing would cost.
    if found.len() > 40 {
        return None;
    }
    let found = found.to_lowercase().replace('-', "_");
    let distance = |name: &str| strsim::damerau_levenshtein(&found, name);
    let near = names.map(|name| (distance(name), name)).min()?;
    (near.0 <= near.1.chars().count().div_ceil(3)).then_some(near.1)
}

/// Line and column of every byte of a text, both from 1, columns in characters.
#[derive(Default)]
struct Places(Vec<(u32, u32)>);

impl Places {
    fn of(text: &str) -> Self {
        let (mut line, mut column) = (1, 1);
        let mut places = Vec::with_capacity(text.len() + 1);
        for c in text.chars() {
            places.extend(std::iter::repeat_n((line, column), c.len_utf8()));
            (line, column) = if c == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
        places.push((line, column));
        Self(places)
    }

    fn at(&self, byte: usize) -> (u32, u32) {
        self.0
            .get(byte)
            .or(self.0.last())
            .copied()
            .unwrap_or((1, 1))
    }
}

#[cfg(test)]
mod tests;
