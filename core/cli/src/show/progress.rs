//! A progress line for what takes longer than half a second.

use std::io::IsTerminal;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use enclos_api::run::CloneProgress;
use enclos_api::run::Decision;
use enclos_api::run::FallBack;

use super::bytes;
use super::count;

/// The progress of a copy: silent for half a second, then one line that is rewritten and removed at the end.
#[derive(Debug)]
pub(crate) struct Bar {
    started: Instant,
    entries: AtomicU64,
    bytes: AtomicU64,
    shown: Mutex<Option<Instant>>,
    visible: bool,
}

impl Bar {
    const PATIENCE: Duration = Duration::from_millis(500);
    const INTERVAL: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            entries: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            shown: Mutex::new(None),
            visible: std::io::stderr().is_terminal(),
        }
    }

    /// Removes the line.
    pub(crate) fn finish(&self) {
        if self.shown.lock().is_ok_and(|shown| shown.is_some()) {
            say("\r\x1b[K");
        }
    }

    fn show(&self) {
        let Ok(mut shown) = self.shown.try_lock() else {
            return;
        };
        if shown.is_some_and(|last| last.elapsed() < Self::INTERVAL) {
            return;
        }
        *shown = Some(Instant::now());
        let entries = count(self.entries.load(Ordering::Relaxed), "file");
        say(&format!(
            "\r\x1b[Kcopying … {entries}, {}",
            bytes(self.bytes.load(Ordering::Relaxed))
        ));
    }
}

impl CloneProgress for Bar {
    fn falling_back(&self, wanted: u64, files: u64, why: &FallBack) -> Decision {
        // Small projects are copied before anybody could read the sentence.
        const WORTH_SAYING: u64 = 64 << 20;
        if wanted >= WORTH_SAYING {
            say(&format!(
                "enclos: copying {} in {}, because {why}\n",
                bytes(wanted),
                count(files, "file")
            ));
        }
        Decision::GoOn
    }

    fn advanced(&self, entries: u64, bytes: u64) {
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.visible && self.started.elapsed() > Self::PATIENCE {
            self.show();
        }
    }
}

fn say(text: &str) {
    // Progress that nobody can see is no reason to stop.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
