//! Version managers: what they would choose is on the search path, and the managers are not.

use super::*;

#[test]
fn nvm_keeps_the_version_of_the_shell() {
    let machine = Machine::linux()
        .file("~/.nvm/versions/node/v18.19.0/bin/node", "")
        .file("~/.nvm/versions/node/v20.11.1/bin/node", "")
        .file("~/p/.nvmrc", "18\n")
        .on_path(&["~/.nvm/versions/node/v20.11.1/bin"]);
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[0],
        "/home/ada/.nvm/versions/node/v20.11.1/bin"
    );
    assert_eq!(lending.shown(), ["read /home/ada/.nvm/versions"]);
    assert_eq!(
        lending.paths().len(),
        4,
        "the project's choice is nvm's business in a shell: {:?}",
        lending.paths()
    );
}

#[test]
fn nvm_chooses_for_those_who_start_outside_of_a_shell() {
    let machine = Machine::linux()
        .file("~/.nvm/versions/node/v18.19.0/bin/node", "")
        .file("~/.nvm/versions/node/v20.9.0/bin/node", "")
        .file("~/.nvm/versions/node/v20.11.1/bin/node", "")
        .file("~/.nvm/alias/default", "lts/*\n")
        .file("~/.nvm/alias/lts/*", "lts/iron\n")
        .file("~/.nvm/alias/lts/iron", "v20.11.1\n");
    assert_eq!(
        machine.lend().paths()[0],
        "/home/ada/.nvm/versions/node/v20.11.1/bin",
        "the default alias"
    );
    let pinned = machine.clone().file("~/p/.nvmrc", "# ours\nv18\n");
    assert_eq!(
        pinned.lend().paths()[0],
        "/home/ada/.nvm/versions/node/v18.19.0/bin",
        "the project's file"
    );
    let missing = machine.clone().file("~/p/.nvmrc", "16").lend();
    assert_eq!(
        missing.said(),
        ["nvm has no version `16`, which /home/ada/p/.nvmrc asks for"]
    );
    assert_eq!(
        missing.paths()[0],
        "/home/ada/.nvm/versions/node/v20.11.1/bin",
        "and the default is used"
    );
}

#[test]
fn nvm_through_a_link_is_at_both_paths() {
    let machine = Machine::linux()
        .link("~/.nvm", "/data/nvm")
        .file("/data/nvm/versions/node/v20.11.1/bin/node", "")
        .on_path(&["~/.nvm/versions/node/v20.11.1/bin"]);
    let lending = machine.lend();
    assert_eq!(
        lending.shown(),
        [
            "read /data/nvm/versions",
            "read /home/ada/.nvm/versions <- /data/nvm/versions"
        ]
    );
    assert_eq!(
        lending.paths()[0],
        "/home/ada/.nvm/versions/node/v20.11.1/bin"
    );
}

#[test]
fn fnm_has_a_link_per_shell_that_is_resolved() {
    let machine = Machine::linux()
        .file(
            "~/.local/share/fnm/node-versions/v20.11.1/installation/bin/node",
            "",
        )
        .link(
            "/run/user/1000/fnm_multishells/77_1",
            "~/.local/share/fnm/node-versions/v20.11.1/installation",
        )
        .on_path(&["/run/user/1000/fnm_multishells/77_1/bin"]);
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[0],
        "/home/ada/.local/share/fnm/node-versions/v20.11.1/installation/bin"
    );
    assert_eq!(lending.said(), [""; 0]);
}

#[test]
fn fnm_chooses_by_file_and_by_alias() {
    let machine = Machine::linux()
        .file(
            "~/.local/share/fnm/node-versions/v18.19.0/installation/bin/node",
            "",
        )
        .file(
            "~/.local/share/fnm/node-versions/v20.11.1/installation/bin/node",
            "",
        )
        .link(
            "~/.local/share/fnm/aliases/default",
            "../node-versions/v20.11.1/installation",
        );
    let bin = |version: &str| {
        format!("/home/ada/.local/share/fnm/node-versions/{version}/installation/bin")
    };
    assert_eq!(machine.lend().paths()[0], bin("v20.11.1"));
    assert_eq!(
        machine.file("~/p/.node-version", "18.19.0").lend().paths()[0],
        bin("v18.19.0")
    );
}

