//! Which system calls are refused inside, as data.
//!
//! The jail's first line are namespaces and dropped capabilities; this list takes away what a process without any
//! capability can still reach of the kernel and has no use for in building software, above all what past escapes
//! started from. Everything else is allowed: a list of the allowed would break programs with every new kernel.
//! `ptrace` stays allowed, debuggers need it: only processes of the jail are there to be traced.

use super::program::{EAFNOSUPPORT, ENOSYS, EPERM};

/// What happens to a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It fails with this error.
    Refuse(u16),
    /// It fails when the argument has one of these bits.
    RefuseFlags {
        /// Which argument, from 0.
        argument: u8,
        /// The bits.
        mask: u32,
        /// The error.
        errno: u16,
    },
    /// It fails when the argument's low half is one of these.
    RefuseValues {
        /// Which argument, from 0.
        argument: u8,
        /// The values.
        values: &'static [u32],
        /// The error.
        errno: u16,
    },
    /// It fails unless the argument's low half is one of these.
    AllowValues {
        /// Which argument, from 0.
        argument: u8,
        /// The values.
        values: &'static [u32],
        /// The error.
        errno: u16,
    },
    /// As [`Verdict::AllowValues`], and one more value is allowed while another argument has a certain value.
    AllowValuesOrPair {
        /// Which argument, from 0.
        argument: u8,
        /// The values.
        values: &'static [u32],
        /// The further value, the other argument, and its value.
        pair: (u32, u8, u32),
        /// The error.
        errno: u16,
    },
}

/// A system call and its numbers; none where a machine does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// Its name in the manual.
    pub name: &'static str,
    /// The number on x86-64.
    pub x86_64: Option<u32>,
    /// The number on 64-bit Arm.
    pub aarch64: Option<u32>,
}

