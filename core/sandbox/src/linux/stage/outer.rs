//! Mounts overlays before bubblewrap, which cannot do that itself before 0.11, in namespaces of our own.
//!
//! This runs outside the jail, with nothing of an agent's yet started. The caller's id is mapped to 0 here, as
//! bubblewrap refuses a caller with capabilities who is not root; it maps the id back. The layers are named to the
//! kernel by descriptors, so a comma or colon in a path means nothing and no link is followed. The merged folder is
//! mounted over its own upper folder: a place that is there, and that is seen in this mount namespace only.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use enclos_paths::AbsPath;
use enclos_sys::{inherit, namespaces};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::mount::MountFlags;

use super::super::launch::bwrap_argv;
use super::super::plan::OverlayMount;
use super::super::wire::Order;

/// Mounts and executes bubblewrap; returns only what failed.
pub(super) fn run() -> String {
    let result = inherit::take_over::<3>().map_err(|error| format!("no order: {error}"));
    match result.and_then(|[control, options, order]| mount_and_execute(&control, &options, order))
    {
        Ok(error) => format!("cannot execute bubblewrap: {error}"),
        Err(failure) => failure,
    }
}

fn mount_and_execute(
    control: &OwnedFd,
    options: &OwnedFd,
    order: OwnedFd,
) -> Result<io::Error, String> {
    let mut bytes = Vec::new();
    fs::File::from(order)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("no order: {error}"))?;
    let order = Order::decode(&bytes).ok_or("the order is malformed")?;
    enter().map_err(|error| format!("cannot enter a user namespace: {error}"))?;
    for overlay in &order.overlays {
        mount(overlay).map_err(|error| format!("cannot overlay {}: {error}", overlay.lower))?;
    }
    for fd in [control, options] {
        rustix::io::fcntl_setfd(fd, FdFlags::empty()).map_err(|errno| errno.to_string())?;
    }
    let argv: Vec<_> = bwrap_argv()
        .into_iter()
        .skip(1)
        .map(|word: CString| os(&word))
        .collect();
    Ok(Command::new(order.bwrap.as_path())
        .arg0("bwrap")
        .args(argv)
        .env_clear()
        .exec())
}

fn os(word: &std::ffi::CStr) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(word.to_bytes().to_vec())
}

fn enter() -> io::Result<()> {
    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    namespaces::enter_user_and_mount()?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

fn mount(overlay: &OverlayMount) -> io::Result<()> {
    let [lower, upper, work] = [
        open(&overlay.lower)?,
        open(&overlay.upper)?,
        open(&overlay.work)?,
    ];
    empty(&work)?;
    // `volatile`: no flush of a whole disk when it ends. What is lost when the machine crashes is the copy's or a
    // cache's, and the mark that it leaves in the work folder is what `empty` takes away.
    let layers = format!(
        "lowerdir={},upperdir={},workdir={},userxattr,volatile",
        name(&lower),
        name(&upper),
        name(&work)
    );
    let layers = CString::new(layers)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("overlay", name(&upper), "overlay", flags, &*layers)?;
    Ok(())
}

fn open(folder: &AbsPath) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder.as_path(), flags, Mode::empty())?)
}

fn name(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

/// Removes what the kernel left in a work folder; only in the user namespace may we, as it leaves folders without any
/// permission.
fn empty(work: &OwnedFd) -> io::Result<()> {
    for entry in fs::read_dir(name(work))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    Ok(())
}
