//! Carries harmless settings of tools into the private home.
//!
//! Settings files hold tokens between the lines that builds need (the registry whose packages are cached, the default
//! toolchain), so they are not lent; the keys that a row lists are copied, and of those only values that do not look
//! like a secret. A file that cannot be understood is left out.

use enclos_paths::{AbsPath, ProjectPath};
use toml::{Table, Value};

use super::ground::{Ground, matches_name};
use super::places::{Places, State};
use super::rows::{FileRow, Format};
use super::{Contents, GeneratedFile, guard};

/// The files for the private home.
pub(super) fn files(ground: &Ground<'_>, places: &Places) -> Vec<GeneratedFile> {
    let tools = places.present(ground);
    let rows = tools.flat_map(|tool| &tool.files);
    let rows = rows.filter(|row| row.os.is_none_or(|os| os == ground.os()));
    rows.filter_map(|row| carry(ground, places, row)).collect()
}

fn carry(ground: &Ground<'_>, places: &Places, row: &FileRow) -> Option<GeneratedFile> {
    let text = ground
        .probe
        .read_small_file(&ground.place(&row.path, places)?)?;
    let bytes = match row.format {
        Format::Lines => lines(&text, &row.keys),
        Format::Toml => table(ground, std::str::from_utf8(&text).ok()?, &row.keys)?,
    };
    let inside_home = target(ground, places, &row.path)?;
    (!bytes.is_empty()).then_some(GeneratedFile {
        inside_home,
        contents: Contents::Bytes(bytes),
        mode: 0o644,
    })
}

/// Where the file goes, below the private home.
fn target(ground: &Ground<'_>, places: &Places, path: &str) -> Option<ProjectPath> {
    if let Some((id, below)) = path.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        && let Some(place) = places.get(id)
    {
        if place.state == State::InProject {
            return None;
        }
        let inside = super::ground::under(&place.inside, below.trim_start_matches('/'))?;
        return inside.below(&ground.inside.home);
    }
    ground.default_below_home(path)
}

/// The value of `key` in a file of `key = value` lines; the last one counts.
pub(super) fn line<'t>(text: &'t [u8], key: &str) -> Option<&'t [u8]> {
    entries(text)
        .filter(|(name, _)| *name == key.as_bytes())
        .map(|(_, value)| value)
        .last()
}

fn entries(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&b| b == b'\n').filter_map(|line| {
        let line = line.trim_ascii();
        if line.starts_with(b"#") || line.starts_with(b";") {
            return None;
        }
        let at = line.iter().position(|&b| b == b'=')?;
        let value = line[at + 1..].trim_ascii();
        let value = value
            .strip_prefix(b"\"")
            .and_then(|v| v.strip_suffix(b"\""))
            .unwrap_or(value);
        Some((line[..at].trim_ascii(), value))
    })
}

fn lines(text: &[u8], keys: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in entries(text) {
        let listed = keys.iter().any(|pattern| matches_name(pattern, key));
        if listed
            && !guard::names_a_secret(key)
            && !guard::holds_a_secret(value)
            && !value.contains(&b'\r')
        {
            out.extend_from_slice(key);
            out.push(b'=');
            out.extend_from_slice(value);
            out.push(b'\n');
        }
    }
    out
}

fn table(ground: &Ground<'_>, text: &str, keys: &[String]) -> Option<Vec<u8>> {
    let project = Both {
        outside: &ground.outside.project,
        inside: &ground.inside.project,
    };
    let all: Table = text.parse().ok()?;
    let patterns: Vec<Vec<&str>> = keys.iter().map(|key| key.split('.').collect()).collect();
    let patterns: Vec<&[&str]> = patterns.iter().map(Vec::as_slice).collect();
    let kept = keep(&all, &patterns, project);
    if kept.is_empty() {
        Some(Vec::new())
    } else {
        Some(toml::to_string(&kept).ok()?.into_bytes())
    }
}

/// The project's path on both sides, for keys that are paths.
#[derive(Clone, Copy)]
struct Both<'a> {
    outside: &'a AbsPath,
    inside: &'a AbsPath,
}

