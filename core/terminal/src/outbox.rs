//! A bounded queue of bytes in front of a descriptor that may not be ready.

use std::collections::VecDeque;
use std::os::fd::AsFd;

use rustix::io::Errno;

/// What a flush left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// Everything was written.
    All,
    /// The other side is not reading at the moment.
    Blocked,
    /// The other side is gone; what was queued is dropped.
    Gone,
}

/// Bytes that wait for a descriptor to take them.
///
/// The queue itself does not refuse bytes: whoever fills it asks [`Outbox::is_full`] first and stops reading from the
/// source, which is how pressure travels back.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<u8>,
}

impl Outbox {
    /// Above this many bytes the source should pause: a few pipe buffers, little enough for many viewers.
    pub const FULL: usize = 256 * 1024;

    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the source should pause.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.queue.len() >= Self::FULL
    }

    /// How many bytes wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Writes as much as `to`, a non-blocking descriptor, takes now.
    pub fn flush(&mut self, to: impl AsFd) -> Flushed {
        while !self.queue.is_empty() {
            let (front, _) = self.queue.as_slices();
            match rustix::io::write(&to, front) {
                Ok(0) => return Flushed::Blocked,
                Ok(taken) => {
                    self.queue.drain(..taken);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Flushed::Blocked,
                Err(_) => {
                    self.queue.clear();
                    return Flushed::Gone;
                }
            }
        }
        Flushed::All
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_queued_arrives_in_order_once_the_reader_reads() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let sent: Vec<u8> = (0..2_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut outbox = Outbox::new();
        outbox.push(&sent);
        assert_eq!(
            outbox.flush(&ours),
            Flushed::Blocked,
            "a socket buffer is smaller than 2 MB"
        );
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; 2_000_000];
            theirs.read_exact(&mut got).unwrap();
            got
        });
        while outbox.flush(&ours) != Flushed::All {
            std::thread::yield_now();
        }
        assert!(reader.join().unwrap() == sent, "bytes arrive unchanged");
    }

    #[test]
    fn a_reader_that_left_is_noticed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        drop(theirs);
        let mut outbox = Outbox::new();
        outbox.push(b"x");
        assert_eq!(outbox.flush(&ours), Flushed::Gone);
        assert!(outbox.is_empty(), "nothing waits for somebody who left");
    }
}
