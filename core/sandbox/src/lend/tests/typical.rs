//! Whole lendings of two developers, to be read by people.

use super::*;

fn linux_developer() -> Machine {
    Machine::linux()
        .dir("~/.cargo/bin")
        .dir("~/.cargo/registry")
        .file("~/.cargo/credentials.toml", "[registry]\ntoken = \"secret\"")
        .file("~/.cargo/config.toml", "[registry]\ntoken = \"secret\"\n[build]\njobs = 4\n")
        .dir("~/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin")
        .file("~/.rustup/settings.toml", "version = \"12\"\ndefault_toolchain = \"stable\"\n[overrides]\n")
        .file("~/.nvm/versions/node/v20.11.1/bin/node", "")
        .file("~/.nvm/versions/node/v20.11.1/etc/npmrc", "//registry/:_authToken=secret")
        .dir("~/.npm/_cacache")
        .file("~/.npmrc", "registry=https://registry.example/\n//registry.example/:_authToken=npm_0123456789abcdef\n")
        .dir("~/.local/share/pnpm/store/v10")
        .dir("~/.local/share/pnpm/store/v11")
        .file("~/.pyenv/version", "3.12\n")
        .file("~/.pyenv/versions/3.12.4/bin/python3", "")
        .dir("~/.pyenv/shims")
        .file("~/.cache/uv/CACHEDIR.TAG", "")
        .file("~/.local/bin/uv", "")
        .file("/usr/bin/go", "")
        .dir("~/go/bin")
        .dir("~/go/pkg/mod/cache")
        .file("/usr/share/terminfo/x/xterm-256color", "")
        .file("/etc/ssl/certs/ca-certificates.crt", "")
        .dir("/opt/tool/bin")
        .dir("~/.local/share/gcloud/bin")
        .on_path(&["~/.nvm/versions/node/v20.11.1/bin", "~/.cargo/bin", "~/.pyenv/shims", "~/.pyenv/bin", "~/.local/bin"])
        .on_path(&["~/p/node_modules/.bin", "~/go/bin", "/opt/tool/bin", "~/.local/share/gcloud/bin"])
        .dir("~/p/node_modules/.bin")
        .var("LANG", "en_GB.UTF-8")
        .var("LC_TIME", "fr_FR.UTF-8")
        .var("TERM", "xterm-256color")
        .var("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
        .var("AWS_SECRET_ACCESS_KEY", "secret")
        .var("SSH_AUTH_SOCK", "/run/user/1000/agent")
        .var("GOPROXY", "https://ada:secret@proxy.example")
        .var("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus")
}

#[test]
fn a_linux_developer() {
    let lending = linux_developer().lend();
    assert!(
        !format!("{lending:?}").contains("secret"),
        "nothing of a secret is anywhere in it"
    );
    insta::assert_snapshot!(lending.whole(), @r#"
    # folders
    empty go-build /home/ada/.cache/go-build
    empty pnpm-metadata /home/ada/.cache/pnpm
    cache uv /home/ada/.cache/uv
    read /home/ada/.cargo/bin
    empty cargo-git /home/ada/.cargo/git
    cache cargo-registry /home/ada/.cargo/registry
    read /home/ada/.local/bin
    cache pnpm-v10 /home/ada/.local/share/pnpm/store/v10
    cache pnpm-v11 /home/ada/.local/share/pnpm/store/v11
    cache npm /home/ada/.npm/_cacache
    read /home/ada/.nvm/versions
    read /home/ada/.pyenv/versions
    read /home/ada/.rustup/toolchains
    read /home/ada/go/bin
    cache go-modules /home/ada/go/pkg/mod
    read /opt/tool
    # covered
    /home/ada/.nvm/versions/node/v20.11.1/etc/npmrc
    # environment
    CARGO_HOME=/home/ada/.cargo
    ELECTRON_DISABLE_SANDBOX=1
    ENCLOS=1
    ENCLOS_SESSION=calm-fox
    GIT_CONFIG_NOSYSTEM=1
    GOCACHE=/home/ada/.cache/go-build
    GOMODCACHE=/home/ada/go/pkg/mod
    GOPATH=/home/ada/go
    GOTELEMETRY=off
    HOME=/home/ada
    LANG=en_GB.UTF-8
    LC_TIME=fr_FR.UTF-8
    LOGNAME=ada
    PATH=/home/ada/p/node_modules/.bin:/home/ada/go/bin:/opt/tool/bin:/home/ada/.nvm/versions/node/v20.11.1/bin:/home/ada/.cargo/bin:/home/ada/.pyenv/versions/3.12.4/bin:/home/ada/.local/bin:/usr/local/bin:/usr/bin:/bin
    PLAYWRIGHT_MCP_SANDBOX=false
    RUSTUP_AUTO_INSTALL=0
    RUSTUP_HOME=/home/ada/.rustup
    SHELL=/bin/bash
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
    TERM=xterm-256color
    TMPDIR=/tmp
    USER=ada
    UV_CACHE_DIR=/home/ada/.cache/uv
    UV_LINK_MODE=copy
    UV_NO_MODIFY_PATH=1
    XDG_CACHE_HOME=/home/ada/.cache
    XDG_CONFIG_HOME=/home/ada/.config
    XDG_DATA_HOME=/home/ada/.local/share
    XDG_STATE_HOME=/home/ada/.local/state
    npm_config_cache=/home/ada/.npm
    npm_config_cache_dir=/home/ada/.cache/pnpm
    npm_config_package_import_method=clone-or-copy
    npm_config_store_dir=/home/ada/.local/share/pnpm/store
    npm_config_update_notifier=false
    pnpm_config_cache_dir=/home/ada/.cache/pnpm
    pnpm_config_package_import_method=clone-or-copy
    pnpm_config_store_dir=/home/ada/.local/share/pnpm/store
    # files
    .cargo/config.toml: [build] | jobs = 4
    .rustup/settings.toml: default_toolchain = "stable" | version = "12"
    .npmrc: registry=https://registry.example/
    # notes
    PATH entry `/home/ada/.local/share/gcloud/bin` is left out: it is not part of a known tool; `--read` lends it
    GOPROXY is left out: its value looks like a secret
    "#);
}

fn mac_developer() -> Machine {
    Machine::mac()
        .dir("~/.cargo/bin")
        .dir("~/.cargo/registry")
        .dir("~/.rustup/toolchains/stable-aarch64-apple-darwin")
        .file(
            "~/.rustup/settings.toml",
            "version = \"12\"\ndefault_toolchain = \"stable\"\n",
        )
        .dir("/opt/homebrew/bin")
        .dir("/opt/homebrew/Cellar/node/22.1.0/bin")
        .file("/opt/homebrew/etc/openssl@3/cert.pem", "")
        .file("/opt/homebrew/etc/npmrc", "//r/:_authToken=secret")
        .dir("/opt/homebrew/var/postgresql")
        .link("/opt/homebrew/bin/npm", "../Cellar/node/22.1.0/bin/npm")
        .file("/opt/homebrew/Cellar/node/22.1.0/bin/npm", "")
        .dir("~/.npm/_cacache")
        .dir("~/Library/pnpm/store/v10")
        .file("~/Library/Caches/pip/http-v2/x", "")
        .dir("~/.gradle/caches")
        .file(
            "~/.gradle/gradle.properties",
            "org.gradle.jvmargs=-Xmx4g\nnexusPassword=secret\n",
        )
        .dir("/Applications/Ghostty.app/Contents/Resources/terminfo/78")
        .file(
            "/Applications/Ghostty.app/Contents/Resources/terminfo/78/xterm-ghostty",
            "",
        )
        .on_path(&[
            "/opt/homebrew/bin",
            "/opt/homebrew/sbin",
            "~/.cargo/bin",
            "/Applications/Docker.app/Contents/Resources/bin",
        ])
        .dir("/Applications/Docker.app/Contents/Resources/bin")
        .var("HOMEBREW_PREFIX", "/opt/homebrew")
        .var("TERM", "xterm-ghostty")
        .var(
            "TERMINFO",
            "/Applications/Ghostty.app/Contents/Resources/terminfo",
        )
        .var("GITHUB_TOKEN", "ghp_secret")
}

#[test]
fn a_mac_developer() {
    let lending = mac_developer().lend();
    assert!(
        !format!("{lending:?}").contains("secret"),
        "nothing of a secret is anywhere in it"
    );
    insta::assert_snapshot!(lending.whole(), @r#"
    # folders
    read /Applications/Ghostty.app/Contents/Resources/terminfo/78
    read /Users/ada/.cargo/bin
    empty cargo-git /Users/ada/.enclos.noindex/state/home/.cargo/git <- /Users/ada/.cargo/git
    cache cargo-registry /Users/ada/.enclos.noindex/state/home/.cargo/registry <- /Users/ada/.cargo/registry
    cache gradle-caches /Users/ada/.enclos.noindex/state/home/.gradle/caches <- /Users/ada/.gradle/caches
    empty gradle-wrapper /Users/ada/.enclos.noindex/state/home/.gradle/wrapper/dists <- /Users/ada/.gradle/wrapper/dists
    cache npm /Users/ada/.enclos.noindex/state/home/.npm/_cacache <- /Users/ada/.npm/_cacache
    cache pip /Users/ada/.enclos.noindex/state/home/Library/Caches/pip <- /Users/ada/Library/Caches/pip
    empty pnpm-metadata /Users/ada/.enclos.noindex/state/home/Library/Caches/pnpm <- /Users/ada/Library/Caches/pnpm
    cache pnpm-v10 /Users/ada/.enclos.noindex/state/home/Library/pnpm/store/v10 <- /Users/ada/Library/pnpm/store/v10
    read /Users/ada/.rustup/toolchains
    read /opt/homebrew/Cellar
    read /opt/homebrew/bin
    read /opt/homebrew/etc/openssl@3
    # covered
    # environment
    CARGO_HOME=/Users/ada/.enclos.noindex/state/home/.cargo
    CFFIXED_USER_HOME=/Users/ada/.enclos.noindex/state/home
    DEVELOPER_DIR=/Library/Developer/CommandLineTools
    ELECTRON_DISABLE_SANDBOX=1
    ENCLOS=1
    ENCLOS_SESSION=calm-fox
    GRADLE_USER_HOME=/Users/ada/.enclos.noindex/state/home/.gradle
    HOME=/Users/ada/.enclos.noindex/state/home
    HOMEBREW_NO_ANALYTICS=1
    HOMEBREW_NO_AUTO_UPDATE=1
    HOMEBREW_PREFIX=/opt/homebrew
    LOGNAME=ada
    PATH=/opt/homebrew/bin:/Users/ada/.cargo/bin:/Library/Developer/CommandLineTools/usr/bin:/usr/bin:/bin:/usr/sbin:/sbin
    PIP_CACHE_DIR=/Users/ada/.enclos.noindex/state/home/Library/Caches/pip
    PLAYWRIGHT_MCP_SANDBOX=false
    RUSTUP_AUTO_INSTALL=0
    RUSTUP_HOME=/Users/ada/.enclos.noindex/state/home/.rustup
    SHELL=/bin/zsh
    TERM=xterm-ghostty
    TERMINFO=/Applications/Ghostty.app/Contents/Resources/terminfo
    TMPDIR=/private/tmp/enclos-501/1a2b3c4d
    USER=ada
    npm_config_cache=/Users/ada/.enclos.noindex/state/home/.npm
    npm_config_cache_dir=/Users/ada/.enclos.noindex/state/home/Library/Caches/pnpm
    npm_config_package_import_method=clone-or-copy
    npm_config_store_dir=/Users/ada/.enclos.noindex/state/home/Library/pnpm/store
    npm_config_update_notifier=false
    pnpm_config_cache_dir=/Users/ada/.enclos.noindex/state/home/Library/Caches/pnpm
    pnpm_config_package_import_method=clone-or-copy
    pnpm_config_store_dir=/Users/ada/.enclos.noindex/state/home/Library/pnpm/store
    # files
    .rustup/settings.toml: default_toolchain = "stable" | version = "12"
    .gradle/gradle.properties: org.gradle.jvmargs=-Xmx4g
    .cargo/bin -> /Users/ada/.cargo/bin
    .rustup/toolchains -> /Users/ada/.rustup/toolchains
    # notes
    PATH entry `/Applications/Docker.app/Contents/Resources/bin` is left out: it is not part of a known tool; `--read` lends it
    "#);
}

#[test]
fn a_machine_with_nothing_but_the_system() {
    let lending = Machine::linux().lend();
    insta::assert_snapshot!(lending.whole(), @r"
    # folders
    # covered
    # environment
    ELECTRON_DISABLE_SANDBOX=1
    ENCLOS=1
    ENCLOS_SESSION=calm-fox
    GIT_CONFIG_NOSYSTEM=1
    HOME=/home/ada
    LOGNAME=ada
    PATH=/usr/local/bin:/usr/bin:/bin
    PLAYWRIGHT_MCP_SANDBOX=false
    SHELL=/bin/bash
    TMPDIR=/tmp
    USER=ada
    XDG_CACHE_HOME=/home/ada/.cache
    XDG_CONFIG_HOME=/home/ada/.config
    XDG_DATA_HOME=/home/ada/.local/share
    XDG_STATE_HOME=/home/ada/.local/state
    # files
    # notes
    ");
}
