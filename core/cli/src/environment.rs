//! What the command reads of the world around it, once.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;

use enclos_api::Code;
use enclos_api::Error;
use enclos_api::run::Clock;
use enclos_api::run::Environment;
use enclos_api::run::Person;
use enclos_api::run::Places;
use enclos_paths::AbsPath;

/// Reads variables, the account, the clock and our own place.
pub(crate) fn read() -> Result<Environment, Error> {
    let vars: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let machine = |what: &str| Error::new(Code::Machine, what.to_owned());
    let cwd = std::env::current_dir()
        .ok()
        .and_then(|path| AbsPath::new(path).ok());
    let cwd = cwd.ok_or_else(|| {
        machine("the current folder is not there any more").hint("change to a folder that exists")
    })?;
    let executable = std::env::current_exe()
        .ok()
        .and_then(|path| AbsPath::new(path).ok());
    let executable = executable.ok_or_else(|| machine("Enclos cannot find its own executable"))?;
    let user = person(&vars)?;
    let places = places(&user, &vars);
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    #[allow(
        clippy::useless_conversion,
        reason = "the type that holds it differs between systems"
    )]
    let umask = u32::from(umask.bits());
    Ok(Environment {
        user,
        places,
        vars,
        cwd,
        executable,
        umask,
        clock: Clock::System,
    })
}

/// Whether the person wants colours where they can be shown: NO_COLOR (no-color.org) and a dumb terminal say no.
pub(crate) fn wants_colour() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn person(vars: &BTreeMap<OsString, OsString>) -> Result<Person, Error> {
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    let account = account(uid);
    let home = vars
        .get(OsStr::new("HOME"))
        .cloned()
        .or_else(|| account.as_ref().map(|a| a.home.clone()));
    let no_home = || {
        Error::new(Code::Machine, "your home folder is not known")
            .hint("set HOME to your home folder, an absolute path")
    };
    let home = home
        .and_then(|home| fs::canonicalize(home).ok())
        .and_then(|home| AbsPath::new(home).ok());
    let home = home.ok_or_else(no_home)?;
    let name = account
        .as_ref()
        .map(|a| a.name.clone())
        .or_else(|| vars.get(OsStr::new("USER")).cloned());
    let name = name.unwrap_or_else(|| OsString::from(format!("user{uid}")));
    let shell = vars
        .get(OsStr::new("SHELL"))
        .cloned()
        .or_else(|| account.map(|a| a.shell));
    let shell = shell
        .and_then(|shell| AbsPath::new(shell).ok())
        .filter(|shell| shell.as_path().is_file());
    let shell = match shell {
        Some(shell) => shell,
        None => AbsPath::new("/bin/sh").map_err(|_| no_home())?,
    };
    Ok(Person {
        name,
        uid,
        gid,
        home,
        shell,
    })
}

struct Account {
    name: OsString,
    home: OsString,
    shell: OsString,
}

/// The account's line in `/etc/passwd`; accounts of a directory service are known by their variables only.
fn account(uid: u32) -> Option<Account> {
    let text = fs::read("/etc/passwd").ok()?;
    let uid = uid.to_string();
    let fields = text
        .split(|&b| b == b'\n')
        .map(|line| line.split(|&b| b == b':').collect::<Vec<_>>());
    let line = fields
        .into_iter()
        .find(|fields| fields.get(2) == Some(&uid.as_bytes()))?;
    let field = |at: usize| line.get(at).map(|bytes| OsString::from_vec(bytes.to_vec()));
    Some(Account {
        name: field(0)?,
        home: field(5)?,
        shell: field(6)?,
    })
}

#[cfg(not(target_os = "macos"))]
fn places(user: &Person, vars: &BTreeMap<OsString, OsString>) -> Places {
    let base = |var: &str, otherwise: &str| {
        let set = vars
            .get(OsStr::new(var))
            .and_then(|path| AbsPath::new(path).ok());
        set.unwrap_or_else(|| user.home.resolve(otherwise))
    };
    Places {
        config: base("XDG_CONFIG_HOME", ".config").resolve("enclos"),
        managed: user.home.resolve("/etc/enclos/policy.toml"),
        state: base("XDG_STATE_HOME", ".local/state").resolve("enclos"),
        copies: base("XDG_DATA_HOME", ".local/share").resolve("enclos"),
        caches: base("XDG_CACHE_HOME", ".cache").resolve("enclos"),
        runtime: runtime(user, vars.get(OsStr::new("XDG_RUNTIME_DIR"))),
    }
}

#[cfg(target_os = "macos")]
fn places(user: &Person, vars: &BTreeMap<OsString, OsString>) -> Places {
    let support = user.home.resolve("Library/Application Support/Enclos");
    Places {
        config: support.clone(),
        managed: user
            .home
            .resolve("/Library/Application Support/Enclos/policy.toml"),
        state: support.resolve("state"),
        // Short, outside the folders that macOS asks about, and by its name out of Spotlight.
        copies: user.home.resolve(".enclos.noindex"),
        caches: user.home.resolve("Library/Caches/Enclos"),
        // What `confstr(_CS_DARWIN_USER_TEMP_DIR)` answers is what TMPDIR is set to at login.
        runtime: runtime(user, vars.get(OsStr::new("TMPDIR"))),
    }
}

/// The longest folder that leaves room for a session's socket in 104 bytes.
const RUNTIME_ROOM: usize = 80;

fn runtime(user: &Person, given: Option<&OsString>) -> AbsPath {
    let given = given
        .filter(|path| path.as_bytes().len() <= RUNTIME_ROOM)
        .and_then(|path| AbsPath::new(path).ok());
    let own = given.filter(|path| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user.uid)
    });
    own.map_or_else(
        || user.home.resolve(format!("/tmp/enclos-{}", user.uid)),
        |path| path.resolve("enclos"),
    )
}
