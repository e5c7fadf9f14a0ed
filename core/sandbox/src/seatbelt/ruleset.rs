//! A profile read into rules, with every word checked.
//!
//! Whatever libsandbox would refuse, or take and then never match, is an error here: an unknown operation or filter,
//! a parameter without a value, a host that is neither `*` nor `localhost` (one such rule refuses the whole
//! profile), a path with a trailing slash (one such rule never matches, and a deny that never matches is open).

use std::collections::BTreeMap;

use super::operations::{Operation, operation};
use super::sbpl::{Expression, Form, SyntaxError, read};

/// The rules of a profile, in order.
#[derive(Debug, Clone)]
pub struct Ruleset {
    pub(super) rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Whether it allows or denies.
    pub allow: bool,
    /// The line of the profile it starts in.
    pub line: u32,
    /// Why it is there, from the comment above it.
    pub reason: String,
    /// How sure it is that macOS behaves as the reason assumes.
    pub certainty: Certainty,
    pub(super) operations: Vec<&'static Operation>,
    /// One of these must match; empty: the rule is for every target.
    pub(super) filters: Vec<Filter>,
}

/// How sure a fact about macOS is. Nothing here was measured on the machine at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Apple's documents or sources say so, or several independent projects rely on it.
    Sure,
    /// One project reports it.
    Reported,
    /// It follows from how things are built, and nobody has been found who tried.
    Inferred,
}

/// What a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Filter {
    Literal(String),
    Subpath(String),
    Extension(String),
    Name(String),
    NamePrefix(String),
    Remote { localhost: bool, port: Option<u16> },
    Local { localhost: bool, port: Option<u16> },
    Own,
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
}

/// Why a text is not a profile that means what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// It cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The first form is not the version.
    #[error("a profile starts with (version 1)")]
    Version,
    /// A form that is no rule.
    #[error("line {line}: `{found}` is not a rule")]
    NotARule {
        /// The line.
        line: u32,
        /// The form.
        found: String,
    },
    /// An operation that is not known here.
    #[error("line {line}: `{found}` is not an operation")]
    Operation {
        /// The line.
        line: u32,
        /// The word.
        found: String,
    },
    /// A filter that is not known here, or not in this form.
    #[error("line {line}: `{found}` is not a filter")]
    Filter {
        /// The line.
        line: u32,
        /// The expression.
        found: String,
    },
    /// A parameter without a value.
    #[error("line {line}: the parameter {name} has no value")]
    Parameter {
        /// The line.
        line: u32,
        /// The parameter.
        name: String,
    },
    /// A path that no file has.
    #[error("line {line}: the path {path} can never match")]
    Path {
        /// The line.
        line: u32,
        /// The path.
        path: String,
    },
    /// An address that the language does not have.
    #[error("line {line}: the address {address} refuses the whole profile")]
    Address {
        /// The line.
        line: u32,
        /// The address.
        address: String,
    },
}

