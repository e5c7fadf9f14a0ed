//! Several threads over one pile of folders.
//!
//! The promise: each job is done once, all workers end when the pile is empty and nobody is at work, and the first
//! error ends everybody. The newest job is taken first, which keeps the pile small on a deep tree.

use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;

/// The pile of jobs that workers share.
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    jobs: Vec<J>,
    at_work: usize,
    stopped: bool,
}

impl<J: Send> Queue<J> {
    /// Puts jobs on the pile.
    pub(crate) fn extend(&self, jobs: impl IntoIterator<Item = J>) {
        let mut state = self.lock();
        let before = state.jobs.len();
        state.jobs.extend(jobs);
        match state.jobs.len() - before {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }

    fn take(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.at_work += 1;
                return Some(job);
            }
            if state.at_work == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut state = self.lock();
        state.at_work -= 1;
        if state.at_work == 0 && state.jobs.is_empty() {
            self.changed.notify_all();
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // The state is valid between any two statements, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops everybody when a worker unwinds, so that the others do not wait for it for ever.
struct AtWork<'q, J: Send>(&'q Queue<J>);

impl<J: Send> Drop for AtWork<'_, J> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
        self.0.done();
    }
}

/// What a worker does with one job; it may put more on the pile.
pub(crate) trait Work<J: Send>: Send {
    /// What ends everybody.
    type Error: Send;

    /// Does one job.
    fn step(&mut self, job: J, queue: &Queue<J>) -> Result<(), Self::Error>;

    /// Is called once when the pile is empty, still in the worker's own thread.
    fn finish(&mut self) {}
}

/// Runs `workers`, the first one in this thread, until the pile that starts with `first` is done.
pub(crate) fn run<J: Send, W: Work<J>>(
    first: Vec<J>,
    mut workers: Vec<W>,
) -> Result<Vec<W>, W::Error> {
    let queue = Queue {
        state: Mutex::new(State {
            jobs: first,
            at_work: 0,
            stopped: false,
        }),
        changed: Condvar::new(),
    };
    let results: Vec<Result<(), W::Error>> = thread::scope(|scope| {
        let (own, others) = workers.split_at_mut(1);
        let running: Vec<_> = others
            .iter_mut()
            .map(|worker| scope.spawn(|| work(worker, &queue)))
            .collect();
        let mut results: Vec<_> = own.iter_mut().map(|worker| work(worker, &queue)).collect();
        for thread in running {
            results.push(
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        results
    });
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(workers)
}

/// How many workers to use: more than four were never faster, and a single one misses every budget.
pub(crate) fn workers() -> usize {
    thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 4))
}

fn work<J: Send, W: Work<J>>(worker: &mut W, queue: &Queue<J>) -> Result<(), W::Error> {
    while let Some(job) = queue.take() {
        let _at_work = AtWork(queue);
        if let Err(error) = worker.step(job, queue) {
            queue.stop();
            return Err(error);
        }
    }
    worker.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        done: Vec<u32>,
        fails_at: Option<u32>,
    }

    impl Work<u32> for Count {
        type Error = u32;

        fn step(&mut self, job: u32, queue: &Queue<u32>) -> Result<(), u32> {
            if self.fails_at == Some(job) {
                return Err(job);
            }
            self.done.push(job);
            queue.extend([2 * job, 2 * job + 1].into_iter().filter(|&n| n < 1000));
            Ok(())
        }
    }

    fn crew(fails_at: Option<u32>) -> Vec<Count> {
        (0..3)
            .map(|_| Count {
                done: Vec::new(),
                fails_at,
            })
            .collect()
    }

    #[test]
    fn every_job_is_done_once() {
        let workers = run(vec![1], crew(None)).unwrap_or_default();
        let mut done: Vec<u32> = workers.into_iter().flat_map(|w| w.done).collect();
        done.sort_unstable();
        assert_eq!(done, (1..1000).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_error_ends_everybody() {
        assert_eq!(run(vec![1], crew(Some(77))).err(), Some(77));
    }
}
