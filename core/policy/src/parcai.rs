//! Reads a `.parcai.json` and writes the `.enclos.toml` that means the same.
//!
//! Nothing is dropped in silence: what has no equivalent becomes a comment with its value and the reason, so that a
//! person who moves sees what to decide anew. The text is commented, reads back with [`parse`](crate::parse), and
//! is never trusted by having been converted. Unlike parcai, a deny inside the project hides, and a value that
//! cannot be carried over is an error in words instead of a guess.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::hide::HidePattern;
use crate::values::{EnvName, OnExit};

/// The text of an `.enclos.toml` for the text of a `.parcai.json`.
///
/// # Errors
/// The text is not JSON, or not an object, or a known key has a value of the wrong type.
pub fn from_parcai(text: &str) -> Result<String, ParcaiError> {
    let value: Value = serde_json::from_str(text).map_err(|source| ParcaiError::Json { source })?;
    let Value::Object(keys) = value else {
        return Err(ParcaiError::NotAnObject);
    };
    let mut out = Converted::default();
    out.network(&keys)?;
    out.files(&keys)?;
    out.env(&keys)?;
    out.on_exit(&keys)?;
    out.later(&keys)?;
    out.unknown(&keys);
    Ok(out.text())
}

/// Why a `.parcai.json` cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParcaiError {
    /// It is not JSON.
    #[error(".parcai.json:{}:{}: not JSON", .source.line(), .source.column())]
    Json {
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
    /// It is JSON, but no object.
    #[error(".parcai.json: wanted an object with keys")]
    NotAnObject,
    /// A key has a value of another type than parcai documents.
    #[error(".parcai.json: `{key}` must be {wanted}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
}

/// Keys that parcai documents.
const KNOWN: [&str; 11] = [
    "network",
    "secrets",
    "secret_log",
    "on_exit",
    "verbose",
    "allow",
    "rw",
    "deny",
    "allowed_domains",
    "blocked_domains",
    "env",
];

/// The file in the making, table by table.
#[derive(Default)]
struct Converted {
    top: String,
    files: String,
    env: String,
    session: String,
    notes: String,
}

impl Converted {
    fn network(&mut self, keys: &Map<String, Value>) -> Result<(), ParcaiError> {
        match boolean(keys, "network")? {
            Some(false) => self.top.push_str("network = \"none\"\n"),
            Some(true) => self.note(
                "network",
                "true",
                "this version of Enclos has no network yet",
            ),
            None => {}
        }
        Ok(())
    }

    fn files(&mut self, keys: &Map<String, Value>) -> Result<(), ParcaiError> {
        let mut hide = Vec::new();
        let mut deny = Vec::new();
        for path in texts(keys, "deny")? {
            let outside = path.starts_with(['/', '~']) || path.starts_with("..");
            if outside {
                deny.push(path);
            } else {
                hide.push(path.strip_prefix("./").unwrap_or(path));
            }
        }
        let lists = [
            ("read", texts(keys, "allow")?),
            ("write", texts(keys, "rw")?),
            ("deny", deny),
        ];
        for (key, paths) in lists {
            let (good, bad): (Vec<_>, Vec<_>) = paths
                .into_iter()
                .partition(|path| crate::WrittenPath::new(*path).is_ok());
            list(&mut self.files, key, &good);
            bad.iter()
                .for_each(|path| self.note(key, path, "this cannot be a path"));
        }
        let (good, bad): (Vec<_>, Vec<_>) = hide
            .into_iter()
            .partition(|path| HidePattern::new(path).is_ok());
        list(&mut self.files, "hide", &good);
        bad.iter()
            .for_each(|path| self.note("deny", path, "this cannot be a pattern"));
        Ok(())
    }