#[test]
fn voltas_shims_are_replaced_by_what_they_would_run() {
    let machine = Machine::linux()
        .file("~/.volta/bin/node", "")
        .file("~/.volta/tools/image/node/20.11.1/bin/node", "")
        .file("~/.volta/tools/image/node/18.19.0/bin/node", "")
        .file("~/.volta/tools/image/yarn/1.22.22/bin/yarn", "")
        .file("~/.volta/tools/image/packages/typescript/bin/tsc", "")
        .file(
            "~/.volta/tools/user/platform.json",
            r#"{"node":{"runtime":"20.11.1","npm":null},"yarn":"1.22.22"}"#,
        )
        .on_path(&["~/.volta/bin"]);
    let image = "/home/ada/.volta/tools/image";
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[..3],
        [
            format!("{image}/yarn/1.22.22/bin"),
            format!("{image}/node/20.11.1/bin"),
            format!("{image}/packages/typescript/bin"),
        ]
    );
    assert_eq!(
        lending.shown(),
        [format!("read {image}")],
        "the shims and the state of Volta stay outside"
    );
    let pinned = machine
        .file("~/p/package.json", r#"{"volta":{"node":"18.19.0"}}"#)
        .lend();
    assert_eq!(pinned.paths()[1], format!("{image}/node/18.19.0/bin"));
}

#[test]
fn pyenvs_shims_are_replaced_by_the_versions() {
    let machine = Machine::linux()
        .file("~/.pyenv/versions/3.11.9/bin/python3", "")
        .file("~/.pyenv/versions/3.12.4/bin/python3", "")
        .file("~/.pyenv/version", "3.11.9\n3.12.4\n")
        .dir("~/.pyenv/shims")
        .dir("~/.pyenv/bin")
        .dir("~/.pyenv/plugins/pyenv-virtualenv/shims")
        .on_path(&[
            "~/.pyenv/plugins/pyenv-virtualenv/shims",
            "~/.pyenv/shims",
            "~/.pyenv/bin",
        ]);
    let bin = |version: &str| format!("/home/ada/.pyenv/versions/{version}/bin");
    let lending = machine.lend();
    assert_eq!(lending.paths()[..2], [bin("3.11.9"), bin("3.12.4")]);
    assert_eq!(
        lending.paths().len(),
        5,
        "neither shims nor the manager: {:?}",
        lending.paths()
    );
    assert_eq!(
        machine
            .clone()
            .file("~/p/.python-version", "3.12")
            .lend()
            .paths()[0],
        bin("3.12.4")
    );
    assert_eq!(
        machine
            .clone()
            .var("PYENV_VERSION", "3.12.4")
            .lend()
            .paths()[0],
        bin("3.12.4")
    );
    let system = machine
        .clone()
        .file("~/p/.python-version", "system\n")
        .lend();
    assert_eq!(system.paths()[0], "/usr/local/bin", "the system's own");
    let missing = machine.file("~/p/.python-version", "3.99").lend();
    assert_eq!(
        missing.said(),
        ["pyenv has no version `3.99`, which /home/ada/p/.python-version asks for"]
    );
}

#[test]
fn a_version_that_is_a_link_is_lent_where_it_leads() {
    let machine = Machine::linux()
        .link("~/.pyenv/versions/3.13-mine", "/data/python313")
        .file("/data/python313/bin/python3", "")
        .file("~/.pyenv/version", "3.13-mine\n")
        .dir("~/.pyenv/shims")
        .on_path(&["~/.pyenv/shims"]);
    let lending = machine.lend();
    assert_eq!(
        lending.shown(),
        ["read /data/python313", "read /home/ada/.pyenv/versions"]
    );
    assert_eq!(
        lending.paths()[0],
        "/home/ada/.pyenv/versions/3.13-mine/bin"
    );
}

