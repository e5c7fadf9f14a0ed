//! Does the same work on many items with as many threads as there are cores, up to four.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// More threads than this only wait for the same disk.
const MOST: usize = 4;

/// Below this many items starting threads costs more than it saves.
const FEW: usize = 16;

/// What `work` makes of each item, in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cores.min(MOST);
    if workers == 1 || items.len() < FEW {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            mine.push((at, work(item)));
        }
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut mine);
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
