//! Ends what a test left running in its world.
//!
//! A session outlives the terminal that started it; that is what it is for. A test that fails half-way would leave one
//! behind, which then makes its folders again after they are removed. A world's path is in the environment of
//! everything that runs in it, and nobody else's: that is how its processes are known. A process that cleaned its
//! environment and its command line is not found.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use enclos_paths::AbsPath;
use rustix::process::Pid;
use rustix::process::Signal;

/// Kills every process of the world at `root`, and those that these start meanwhile.
pub(crate) fn end(root: &AbsPath) {
    // Each round may meet what the last one's victims had just started.
    for round in 0..20_u64 {
        let alive = processes(root.as_bytes());
        if alive.is_empty() {
            return;
        }
        for process in alive {
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(5 * round));
    }
}

/// The processes whose environment or command line names `root`.
fn processes(root: &[u8]) -> Vec<Pid> {
    let own = std::process::id();
    let found = if fs::metadata("/proc/self/environ").is_ok() {
        of_proc(root)
    } else {
        of_ps(root)
    };
    found
        .into_iter()
        .filter(|&id| id != own)
        .filter_map(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .collect()
}

fn of_proc(root: &[u8]) -> Vec<u32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = folders.filter_map(|folder| {
        let id = folder.file_name().to_str()?.parse().ok()?;
        let names =
            |file| fs::read(folder.path().join(file)).is_ok_and(|text| contains(&text, root));
        (names("environ") || names("cmdline")).then_some(id)
    });
    numbered.collect()
}

fn of_ps(root: &[u8]) -> Vec<u32> {
    let listed = Command::new("ps")
        .args(["-axwwE", "-o", "pid=,command="])
        .output();
    let lines = listed.map(|output| output.stdout).unwrap_or_default();
    let ours = lines
        .split(|&byte| byte == b'\n')
        .filter(|line| contains(line, root));
    ours.filter_map(|line| {
        let id = line.trim_ascii_start().split(|&byte| byte == b' ').next()?;
        str::from_utf8(id).ok()?.parse().ok()
    })
    .collect()
}

/// Whether `text` names `path` or something below it.
fn contains(text: &[u8], path: &[u8]) -> bool {
    let at = |start: usize| {
        let next = text.get(start + path.len());
        text[start..].starts_with(path) && next.is_none_or(|&byte| !byte.is_ascii_alphanumeric())
    };
    (0..text.len()).any(at)
}

#[cfg(test)]
mod tests {
    use rustix::event::PollFd;
    use rustix::event::PollFlags;
    use rustix::event::Timespec;

    use super::*;
    use crate::World;

    #[test]
    fn a_process_that_hides_from_its_parent_ends_with_its_world() {
        let world = World::new();
        let project = world.project("web").fifo("alive").build();
        let script = "setsid sh -c 'exec sleep 600 >alive' </dev/null >/dev/null 2>&1 &";
        world
            .command("sh")
            .args(["-c", script])
            .current_dir(&project)
            .run()
            .success();
        // Waits until it writes; its end hangs up.
        let alive = fs::File::open(project.path("alive")).unwrap();
        let hangs_up_within = |seconds| {
            let mut poll = [PollFd::new(&alive, PollFlags::IN)];
            let pause = Timespec {
                tv_sec: seconds,
                tv_nsec: 0,
            };
            rustix::event::poll(&mut poll, Some(&pause)).unwrap() > 0
        };
        assert!(!hangs_up_within(0), "it runs on after its parent");
        drop(world);
        assert!(hangs_up_within(10), "its world is gone, and so is it");
    }

    #[test]
    fn only_whole_paths_count() {
        assert!(
            contains(b"HOME=/var/tmp/ew-1/home\0", b"/var/tmp/ew-1"),
            "below"
        );
        assert!(contains(b"HOME=/var/tmp/ew-1", b"/var/tmp/ew-1"), "itself");
        assert!(
            !contains(b"HOME=/var/tmp/ew-12/home", b"/var/tmp/ew-1"),
            "another world"
        );
    }
}
