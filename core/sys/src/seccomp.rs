//! System call filters (Linux 3.17 and newer): programs of the classic packet filter that a process gives itself.
//!
//! Installing only; what a program says is the caller's business. A filter cannot be taken off, and all children have
//! it.

#![allow(unsafe_code, reason = "this file is the safe wrapper")]

use std::io;

/// One instruction, as in the kernel's `struct sock_filter`.
#[repr(C)]
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

/// Installs `program` for the calling thread and all its later children. Needs `no_new_privs`.
///
/// Programs confined here hold no secret of another, so where the kernel allows it (4.17) the filter does not switch
/// the processor's guards against speculation on, which would slow every program inside.
///
/// # Errors
/// `EINVAL` when the program is empty, too long (4096) or malformed; `EACCES` without `no_new_privs`.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    match install_with(program, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install_with(program, 0),
        result => result,
    }
}

fn install_with(program: &[Instruction], flags: libc::c_ulong) -> io::Result<()> {
    let len =
        u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let fprog = Program {
        len,
        filter: program.as_ptr(),
    };
    // SAFETY: `fprog` points at `len` live instructions with the layout of `struct sock_filter`; the kernel copies
    // them and checks them itself.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const fprog,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[repr(C)]
struct Program {
    len: u16,
    filter: *const Instruction,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_endless_program_is_refused() {
        assert_eq!(install(&[]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        let nop = Instruction {
            code: 0,
            jt: 0,
            jf: 0,
            k: 0,
        };
        assert_eq!(
            install(&vec![nop; 70_000]).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(size_of::<Instruction>(), size_of::<libc::sock_filter>());
        assert_eq!(align_of::<Instruction>(), align_of::<libc::sock_filter>());
    }
}
