//! The last part of what a command printed, for whoever attaches later.

use std::collections::VecDeque;

/// A ring of the newest bytes of output, cut at line starts.
#[derive(Debug)]
pub struct Transcript {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Transcript {
    /// Keeps at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            limit,
        }
    }

    /// Adds what was printed; the oldest whole lines go when there are too many bytes.
    pub fn push(&mut self, printed: &[u8]) {
        self.bytes.extend(printed);
        if self.bytes.len() <= self.limit {
            return;
        }
        let excess = self.bytes.len() - self.limit;
        let cut = self
            .bytes
            .iter()
            .skip(excess)
            .position(|&b| b == b'\n')
            .map_or(excess, |at| excess + at + 1);
        self.bytes.drain(..cut);
    }

    /// What is kept, oldest first.
    #[must_use]
    pub fn kept(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_whole_lines_go_first() {
        let mut transcript = Transcript::new(10);
        transcript.push(b"one\ntwo\nthree\n");
        assert_eq!(transcript.kept(), b"three\n");
    }

    #[test]
    fn a_line_longer_than_the_ring_keeps_its_end() {
        let mut transcript = Transcript::new(4);
        transcript.push(b"abcdefgh");
        assert_eq!(transcript.kept(), b"efgh");
    }
}
