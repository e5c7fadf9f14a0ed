//! The folders and sockets that are never lent, one row each, with what they hold and who says so.
//!
//! The list is data so that a reader can check it line by line; `lending` holds the rules that read it. A row is a
//! folder or file together with everything in it. What is worth covering inside a lent folder but may be lent by its
//! own name is in `secret_names` instead.

use std::fmt;

/// A row: a place, what is lost when it is lent, and the source.
#[derive(Debug, PartialEq, Eq)]
pub struct Protected {
    /// Where it is; `*` stands for any run of characters in one name.
    pub spot: Spot,
    /// What lies there, in words for the person.
    pub what: &'static str,
    /// Whether reading is refused too.
    pub refuses: Refuses,
    /// Whether the place is protected for the sockets in it alone, so that a socket lent by name is judged by
    /// [`SOCKETS`] instead.
    pub only_sockets: bool,
    /// Who documents that it lies there.
    pub source: &'static str,
}

/// Where something protected lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Below a home.
    Home(&'static str),
    /// From the root.
    Root(&'static str),
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(path) => write!(f, "~/{path}"),
            Self::Root(path) => f.write_str(path),
        }
    }
}

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuses {
    /// Reading and writing.
    All,
    /// Writing: what lies there runs outside, with the person's rights.
    Writing,
}

impl fmt::Display for Refuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "never lent",
            Self::Writing => "never lent for writing",
        })
    }
}

const fn home(path: &'static str, what: &'static str, source: &'static str) -> Protected {
    Protected {
        spot: Spot::Home(path),
        what,
        refuses: Refuses::All,
        only_sockets: false,
        source,
    }
}

const fn root(path: &'static str, what: &'static str, source: &'static str) -> Protected {
    Protected {
        spot: Spot::Root(path),
        what,
        refuses: Refuses::All,
        only_sockets: false,
        source,
    }
}

const fn run(path: &'static str, what: &'static str, source: &'static str) -> Protected {
    Protected {
        spot: Spot::Root(path),
        what,
        refuses: Refuses::All,
        only_sockets: true,
        source,
    }
}

const fn runs_outside(spot: Spot, what: &'static str, source: &'static str) -> Protected {
    Protected {
        spot,
        what,
        refuses: Refuses::Writing,
        only_sockets: false,
        source,
    }
}

