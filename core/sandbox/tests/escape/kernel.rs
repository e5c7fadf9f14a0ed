//! What of the kernel cannot be asked for inside. Numbers are those of x86-64; on another machine the filter's own
//! tests stand in.
#![cfg(target_arch = "x86_64")]

use crate::world::{Without, as_everyone, as_root};

/// Attacks that nothing but the filter refuses: without it they go through in the same jail.
#[test]
fn interfaces_that_only_the_filter_closes() {
    let cases = [
        (
            "a key",
            "call(248, b'user', b'enclos', b'x', 1, -2)",
            "EPERM",
        ),
        ("a keyring", "call(250, 0, -3, 0)", "EPERM"),
        (
            "io_uring",
            "call(425, 4, ctypes.create_string_buffer(120))",
            "ENOSYS",
        ),
        ("a handle for page faults", "call(323, 1)", "EPERM"),
        ("another personality", "call(135, 0x0400000)", "EPERM"),
        (
            "a segment of one's own",
            "call(154, 0, ctypes.create_string_buffer(256), 16)",
            "EPERM",
        ),
        (
            "the clock's adjustment",
            "call(159, ctypes.create_string_buffer(300))",
            "EPERM",
        ),
        ("quota", "call(179, 0x80000100, 0, 0, 0)", "EPERM"),
        (
            "the machine's other half",
            "socket.socket(40, 1, 0)",
            "EAFNOSUPPORT",
        ),
        (
            "the packet filter",
            "socket.socket(16, 3, 12)",
            "EAFNOSUPPORT",
        ),
        ("kernel events", "socket.socket(16, 3, 15)", "EAFNOSUPPORT"),
    ];
    as_everyone(|world| {
        for (what, attack, refusal) in cases {
            assert_eq!(world.refused(attack, Without::Filter), refusal, "{what}");
        }
    });
}

/// Measuring other processes; open to everyone where `kernel.perf_event_paranoid` is 2 or less, as by default.
#[test]
fn no_performance_counters() {
    let attack = "\
event = bytearray(128)
struct.pack_into('IIQ', event, 0, 1, 128, 0)
struct.pack_into('Q', event, 40, 1 | 1 << 5 | 1 << 6)
call(298, ctypes.create_string_buffer(bytes(event)), 0, -1, -1, 0)";
    as_everyone(|world| assert_eq!(world.refused(attack, Without::Filter), "EPERM"));
}

#[test]
fn no_programs_for_the_kernel() {
    let attack = "call(321, 0, ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(100)), 72)";
    as_root(|world| assert_eq!(world.refused(attack, Without::Jail), "EPERM"));
}

/// A user namespace brings all capabilities back. bubblewrap's own limit is switched off to show that the filter holds.
#[test]
fn no_namespaces() {
    let attacks = [
        (
            "unshare",
            "if libc.unshare(0x10000000): raise OSError(ctypes.get_errno(), '')",
        ),
        (
            "clone",
            "if call(56, 0x10000000 | 17, 0, 0, 0, 0) == 0: os._exit(0)",
        ),
    ];
    as_everyone(|world| {
        for (what, attack) in attacks {
            assert_eq!(world.refused(attack, Without::Jail), "EPERM", "{what}");
            let mut plan = world.plan(&world.jail(&["true"]));
            plan.bwrap_options
                .retain(|option| option != "--disable-userns");
            plan.command.argv = crate::world::python(attack)
                .into_iter()
                .map(Into::into)
                .collect();
            assert_eq!(
                world.carry_out(&plan).out.trim(),
                "refused: EPERM",
                "{what}: the filter alone"
            );
            plan.confinement.filter.clear();
            assert_eq!(
                world.carry_out(&plan).out.trim(),
                "REACHED",
                "{what}: neither"
            );
            let mut plan = world.plan(&world.jail(&["true"]));
            plan.command.argv = crate::world::python(attack)
                .into_iter()
                .map(Into::into)
                .collect();
            plan.confinement.filter.clear();
            assert_eq!(
                world.carry_out(&plan).out.trim(),
                "refused: ENOSPC",
                "{what}: bubblewrap's limit alone"
            );
        }
    });
}

/// A mount needs a capability; with one, as root of a namespace has it, it works.
#[test]
fn no_mounts() {
    let capable = Without::AllBut(&["--unshare-user", "--cap-add", "ALL", "--dev-bind", "/", "/"]);
    let attacks = [
        ("mount", "call(165, b'none', b'/mnt', b'tmpfs', 0, 0)"),
        (
            "umount",
            "call(165, b'none', b'/mnt', b'tmpfs', 0, 0); call(166, b'/mnt', 0)",
        ),
        ("a detached tree", "call(428, -100, b'/usr', 1)"),
        ("a new file system", "call(430, b'tmpfs', 0)"),
        ("another root", "os.chroot('/usr')"),
        (
            "another mount namespace",
            "call(308, os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)",
        ),
    ];
    as_everyone(|world| {
        for (what, attack) in attacks {
            assert_eq!(world.refused(attack, capable), "EPERM", "{what}");
        }
    });
}

/// A file handle names a file of the whole file system, also one that is not mounted here.
#[test]
fn no_file_by_its_handle() {
    let attack = "\
handle = ctypes.create_string_buffer(struct.pack('II', 128, 0) + bytes(128))
call(303, -100, b'/usr/bin/python3', handle, ctypes.create_string_buffer(8), 0x400)
call(304, os.open('/usr', os.O_RDONLY), handle, 0)";
    as_root(|world| assert_eq!(world.refused(attack, Without::Jail), "EPERM"));
}

#[test]
fn the_clock_the_hostname_and_the_log_stay_as_they_are() {
    as_root(|world| {
        let plain = Without::AllBut(&["--dev-bind", "/", "/"]);
        let clock = "import time; time.clock_settime(time.CLOCK_REALTIME, time.time())";
        assert_eq!(world.refused(clock, plain), "EPERM");
        assert_eq!(world.refused("call(103, 10, 0, 0)", plain), "EPERM");
        let name = "name = os.uname().nodename.encode(); call(170, name, len(name))";
        assert_eq!(world.refused(name, plain), "EPERM");
    });
}

/// The kernel has more than one table of system calls: that of 32-bit programs has other numbers.
#[test]
fn no_calls_by_another_table() {
    // mov eax, 20 (getpid of i386); int 0x80; ret
    let attack = "\
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
if result < 0: raise OSError(-result, '')";
    as_everyone(|world| {
        assert_eq!(world.refused(attack, Without::Filter), "ENOSYS", "i386");
        let x32 = world.jailed(&crate::world::words(&crate::world::python(
            "call(0x40000000 + 39)",
        )));
        assert_eq!(x32.out.trim(), "refused: ENOSYS", "x32");
    });
}

/// A program with the set-user-id bit, or with file capabilities, gains nothing.
#[test]
fn no_new_privileges() {
    as_everyone(|world| {
        let status = world
            .jailed(&[
                "grep",
                "-E",
                "^(NoNewPrivs|Cap...|Seccomp):",
                "/proc/self/status",
            ])
            .well();
        let expected = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
                        CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
        assert_eq!(status, expected);
    });
}
