//! The `/etc` inside: generated, with an allow list of what is taken from the machine's own.
//!
//! The promise: nothing of `/etc` is inside that is not named here, and no file but the user's own entry tells about
//! other people, services or passwords. How it could break: a file on the list that someone puts a secret into; so the
//! list has only files whose format has no place for one, and of the folders only what everyone may read is copied.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use enclos_paths::AbsPath;

use super::HostFacts;
use crate::User;

mod kept;

pub use kept::kept;

/// The name, in the generated folder, of the empty file that covers others.
pub(super) const COVER: &str = ".covered";

/// Why `/etc` could not be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EtcError {
    /// A file could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: AbsPath,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The user's name, home or shell cannot be written in a passwd entry: it holds a colon or a line end.
    #[error("the user's name, home or shell holds a colon or a line end")]
    Entry,
}

/// Fills the existing, empty folder `etc` for `user` from `host`, the machine's own `/etc`.
///
/// This takes some 10 ms, most of it for the many small files of the folders; see [`kept`].
///
/// # Errors
/// Names the first file that could not be written. What is absent in `host` is left out.
pub fn generate(
    etc: &AbsPath,
    user: &User,
    facts: &HostFacts,
    host: &AbsPath,
) -> Result<(), EtcError> {
    let (passwd, group) = entries(user)?;
    let at = At { etc, host };
    at.write("passwd", &passwd)?;
    at.write("group", &group)?;
    for (name, text) in GENERATED {
        at.write(name, text.as_bytes())?;
    }
    for name in COPIED {
        at.copy(name)?;
    }
    at.link("mtab", Path::new("/proc/self/mounts"))?;
    at.zone()?;
    for folder in &facts.etc_folders {
        if let Ok(below) = folder.as_path().strip_prefix(host) {
            at.make(below)?;
            at.copy_folder(below)?;
        }
    }
    Ok(())
}

/// What is the same for everyone. There is no machine-id: it would tell machines apart.
const GENERATED: [(&str, &str); 7] = [
    (COVER, ""),
    ("hostname", "enclos\n"),
    (
        "hosts",
        "127.0.0.1 localhost enclos\n::1 localhost ip6-localhost ip6-loopback\n",
    ),
    ("host.conf", "multi on\n"),
    ("resolv.conf", "# There is no name server in here.\n"),
    (
        "nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\nrpc: files\n",
    ),
    (
        "shells",
        "/bin/sh\n/bin/bash\n/usr/bin/bash\n/usr/bin/zsh\n/usr/bin/fish\n",
    ),
];

/// What is copied: where libraries are, what the system is called, numbers that have names.
const COPIED: [&str; 18] = [
    "ld.so.cache",
    "ld.so.conf",
    "os-release",
    "lsb-release",
    "debian_version",
    "fedora-release",
    "arch-release",
    "alpine-release",
    "timezone",
    "locale.alias",
    "locale.conf",
    "services",
    "protocols",
    "mime.types",
    "gai.conf",
    "inputrc",
    "ssl/openssl.cnf",
    "pki/tls/openssl.cnf",
];

/// No file on the list is near this size; one that is is not what its name says.
const BIGGEST: u64 = 4 << 20;

const ZONES: &str = "/usr/share/zoneinfo";

fn entries(user: &User) -> Result<(Vec<u8>, Vec<u8>), EtcError> {
    let name = user.name.as_bytes();
    let words = [name, user.home.as_bytes(), user.shell.as_bytes()];
    if words
        .iter()
        .any(|word| word.iter().any(|byte| b":\n\r".contains(byte)))
        || name.is_empty()
    {
        return Err(EtcError::Entry);
    }
    let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
    let line = |words: &[&[u8]]| [words.join(&b':'), vec![b'\n']].concat();
    let [_, home, shell] = words;
    let mut passwd = line(&[name, b"x", uid.as_bytes(), gid.as_bytes(), b"", home, shell]);
    let mut group = line(&[name, b"x", gid.as_bytes(), b""]);
    // What belongs to anyone else is shown as nobody's.
    if user.uid != NOBODY {
        passwd.extend(b"nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
    }
    if user.gid != NOBODY {
        group.extend(b"nogroup:x:65534:\n");
    }
    Ok((passwd, group))
}

/// The id the kernel shows for one that has no place in a user namespace.
const NOBODY: u32 = 65534;

struct At<'a> {
    etc: &'a AbsPath,
    host: &'a AbsPath,
}