/// Never lent.
#[rustfmt::skip]
pub static PROTECTED: &[Protected] = &[
    // Keys and key stores.
    home(".ssh", "SSH keys", "ssh(1), FILES"),
    home(".gnupg", "GnuPG keys", "gpg(1), FILES"),
    home(".local/share/keyrings", "the keyring of the desktop", "GNOME Keyring, architecture notes"),
    home(".local/share/kwalletd", "the wallet of the desktop", "KWallet handbook"),
    home(".password-store", "the store of pass", "pass(1), FILES"),
    home(".local/share/gopass", "the store of gopass", "gopass, configuration"),
    home(".config/op", "the session of 1Password", "1Password CLI, app integration"),
    home(".config/Bitwarden*", "the vault of Bitwarden", "Bitwarden, data storage"),
    home(".config/keepassxc", "the settings of KeePassXC", "KeePassXC user guide"),
    home(".config/sops", "decryption keys of sops", "sops, age keys"),
    home(".config/age", "decryption keys of age", "age(1)"),
    home("Library/Keychains", "the keychain", "security(1)"),
    home("Library/Group Containers", "data of other apps, agent sockets among them", "Apple, App Groups"),
    home("Library/Containers", "data of other apps", "Apple, App Sandbox"),
    home("Library/Accounts", "your accounts", "Apple, TCC-protected folders"),
    root("/Library/Keychains", "the keychain of the system", "security(1)"),
    // Clouds: whole folders of tokens, caches of tokens and databases of tokens.
    home(".aws", "AWS credentials", "AWS CLI, configuration and credential files"),
    home(".azure", "Azure credentials", "Azure CLI, configuration"),
    home(".config/gcloud", "Google Cloud credentials", "gcloud topic configurations"),
    home(".oci", "Oracle Cloud keys", "OCI CLI, configuration"),
    home(".config/doctl", "DigitalOcean credentials", "doctl auth"),
    home(".config/hcloud", "Hetzner Cloud credentials", "hcloud, contexts"),
    home(".terraform.d", "Terraform credentials", "terraform login"),
    home(".config/rclone", "credentials of storage services", "rclone config"),
    // Browsers and mail: cookies are logins.
    home(".mozilla", "browser profiles", "Mozilla, profile folder"),
    home(".config/mozilla", "browser profiles", "Mozilla, profile folder"),
    home(".thunderbird", "mail", "Mozilla, profile folder"),
    home(".config/google-chrome*", "browser profiles", "Chromium, user data directory"),
    home(".config/chromium", "browser profiles", "Chromium, user data directory"),
    home(".config/BraveSoftware", "browser profiles", "Chromium, user data directory"),
    home(".config/microsoft-edge*", "browser profiles", "Chromium, user data directory"),
    home(".config/vivaldi*", "browser profiles", "Chromium, user data directory"),
    home(".config/opera*", "browser profiles", "Chromium, user data directory"),
    home(".var/app", "data of Flatpak apps", "flatpak, sandbox permissions"),
    home("snap", "data of snaps", "snapcraft, data locations"),
    home("Library/Application Support/Google", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/Chromium", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/BraveSoftware", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/Microsoft Edge*", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/Vivaldi", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/Arc", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/com.operasoftware*", "browser profiles", "Chromium, user data directory"),
    home("Library/Application Support/Firefox", "browser profiles", "Mozilla, profile folder"),
    home("Library/Safari", "browser data", "Apple, TCC-protected folders"),
    home("Library/Cookies", "browser data", "Apple, TCC-protected folders"),
    home("Library/Mail", "mail", "Apple, TCC-protected folders"),
    home("Library/Messages", "messages", "Apple, TCC-protected folders"),
    // What shells remember and read: tokens are exported there, and what is written there runs.
    home(".bashrc", "a start file of your shell", "bash(1), FILES"),
    home(".bash_profile", "a start file of your shell", "bash(1), FILES"),
    home(".bash_login", "a start file of your shell", "bash(1), FILES"),
    home(".profile", "a start file of your shell", "bash(1), FILES"),
    home(".bash_history", "what you typed in your shell", "bash(1), FILES"),
    home(".zshenv", "a start file of your shell", "zsh(1), FILES"),
    home(".zprofile", "a start file of your shell", "zsh(1), FILES"),
    home(".zshrc", "a start file of your shell", "zsh(1), FILES"),
    home(".zlogin", "a start file of your shell", "zsh(1), FILES"),
    home(".zsh_history", "what you typed in your shell", "zsh(1), HISTFILE"),
    home(".config/fish", "start files of your shell", "fish, configuration files"),
    home(".local/share/fish", "what you typed in your shell", "fish, history"),
    // What the session manager starts.
    home(".config/systemd", "services of your login", "systemd.unit(5)"),
    home(".local/share/systemd", "services of your login", "systemd.unit(5)"),
    home(".config/autostart", "programs that start with your desktop", "Desktop Application Autostart Specification"),
    home("Library/LaunchAgents", "programs that start with your login", "launchd.plist(5)"),
    root("/Library/LaunchAgents", "programs that start with your login", "launchd.plist(5)"),
    root("/Library/LaunchDaemons", "programs that start with the machine", "launchd.plist(5)"),
    // The kernel and the machine.
    root("/proc", "processes of the machine", "proc(5)"),
    root("/sys", "the kernel's settings", "sysfs(5)"),
    root("/dev", "devices", "hier(7)"),
    root("/boot", "what the machine starts", "hier(7)"),
    root("/etc/shadow", "password hashes", "shadow(5)"),
    root("/etc/gshadow", "password hashes", "gshadow(5)"),
    root("/etc/sudoers", "who may become root", "sudoers(5)"),
    root("/etc/sudoers.d", "who may become root", "sudoers(5)"),
    root("/etc/ssh", "host keys", "sshd(8), FILES"),
    root("/etc/ssl/private", "keys of the machine", "Debian, ssl-cert"),
    root("/etc/wireguard", "keys of the machine", "wg-quick(8)"),
    root("/etc/NetworkManager", "passwords of networks", "nm-settings-keyfile(5)"),
    root("/etc/krb5.keytab", "keys of the machine", "krb5.conf(5)"),
    root("/etc/master.passwd", "password hashes", "passwd(5) of macOS"),
    root("/var/lib/docker", "disks of containers", "dockerd(8)"),
    root("/var/lib/containers", "disks of containers", "containers-storage.conf(5)"),
    root("/var/spool/cron", "programs that the machine starts", "crontab(1)"),
    root("/var/spool/at", "programs that the machine starts", "at(1)"),
    root("/var/at", "programs that the machine starts", "crontab(1) of macOS"),
    root("/var/db/dslocal", "accounts of the machine", "opendirectoryd(8)"),
    root("/nix/var", "the daemon of Nix, which fetches from the network", "nix-daemon, socket"),
    root("/System/Volumes", "every file of the machine under another name", "Apple, firmlinks of the system volume"),
    // Folders of sockets.
    run("/run/user", "sockets of your desktop", "pam_systemd(8), XDG_RUNTIME_DIR"),
    run("/run/dbus", "the system bus", "dbus-daemon(1)"),
    run("/run/systemd", "sockets of the system", "systemd(1)"),
    run("/run/credentials", "secrets of services", "systemd.exec(5), credentials"),
    run("/run/secrets", "secrets of services", "sops-nix and container runtimes"),
    run("/tmp/.X11-unix", "the screen", "X(7)"),
    run("/tmp/.ICE-unix", "the desktop session", "X(7)"),
    run("/tmp/ssh-*", "an SSH agent", "ssh-agent(1)"),
    run("/tmp/com.apple.launchd.*", "an SSH agent", "launchd of macOS, SSH_AUTH_SOCK"),
    run("/run/com.apple.launchd.*", "an SSH agent", "launchd of macOS 26.4, SSH_AUTH_SOCK"),
    run("/var/folders", "temporary files and sockets of all apps", "confstr(3) of macOS, DARWIN_USER_TEMP_DIR"),
    // Read, yes; written, they run outside.
    runs_outside(Spot::Home("bin"), "programs on your PATH", "file-hierarchy(7)"),
    runs_outside(Spot::Home(".local/bin"), "programs on your PATH", "file-hierarchy(7)"),
    runs_outside(Spot::Home(".cargo/bin"), "programs on your PATH", "The Cargo Book, Cargo Home"),
    runs_outside(Spot::Home("go/bin"), "programs on your PATH", "go help install"),
    runs_outside(Spot::Home(".cargo/config.toml"), "settings that run programs", "The Cargo Book, configuration"),
    runs_outside(Spot::Home(".gitconfig"), "settings that run programs", "git-config(1), core.hooksPath"),
    runs_outside(Spot::Home(".config/git"), "settings that run programs", "git-config(1), core.hooksPath"),
    runs_outside(Spot::Home(".vimrc"), "settings that run programs", "vim(1)"),
    runs_outside(Spot::Home(".config/nvim"), "settings that run programs", "nvim(1)"),
    runs_outside(Spot::Home(".config/environment.d"), "variables of your login", "environment.d(5)"),
    runs_outside(Spot::Home(".local/share/applications"), "what the desktop starts", "Desktop Entry Specification"),
    runs_outside(Spot::Home("Applications"), "apps", "hier(7) of macOS"),
    runs_outside(Spot::Root("/Applications"), "apps", "hier(7) of macOS"),
    runs_outside(Spot::Root("/opt/homebrew"), "programs on your PATH", "Homebrew, installation"),
    runs_outside(Spot::Root("/home/linuxbrew"), "programs on your PATH", "Homebrew on Linux"),
    runs_outside(Spot::Root("/bin"), "programs of the system", "hier(7)"),
    runs_outside(Spot::Root("/sbin"), "programs of the system", "hier(7)"),
    runs_outside(Spot::Root("/lib"), "libraries of the system", "hier(7)"),
    runs_outside(Spot::Root("/lib64"), "libraries of the system", "hier(7)"),
    runs_outside(Spot::Root("/usr"), "programs of the system", "hier(7)"),
    runs_outside(Spot::Root("/etc"), "settings of the system", "hier(7)"),
    runs_outside(Spot::Root("/System"), "the system", "hier(7) of macOS"),
    runs_outside(Spot::Root("/Library"), "settings of the system", "hier(7) of macOS"),
    runs_outside(Spot::Root("/nix"), "programs on your PATH", "Nix manual, store"),
];

