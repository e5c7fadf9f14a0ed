//! Tools whose places were moved, and what their settings say.

use super::*;

#[test]
fn cargo_and_rustup_that_were_moved_come_into_home_where_they_can_write() {
    let machine = Machine::linux()
        .file("/data/cargo/bin/cargo", "")
        .dir("/data/cargo/registry")
        .file("/data/cargo/credentials.toml", "")
        .dir("/data/rustup/toolchains/stable")
        .link("/data/rustup/toolchains/mine", "/data/src/rust/build")
        .dir("/data/src/rust/build/bin")
        .file("/data/rustup/settings.toml", "version = \"12\"\ndefault_toolchain = \"stable\"\n[overrides]\n\"/home/ada/p\" = \"mine\"\n\"/home/ada/other\" = \"x\"\n")
        .var("CARGO_HOME", "/data/cargo")
        .var("RUSTUP_HOME", "/data/rustup")
        .on_path(&["/data/cargo/bin"]);
    let lending = machine.lend();
    insta::assert_snapshot!(lending.shown().join("\n"), @r"
    read /data/cargo/bin
    read /data/rustup/toolchains
    read /data/src/rust/build
    read /home/ada/.cargo/bin <- /data/cargo/bin
    empty cargo-git /home/ada/.cargo/git <- /data/cargo/git
    cache cargo-registry /home/ada/.cargo/registry <- /data/cargo/registry
    read /home/ada/.rustup/toolchains <- /data/rustup/toolchains
    ");
    assert_eq!(
        lending.value("CARGO_HOME").as_deref(),
        Some("/home/ada/.cargo")
    );
    assert_eq!(
        lending.value("RUSTUP_HOME").as_deref(),
        Some("/home/ada/.rustup")
    );
    assert_eq!(lending.paths()[0], "/data/cargo/bin");
    insta::assert_snapshot!(lending.text(".rustup/settings.toml").unwrap(), @r#"
    default_toolchain = "stable"
    version = "12"

    [overrides]
    "/home/ada/p" = "mine"
    "#);
}

#[test]
fn cargo_below_usr_as_in_containers() {
    let machine = Machine::linux()
        .file("/usr/local/cargo/bin/cargo", "")
        .dir("/usr/local/cargo/registry")
        .file("/usr/local/cargo/credentials.toml", "")
        .dir("/usr/local/rustup/toolchains")
        .var("CARGO_HOME", "/usr/local/cargo")
        .var("RUSTUP_HOME", "/usr/local/rustup")
        .on_path(&["/usr/local/cargo/bin"]);
    let lending = machine.lend();
    assert_eq!(lending.paths()[0], "/usr/local/cargo/bin");
    assert_eq!(
        lending.covered,
        [path("/usr/local/cargo/credentials.toml")],
        "the system's folders show it"
    );
    insta::assert_snapshot!(lending.shown().join("\n"), @r"
    read /home/ada/.cargo/bin <- /usr/local/cargo/bin
    empty cargo-git /home/ada/.cargo/git <- /usr/local/cargo/git
    cache cargo-registry /home/ada/.cargo/registry <- /usr/local/cargo/registry
    read /home/ada/.rustup/toolchains <- /usr/local/rustup/toolchains
    ");
}

#[test]
fn a_cache_in_the_project_is_in_the_copy() {
    let machine = Machine::linux()
        .dir("~/p/.cargo-home/registry")
        .var("CARGO_HOME", "~/p/.cargo-home");
    let lending = machine.lend();
    assert_eq!(lending.shown(), [""; 0]);
    assert_eq!(
        lending.value("CARGO_HOME").as_deref(),
        Some("/home/ada/p/.cargo-home")
    );
}

#[test]
fn a_store_on_the_projects_own_disk_is_used_where_it_is() {
    let mut machine = Machine::linux()
        .dir("/data/work/p")
        .dir("/data/.pnpm-store")
        .dir("/data/.pnpm-store/v10");
    machine = machine.file("/usr/bin/pnpm", "");
    machine.outside.project = path("/data/work/p");
    machine.inside.project = path("/data/work/p");
    let lending = machine.lend();
    assert!(
        lending
            .shown()
            .contains(&"cache pnpm-v10 /data/.pnpm-store/v10".to_owned()),
        "{:?}",
        lending.shown()
    );
    for name in ["npm_config_store_dir", "pnpm_config_store_dir"] {
        assert_eq!(
            lending.value(name).as_deref(),
            Some("/data/.pnpm-store"),
            "{name}"
        );
    }
}

#[test]
fn npms_settings_move_its_places() {
    let machine = Machine::linux()
        .file("/usr/bin/npm", "")
        .file(
            "~/.npmrc",
            "prefix=~/.npm-packages\ncache = ${HOME}/cache/npm\n",
        )
        .file("~/.npm-packages/bin/tsc", "")
        .dir("~/.npm-packages/lib/node_modules")
        .dir("~/cache/npm/_cacache")
        .on_path(&["~/.npm-packages/bin"]);
    let lending = machine.lend();
    insta::assert_snapshot!(lending.shown().join("\n"), @r"
    read /home/ada/.npm-packages/bin
    read /home/ada/.npm-packages/lib
    cache npm /home/ada/cache/npm/_cacache
    ");
    assert_eq!(
        lending.value("npm_config_cache").as_deref(),
        Some("/home/ada/cache/npm")
    );
    assert_eq!(
        lending.value("npm_config_prefix").as_deref(),
        Some("/home/ada/.npm-packages")
    );
    assert_eq!(lending.text(".npmrc"), None, "nothing in it is for inside");
}

#[test]
fn gos_settings_move_its_places_and_lose_their_passwords() {
    let machine = Machine::linux()
        .file("/usr/bin/go", "")
        .file(
            "~/.config/go/env",
            "GOPATH=/home/ada/gopath\nGOPRIVATE=git.example\nGOPROXY=https://u:p@proxy.example\n",
        )
        .dir("~/gopath/pkg/mod/cache");
    let lending = machine.lend();
    assert!(
        lending
            .shown()
            .contains(&"cache go-modules /home/ada/gopath/pkg/mod".to_owned()),
        "{:?}",
        lending.shown()
    );
    assert_eq!(
        lending.text(".config/go/env").as_deref(),
        Some("GOPRIVATE=git.example\n")
    );
}

#[test]
fn other_base_folders_are_followed_and_ours_are_set_inside() {
    let machine = Machine::linux()
        .var("XDG_CACHE_HOME", "~/.xdg/cache")
        .file("~/.xdg/cache/uv/CACHEDIR.TAG", "")
        .file("/usr/bin/uv", "");
    let lending = machine.lend();
    assert!(
        lending
            .shown()
            .contains(&"cache uv /home/ada/.xdg/cache/uv".to_owned()),
        "{:?}",
        lending.shown()
    );
    assert_eq!(
        lending.value("UV_CACHE_DIR").as_deref(),
        Some("/home/ada/.xdg/cache/uv")
    );
    assert_eq!(
        lending.value("XDG_CACHE_HOME").as_deref(),
        Some("/home/ada/.cache")
    );
}

#[test]
fn yarns_variable_does_not_move_a_cache_that_is_part_of_the_project() {
    let machine = Machine::linux().file("/usr/bin/yarn", "");
    assert!(
        machine.lend().value("YARN_CACHE_FOLDER").is_some(),
        "version 1 takes it from there"
    );
    let berry = machine.file("~/p/.yarnrc.yml", "enableGlobalCache: false\n");
    assert_eq!(
        berry.lend().value("YARN_CACHE_FOLDER"),
        None,
        "later ones keep it in the project"
    );
}

#[test]
fn of_nix_only_the_store_is_lent() {
    let machine = Machine::linux()
        .file("/nix/store/abc-ripgrep/bin/rg", "")
        .dir("/nix/var/nix/daemon-socket")
        .link("/nix/store/env/bin", "/nix/store/abc-ripgrep/bin")
        .link("/nix/var/nix/profiles/profile", "/nix/store/env")
        .link("~/.nix-profile", "/nix/var/nix/profiles/profile")
        .on_path(&["~/.nix-profile/bin"]);
    let lending = machine.lend();
    assert_eq!(lending.shown(), ["read /nix/store"]);
    assert_eq!(
        lending.paths()[0],
        "/nix/store/abc-ripgrep/bin",
        "as it resolves, for the profile is not there"
    );
}

#[test]
fn a_terminals_own_description_is_lent_by_its_letter() {
    let machine = Machine::linux()
        .file("~/.terminfo/x/xterm-ghostty", "")
        .file("~/.terminfo/v/vt-other", "")
        .var("TERM", "xterm-ghostty");
    let lending = machine.lend();
    assert_eq!(lending.value("TERM").as_deref(), Some("xterm-ghostty"));
    assert_eq!(
        lending.value("TERMINFO").as_deref(),
        Some("/home/ada/.terminfo")
    );
    assert_eq!(
        lending.shown(),
        ["read /home/ada/.terminfo/x"],
        "never the dot folder itself"
    );
}

#[test]
fn an_unknown_terminal_becomes_one_that_programs_know() {
    let machine = Machine::linux()
        .var("TERM", "xterm-kitty")
        .var("TERMINFO", "/gone");
    let lending = machine.lend();
    assert_eq!(lending.value("TERM").as_deref(), Some("xterm-256color"));
    assert_eq!(lending.value("TERMINFO"), None);
    assert_eq!(
        lending.said(),
        ["no description of the terminal `xterm-kitty` can be lent, so TERM is xterm-256color"]
    );
}

#[test]
fn a_shell_that_is_not_inside_is_replaced() {
    let mut machine = Machine::linux().file("~/tools/nu", "");
    machine.outside.shell = path("/home/ada/tools/nu");
    let lending = machine.lend();
    assert_eq!(lending.shell, path("/bin/bash"));
    assert_eq!(lending.value("SHELL").as_deref(), Some("/bin/bash"));
    assert_eq!(
        lending.said(),
        ["the shell /home/ada/tools/nu is not there inside, so it is /bin/bash"]
    );
}

#[test]
fn certificates_of_the_system_are_named_and_others_are_not() {
    let machine = Machine::linux()
        .file("/etc/ssl/certs/ca-certificates.crt", "")
        .file("~/corp/ca.pem", "")
        .var("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
        .var("NODE_EXTRA_CA_CERTS", "~/corp/ca.pem");
    let lending = machine.lend();
    assert_eq!(
        lending.value("SSL_CERT_FILE").as_deref(),
        Some("/etc/ssl/certs/ca-certificates.crt")
    );
    assert_eq!(lending.value("NODE_EXTRA_CA_CERTS"), None);
    assert_eq!(
        lending.said(),
        ["NODE_EXTRA_CA_CERTS is left out: what it names is not lent"]
    );
}

#[test]
fn a_variable_may_name_a_program_or_a_path_to_one_that_is_lent() {
    let machine = Machine::linux()
        .file("/usr/bin/cargo", "")
        .file("~/.cargo/bin/sccache", "")
        .file("~/wrappers/rustc", "");
    let wrapper = |value: &str| {
        machine
            .clone()
            .var("RUSTC_WRAPPER", value)
            .lend()
            .value("RUSTC_WRAPPER")
    };
    assert_eq!(wrapper("sccache").as_deref(), Some("sccache"));
    let lent = "/home/ada/.cargo/bin/sccache";
    assert_eq!(wrapper(lent).as_deref(), Some(lent));
    assert_eq!(
        wrapper("~/wrappers/rustc"),
        None,
        "every build would fail with it"
    );
    assert_eq!(
        wrapper("ghp_0123456789abcdef0123"),
        None,
        "no program is called so"
    );
}

#[test]
fn a_program_is_found_where_it_lies_outside() {
    let machine = Machine::linux()
        .file("/data/cargo/bin/git-lfs", "")
        .var("CARGO_HOME", "/data/cargo");
    let lending = machine.clone().on_path(&["/data/cargo/bin"]).lend();
    assert!(
        lending.has_program("git-lfs", &machine),
        "{:?}",
        lending.path
    );
    assert!(!lending.has_program("git-annex", &machine));
}
