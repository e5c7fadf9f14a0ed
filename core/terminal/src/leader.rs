//! The leader key: how a person speaks to Enclos instead of to the command.
//!
//! Typed bytes pass through unchanged except the leader and the one key after it. The leader typed twice is sent
//! once, so nothing becomes impossible to type. A pause between the two keys does not matter: there is no timer.

/// What typed bytes mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaderEvent {
    /// Bytes for the command.
    Bytes(Vec<u8>),
    /// Leave the session running and give the terminal back.
    Detach,
    /// End every process of the session.
    Stop,
    /// Show what the leader can do.
    Help,
}

/// Watches typed bytes for the leader key.
#[derive(Debug, Clone)]
pub struct Leader {
    key: u8,
    pending: bool,
}

impl Leader {
    /// ctrl-], which few programs use and telnet users know.
    pub const DEFAULT: u8 = 0x1d;

    /// Watches for `key`, a control character.
    #[must_use]
    pub fn new(key: u8) -> Self {
        Self {
            key,
            pending: false,
        }
    }

    /// Splits `typed` into what goes to the command and what is meant for Enclos, in order.
    ///
    /// An unknown key after the leader shows the help and is swallowed, so a slip never reaches the command.
    pub fn feed(&mut self, typed: &[u8]) -> Vec<LeaderEvent> {
        let mut events = Vec::new();
        let mut bytes = Vec::new();
        for &byte in typed {
            if !self.pending {
                if byte == self.key {
                    self.pending = true
                } else {
                    bytes.push(byte)
                }
                continue;
            }
            self.pending = false;
            let event = match byte {
                b if b == self.key => {
                    bytes.push(byte);
                    continue;
                }
                b'd' | b'D' => LeaderEvent::Detach,
                b's' | b'S' => LeaderEvent::Stop,
                _ => LeaderEvent::Help,
            };
            if !bytes.is_empty() {
                events.push(LeaderEvent::Bytes(std::mem::take(&mut bytes)));
            }
            events.push(event);
        }
        if !bytes.is_empty() {
            events.push(LeaderEvent::Bytes(bytes));
        }
        events
    }
}

impl Default for Leader {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_bytes_pass() {
        assert_eq!(
            Leader::default().feed(b"ls\r"),
            [LeaderEvent::Bytes(b"ls\r".to_vec())]
        );
    }

    #[test]
    fn the_leader_speaks_to_enclos_even_split_over_reads() {
        let mut leader = Leader::default();
        assert_eq!(leader.feed(b"a\x1d"), [LeaderEvent::Bytes(b"a".to_vec())]);
        assert_eq!(
            leader.feed(b"db"),
            [LeaderEvent::Detach, LeaderEvent::Bytes(b"b".to_vec())]
        );
    }

    #[test]
    fn typed_twice_it_is_sent_once() {
        assert_eq!(
            Leader::default().feed(b"\x1d\x1dx"),
            [LeaderEvent::Bytes(b"\x1dx".to_vec())]
        );
    }

    #[test]
    fn a_slip_shows_the_help_and_reaches_nobody() {
        assert_eq!(Leader::default().feed(b"\x1dz"), [LeaderEvent::Help]);
    }

    proptest! {
        #[test]
        fn without_the_leader_nothing_is_changed(typed in prop::collection::vec(0x20u8..=0xff, 0..64), cut in 0usize..64) {
            let mut leader = Leader::default();
            let (first, second) = typed.split_at(cut.min(typed.len()));
            let mut events = leader.feed(first);
            events.extend(leader.feed(second));
            let out: Vec<u8> = events.into_iter().flat_map(|e| match e { LeaderEvent::Bytes(b) => b, other => panic!("{other:?}") }).collect();
            prop_assert_eq!(out, typed);
        }
    }
}