/// The list. Numbers from the kernel's `syscall_64.tbl` and `asm-generic/unistd.h`.
pub(super) const RULES: &[(Call, Verdict)] = &[
    // Namespaces: a new one brings back capabilities and with them most of the kernel's surface. The flags of clone3
    // lie in memory where a filter cannot look, so the call is said not to exist; the C library then uses clone.
    (both("clone3", 435), Verdict::Refuse(ENOSYS)),
    (
        call("clone", 56, 220),
        Verdict::RefuseFlags {
            argument: 0,
            mask: NEW_NAMESPACE,
            errno: EPERM,
        },
    ),
    (
        call("unshare", 272, 97),
        Verdict::RefuseFlags {
            argument: 0,
            mask: NEW_NAMESPACE | NEW_TIME,
            errno: EPERM,
        },
    ),
    (call("setns", 308, 268), REFUSED),
    // Mounts, by the old calls and the new ones.
    (call("mount", 165, 40), REFUSED),
    (call("umount2", 166, 39), REFUSED),
    (call("pivot_root", 155, 41), REFUSED),
    (call("chroot", 161, 51), REFUSED),
    (both("open_tree", 428), REFUSED),
    (both("move_mount", 429), REFUSED),
    (both("fsopen", 430), REFUSED),
    (both("fsconfig", 431), REFUSED),
    (both("fsmount", 432), REFUSED),
    (both("fspick", 433), REFUSED),
    (both("mount_setattr", 442), REFUSED),
    (both("open_tree_attr", 467), REFUSED),
    // A handle names a file of the whole file system, whatever is mounted.
    (call("open_by_handle_at", 304, 265), REFUSED),
    // Keys are kept per user id, not per namespace: the person's own would be there.
    (call("add_key", 248, 217), REFUSED),
    (call("request_key", 249, 218), REFUSED),
    (call("keyctl", 250, 219), REFUSED),
    // Big interfaces with many past holes. libuv and others fall back when io_uring does not exist.
    (both("io_uring_setup", 425), Verdict::Refuse(ENOSYS)),
    (both("io_uring_enter", 426), Verdict::Refuse(ENOSYS)),
    (both("io_uring_register", 427), Verdict::Refuse(ENOSYS)),
    (call("bpf", 321, 280), REFUSED),
    (call("perf_event_open", 298, 241), REFUSED),
    (call("userfaultfd", 323, 282), REFUSED),
    (x86("modify_ldt", 154), REFUSED),
    (x86("uselib", 134), REFUSED),
    (call("lookup_dcookie", 212, 18), REFUSED),
    (call("nfsservctl", 180, 42), REFUSED),
    // The machine as a whole. Most need a capability as well; nothing inside has a reason to ask.
    (call("kexec_load", 246, 104), REFUSED),
    (call("kexec_file_load", 320, 294), REFUSED),
    (call("init_module", 175, 105), REFUSED),
    (call("finit_module", 313, 273), REFUSED),
    (call("delete_module", 176, 106), REFUSED),
    (call("quotactl", 179, 60), REFUSED),
    (both("quotactl_fd", 443), REFUSED),
    (call("acct", 163, 89), REFUSED),
    (call("swapon", 167, 224), REFUSED),
    (call("swapoff", 168, 225), REFUSED),
    (call("reboot", 169, 142), REFUSED),
    (call("settimeofday", 164, 170), REFUSED),
    (call("clock_settime", 227, 112), REFUSED),
    (call("adjtimex", 159, 171), REFUSED),
    (call("clock_adjtime", 305, 266), REFUSED),
    (call("sethostname", 170, 161), REFUSED),
    (call("setdomainname", 171, 162), REFUSED),
    (call("syslog", 103, 116), REFUSED),
    (call("vhangup", 153, 58), REFUSED),
    (x86("iopl", 172), REFUSED),
    (x86("ioperm", 173), REFUSED),
    // Odd personalities switch guards off; debuggers switch address randomisation off, which only weakens themselves.
    (
        call("personality", 135, 92),
        Verdict::AllowValues {
            argument: 0,
            values: &[0, ADDR_NO_RANDOMIZE, ASK_PERSONALITY],
            errno: EPERM,
        },
    ),
    // TIOCSTI types into a terminal, TIOCLINUX pastes on a console, TIOCSETD loads line disciplines.
    (
        call("ioctl", 16, 29),
        Verdict::RefuseValues {
            argument: 1,
            values: &[TIOCSTI, TIOCLINUX, TIOCSETD],
            errno: EPERM,
        },
    ),
    // Families that building software needs; netlink only for asking about interfaces. All others are kernel surface,
    // and some (vsock, packet) are ways out that no network namespace closes.
    (call("socket", 41, 198), FAMILIES),
    (call("socketpair", 53, 199), FAMILIES),
];

const REFUSED: Verdict = Verdict::Refuse(EPERM);
const FAMILIES: Verdict = Verdict::AllowValuesOrPair {
    argument: 0,
    values: &[AF_UNIX, AF_INET, AF_INET6],
    pair: (AF_NETLINK, 2, NETLINK_ROUTE),
    errno: EAFNOSUPPORT,
};

/// All of `CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}`.
const NEW_NAMESPACE: u32 = 0x7e02_0000;
/// `CLONE_NEWTIME`; in `clone` these bits are the exit signal, so it is for `unshare` only.
const NEW_TIME: u32 = 0x80;
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;
const ASK_PERSONALITY: u32 = 0xffff_ffff;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const TIOCSETD: u32 = 0x5423;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const NETLINK_ROUTE: u32 = 0;

const fn call(name: &'static str, x86_64: u32, aarch64: u32) -> Call {
    Call {
        name,
        x86_64: Some(x86_64),
        aarch64: Some(aarch64),
    }
}

/// Calls since Linux 5.1 have one number on all machines.
const fn both(name: &'static str, number: u32) -> Call {
    call(name, number, number)
}

const fn x86(name: &'static str, number: u32) -> Call {
    Call {
        name,
        x86_64: Some(number),
        aarch64: None,
    }
}