impl Ruleset {
    /// Reads and checks a profile with the values of its parameters.
    ///
    /// # Errors
    /// The first thing that would not mean what it says.
    pub fn compile(text: &str, params: &[(String, String)]) -> Result<Self, CompileError> {
        let forms = read(text)?;
        let params = params
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        let Some((version, forms)) = forms.split_first() else {
            return Err(CompileError::Version);
        };
        if version.expression.to_string() != "(version 1)" {
            return Err(CompileError::Version);
        }
        let rules = forms.iter().map(|form| {
            Compiler {
                params: &params,
                line: form.line,
            }
            .rule(form)
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// The rules in the order of the profile.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

struct Compiler<'p> {
    params: &'p BTreeMap<&'p str, &'p str>,
    line: u32,
}

impl Compiler<'_> {
    fn rule(&self, form: &Form) -> Result<Rule, CompileError> {
        let not_a_rule = || CompileError::NotARule {
            line: self.line,
            found: form.expression.to_string(),
        };
        let Expression::List(items) = &form.expression else {
            return Err(not_a_rule());
        };
        let (verb, items) = items.split_first().ok_or_else(not_a_rule)?;
        let allow = match verb.symbol() {
            Some("allow") => true,
            Some("deny") => false,
            _ => return Err(not_a_rule()),
        };
        let count = items
            .iter()
            .take_while(|item| item.symbol().is_some())
            .count();
        if count == 0 {
            return Err(not_a_rule());
        }
        let names = items[..count].iter().filter_map(Expression::symbol);
        let operations = names.map(|name| {
            operation(name).ok_or_else(|| CompileError::Operation {
                line: self.line,
                found: name.into(),
            })
        });
        let filters = items[count..].iter().filter(|item| !is_modifier(item));
        let (reason, certainty) = certainty(&form.comment);
        Ok(Rule {
            allow,
            line: self.line,
            reason,
            certainty,
            operations: operations.collect::<Result<_, _>>()?,
            filters: filters
                .map(|item| self.filter(item))
                .collect::<Result<_, _>>()?,
        })
    }

    fn filter(&self, item: &Expression) -> Result<Filter, CompileError> {
        let unknown = || CompileError::Filter {
            line: self.line,
            found: item.to_string(),
        };
        let Expression::List(parts) = item else {
            return Err(unknown());
        };
        let (name, arguments) = parts.split_first().ok_or_else(unknown)?;
        let name = name.symbol().ok_or_else(unknown)?;
        let all = || {
            arguments
                .iter()
                .map(|argument| self.filter(argument))
                .collect::<Result<Vec<_>, _>>()
        };
        match (name, arguments) {
            ("require-all", [_, ..]) => Ok(Filter::All(all()?)),
            ("require-any", [_, ..]) => Ok(Filter::Any(all()?)),
            ("require-not", [one]) => Ok(Filter::Not(Box::new(self.filter(one)?))),
            ("literal" | "path", [one]) => Ok(Filter::Literal(self.path(one)?)),
            ("subpath", [one]) => Ok(Filter::Subpath(self.path(one)?)),
            ("extension", [one]) => Ok(Filter::Extension(self.text(one)?)),
            ("target", [one]) if one.symbol() == Some("same-sandbox") => Ok(Filter::Own),
            ("remote", [_, address]) => self.address(address, |localhost, port| Filter::Remote {
                localhost,
                port,
            }),
            ("local", [_, address]) => {
                self.address(address, |localhost, port| Filter::Local { localhost, port })
            }
            (name, [one]) if NAMES.contains(&name) => Ok(Filter::Name(self.text(one)?)),
            (name, [one])
                if name
                    .strip_suffix("-prefix")
                    .is_some_and(|n| NAMES.contains(&n)) =>
            {
                Ok(Filter::NamePrefix(self.text(one)?))
            }
            _ => Err(unknown()),
        }
    }

    fn text(&self, item: &Expression) -> Result<String, CompileError> {
        if let Expression::Text(text) = item {
            return Ok(text.clone());
        }
        let Expression::List(parts) = item else {
            return Err(CompileError::Filter {
                line: self.line,
                found: item.to_string(),
            });
        };
        match parts.as_slice() {
            [Expression::Symbol(word), Expression::Text(name)] if word == "param" => {
                let missing = || CompileError::Parameter {
                    line: self.line,
                    name: name.clone(),
                };
                self.params
                    .get(name.as_str())
                    .map(|value| (*value).to_owned())
                    .ok_or_else(missing)
            }
            _ => Err(CompileError::Filter {
                line: self.line,
                found: item.to_string(),
            }),
        }
    }

    fn path(&self, item: &Expression) -> Result<String, CompileError> {
        let path = self.text(item)?;
        let normal = path == "/"
            || path
                .strip_prefix('/')
                .is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")));
        if normal {
            Ok(path)
        } else {
            Err(CompileError::Path {
                line: self.line,
                path,
            })
        }
    }

    fn address(
        &self,
        item: &Expression,
        make: impl Fn(bool, Option<u16>) -> Filter,
    ) -> Result<Filter, CompileError> {
        let address = self.text(item)?;
        let parsed = address.rsplit_once(':').and_then(|(host, port)| {
            let localhost = match host {
                "localhost" => true,
                "*" => false,
                _ => return None,
            };
            match port {
                "*" => Some((localhost, None)),
                port => port
                    .parse()
                    .ok()
                    .filter(|port| *port != 0)
                    .map(|port| (localhost, Some(port))),
            }
        });
        match parsed {
            Some((localhost, port)) => Ok(make(localhost, port)),
            None => Err(CompileError::Address {
                line: self.line,
                address,
            }),
        }
    }
}

/// Filters that compare a name.
const NAMES: [&str; 4] = [
    "global-name",
    "sysctl-name",
    "ipc-posix-name",
    "preference-domain",
];

fn is_modifier(item: &Expression) -> bool {
    matches!(item, Expression::List(parts) if parts.first().and_then(Expression::symbol) == Some("with"))
}

fn certainty(comment: &str) -> (String, Certainty) {
    let marks = [
        ("[reported]", Certainty::Reported),
        ("[inferred]", Certainty::Inferred),
    ];
    for (mark, certainty) in marks {
        if let Some(reason) = comment.strip_suffix(mark) {
            return (reason.trim_end().to_owned(), certainty);
        }
    }
    (comment.to_owned(), Certainty::Sure)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(rule: &str) -> String {
        let text = format!("(version 1)\n{rule}");
        Ruleset::compile(&text, &[]).unwrap_err().to_string()
    }

    #[test]
    fn what_libsandbox_would_refuse_or_never_match_is_an_error() {
        insta::assert_snapshot!(error("(allow file-raed* (subpath \"/x\"))"), @"line 2: `file-raed*` is not an operation");
        insta::assert_snapshot!(error("(allow file-read* (sub-path \"/x\"))"), @r#"line 2: `(sub-path "/x")` is not a filter"#);
        insta::assert_snapshot!(error("(deny file-read* (subpath \"/x/\"))"), @"line 2: the path /x/ can never match");
        insta::assert_snapshot!(error("(deny file-read* (literal \"/x/../y\"))"), @"line 2: the path /x/../y can never match");
        insta::assert_snapshot!(error("(allow file-read* (subpath (param \"K\")))"), @"line 2: the parameter K has no value");
        insta::assert_snapshot!(error("(allow network-outbound (remote ip \"127.0.0.1:80\"))"), @"line 2: the address 127.0.0.1:80 refuses the whole profile");
        insta::assert_snapshot!(error("(allow network-outbound (remote ip \"localhost:0\"))"), @"line 2: the address localhost:0 refuses the whole profile");
        insta::assert_snapshot!(error("(permit file-read*)"), @"line 2: `(permit file-read*)` is not a rule");
        assert_eq!(
            Ruleset::compile("(deny default)", &[]).unwrap_err(),
            CompileError::Version
        );
    }

    #[test]
    fn a_rule_keeps_its_reason_and_how_sure_it_is() {
        let rules = Ruleset::compile(
            "(version 1)\n; Why. [reported]\n(deny lsopen (with no-log))",
            &[],
        )
        .unwrap();
        let rule = &rules.rules()[0];
        assert_eq!(
            (rule.reason.as_str(), rule.certainty, rule.line),
            ("Why.", Certainty::Reported, 3)
        );
        assert!(rule.filters.is_empty(), "a modifier is not a filter");
    }

    proptest! {
        #[test]
        fn no_profile_panics(
            rules in prop::collection::vec(
                "\\((allow|deny) (file-read\\*|default|x) (\\((subpath|literal|remote ip|require-not|target|param) (\"[/a-z:*0-9]{0,6}\"|\\(x\\)|same-sandbox)\\))?\\)",
                0..4,
            )
        ) {
            let _ = Ruleset::compile(&format!("(version 1){}", rules.concat()), &[]);
        }
    }
}