#[test]
fn asdfs_shims_are_replaced_by_the_versions() {
    let machine = Machine::linux()
        .file("~/.asdf/installs/nodejs/20.11.1/bin/node", "")
        .file("~/.asdf/installs/golang/1.22.1/go/bin/go", "")
        .file("~/.asdf/installs/terraform/1.7.0/terraform", "")
        .dir("~/.asdf/shims")
        .file("~/.tool-versions", "nodejs 18.0.0\ngolang 1.22.1\n")
        .file(
            "~/p/.tool-versions",
            "nodejs 20.11.1 # ours\nterraform 1.7.0\n",
        )
        .on_path(&["~/.asdf/shims"]);
    let at = |below: &str| format!("/home/ada/.asdf/installs/{below}");
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[..3],
        [
            at("golang/1.22.1/go/bin"),
            at("nodejs/20.11.1/bin"),
            at("terraform/1.7.0")
        ]
    );
    assert_eq!(lending.said(), [""; 0]);
}

#[test]
fn mises_shims_are_replaced_by_the_versions() {
    let machine = Machine::linux()
        .file("~/.local/share/mise/installs/node/20.11.1/bin/node", "")
        .link("~/.local/share/mise/installs/node/20", "20.11.1")
        .file("~/.local/share/mise/installs/python/3.12.4/bin/python3", "")
        .file(
            "~/.local/share/mise/installs/npm-prettier/3.2.0/bin/prettier",
            "",
        )
        .dir("~/.local/share/mise/shims")
        .file(
            "~/.config/mise/config.toml",
            "[tools]\nnode = \"18\"\n\"npm:prettier\" = \"latest\"\n",
        )
        .file(
            "~/p/mise.toml",
            "[tools]\nnode = { version = \"20\" }\npython = [\"3.12\"]\n",
        )
        .on_path(&["~/.local/share/mise/shims"]);
    let at = |below: &str| format!("/home/ada/.local/share/mise/installs/{below}/bin");
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[..3],
        [at("node/20"), at("npm-prettier/3.2.0"), at("python/3.12.4")]
    );
    assert_eq!(lending.said(), [""; 0]);
}

#[test]
fn mise_that_is_active_in_the_shell_stays_as_it_is() {
    let machine = Machine::linux()
        .file("~/.local/share/mise/installs/node/20.11.1/bin/node", "")
        .on_path(&["~/.local/share/mise/installs/node/20.11.1/bin"]);
    assert_eq!(
        machine.lend().paths()[0],
        "/home/ada/.local/share/mise/installs/node/20.11.1/bin"
    );
}

#[test]
fn sdkmans_current_links_lead_inside() {
    let machine = Machine::linux()
        .file("~/.sdkman/candidates/java/21.0.2/bin/java", "")
        .link("~/.sdkman/candidates/java/current", "21.0.2")
        .var("JAVA_HOME", "~/.sdkman/candidates/java/current")
        .on_path(&["~/.sdkman/candidates/java/current/bin"]);
    let lending = machine.lend();
    assert_eq!(
        lending.paths()[0],
        "/home/ada/.sdkman/candidates/java/current/bin"
    );
    assert_eq!(
        lending.value("JAVA_HOME").as_deref(),
        Some("/home/ada/.sdkman/candidates/java/current")
    );
}

#[test]
fn a_version_file_of_the_project_cannot_lead_elsewhere() {
    let machine = Machine::linux()
        .file("~/.pyenv/versions/3.12.4/bin/python3", "")
        .file("~/.nvm/versions/node/v20.11.1/bin/node", "")
        .file("~/.asdf/installs/nodejs/20.11.1/bin/node", "")
        .file("~/.ssh/bin/node", "")
        .dir("~/.pyenv/shims")
        .dir("~/.asdf/shims")
        .on_path(&["~/.pyenv/shims", "~/.asdf/shims"])
        .file("~/p/.python-version", "../../.ssh\n")
        .file("~/p/.nvmrc", "../../../../.ssh")
        .file(
            "~/p/.tool-versions",
            "../../.ssh bin\nnodejs ../../../.ssh\n/home/ada/.ssh .\n",
        );
    let lending = machine.lend();
    assert!(
        !format!("{:?}{:?}", lending.path, lending.folders).contains(".ssh"),
        "{lending:#?}"
    );
}
