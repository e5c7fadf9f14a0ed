//! Programs of the kernel's classic packet filter that decide on system calls.
//!
//! The promise: what [`assemble`] returns is well-formed for any rules. Each rule's body ends in a return, so a body is
//! only ever entered by its own jump; the bodies are found by a balanced tree of comparisons, whose long jumps use the
//! one instruction with a 32-bit distance. How it could break: a number used for another machine's call, which is why
//! the first instructions refuse every machine but one.

use super::rules::Verdict;

/// One instruction, with the layout of the kernel's `struct sock_filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to skip when a comparison holds.
    pub jt: u8,
    /// How many instructions to skip when it does not.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

/// What a program is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// The machine's `AUDIT_ARCH_*` number.
    pub audit_arch: u32,
    /// The first number that belongs to another ABI of the same machine (x32 on x86-64).
    pub foreign_from: Option<u32>,
}

/// Makes the program for `rules`, pairs of call number and verdict, each number once; all other calls are allowed.
pub(super) fn assemble(target: Target, rules: &[(u32, Verdict)]) -> Vec<Instruction> {
    let mut rules = rules.to_vec();
    rules.sort_by_key(|(number, _)| *number);
    let mut program = vec![
        load(ARCH),
        jump(EQUAL, target.audit_arch, 1, 0),
        refuse(ENOSYS),
        load(NUMBER),
    ];
    if let Some(first) = target.foreign_from {
        program.extend([jump(AT_LEAST, first, 0, 1), refuse(ENOSYS)]);
    }
    program.extend(search(&rules));
    program
}

/// "Operation not permitted".
pub(super) const EPERM: u16 = 1;
/// "Function not implemented": what makes a library fall back to the older call.
pub(super) const ENOSYS: u16 = 38;
/// "Address family not supported by protocol".
pub(super) const EAFNOSUPPORT: u16 = 97;

/// Finds the rule for the number in the accumulator; falls to "allow" when there is none.
fn search(rules: &[(u32, Verdict)]) -> Vec<Instruction> {
    if rules.len() <= 4 {
        let mut program: Vec<_> = rules
            .iter()
            .flat_map(|(number, verdict)| guarded(*number, *verdict))
            .collect();
        program.push(ALLOW);
        return program;
    }
    let (low, high) = rules.split_at(rules.len() / 2);
    let low = search(low);
    let first = high.first().map_or(u32::MAX, |(number, _)| *number);
    let mut program = vec![jump(AT_LEAST, first, 0, 1), skip(low.len())];
    program.extend(low);
    program.extend(search(high));
    program
}

fn guarded(number: u32, verdict: Verdict) -> Vec<Instruction> {
    let body = body(verdict);
    // A body has at most a dozen instructions; see the test.
    let over = u8::try_from(body.len()).unwrap_or(u8::MAX);
    let mut program = vec![jump(EQUAL, number, 0, over)];
    program.extend(body);
    program
}

fn body(verdict: Verdict) -> Vec<Instruction> {
    match verdict {
        Verdict::Refuse(errno) => vec![refuse(errno)],
        Verdict::RefuseFlags {
            argument,
            mask,
            errno,
        } => {
            vec![
                load(low_word(argument)),
                jump(ANY_BIT, mask, 0, 1),
                refuse(errno),
                ALLOW,
            ]
        }
        Verdict::RefuseValues {
            argument,
            values,
            errno,
        } => one_of(argument, values, &[refuse(errno)], &[ALLOW]),
        Verdict::AllowValues {
            argument,
            values,
            errno,
        } => one_of(argument, values, &[ALLOW], &[refuse(errno)]),
        Verdict::AllowValuesOrPair {
            argument,
            values,
            pair,
            errno,
        } => {
            let (value, other, wanted) = pair;
            let rest = [
                jump(EQUAL, value, 0, 3),
                load(low_word(other)),
                jump(EQUAL, wanted, 0, 1),
                ALLOW,
                refuse(errno),
            ];
            one_of(argument, values, &[ALLOW], &rest)
        }
    }
}

/// `found` when the low half of `argument` is one of `values`, else `rest`; both end in a return.
fn one_of(
    argument: u8,
    values: &[u32],
    found: &[Instruction],
    rest: &[Instruction],
) -> Vec<Instruction> {
    let mut program = vec![load(low_word(argument))];
    for value in values {
        let over = u8::try_from(found.len()).unwrap_or(u8::MAX);
        program.push(jump(EQUAL, *value, 0, over));
        program.extend_from_slice(found);
    }
    program.extend_from_slice(rest);
    program
}

/// Where the low 32 bits of an argument are: the kernel ignores the high half of what it takes as an `int`, and so an
/// exact comparison of all 64 bits would be passed by setting one bit of it. Both machines are little-endian.
fn low_word(argument: u8) -> u32 {
    16 + 8 * u32::from(argument)
}

const NUMBER: u32 = 0;
const ARCH: u32 = 4;

const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;

const ALLOW: Instruction = Instruction {
    code: 0x06,
    jt: 0,
    jf: 0,
    k: 0x7fff_0000,
};

fn refuse(errno: u16) -> Instruction {
    Instruction {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0x0005_0000 | u32::from(errno),
    }
}

fn load(offset: u32) -> Instruction {
    Instruction {
        code: 0x20,
        jt: 0,
        jf: 0,
        k: offset,
    }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

/// Skips `count` instructions, however many.
fn skip(count: usize) -> Instruction {
    Instruction {
        code: 0x05,
        jt: 0,
        jf: 0,
        k: u32::try_from(count).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_body_is_longer_than_a_short_jump() {
        for (call, verdict) in super::super::rules::RULES {
            assert!(body(*verdict).len() < 100, "{}", call.name);
        }
    }
}