    fn env(&mut self, keys: &Map<String, Value>) -> Result<(), ParcaiError> {
        let wrong = ParcaiError::WrongType {
            key: "env",
            wanted: "an object of names and texts",
        };
        let entries = match keys.get("env") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(entries)) => entries,
            Some(_) => return Err(wrong),
        };
        let mut set = Vec::new();
        for (name, value) in entries {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return Err(wrong),
            };
            match EnvName::new(name) {
                Ok(name) if !text.contains('\0') => set.push(format!("{name} = {}", quoted(&text))),
                Ok(_) => self.note("env", name, "a variable cannot hold a NUL byte"),
                Err(error) => self.note("env", name, &error.to_string()),
            }
        }
        if !set.is_empty() {
            self.env = format!("set = {{ {} }}\n", set.join(", "));
        }
        Ok(())
    }

    fn on_exit(&mut self, keys: &Map<String, Value>) -> Result<(), ParcaiError> {
        let Some(text) = text(keys, "on_exit")? else {
            return Ok(());
        };
        match OnExit::from_name(text) {
            Some(end) => {
                let _ = writeln!(self.session, "on_exit = \"{end}\"");
            }
            None => self.note("on_exit", text, "parcai knows ask, apply and discard"),
        }
        Ok(())
    }

    /// What belongs to parts of Enclos that do not exist yet, or that Enclos does by itself.
    fn later(&mut self, keys: &Map<String, Value>) -> Result<(), ParcaiError> {
        let secrets = match keys.get("secrets") {
            Some(Value::String(one)) => vec![one.as_str()],
            _ => texts(keys, "secrets")?,
        };
        for file in secrets {
            self.note("secrets", file, "masking of secrets comes with the network");
        }
        for key in ["allowed_domains", "blocked_domains"] {
            for domain in texts(keys, key)? {
                self.note(key, domain, "rules for hosts come with the network");
            }
        }
        if let Some(on) = boolean(keys, "secret_log")? {
            self.note("secret_log", &on.to_string(), "comes with the network");
        }
        if let Some(true) = boolean(keys, "verbose")? {
            self.note(
                "verbose",
                "true",
                "use `enclos run --dry-run` to see what a session may do",
            );
        }
        Ok(())
    }

    fn unknown(&mut self, keys: &Map<String, Value>) {
        for (key, value) in keys
            .iter()
            .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        {
            self.note(key, &value.to_string(), "parcai does not document this key");
        }
    }

    fn note(&mut self, key: &str, value: &str, why: &str) {
        // A comment ends with its line, so nothing of the value may start a new one.
        let shown = |text: &str| enclos_paths::shown(text.as_bytes()).to_string();
        let _ = writeln!(
            self.notes,
            "# {} = {}: {}",
            shown(key),
            shown(value),
            shown(why)
        );
    }

    fn text(self) -> String {
        let mut text = String::from("# Converted from .parcai.json.\n");
        text.push_str(&self.top);
        let tables = [
            ("files", self.files),
            ("env", self.env),
            ("session", self.session),
        ];
        for (name, body) in tables.iter().filter(|(_, body)| !body.is_empty()) {
            let _ = write!(text, "\n[{name}]\n{body}");
        }
        if !self.notes.is_empty() {
            let _ = write!(text, "\n# Not carried over:\n{}", self.notes);
        }
        text
    }
}

fn boolean(keys: &Map<String, Value>, key: &'static str) -> Result<Option<bool>, ParcaiError> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(ParcaiError::WrongType {
            key,
            wanted: "true or false",
        }),
    }
}

fn text<'a>(
    keys: &'a Map<String, Value>,
    key: &'static str,
) -> Result<Option<&'a str>, ParcaiError> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(value)) => Ok(Some(value)),
        Some(_) => Err(ParcaiError::WrongType {
            key,
            wanted: "a text",
        }),
    }
}

