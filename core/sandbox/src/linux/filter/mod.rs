//! The system call filter: a pure function from the machine to a program.

mod program;
mod rules;

pub use program::Instruction;

use super::facts::Machine;
use program::{Target, assemble};
use rules::{Call, RULES};

/// The filter for `machine`; none when its system calls are not known here.
#[must_use]
pub fn filter(machine: Machine) -> Option<Vec<Instruction>> {
    let (target, number): (Target, fn(&Call) -> Option<u32>) = match machine {
        Machine::X86_64 => (X86_64, |call| call.x86_64),
        Machine::Aarch64 => (AARCH64, |call| call.aarch64),
        Machine::Other => return None,
    };
    let rules: Vec<_> = RULES
        .iter()
        .filter_map(|(call, verdict)| Some((number(call)?, *verdict)))
        .collect();
    Some(assemble(target, &rules))
}

/// `AUDIT_ARCH_X86_64`; numbers from 2^30 on are x32, the same machine with 32-bit pointers.
const X86_64: Target = Target {
    audit_arch: 0xc000_003e,
    foreign_from: Some(0x4000_0000),
};
/// `AUDIT_ARCH_AARCH64`; 32-bit Arm has a number of its own and so is refused.
const AARCH64: Target = Target {
    audit_arch: 0xc000_00b7,
    foreign_from: None,
};

#[cfg(test)]
mod tests {
    use super::rules::Verdict;
    use super::*;

    const ALLOW: u32 = 0x7fff_0000;
    const EPERM: u32 = 0x0005_0001;
    const ENOSYS: u32 = 0x0005_0026;
    const EAFNOSUPPORT: u32 = 0x0005_0061;
    const AUDIT_X86_64: u32 = 0xc000_003e;

