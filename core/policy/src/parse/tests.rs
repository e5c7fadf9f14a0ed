//! What a file may say, and what is said about a file that says something else.

use proptest::prelude::*;

use super::*;
use crate::origin::Origin;

fn said(text: &str, layer: Layer) -> String {
    match parse(text, layer) {
        Ok(document) => {
            let lines = document.statements().iter();
            lines
                .map(|s| format!("{}: {}", s.origin, s.value))
                .collect::<Vec<_>>()
                .join("\n")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_full_file_reads_as_it_is_written() {
    let text = r#"
version = 1

[network]
mode = "none"
local = false

[files]
read = ["~/datasets"]
write = []
hide = ["secrets/", "*.pem"]
deny = ["~/private"]
with = ["../shared-lib"]
sockets = ["/run/db.sock"]

[env]
pass = ["CI"]
set = { RUST_LOG = "info" }

[clone]
method = "auto"
scope = "repository"
history = "none"

[session]
on_exit = "ask"

[limits]
time = "4h"
idle = "30m"
"#;
    insta::assert_snapshot!(said(text, Layer::Project), @r#"
    .enclos.toml:5: have the network mode none
    .enclos.toml:6: reach no program on this machine
    .enclos.toml:9: read ~/datasets
    .enclos.toml:11: hide secrets/
    .enclos.toml:11: hide *.pem
    .enclos.toml:12: never lend ~/private
    .enclos.toml:13: copy and review ../shared-lib as well
    .enclos.toml:14: connect to the socket /run/db.sock
    .enclos.toml:17: see your variable CI
    .enclos.toml:18: set RUST_LOG to "info"
    .enclos.toml:21: copy with the method auto
    .enclos.toml:22: take the whole repository in
    .enclos.toml:23: see no history of the repository
    .enclos.toml:26: ask you at the end
    .enclos.toml:29: end after 4h
    .enclos.toml:30: end after 30m without activity
    "#);
}

#[test]
fn the_network_mode_has_a_short_form() {
    assert_eq!(
        said("network = 'none'", Layer::User),
        "config.toml:1: have the network mode none"
    );
}

#[test]
fn an_empty_file_states_nothing() {
    assert_eq!(parse("", Layer::User).unwrap(), Document::default());
    assert_eq!(
        parse("# nothing\n[files]\n", Layer::User).unwrap(),
        Document::default()
    );
}

#[test]
fn every_place_counts_characters_from_one() {
    let document = parse("[files]\nhide = ['é', 'x']\n", Layer::Project).unwrap();
    let place = |line, column| Origin::File {
        layer: Layer::Project,
        line,
        column,
    };
    let origins: Vec<_> = document.statements().iter().map(|s| s.origin).collect();
    assert_eq!(origins, [place(2, 9), place(2, 14)]);
}

#[test]
fn unknown_keys_are_errors_with_the_nearest_name() {
    let text = "red = 1\nhide = ['x']\n[files]\nreed = []\non_exit = 'ask'\nzzzzzzzz = 1\n[fles]\n[\"a\\nb\"]\n";
    insta::assert_snapshot!(said(text, Layer::User), @r"
    config.toml:1:1: unknown key `red`; allowed are `version`, `files`, `env`, `network`, `clone`, `session` and `limits`
    config.toml:2:1: unknown key `hide`; did you mean `files.hide`?
    config.toml:4:1: unknown key `files.reed`; did you mean `files.read`?
    config.toml:5:1: unknown key `files.on_exit`; did you mean `session.on_exit`?
    config.toml:6:1: unknown key `files.zzzzzzzz`; allowed are `read`, `write`, `hide`, `deny`, `with` and `sockets`
    config.toml:7:2: unknown key `fles`; did you mean `files`?
    config.toml:8:2: unknown key `a\nb`; allowed are `version`, `files`, `env`, `network`, `clone`, `session` and `limits`
    ");
}

#[test]
fn bad_values_are_errors_that_say_what_is_allowed() {
    let text = r#"
version = 2
network = "nome"
env = 3
[files]
read = "~/x"
write = [1, true, ""]
hide = ["!x", "a[", "../y"]
deny = ["~root/x"]
[clone]
method = "rsync"
scope = "Folder"
[session]
on_exit = "aply"
[limits]
time = "4 hours"
idle = 30
"#;
    insta::assert_snapshot!(said(text, Layer::Project), @r#"
    .enclos.toml:2:11: the file is written for version 2 of this format, this Enclos reads version 1
    .enclos.toml:3:11: `network.mode` cannot be "nome"; did you mean "none"?
    .enclos.toml:4:7: `env` is a whole number, wanted a table
    .enclos.toml:6:8: `files.read` is a text, wanted a list of paths
    .enclos.toml:7:10: `files.write` is a whole number, wanted a list of paths
    .enclos.toml:7:13: `files.write` is true or false, wanted a list of paths
    .enclos.toml:7:19: `files.write`: an empty path names nothing
    .enclos.toml:8:9: `files.hide`: `!x`: nothing hidden can be brought back with `!`
    .enclos.toml:8:15: `files.hide`: `a[` is not a pattern
    .enclos.toml:8:21: `files.hide`: `../y` is not below the project; `files.deny` is for paths outside
    .enclos.toml:9:9: `files.deny`: ~root/x names another person's home; write the whole path
    .enclos.toml:11:10: `clone.method` cannot be "rsync"; allowed are "auto", "clonefile", "reflink", "hybrid", "overlay" and "copy"
    .enclos.toml:12:9: `clone.scope` cannot be "Folder"; did you mean "folder"?
    .enclos.toml:14:11: `session.on_exit` cannot be "aply"; did you mean "apply"?
    .enclos.toml:16:8: `limits.time` cannot be "4 hours"; write a length of time such as "90s", "45m" or "1h30m"
    .enclos.toml:17:8: `limits.idle` is a whole number, wanted a text such as "1h30m"
    "#);
}

#[test]
fn variables_are_checked_one_by_one() {
    let text =
        "[env]\npass = ['A-B', 'HOME', 'OK']\nset = { ENCLOS_X = '1', N = 3, 'a b' = 'c' }\n";
    insta::assert_snapshot!(said(text, Layer::Project), @r"
    .enclos.toml:2:9: `env.pass`: `A-B` cannot be the name of a variable: letters, digits and `_` only, no digit first
    .enclos.toml:2:16: `env.pass`: `HOME` is set by Enclos inside a session and cannot be given
    .enclos.toml:3:9: `env.set`: `ENCLOS_X` is set by Enclos inside a session and cannot be given
    .enclos.toml:3:29: `env.set` is a whole number, wanted a table of names and texts
    .enclos.toml:3:32: `env.set`: `a b` cannot be the name of a variable: letters, digits and `_` only, no digit first
    ");
}

#[test]
fn network_modes_of_a_later_version_are_refused_in_words() {
    insta::assert_snapshot!(said("[network]\nmode = 'guarded'", Layer::User), @r#"config.toml:2:8: `network.mode` cannot be "guarded" in this version, which has no network at all; use "none" or leave it out"#);
}

#[test]
fn broken_toml_is_placed() {
    insta::assert_snapshot!(said("[files]\nread = [\n'a'\nhide = ]", Layer::User), @r"
    config.toml:4:1: missing comma between array elements, expected `,`
    config.toml:4:1: string values must be quoted, expected literal string
    config.toml:4:6: unexpected `=` in array, expected value, `]`
    ");
    insta::assert_snapshot!(said("a = 1\na = 2\n", Layer::User), @"config.toml:2:1: duplicate key");
    assert_eq!(
        parse(b"ok = 1\n\xff", Layer::User).unwrap_err().to_string(),
        "config.toml:2:1: the file is not UTF-8 text from here on"
    );
}

#[test]
fn a_managed_policy_may_only_restrict() {
    let restricting =
        "network = 'none'\n[files]\nhide = ['*.pem']\ndeny = ['~/work']\n[limits]\ntime = '1h'";
    assert_eq!(
        parse(restricting, Layer::Managed)
            .unwrap()
            .statements()
            .len(),
        4
    );
    let widening =
        "[files]\nread = ['/data']\n[session]\non_exit = 'apply'\n[network]\nlocal = true\n";
    insta::assert_snapshot!(said(widening, Layer::Managed), @r#"
    policy.toml:2:9: `files.read` does not restrict what a session can do ("read /data"), and a managed policy may only restrict
    policy.toml:4:11: `session.on_exit` does not restrict what a session can do ("apply its changes without asking you"), and a managed policy may only restrict
    policy.toml:6:9: `network.local` does not restrict what a session can do ("reach programs on this machine"), and a managed policy may only restrict
    "#);
}

#[test]
fn relative_paths_belong_to_projects() {
    insta::assert_snapshot!(said("[files]\nread = ['data', '~', '/x']", Layer::User), @"config.toml:2:9: `files.read`: `data` is relative, and this file belongs to no project; start it with `/` or `~/`");
}

#[test]
fn what_a_file_says_cannot_draw_on_the_terminal() {
    let text = said(
        "\"\\u001b[2Jx\" = 1\n[session]\non_exit = \"\\u202eksa\"",
        Layer::Project,
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn a_file_that_nobody_wrote_by_hand_is_not_read() {
    let text = "#".repeat(MOST_BYTES + 1);
    insta::assert_snapshot!(said(&text, Layer::Project), @".enclos.toml:1:1: the file has 262145 bytes, at most 262144 are read");
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(
        parse(deep, Layer::Project).is_err(),
        "nesting does not exhaust the stack"
    );
}

/// Every key of the tables is read: a key that is known and then forgotten would be a setting without effect.
#[test]
fn every_known_key_is_read() {
    for (table, keys) in TABLES.iter().filter(|(table, _)| !table.is_empty()) {
        for key in *keys {
            let text = format!("[{table}]\n{key} = 1979-05-27\n");
            let error = parse(&text, Layer::Project).expect_err("a date is never right");
            assert!(
                error
                    .to_string()
                    .contains(&format!("`{table}.{key}` is a date")),
                "{error}"
            );
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for layer in [Layer::Managed, Layer::User, Layer::Project] {
            let _ = parse(&bytes, layer).map_err(|e| e.to_string());
        }
    }

    #[test]
    fn nothing_that_looks_like_a_policy_panics(
        lines in prop::collection::vec(
            "(\\[?(files|env|clone|session|limits|network|x)\\]?|(read|hide|set|pass|mode|time|é) ?= ?(\\[\"[ -~é]{0,6}\"\\]|\"[ -~]{0,6}\"|\\{ A = \"é\" \\}|[0-9]{1,3}|true))",
            0..8,
        )
    ) {
        match parse(lines.join("\n"), Layer::Project) {
            Ok(document) => for statement in document.statements() {
                let _ = statement.value.to_string();
            },
            Err(error) => prop_assert!(error.problems().iter().all(|p| p.line >= 1 && p.column >= 1)),
        }
    }
}
