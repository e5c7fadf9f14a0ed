//! The operations of Seatbelt and how one falls back to another.
//!
//! A rule on a narrow operation answers before one on the wide operation above it, whatever their order, so which
//! is above which decides what a profile means. The table is that of macOS 10.15's libsandbox, as lifted by the
//! `simbple` project; later systems add operations and have not been seen to move these. Operations that the
//! profiles here never name are left out.

/// An operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name in a profile.
    pub name: &'static str,
    /// What answers when no rule of its own does.
    pub above: Above,
}

/// What answers for an operation without a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// The wider operation of this name.
    Operation(&'static str),
    /// Nothing: it is allowed, even in a profile that denies by default.
    AllowedAlone,
    /// Nothing: it is denied, even in a profile that allows by default.
    DeniedAlone,
}

/// The operation that a profile calls `name`, by its own name or an older one.
#[must_use]
pub fn operation(name: &str) -> Option<&'static Operation> {
    let name = match name {
        "process-exec" => "process-exec*",
        "ipc-posix-sem" => "ipc-posix-sem*",
        "ipc-posix-shm" => "ipc-posix-shm*",
        "file-unlink" => "file-write-unlink",
        name => name,
    };
    OPERATIONS.iter().find(|operation| operation.name == name)
}

const fn below(name: &'static str, above: &'static str) -> Operation {
    Operation {
        name,
        above: Above::Operation(above),
    }
}

const fn open(name: &'static str) -> Operation {
    Operation {
        name,
        above: Above::AllowedAlone,
    }
}

const fn closed(name: &'static str) -> Operation {
    Operation {
        name,
        above: Above::DeniedAlone,
    }
}

/// All operations that are known here.
#[rustfmt::skip]
pub static OPERATIONS: &[Operation] = &[
    closed("default"),
    below("appleevent-send", "default"),
    below("authorization-right-obtain", "default"),
    open("darwin-notification-post"),
    below("distributed-notification-post", "default"),
    open("dynamic-code-generation"),
    below("file*", "default"),
    below("file-chroot", "file*"),
    open("file-clone"),
    below("file-ioctl", "file*"),
    below("file-issue-extension", "file*"),
    open("file-link"),
    open("file-map-executable"),
    below("file-mknod", "file*"),
    below("file-mount", "file*"),
    below("file-read*", "file*"),
    below("file-read-data", "file-read*"),
    below("file-read-metadata", "file-read*"),
    below("file-read-xattr", "file-read*"),
    below("file-revoke", "file*"),
    below("file-search", "file*"),
    open("file-test-existence"),
    below("file-unmount", "file*"),
    below("file-write*", "file*"),
    below("file-write-acl", "file-write*"),
    below("file-write-create", "file-write*"),
    below("file-write-data", "file-write*"),
    below("file-write-flags", "file-write*"),
    below("file-write-mode", "file-write*"),
    below("file-write-owner", "file-write*"),
    closed("file-write-setugid"),
    below("file-write-times", "file-write*"),
    below("file-write-unlink", "file-write*"),
    below("file-write-xattr", "file-write*"),
    below("iokit*", "default"),
    open("iokit-get-properties"),
    below("iokit-open", "iokit*"),
    below("iokit-set-properties", "iokit*"),
    below("ipc*", "default"),
    below("ipc-posix*", "ipc*"),
    below("ipc-posix-sem*", "ipc-posix*"),
    below("ipc-posix-shm*", "ipc-posix*"),
    below("ipc-posix-shm-read*", "ipc-posix-shm*"),
    below("ipc-posix-shm-read-data", "ipc-posix-shm-read*"),
    below("ipc-posix-shm-write*", "ipc-posix-shm*"),
    below("ipc-posix-shm-write-create", "ipc-posix-shm-write*"),
    below("ipc-posix-shm-write-data", "ipc-posix-shm-write*"),
    below("ipc-posix-shm-write-unlink", "ipc-posix-shm-write*"),
    below("ipc-sysv*", "ipc*"),
    below("ipc-sysv-sem", "ipc-sysv*"),
    closed("job-creation"),
    below("lsopen", "default"),
    below("mach*", "default"),
    below("mach-lookup", "mach*"),
    below("mach-priv*", "mach*"),
    below("mach-priv-task-port", "mach-priv*"),
    below("mach-register", "mach*"),
    below("mach-task-name", "mach*"),
    below("network*", "default"),
    below("network-inbound", "network*"),
    below("network-bind", "network-inbound"),
    below("network-outbound", "network*"),
    open("nvram*"),
    below("process*", "default"),
    below("process-exec*", "process*"),
    below("process-exec-interpreter", "process-exec*"),
    below("process-fork", "process*"),
    open("process-info*"),
    open("process-info-codesignature"),
    below("process-info-listpids", "process-info*"),
    below("process-info-pidinfo", "process-info*"),
    below("process-info-pidfdinfo", "process-info*"),
    below("pseudo-tty", "default"),
    below("signal", "default"),
    below("sysctl*", "default"),
    below("sysctl-read", "sysctl*"),
    below("sysctl-write", "sysctl*"),
    below("system*", "default"),
    below("system-socket", "system*"),
    below("user-preference*", "default"),
    below("user-preference-read", "user-preference*"),
    below("user-preference-write", "user-preference*"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_up_ends() {
        for start in OPERATIONS {
            let mut at = start;
            for _ in 0..OPERATIONS.len() {
                match at.above {
                    Above::Operation(above) => at = operation(above).unwrap(),
                    _ => break,
                }
            }
            assert!(
                !matches!(at.above, Above::Operation(_)),
                "{} goes round",
                start.name
            );
        }
    }

    #[test]
    fn older_names_are_known() {
        assert_eq!(operation("process-exec").unwrap().name, "process-exec*");
        assert_eq!(operation("file-write-everything"), None);
    }
}