/// Sockets that are never lent by name: each is a way to act outside with the person's rights.
#[rustfmt::skip]
pub static SOCKETS: &[Protected] = &[
    root("/run/docker.sock", "Docker, which can do anything on this machine", "dockerd(8)"),
    root("/run/containerd", "containerd, which can do anything on this machine", "containerd, configuration"),
    root("/run/crio", "CRI-O, which can do anything on this machine", "crio(8)"),
    root("/run/podman", "Podman, which can do anything on this machine", "podman-system-service(1)"),
    root("/run/user/*/podman", "Podman, which can do anything that you can", "podman-system-service(1)"),
    root("/run/user/*/docker*", "Docker, which can do anything that you can", "Docker, rootless mode"),
    home(".docker", "Docker, which can do anything that you can", "Docker Desktop for Mac and Linux, socket"),
    home(".colima", "Colima, which can do anything that you can", "Colima, FAQ"),
    home(".orbstack", "OrbStack, which can do anything that you can", "OrbStack, sockets"),
    home(".rd", "Rancher Desktop, which can do anything that you can", "Rancher Desktop, sockets"),
    home(".lima", "Lima, which can do anything that you can", "Lima, instance folder"),
    root("/run/libvirt", "virtual machines", "libvirtd(8)"),
    root("/run/snapd*", "the snap daemon", "snapd, REST API"),
    root("/run/dbus", "the system bus", "dbus-daemon(1)"),
    root("/run/systemd", "systemd, which starts programs", "systemd(1)"),
    root("/run/user/*/systemd", "systemd, which starts programs", "systemd(1)"),
    root("/run/user/*/bus", "the session bus, which starts programs", "dbus-daemon(1)"),
    root("/run/user/*/dbus*", "the session bus, which starts programs", "dbus-daemon(1)"),
    root("/run/user/*/at-spi", "the accessibility bus", "at-spi2-core"),
    root("/run/user/*/keyring", "the keyring", "gnome-keyring-daemon(1)"),
    root("/run/user/*/gnupg", "the GnuPG agent", "gpg-agent(1)"),
    root("/run/user/*/gcr", "the SSH agent of the desktop", "gcr-ssh-agent"),
    root("/run/user/*/openssh_agent", "an SSH agent", "ssh-agent(1), systemd unit"),
    root("/run/user/*/ssh-agent*", "an SSH agent", "ssh-agent(1)"),
    root("/run/user/*/wayland-*", "the screen and the keyboard", "wayland protocol, WAYLAND_DISPLAY"),
    root("/run/user/*/pipewire-*", "the microphone and the screen", "pipewire(1)"),
    root("/run/user/*/pulse", "the microphone", "pulseaudio(1)"),
    root("/run/user/*/vscode-*", "your editor, which runs programs", "VS Code, remote CLI"),
    root("/tmp/.X11-unix", "the screen and the keyboard", "X(7)"),
    root("/tmp/.ICE-unix", "the desktop session", "X(7)"),
    root("/tmp/ssh-*", "an SSH agent", "ssh-agent(1)"),
    root("/tmp/com.apple.launchd.*", "an SSH agent", "launchd of macOS, SSH_AUTH_SOCK"),
    root("/run/com.apple.launchd.*", "an SSH agent", "launchd of macOS 26.4, SSH_AUTH_SOCK"),
    root("/tmp/tmux-*", "your terminals", "tmux(1), TMUX_TMPDIR"),
    root("/run/screen", "your terminals", "screen(1)"),
    root("/nix/var", "the daemon of Nix, which fetches from the network", "nix-daemon, socket"),
    root("/run/mDNSResponder", "the resolver, which sends names out", "mDNSResponder(8) of macOS"),
    root("/run/nscd", "the resolver, which sends names out", "nscd(8)"),
];
