//! What must not happen whatever variables, links, files and search paths say.

use std::os::unix::ffi::OsStringExt;

use proptest::prelude::*;

use super::*;

#[test]
fn a_hostile_search_path_keeps_only_what_is_inside() {
    let machine = Machine::linux()
        .dir("/tmp/evil")
        .dir("/dev/shm/evil")
        .dir("/run/user/1000/evil")
        .file("~/.ssh/bin/git", "")
        .link("~/innocent", "~/.ssh/bin")
        .dir("~/p/bin")
        .link("~/p/looks-own", "~/.ssh/bin")
        .link("~/to-project", "~/p/bin")
        .dir("~/.config/secret-tool/bin")
        .dir("/srv/tool/bin")
        .on_path(&[
            "",
            ".",
            "bin",
            "../bin",
            "/tmp/evil",
            "/dev/shm/evil",
            "/run/user/1000/evil",
            "~/.ssh/bin",
            "~/innocent",
            "~/p/bin",
            "~/p/looks-own",
            "~/to-project",
            "~/.config/secret-tool/bin",
            "/srv/tool/bin",
            "/gone",
            "a\nb",
            "/usr/bin/../../tmp/evil",
            "/home/ada",
        ]);
    let lending = machine.lend();
    assert_eq!(lending.shown(), [""; 0], "nothing is lent for any of them");
    assert_eq!(
        lending.paths(),
        ["/home/ada/p/bin", "/usr/local/bin", "/usr/bin", "/bin"]
    );
    insta::assert_snapshot!(lending.said().join("\n"), @r"
    PATH entry `` is left out: it is not an absolute path
    PATH entry `.` is left out: it is not an absolute path
    PATH entry `bin` is left out: it is not an absolute path
    PATH entry `../bin` is left out: it is not an absolute path
    PATH entry `/tmp/evil` is left out: it lies in a folder that is private inside
    PATH entry `/dev/shm/evil` is left out: it lies in a folder that is private inside
    PATH entry `/run/user/1000/evil` is left out: it lies in a folder that is private inside
    PATH entry `/home/ada/.ssh/bin` is left out: it lies where secrets are kept
    PATH entry `/home/ada/innocent` is left out: it lies where secrets are kept
    PATH entry `/home/ada/p/looks-own` is left out: it lies where secrets are kept
    PATH entry `/home/ada/.config/secret-tool/bin` is left out: it is not part of a known tool; `--read` lends it
    PATH entry `/srv/tool/bin` is left out: it is not part of a known tool; `--read` lends it
    PATH entry `a\nb` is left out: it is not a path
    PATH entry `/usr/bin/../../tmp/evil` is left out: it lies in a folder that is private inside
    PATH entry `/home/ada` is left out: it is not part of a known tool; `--read` lends it
    ");
}

#[test]
fn an_empty_search_path_becomes_the_systems() {
    let mut machine = Machine::linux();
    machine.outside.path.clear();
    assert_eq!(
        machine.lend().paths(),
        ["/usr/local/bin", "/usr/bin", "/bin"]
    );
}

#[test]
fn names_that_are_not_text_survive() {
    let mut machine = Machine::linux();
    let odd = OsString::from_vec(b"/opt/caf\xe9/bin".to_vec());
    machine = machine.dir("/opt");
    machine.nodes.insert(
        AbsPath::new("/opt")
            .unwrap()
            .child(OsString::from_vec(b"caf\xe9".to_vec()))
            .unwrap(),
        Node::Folder,
    );
    machine
        .nodes
        .insert(AbsPath::new(&odd).unwrap(), Node::Folder);
    machine.outside.path.insert(0, odd.clone());
    let lending = machine.lend();
    assert_eq!(lending.path[0], AbsPath::new(&odd).unwrap());
    assert!(
        lending
            .env
            .iter()
            .any(|(n, v)| n == "PATH" && v.clone().into_vec().starts_with(b"/opt/caf\xe9/bin:"))
    );
}

#[test]
fn variables_cannot_lend_home_or_secrets() {
    for place in [
        "/home/ada",
        "/",
        "/home",
        "~/.ssh",
        "~/.config",
        "~/.gnupg",
        "~/p",
        "/tmp/x",
        "~/.local/share/enclos",
    ] {
        let mut machine = Machine::linux()
            .dir("~/.ssh")
            .dir("~/.gnupg")
            .dir("/tmp/x")
            .dir("~/.local/share/enclos/x");
        for name in [
            "CACHEDIR.TAG",
            "bin",
            "registry",
            "git",
            "toolchains",
            "versions",
            "cache",
            "v6",
            "http",
            "README",
        ] {
            machine = machine.file(&format!("{place}/{name}/f"), "");
        }
        for var in CATALOGUE
            .tools
            .iter()
            .flat_map(|tool| &tool.roots)
            .flat_map(|root| &root.var)
        {
            machine = machine.var(var, place);
        }
        check(&machine, &machine.lend());
    }
}

#[test]
fn a_tools_folder_that_links_to_secrets_is_not_lent() {
    let machine = Machine::linux()
        .file("~/.ssh/id_ed25519", "")
        .link("~/.cargo/bin", "~/.ssh")
        .link("~/.cargo/registry", "~/.gnupg")
        .dir("~/.gnupg")
        .link("~/.rustup/toolchains", "~/p")
        .link("~/.nvm/versions", "/")
        .dir("~/.pyenv/versions")
        .link("~/.pyenv/versions/evil", "~/.ssh");
    let lending = machine.lend();
    insta::assert_snapshot!(lending.shown().join("\n"), @r"
    empty cargo-git /home/ada/.cargo/git
    empty cargo-registry /home/ada/.cargo/registry
    read /home/ada/.pyenv/versions
    ");
    insta::assert_snapshot!(lending.said().join("\n"), @r"
    /home/ada/.cargo/bin is not lent to cargo: secrets are kept there
    /home/ada/.cargo/registry is not lent to cargo: secrets are kept there
    /home/ada/.rustup/toolchains is not lent to rustup: it holds the project
    /home/ada/.nvm/versions is not lent to nvm: it is the home folder or holds it
    ");
    check(&machine, &lending);
}

#[test]
fn secrets_behind_a_link_are_known_by_both_paths() {
    let mut machine = Machine::linux()
        .link("~/.ssh", "/data/dotfiles/ssh")
        .dir("/data/dotfiles/ssh/toolchains")
        .link("/state/current", "/data/state")
        .dir("/data/state/versions")
        .var("RUSTUP_HOME", "/data/dotfiles/ssh")
        .var("NVM_DIR", "/data/state");
    machine.outside.protected = vec![path("/state/current")];
    assert_eq!(machine.lend().shown(), [""; 0]);
}

#[test]
fn a_variable_lends_a_whole_folder_only_if_it_looks_like_the_tools() {
    let uv = || Machine::linux().file("/usr/bin/uv", "");
    let diaries = uv()
        .file("~/diaries/monday.txt", "")
        .var("UV_CACHE_DIR", "~/diaries");
    let lending = diaries.lend();
    assert_eq!(
        lending.said(),
        ["/home/ada/diaries is not lent to uv: nothing in it shows that it belongs to the tool"]
    );
    assert_eq!(
        lending.shown(),
        ["empty uv /home/ada/diaries"],
        "an empty one of the project instead"
    );
    let dot = uv()
        .file("~/.uv-things/CACHEDIR.TAG", "")
        .var("UV_CACHE_DIR", "~/.uv-things");
    assert_eq!(
        dot.lend().said(),
        ["/home/ada/.uv-things is not lent to uv: it is a whole dot folder"]
    );
    let cache = uv()
        .file("~/uv-things/CACHEDIR.TAG", "")
        .var("UV_CACHE_DIR", "~/uv-things");
    assert_eq!(
        cache.lend().shown(),
        ["cache uv /home/ada/uv-things"],
        "the same with a mark and without a dot"
    );
}

#[test]
fn secrets_that_lie_in_lent_folders_are_covered() {
    let machine = Machine::linux()
        .file("~/.local/bin/tool", "")
        .file("~/.local/bin/.netrc", "")
        .file("~/.nvm/versions/node/v20.11.1/etc/npmrc", "")
        .file("~/.pyenv/versions/3.12.4/pip.conf", "")
        .file("~/miniconda3/envs/ml/.condarc", "")
        .file("~/.cache/ccache/ccache.conf", "")
        .link(
            "~/.local/bin/credentials",
            "~/.pyenv/versions/3.12.4/secret",
        )
        .file("~/.pyenv/versions/3.12.4/secret", "");
    let lending = machine.lend();
    insta::assert_snapshot!(lending.covered.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), @r"
    /home/ada/.cache/ccache/ccache.conf
    /home/ada/.local/bin/.netrc
    /home/ada/.nvm/versions/node/v20.11.1/etc/npmrc
    /home/ada/.pyenv/versions/3.12.4/pip.conf
    /home/ada/.pyenv/versions/3.12.4/secret
    /home/ada/miniconda3/envs/ml/.condarc
    ");
}

#[test]
fn the_environment_is_an_allow_list() {
    let mut machine = Machine::linux();
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DOCKER_HOST",
        "NODE_OPTIONS",
        "BASH_ENV",
        "ENV",
        "PYTHONSTARTUP",
        "GIT_DIR",
        "GIT_CONFIG_GLOBAL",
        "HTTP_PROXY",
        "GPG_TTY",
        "MAKEFLAGS",
        "PROMPT_COMMAND",
    ] {
        machine = machine.var(name, "outside");
    }
    machine = machine
        .var("LANG", "ghp_0123456789abcdef0123")
        .var("LC_TOKEN", "x")
        .var("PAGER", "less");
    let lending = machine.lend();
    assert!(
        !lending.env.iter().any(|(_, value)| value == "outside"),
        "{:?}",
        lending.env
    );
    assert_eq!(
        lending.value("LANG"),
        None,
        "a token in a harmless variable"
    );
    assert_eq!(
        lending.value("LC_TOKEN"),
        None,
        "a variable named as a secret"
    );
    assert_eq!(lending.value("PAGER").as_deref(), Some("less"));
    assert_eq!(
        lending.said(),
        ["LANG is left out: its value looks like a secret"]
    );
}

/// What holds for every lending on every machine.
fn check(machine: &Machine, lending: &Lending) {
    let home = &machine.outside.home;
    let secret =
        [".ssh", ".gnupg", ".aws", ".docker", ".local/share/enclos"].map(|name| home.resolve(name));
    for folder in &lending.folders {
        let copied = matches!(
            folder.access,
            Access::Cache {
                lower: Lower::Absent,
                ..
            }
        );
        let name = folder.outside.name().unwrap().to_str().unwrap();
        assert!(
            copied || !name.starts_with('.'),
            "a whole dot folder: {folder:?}"
        );
        assert!(
            copied || !home.is_within(&folder.outside),
            "home or above: {folder:?}"
        );
        assert!(
            copied || !machine.outside.project.is_within(&folder.outside),
            "the original shows: {folder:?}"
        );
        assert!(
            copied || !folder.outside.is_within(&machine.outside.project),
            "the original shows: {folder:?}"
        );
        for secret in &secret {
            assert!(
                copied || !folder.outside.is_within(secret),
                "secrets: {folder:?}"
            );
            assert!(
                copied || !secret.is_within(&folder.outside),
                "secrets: {folder:?}"
            );
        }
        for name in &CATALOGUE.never.name {
            let file = folder.outside.child(name).unwrap();
            let inside = folder.inside.child(name).unwrap();
            let shows = !copied && machine.kind(&file) == Some(Kind::File);
            assert!(
                !shows || lending.covered.contains(&inside),
                "{inside} shows"
            );
        }
    }
    for entry in &lending.path {
        let outside = lending.outside_of(entry);
        let known = lending
            .folders
            .iter()
            .any(|folder| entry.is_within(&folder.inside));
        let project = entry.is_within(&machine.inside.project);
        let system = ["/usr", "/bin", "/sbin"]
            .iter()
            .any(|s| entry.is_within(&path(s)));
        assert!(known || project || system, "{entry} is not inside");
        assert!(
            !secret.iter().any(|secret| outside.is_within(secret)),
            "{entry}"
        );
    }
}

/// Places that variables and links of a hostile machine may name.
const PLACES: &[&str] = &[
    "~/.ssh",
    "~/.gnupg/x",
    "~/.cargo",
    "~/.local/bin",
    "/",
    "/home",
    "/home/ada",
    "~/p",
    "~/p/sub",
    "/tmp/x",
    "/data/tool",
    "/usr/bin",
    "~/.local/share/enclos/s",
    "~/.config",
    "/opt/x",
    "~/x",
    "/opt",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_machine_makes_lending_leak(
        links in prop::collection::vec((0..PLACES.len(), "(bin|registry|git|toolchains|versions|cache|lib|v10|a)", 0..PLACES.len()), 0..8),
        dirs in prop::collection::vec((0..PLACES.len(), "(bin|registry|toolchains|versions|cache|lib|v10|\\.npmrc|credentials)"), 0..12),
        vars in prop::collection::vec((any::<prop::sample::Index>(), 0..PLACES.len(), "(|/bin|/a|/registry)"), 0..8),
        entries in prop::collection::vec((0..PLACES.len(), "(|/bin|/a|/a/bin|/../x)"), 0..8),
    ) {
        let names: Vec<String> = CATALOGUE.tools.iter().flat_map(|t| &t.roots).flat_map(|r| r.var.clone()).collect();
        let mut machine = Machine::linux().dir("~/.ssh").dir("~/.cargo/registry").dir("~/.local/bin");
        for (place, name) in &dirs {
            let at = format!("{}/{name}", PLACES[*place]);
            machine = if name.starts_with('.') || name == "credentials" { machine.file(&at, "x") } else { machine.dir(&at) };
        }
        for (place, name, to) in &links {
            machine = machine.link(&format!("{}/{name}", PLACES[*place]), PLACES[*to]);
        }
        for (index, place, below) in &vars {
            let name: &String = index.get(&names[..]);
            machine = machine.var(name, &format!("{}{below}", PLACES[*place]));
        }
        let entries: Vec<String> = entries.iter().map(|(place, below)| format!("{}{below}", PLACES[*place])).collect();
        let machine = machine.on_path(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        check(&machine, &machine.lend());
    }
}