fn texts<'a>(keys: &'a Map<String, Value>, key: &'static str) -> Result<Vec<&'a str>, ParcaiError> {
    let wrong = || ParcaiError::WrongType {
        key,
        wanted: "a list of texts",
    };
    match keys.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries
            .iter()
            .map(|entry| entry.as_str().ok_or_else(wrong))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

fn list(out: &mut String, key: &str, values: &[&str]) {
    if !values.is_empty() {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        let _ = writeln!(out, "{key} = [{}]", values.join(", "));
    }
}

/// A TOML basic string that holds `text`, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Layer, parse};

    fn statements(toml: &str) -> Vec<String> {
        let document = parse(toml, Layer::Project).unwrap();
        document
            .statements()
            .iter()
            .map(|s| s.value.to_string())
            .collect()
    }

    #[test]
    fn a_full_file_is_carried_over_and_what_cannot_be_is_said() {
        let text = r#"{
            "network": false, "secrets": [".env", ".npmrc"], "secret_log": true, "on_exit": "apply",
            "verbose": true, "allow": ["~/datasets"], "rw": ["/srv/out", "a\u0000b"],
            "deny": ["~/private", "secrets/", "./x", "../y", "!z"],
            "allowed_domains": ["example.com"], "blocked_domains": [],
            "env": { "RUST_LOG": "in\"fo\n", "N": 3, "HOME": "/x" }, "other": {"a": "b\nc"}
        }"#;
        let toml = from_parcai(text).unwrap();
        insta::assert_snapshot!(toml, @r#"
        # Converted from .parcai.json.
        network = "none"

        [files]
        read = ["~/datasets"]
        write = ["/srv/out"]
        deny = ["~/private", "../y"]
        hide = ["secrets/", "x"]

        [env]
        set = { N = "3", RUST_LOG = "in\"fo\n" }

        [session]
        on_exit = "apply"

        # Not carried over:
        # write = a\u{0}b: this cannot be a path
        # deny = !z: this cannot be a pattern
        # env = HOME: `HOME` is set by Enclos inside a session and cannot be given
        # secrets = .env: masking of secrets comes with the network
        # secrets = .npmrc: masking of secrets comes with the network
        # allowed_domains = example.com: rules for hosts come with the network
        # secret_log = true: comes with the network
        # verbose = true: use `enclos run --dry-run` to see what a session may do
        # other = {"a":"b\nc"}: parcai does not document this key
        "#);
        insta::assert_snapshot!(statements(&toml).join("\n"), @r#"
        have the network mode none
        read ~/datasets
        change /srv/out directly, without review
        never lend ~/private
        never lend ../y
        hide secrets/
        hide x
        set N to "3"
        set RUST_LOG to "in"fo\n"
        apply its changes without asking you
        "#);
    }

    #[test]
    fn the_file_that_parcai_writes_itself_reads_back() {
        let text = r#"{"network": true, "secrets": [], "secret_log": true, "on_exit": "ask", "verbose": false,
            "allow": [], "rw": [], "deny": [], "allowed_domains": [], "blocked_domains": [], "env": {}}"#;
        let toml = from_parcai(text).unwrap();
        assert_eq!(statements(&toml), ["ask you at the end"]);
    }

    #[test]
    fn what_is_not_a_parcai_file_is_refused_in_words() {
        let error = |text| from_parcai(text).unwrap_err().to_string();
        insta::assert_snapshot!(error("{\n nope"), @".parcai.json:2:2: not JSON");
        insta::assert_snapshot!(error("[]"), @".parcai.json: wanted an object with keys");
        insta::assert_snapshot!(error("{\"allow\": \"~/x\"}"), @".parcai.json: `allow` must be a list of texts");
        insta::assert_snapshot!(error("{\"env\": {\"A\": []}}"), @".parcai.json: `env` must be an object of names and texts");
    }

    proptest! {
        /// Whatever the values are, the result is one of our files and says the same.
        #[test]
        fn every_value_survives(
            paths in prop::collection::vec("(~/)?\\PC{1,12}", 0..4),
            values in prop::collection::btree_map("[A-Z]{1,4}_", "[\\x01-\\x{2fff}]{0,12}", 0..4),
        ) {
            let json = serde_json::json!({ "allow": paths, "env": values });
            let toml = from_parcai(&json.to_string()).unwrap();
            let document = parse(&toml, Layer::Project).map_err(|e| TestCaseError::fail(format!("{e}\n{toml}")))?;
            let mut read = Vec::new();
            let mut set = std::collections::BTreeMap::new();
            for statement in document.statements() {
                match &statement.value {
                    crate::Statement::Read(path) => read.push(path.as_path().to_str().unwrap().to_owned()),
                    crate::Statement::Set(name, value) => {
                        set.insert(name.as_str().to_owned(), value.as_os_str().to_str().unwrap().to_owned());
                    }
                    other => return Err(TestCaseError::fail(format!("{other}"))),
                }
            }
            let wanted: Vec<_> = paths.into_iter().filter(|p| crate::WrittenPath::new(p.as_str()).is_ok()).collect();
            prop_assert_eq!(read, wanted);
            prop_assert_eq!(set, values);
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
            let _ = from_parcai(&text);
        }
    }
}
