//! cargo: a crate that was downloaded and never unpacked, and tests.

use std::path::{Path, PathBuf};

use enclos_sandbox::Exit;
use enclos_sandbox::lend::Access;

use crate::machine::{Machine, as_ourselves};

/// A crate without dependencies, downloaded by whoever built these tests.
const CRATE: &str = "cfg-if";

#[test]
fn cargo_unpacks_what_was_downloaded_into_an_upper_of_the_project() {
    as_ourselves(|machine| {
        prepare(machine);
        let read_only = |folders: &mut Vec<_>| {
            let registry = folders.iter_mut().find(|folder: &&mut enclos_sandbox::lend::Folder| {
                matches!(&folder.access, Access::Cache { name, .. } if name == "cargo-registry")
            });
            registry.expect("the registry is lent").access = Access::ReadOnly;
        };
        let test = [
            "/bin/sh",
            "-euc",
            "cargo test --offline -q && cargo run --offline -q",
        ];
        let without = machine.session(&test, "", read_only).badly();
        assert!(
            without.contains("Read-only file system"),
            "lent read-only it cannot be unpacked: {without}"
        );

        let said = machine.session(&test, "", |_| {});
        assert_eq!(said.exit, Exit::Code(0), "{}", said.text);
        assert!(
            said.text.contains("1 passed") && said.text.contains("hello from inside"),
            "{}",
            said.text
        );
        assert!(
            !machine.home(".cargo/registry/src").exists(),
            "the lent registry is as it was"
        );
        assert!(
            machine.cache("cargo-registry/upper/src").exists(),
            "it was unpacked for the project"
        );
        assert!(
            !machine.home("p/target").exists(),
            "only the copy was built in"
        );
        machine.inside("cargo build --offline -q").well();
    });
}

#[test]
fn tokens_beside_the_registry_are_not_there() {
    as_ourselves(|machine| {
        prepare(machine);
        machine.write(
            ".cargo/credentials.toml",
            "[registry]\ntoken = \"secret\"\n",
        );
        let own = std::fs::read_to_string(machine.home(".cargo/config.toml")).unwrap_or_default();
        let with_token = format!("registry.token = \"secret\"\nalias.here = \"version\"\n{own}");
        machine.write(".cargo/config.toml", with_token);
        machine.var("CARGO_REGISTRY_TOKEN", "secret");
        let said = machine
            .inside("cat ~/.cargo/*.toml; env; cargo build --offline -q")
            .well();
        assert!(!said.contains("secret"), "{said}");
        assert!(
            said.contains("here = \"version\""),
            "what builds need was carried: {said}"
        );
    });
}

/// A home with the toolchain that runs these tests, an archive of one crate, and a project that needs it.
fn prepare(machine: &mut Machine) {
    let person = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let of = |var: &str, default: &str| {
        std::env::var_os(var).map_or_else(|| person.join(default), PathBuf::from)
    };
    let (cargo, rustup) = (of("CARGO_HOME", ".cargo"), of("RUSTUP_HOME", ".rustup"));
    machine.needs("cargo");
    if rustup.join("toolchains").is_dir() {
        machine.var("RUSTUP_HOME", &rustup);
        std::fs::create_dir_all(machine.home(".cargo")).unwrap();
        std::os::unix::fs::symlink(cargo.join("bin"), machine.home(".cargo/bin")).unwrap();
        machine.path.push(machine.home(".cargo/bin"));
    }
    // It says which registry the cache is of, where that is not the usual one.
    if let Ok(config) = std::fs::read(cargo.join("config.toml")) {
        machine.write(".cargo/config.toml", config);
    }
    let version = download(machine, &cargo.join("registry"));
    machine.write(
        "p/Cargo.toml",
        format!("[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{CRATE} = \"={version}\"\n"),
    );
    machine.write(
        "p/src/main.rs",
        "cfg_if::cfg_if! { if #[cfg(unix)] { const WHERE: &str = \"inside\"; } else { const WHERE: &str = \"\"; } }\n\
         fn main() { println!(\"hello from {WHERE}\") }\n#[test]\nfn works() { assert_eq!(WHERE, \"inside\") }\n",
    );
}

/// Copies the archive of the crate and its entry in the index, and not what is unpacked. Gives the version.
fn download(machine: &Machine, registry: &Path) -> String {
    let archives = registry.join("cache");
    let listed = std::fs::read_dir(&archives)
        .unwrap_or_else(|error| panic!("{}: {error}", archives.display()));
    for source in listed.map(|entry| entry.unwrap()) {
        let name = source.file_name().into_string().unwrap();
        let all = std::fs::read_dir(source.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let versions = all.filter_map(|file| {
            Some(
                file.strip_prefix("cfg-if-")?
                    .strip_suffix(".crate")?
                    .to_owned(),
            )
        });
        let Some(version) = versions.max() else {
            continue;
        };
        let copy = |file: &str| {
            let bytes = std::fs::read(registry.join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            machine.write(&format!(".cargo/registry/{file}"), bytes);
        };
        copy(&format!("cache/{name}/{CRATE}-{version}.crate"));
        copy(&format!("index/{name}/config.json"));
        copy(&format!("index/{name}/.cache/cf/g-/{CRATE}"));
        return version;
    }
    panic!(
        "{} holds no {CRATE}, though this crate is built with it",
        archives.display()
    );
}