    /// What the kernel would answer; panics on what it would refuse to load.
    fn run(program: &[Instruction], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(arch.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        data.extend(arguments.iter().flat_map(|a| a.to_le_bytes()));
        let (mut at, mut accumulator) = (0, 0_u32);
        loop {
            let step = program[at];
            at += 1;
            let branch = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                0x20 => {
                    let from = step.k as usize;
                    accumulator = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                0x15 => at += branch(accumulator == step.k),
                0x35 => at += branch(accumulator >= step.k),
                0x45 => at += branch(accumulator & step.k != 0),
                0x05 => at += step.k as usize,
                0x06 => return step.k,
                other => panic!("instruction {other:#x} is not one of ours"),
            }
        }
    }

    fn x86(number: u32, arguments: [u64; 6]) -> u32 {
        run(
            &filter(Machine::X86_64).unwrap(),
            AUDIT_X86_64,
            number,
            arguments,
        )
    }

    fn args(first: &[u64]) -> [u64; 6] {
        let mut all = [0; 6];
        all[..first.len()].copy_from_slice(first);
        all
    }

    #[test]
    fn every_unconditional_rule_answers_its_error_and_its_neighbours_are_allowed() {
        for (machine, target) in [(Machine::X86_64, X86_64), (Machine::Aarch64, AARCH64)] {
            let program = filter(machine).unwrap();
            let number = |call: &Call| {
                if machine == Machine::X86_64 {
                    call.x86_64
                } else {
                    call.aarch64
                }
            };
            let ruled: Vec<u32> = RULES.iter().filter_map(|(call, _)| number(call)).collect();
            for (call, verdict) in RULES {
                let (Some(number), Verdict::Refuse(errno)) = (number(call), verdict) else {
                    continue;
                };
                let answer = run(&program, target.audit_arch, number, [0; 6]);
                assert_eq!(
                    answer,
                    0x0005_0000 | u32::from(*errno),
                    "{} on {machine:?}",
                    call.name
                );
            }
            for other in (0..600).filter(|n| !ruled.contains(n)) {
                assert_eq!(
                    run(&program, target.audit_arch, other, [u64::MAX; 6]),
                    ALLOW,
                    "{other} on {machine:?}"
                );
            }
        }
    }

    #[test]
    fn no_number_is_ruled_twice() {
        let numbers: [fn(&Call) -> Option<u32>; 2] = [|c| c.x86_64, |c| c.aarch64];
        for number in numbers {
            let mut all: Vec<_> = RULES.iter().filter_map(|(call, _)| number(call)).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn other_machines_and_x32_do_not_exist() {
        let program = filter(Machine::X86_64).unwrap();
        let i386 = 0x4000_0003;
        assert_eq!(run(&program, i386, 20, [0; 6]), ENOSYS, "getpid of i386");
        assert_eq!(x86(0x4000_0000 + 39, [0; 6]), ENOSYS, "getpid of x32");
        assert_eq!(x86(39, [0; 6]), ALLOW, "getpid");
        let arm = 0x4000_0028;
        assert_eq!(
            run(&filter(Machine::Aarch64).unwrap(), arm, 20, [0; 6]),
            ENOSYS,
            "32-bit Arm"
        );
        assert_eq!(filter(Machine::Other), None);
    }

    #[test]
    fn a_thread_starts_and_a_namespace_does_not() {
        let thread = 0x003d_0f00; // what the C library passes for a thread
        assert_eq!(x86(56, args(&[thread])), ALLOW);
        assert_eq!(x86(56, args(&[17])), ALLOW, "fork: SIGCHLD");
        for flag in [
            0x0002_0000,
            0x0200_0000,
            0x0400_0000,
            0x0800_0000,
            0x1000_0000,
            0x2000_0000,
            0x4000_0000,
        ] {
            assert_eq!(x86(56, args(&[flag | 17])), EPERM, "clone {flag:#x}");
            assert_eq!(x86(272, args(&[flag])), EPERM, "unshare {flag:#x}");
        }
        assert_eq!(
            x86(272, args(&[0x80])),
            EPERM,
            "unshare of the time namespace"
        );
        assert_eq!(
            x86(272, args(&[0x400])),
            ALLOW,
            "unshare of the descriptor table"
        );
        assert_eq!(x86(435, [0; 6]), ENOSYS, "clone3");
    }

    #[test]
    fn ioctl_numbers_are_compared_without_their_high_half() {
        for number in [0x5412, 0x541c, 0x5423] {
            assert_eq!(x86(16, args(&[0, number])), EPERM);
            assert_eq!(
                x86(16, args(&[0, number | 1 << 32])),
                EPERM,
                "the kernel ignores bit 32 and so must we"
            );
        }
        assert_eq!(x86(16, args(&[0, 0x5413])), ALLOW, "TIOCGWINSZ");
    }

    #[test]
    fn families_of_sockets() {
        for family in [1, 2, 10] {
            assert_eq!(x86(41, args(&[family, 1, 6])), ALLOW, "family {family}");
        }
        assert_eq!(x86(41, args(&[16, 3, 0])), ALLOW, "netlink route");
        assert_eq!(
            x86(41, args(&[16, 3, 12])),
            EAFNOSUPPORT,
            "netlink netfilter"
        );
        for family in [0, 3, 15, 17, 31, 38, 40, 44] {
            assert_eq!(
                x86(41, args(&[family, 3, 0])),
                EAFNOSUPPORT,
                "family {family}"
            );
            assert_eq!(
                x86(53, args(&[family, 3, 0])),
                EAFNOSUPPORT,
                "pair of family {family}"
            );
        }
    }

    #[test]
    fn personalities() {
        for fine in [0, 0x0004_0000, 0xffff_ffff] {
            assert_eq!(x86(135, args(&[fine])), ALLOW, "{fine:#x}");
        }
        for odd in [8, 0x0040_0000, 0x0010_0000] {
            assert_eq!(x86(135, args(&[odd])), EPERM, "{odd:#x}");
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn the_numbers_are_those_of_the_kernel_headers() {
        let known = numbers_in("/usr/include/x86_64-linux-gnu/asm/unistd_64.h");
        let generic = numbers_in("/usr/include/asm-generic/unistd.h");
        for (call, _) in RULES {
            for (table, ours) in [(&known, call.x86_64), (&generic, call.aarch64)] {
                if let (Some(theirs), Some(ours)) = (table.get(call.name), ours) {
                    assert_eq!(*theirs, ours, "{}", call.name);
                }
            }
        }
    }

    /// Names and numbers of a kernel header, which is there wherever something can be linked.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn numbers_in(header: &str) -> std::collections::BTreeMap<String, u32> {
        let text = std::fs::read_to_string(header).expect("install linux-libc-dev");
        let define = |line: &str| {
            let mut words = line.strip_prefix("#define __NR_")?.split_whitespace();
            Some((
                words.next()?.trim_start_matches("3264_").to_owned(),
                words.next()?.parse().ok()?,
            ))
        };
        text.lines().filter_map(define).collect()
    }
}