fn keep(from: &Table, patterns: &[&[&str]], project: Both<'_>) -> Table {
    let mut kept = Table::new();
    for (key, value) in from {
        let under: Vec<&[&str]> = patterns
            .iter()
            .filter_map(|pattern| pattern.split_first())
            .filter(|(first, _)| names(first, key, project))
            .map(|(_, rest)| rest)
            .collect();
        let value = match value {
            Value::Table(inner) => {
                let inner = keep(inner, &under, project);
                (!inner.is_empty()).then_some(Value::Table(inner))
            }
            leaf => (under.iter().any(|rest| rest.is_empty()) && harmless(key, leaf))
                .then(|| leaf.clone()),
        };
        if let Some(value) = value {
            let is_project = key.as_bytes() == project.outside.as_bytes();
            let key = if is_project {
                String::from_utf8_lossy(project.inside.as_bytes()).into()
            } else {
                key.clone()
            };
            kept.insert(key, value);
        }
    }
    kept
}

fn names(pattern: &str, key: &str, project: Both<'_>) -> bool {
    match pattern {
        "{project}" => key.as_bytes() == project.outside.as_bytes(),
        _ => matches_name(pattern, key.as_bytes()),
    }
}

fn harmless(key: &str, value: &Value) -> bool {
    let plain = match value {
        Value::String(text) => !guard::holds_a_secret(text.as_bytes()),
        Value::Array(all) => all.iter().all(|one| !one.is_table() && harmless("", one)),
        Value::Table(_) => false,
        _ => true,
    };
    plain && !guard::names_a_secret(key.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lines_only_listed_harmless_ones_are_kept() {
        let text = b"registry = https://r.example/\n//r.example/:_authToken=npm_0123456789abcdef\n; x=y\n\
            @a:registry=https://u:p@r.example/\n@b:registry=\"https://b.example/\"\nnode-linker=hoisted\nfoo=bar\n";
        let keys = ["registry", "@*:registry", "*-linker", "*"].map(String::from);
        let kept = lines(text, &keys[..3]);
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "registry=https://r.example/\n@b:registry=https://b.example/\nnode-linker=hoisted\n"
        );
        let all = String::from_utf8(lines(text, &keys)).unwrap();
        assert!(
            !all.contains("npm_"),
            "even a row that lists all keeps tokens out: {all}"
        );
    }

    #[test]
    fn of_tables_only_listed_harmless_keys_are_kept() {
        let text = "[registry]\ntoken = \"x\"\n[registries.a]\nindex = \"sparse+https://a.example/\"\ntoken = \"y\"\n\
            [registries.b]\nindex = \"https://u:p@b.example/\"\n[source.crates-io]\nreplace-with = \"a\"\n\
            [target.x86_64-unknown-linux-gnu]\nrustflags = [\"-C\", \"link-arg=-fuse-ld=lld\"]\n";
        let keys = [
            "registries.*.index",
            "registries.*.token",
            "source.*.replace-with",
            "target.*.rustflags",
        ];
        let at = AbsPath::new("/p").unwrap();
        let patterns: Vec<Vec<&str>> = keys.iter().map(|key| key.split('.').collect()).collect();
        let patterns: Vec<&[&str]> = patterns.iter().map(Vec::as_slice).collect();
        let kept = keep(
            &text.parse().unwrap(),
            &patterns,
            Both {
                outside: &at,
                inside: &at,
            },
        );
        insta::assert_snapshot!(toml::to_string(&kept).unwrap(), @r#"
        [registries.a]
        index = "sparse+https://a.example/"

        [source.crates-io]
        replace-with = "a"

        [target.x86_64-unknown-linux-gnu]
        rustflags = ["-C", "link-arg=-fuse-ld=lld"]
        "#);
    }

    #[test]
    fn a_path_as_key_becomes_the_copys_and_other_projects_stay_outside() {
        let text = "[overrides]\n\"/p\" = \"nightly\"\n\"/secret-project\" = \"beta\"\n";
        let (outside, inside) = (AbsPath::new("/p").unwrap(), AbsPath::new("/copy").unwrap());
        let pattern: &[&str] = &["overrides", "{project}"];
        let kept = keep(
            &text.parse().unwrap(),
            &[pattern],
            Both {
                outside: &outside,
                inside: &inside,
            },
        );
        assert_eq!(
            toml::to_string(&kept).unwrap(),
            "[overrides]\n\"/copy\" = \"nightly\"\n"
        );
    }
}
