//! Where there is no such call.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;

use enclos_paths::AbsPath;
use rustix::io::Errno;

use super::Whole;
use crate::method::FallBack;
use crate::method::Method;

pub(crate) fn available(_source: &AbsPath, _holder: &AbsPath) -> Result<(), FallBack> {
    Err(FallBack::NotOnThisSystem(Method::Clonefile))
}

#[expect(clippy::unnecessary_wraps, reason = "the same on every system")]
pub(crate) fn clone_folder(_source: &AbsPath, _destination: &AbsPath) -> io::Result<Whole> {
    Ok(Whole::NotInOne)
}

#[expect(clippy::unnecessary_wraps, reason = "the same on every system")]
pub(crate) fn clone_file_at(
    _from: BorrowedFd<'_>,
    _to: BorrowedFd<'_>,
    _name: &CStr,
) -> Result<Option<OwnedFd>, Errno> {
    Ok(None)
}
