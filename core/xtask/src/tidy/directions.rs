//! Which crate may use which: the arrows of the architecture, as data.
//!
//! A cycle the compiler finds; an arrow that points the wrong way it does not. A crate that is not in the table breaks
//! the rule, so nobody adds one without saying where it stands. What only tests use is free, except that nothing
//! shipped may depend on the crates that exist for developers.

use serde_json::Value;

use crate::failure::Failure;
use crate::step::capture;
use crate::surroundings::Surroundings;
use crate::tidy::Violation;

/// Each crate with those of ours that it may use, lowest first.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("enclos-paths", &[]),
    ("enclos-sys", &["enclos-paths"]),
    ("enclos-policy", &["enclos-paths"]),
    ("enclos-clone", &["enclos-paths", "enclos-sys"]),
    (
        "enclos-sandbox",
        &["enclos-paths", "enclos-sys", "enclos-policy"],
    ),
    ("enclos-terminal", &["enclos-paths", "enclos-sys"]),
    // A review compares with the baseline that the clone recorded.
    (
        "enclos-review",
        &["enclos-paths", "enclos-sys", "enclos-clone"],
    ),
    (
        "enclos-session",
        &[
            "enclos-paths",
            "enclos-sys",
            "enclos-policy",
            "enclos-clone",
            "enclos-sandbox",
            "enclos-terminal",
            "enclos-review",
        ],
    ),
    // The front door turns what a review found into what goes over a wire.
    (
        "enclos-api",
        &["enclos-paths", "enclos-review", "enclos-session"],
    ),
    // The command also is the supervisor and the stage, which it hands on to the session.
    ("enclos", &["enclos-paths", "enclos-session", "enclos-api"]),
    ("enclos-testkit", &["enclos-paths", "enclos-sys"]),
    ("enclos-xtask", &[]),
];

/// Asks cargo who uses whom.
///
/// # Errors
/// Cargo fails or prints something else.
pub(super) fn check(around: &Surroundings) -> Result<Vec<Violation>, Failure> {
    let printed = capture(&mut around.cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value =
        serde_json::from_slice(&printed).map_err(|_| Failure::Metadata("JSON"))?;
    violations(&metadata)
}

fn violations(metadata: &Value) -> Result<Vec<Violation>, Failure> {
    let packages = metadata["packages"]
        .as_array()
        .ok_or(Failure::Metadata("packages"))?;
    let root = metadata["workspace_root"]
        .as_str()
        .ok_or(Failure::Metadata("workspace root"))?;
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"]
            .as_str()
            .ok_or(Failure::Metadata("name of a package"))?;
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let path = manifest
            .strip_prefix(root)
            .unwrap_or(manifest)
            .trim_start_matches('/');
        let violation = |message| Violation {
            path: path.to_owned(),
            line: 0,
            message,
        };
        let Some((_, allowed)) = DIRECTIONS.iter().find(|(from, _)| *from == name) else {
            found.push(violation(format!(
                "say in core/xtask/src/tidy/directions.rs what `{name}` may use"
            )));
            continue;
        };
        let used = ours(package).filter(|used| !allowed.contains(used));
        found.extend(used.map(|used| {
            violation(format!(
                "`{name}` may not use `{used}`: the arrow points the other way"
            ))
        }));
    }
    Ok(found)
}

/// The crates of the workspace that `package` is built with; what its tests use is left out.
fn ours(package: &Value) -> impl Iterator<Item = &str> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let shipped = dependencies
        .filter(|dependency| dependency["kind"] != "dev" && !dependency["path"].is_null());
    shipped.filter_map(|dependency| dependency["name"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(name: &str, dependencies: Value) -> Vec<String> {
        let manifest = format!("/r/core/x/{name}.toml");
        let package =
            json!({ "name": name, "manifest_path": manifest, "dependencies": dependencies });
        let found = violations(&json!({ "workspace_root": "/r", "packages": [package] })).unwrap();
        found
            .into_iter()
            .map(|violation| violation.to_string())
            .collect()
    }

    #[test]
    fn an_arrow_that_points_up_is_found() {
        let down = json!([{ "name": "enclos-sys", "path": "/r/core/sys", "kind": null }]);
        assert_eq!(messages("enclos-clone", down), [""; 0]);
        let up = json!([{ "name": "enclos-session", "path": "/r/core/session", "kind": null }]);
        let found = messages("enclos-clone", up);
        assert_eq!(
            found,
            [
                "core/x/enclos-clone.toml: `enclos-clone` may not use `enclos-session`: the arrow points the other way"
            ]
        );
    }

    #[test]
    fn tests_are_free_and_the_product_is_not() {
        let dependency = |kind: Value| json!([{ "name": "enclos-testkit", "path": "/r/core/testkit", "kind": kind }]);
        assert_eq!(
            messages("enclos-clone", dependency(json!("dev"))).len(),
            0,
            "its tests"
        );
        assert_eq!(
            messages("enclos-clone", dependency(Value::Null)).len(),
            1,
            "the crate itself"
        );
        assert_eq!(
            messages("enclos-clone", dependency(json!("build"))).len(),
            1,
            "its build script"
        );
    }

    #[test]
    fn a_crate_nobody_placed_is_found() {
        assert_eq!(messages("enclos-more", json!([])).len(), 1);
    }

    #[test]
    fn the_table_itself_points_down() {
        for (index, (name, allowed)) in DIRECTIONS.iter().enumerate() {
            for used in *allowed {
                assert!(
                    DIRECTIONS[..index].iter().any(|(below, _)| below == used),
                    "{name} uses {used}, which is below it"
                );
            }
        }
    }
}