impl At<'_> {
    fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), EtcError> {
        let path = self.etc.as_path().join(&name);
        std::fs::write(&path, bytes).map_err(|source| self.failed(name, source))
    }

    fn copy(&self, name: impl AsRef<Path>) -> Result<(), EtcError> {
        let name = name.as_ref();
        let Some(bytes) = read_public(&self.host.as_path().join(name)) else {
            return Ok(());
        };
        if let Some(folder) = name
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            self.make(folder)?;
        }
        self.write(name, &bytes)
    }

    /// Copies what is in a folder, links as they are.
    fn copy_folder(&self, folder: &Path) -> Result<(), EtcError> {
        let entries = std::fs::read_dir(self.host.as_path().join(folder))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let (name, path) = (folder.join(entry.file_name()), entry.path());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    if let Ok(target) = std::fs::read_link(&path) {
                        self.link(&name, &target)?;
                    }
                }
                Ok(kind) if kind.is_dir() => {
                    self.make(&name)?;
                    self.copy_folder(&name)?;
                }
                _ => self.copy(&name)?,
            }
        }
        Ok(())
    }

    /// The time zone: a link where it is one, as programs read the zone's name from it.
    fn zone(&self) -> Result<(), EtcError> {
        let from = self.host.as_path().join("localtime");
        match std::fs::canonicalize(&from) {
            Ok(zone) if zone.starts_with(ZONES) => self.link("localtime", &zone),
            _ => self.copy("localtime"),
        }
    }

    fn link(&self, name: impl AsRef<Path>, target: &Path) -> Result<(), EtcError> {
        let result = std::os::unix::fs::symlink(target, self.etc.as_path().join(&name));
        result.map_err(|source| self.failed(name, source))
    }

    fn make(&self, folder: &Path) -> Result<(), EtcError> {
        std::fs::create_dir_all(self.etc.as_path().join(folder))
            .map_err(|source| self.failed(folder, source))
    }

    fn failed(&self, name: impl AsRef<Path>, source: io::Error) -> EtcError {
        EtcError::Write {
            path: self.etc.resolve(name),
            source,
        }
    }
}

/// The bytes of a file that everyone may read and that is no bigger than such files are.
fn read_public(path: &Path) -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path).ok()?;
    let public = metadata.is_file()
        && metadata.permissions().mode() & 0o004 != 0
        && metadata.len() <= BIGGEST;
    if public {
        std::fs::read(path).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        User {
            name: "ada".into(),
            uid: 1000,
            gid: 1001,
            home: AbsPath::new("/home/ada").unwrap(),
            shell: AbsPath::new("/bin/zsh").unwrap(),
        }
    }

    fn generated(user: &User) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let etc = AbsPath::new(dir.path()).unwrap();
        let host = AbsPath::new("/etc").unwrap();
        generate(&etc, user, &HostFacts::gather(&[]), &host).unwrap();
        dir
    }

    #[test]
    fn there_is_one_person_and_nobody() {
        let dir = generated(&user());
        let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(
            read("passwd"),
            "ada:x:1000:1001::/home/ada:/bin/zsh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
        );
        assert_eq!(read("group"), "ada:x:1001:\nnogroup:x:65534:\n");
    }

    #[test]
    fn nothing_is_there_that_is_not_on_a_list() {
        let dir = generated(&user());
        let links = ["localtime", "mtab"];
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let known = GENERATED.iter().any(|(known, _)| *known == name)
                || COPIED
                    .iter()
                    .any(|known| known.split('/').next() == Some(&name))
                || ["passwd", "group"].contains(&name.as_str())
                || links.contains(&name.as_str())
                || HostFacts::gather(&[])
                    .etc_folders
                    .iter()
                    .any(|f| f.as_path().starts_with(format!("/etc/{name}")));
            assert!(known, "{name} is not on a list");
        }
        for absent in [
            "shadow",
            "machine-id",
            "ssh",
            "gitconfig",
            "environment",
            "ssl/private",
        ] {
            assert!(!dir.path().join(absent).exists(), "{absent}");
        }
    }

    #[test]
    fn what_only_root_may_read_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let [etc, host] = ["etc", "host"].map(|name| AbsPath::new(dir.path().join(name)).unwrap());
        std::fs::create_dir(&etc).unwrap();
        std::fs::create_dir_all(host.as_path().join("java/management")).unwrap();
        for (name, mode) in [("security", 0o644), ("password", 0o600)] {
            let path = host.as_path().join("java/management").join(name);
            std::fs::write(&path, name).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("management/security", host.as_path().join("java/link"))
            .unwrap();
        let mut facts = HostFacts::gather(&[]);
        facts.etc_folders = vec![host.resolve("java")];
        generate(&etc, &user(), &facts, &host).unwrap();
        assert_eq!(
            std::fs::read_to_string(etc.as_path().join("java/link")).unwrap(),
            "security"
        );
        assert!(!etc.as_path().join("java/management/password").exists());
    }

    #[test]
    fn an_entry_cannot_be_forged_by_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let etc = AbsPath::new(dir.path()).unwrap();
        for bad in ["", "a:b", "a\nroot:x:0:0::/:/bin/sh"] {
            let user = User {
                name: bad.into(),
                ..user()
            };
            let result = generate(
                &etc,
                &user,
                &HostFacts::gather(&[]),
                &AbsPath::new("/etc").unwrap(),
            );
            assert!(matches!(result, Err(EtcError::Entry)), "{bad:?}");
        }
    }
}
