//! The options of bubblewrap; pure.
//!
//! The promise: the same namespaces and no capability for everyone, root too, and no value of the person's on a command
//! line. `--die-with-parent` is not used on purpose: it follows the thread that started bubblewrap, not the process.
//! The jail's life hangs on the stage's socket instead, which closes when the launching process dies in any way.
//! `--new-session` is not used either: it would take job control away, and the stage makes the session itself.

use std::ffi::OsString;

use super::facts::{Bwrap, HostFacts};
use super::mounts::{Mounts, STAGE, Show};
use crate::Jail;

/// Whether `bwrap` can forbid nested user namespaces; one that runs with root's rights for everyone cannot.
pub(super) fn forbids_namespaces(bwrap: &Bwrap) -> bool {
    bwrap.disables_userns && !bwrap.setuid
}

/// All options for `jail`, in order; the command is not among them.
pub(super) fn options(
    jail: &Jail,
    facts: &HostFacts,
    bwrap: &Bwrap,
    mounts: &Mounts,
) -> Vec<OsString> {
    let mut options = Options(Vec::with_capacity(200));
    options.confine(jail, bwrap);
    options.system(jail, facts);
    options.private(facts, mounts);
    for mount in &mounts.list {
        let how = if mount.show == Show::ReadOnly {
            "--ro-bind"
        } else {
            "--bind"
        };
        options.pair(how, &mount.outside, &mount.inside);
    }
    options.pair("--ro-bind", &jail.stage, STAGE);
    options.all(&["--remount-ro", "/", "--chdir", "/"]);
    options.0
}

struct Options(Vec<OsString>);

impl Options {
    fn confine(&mut self, jail: &Jail, bwrap: &Bwrap) {
        self.all(&[
            "--unshare-user",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-ipc",
            "--unshare-uts",
        ]);
        self.all(&[
            "--unshare-cgroup-try",
            "--hostname",
            "enclos",
            "--cap-drop",
            "ALL",
            "--clearenv",
        ]);
        if forbids_namespaces(bwrap) {
            self.all(&["--disable-userns"]);
        }
        self.all(&[
            "--uid",
            &jail.user.uid.to_string(),
            "--gid",
            &jail.user.gid.to_string(),
        ]);
        // The stage is process 1 itself: bubblewrap's own would be a process without the stage's confinement, and
        // through its /proc/1/exe the machine's own bubblewrap could be reached.
        self.all(&["--as-pid-1"]);
    }

    /// The machine's programs, read-only, and the generated `/etc`.
    fn system(&mut self, jail: &Jail, facts: &HostFacts) {
        self.pair("--ro-bind", "/usr", "/usr");
        for entry in &facts.root_entries {
            match &entry.link {
                Some(target) => self.pair("--symlink", target, &entry.path),
                None => self.pair("--ro-bind", &entry.path, &entry.path),
            }
        }
        self.pair("--ro-bind", &jail.etc, "/etc");
    }

    /// What every jail has of its own.
    fn private(&mut self, facts: &HostFacts, mounts: &Mounts) {
        self.all(&["--proc", "/proc"]);
        // Files of these belong to the machine's root, who we may be: without capabilities, but still the owner.
        for cover in &facts.proc_covers {
            self.pair("--ro-bind", cover, cover);
        }
        self.all(&["--dev", "/dev", "--dir", "/run/enclos", "--dir", "/var"]);
        self.pair("--symlink", "../run", "/var/run");
        if !mounts.needs_var_tmp() {
            self.pair("--symlink", "../tmp", "/var/tmp");
        }
    }

    fn all(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn pair(
        &mut self,
        option: &str,
        from: impl AsRef<std::ffi::OsStr>,
        to: impl AsRef<std::ffi::OsStr>,
    ) {
        self.0.extend([
            option.into(),
            from.as_ref().to_owned(),
            to.as_ref().to_owned(),
        ]);
    }
}
