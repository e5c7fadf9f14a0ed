//! What of a command's output reaches the person's terminal.
//!
//! A terminal obeys more than text: it can be told to fill the clipboard, to name its window, to send things back as if
//! they had been typed. Strings of that kind (OSC, DCS, APC, PM, SOS) and reports of the window (CSI t), checksums
//! (CSI * y) are left out and counted; text, colours, cursor and modes pass. Modes that were switched on are switched
//! off again when the person leaves. This is a filter of what is known to be harmful, not a model of the screen: with
//! that come allow lists, repaints and answers to queries.

/// Watches a command's output on its way to a terminal.
#[derive(Debug, Default)]
pub struct Screen {
    state: State,
    /// The sequence that is being read, from its introducer on.
    sequence: Vec<u8>,
    alternate: bool,
    dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After the first byte of a C1 control in UTF-8.
    C1,
    /// In a control sequence.
    Control,
    /// In a string that is left out and that BEL ends too.
    Osc,
    /// In any other string that is left out.
    String,
    /// In such a string, after ESC.
    StringEscape,
}

/// Longer control sequences mean nothing to any terminal.
const LONGEST: usize = 256;

impl Screen {
    /// Takes what the command printed and gives back what may reach the terminal; sequences may be cut anywhere.
    pub fn pass(&mut self, printed: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(printed.len());
        for &byte in printed {
            self.step(byte, &mut out);
        }
        out
    }

    /// What undoes the modes that a command may have left on: mouse and paste reports, a hidden cursor, colours, and
    /// the alternate screen if it is shown.
    #[must_use]
    pub fn reset(&self) -> Vec<u8> {
        let mut out = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?2026l".to_vec();
        out.extend_from_slice(b"\x1b[<u\x1b[>4m\x1b[?1l\x1b>\x1b[?25h\x1b[0m");
        if self.alternate {
            out.extend_from_slice(b"\x1b[?1049l");
        }
        out
    }

    /// How many sequences were left out.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        match (self.state, byte) {
            // CAN and SUB end any sequence (ECMA-48).
            (State::Text, 0x18 | 0x1a) => out.push(byte),
            (_, 0x18 | 0x1a) => self.state = State::Text,
            (State::Text, 0x1b) => self.begin(State::Escape, &[byte]),
            (State::Text, 0xc2) => self.begin(State::C1, &[byte]),
            (State::Text, _) => out.push(byte),
            (State::Escape, b'[') => self.begin(State::Control, b"\x1b["),
            (State::Escape, b']') => self.begin(State::Osc, &[]),
            (State::Escape, b'P' | b'_' | b'^' | b'X') => self.begin(State::String, &[]),
            (State::Escape, 0x1b) => self.begin(State::Escape, &[byte]),
            (State::Escape, 0xc2) => self.begin(State::C1, &[byte]),
            (State::Escape, _) => self.end(&[0x1b, byte], out),
            (State::C1, 0x9b) => self.begin(State::Control, b"\x1b["),
            (State::C1, 0x9d) => self.begin(State::Osc, &[]),
            (State::C1, 0x90 | 0x98 | 0x9e | 0x9f) => self.begin(State::String, &[]),
            // A first byte without its second is no text, and must not find one later.
            (State::C1, 0xc2) => {}
            (State::C1, 0x1b) => self.begin(State::Escape, &[byte]),
            (State::C1, _) => self.end(&[0xc2, byte], out),
            (State::Control, 0x1b) => self.begin(State::Escape, &[byte]),
            (State::Control, 0x40..=0x7e) => self.control(byte, out),
            (State::Control, 0x20..=0x3f) if self.sequence.len() < LONGEST => {
                self.sequence.push(byte)
            }
            (State::Control, _) => {
                self.drop_it();
                self.step(byte, out);
            }
            (State::Osc, 0x07) | (State::Osc | State::String, 0x9c) => self.drop_it(),
            (State::Osc | State::String, 0x1b) => self.state = State::StringEscape,
            (State::Osc | State::String, _) => {}
            (State::StringEscape, b'\\') => self.drop_it(),
            (State::StringEscape, 0x1b) => {}
            (State::StringEscape, _) => self.state = State::String,
        }
    }

    fn begin(&mut self, state: State, so_far: &[u8]) {
        self.state = state;
        self.sequence.clear();
        self.sequence.extend_from_slice(so_far);
    }

    fn end(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.state = State::Text;
    }

    fn drop_it(&mut self) {
        self.dropped += 1;
        self.state = State::Text;
    }

    /// A control sequence is whole.
    fn control(&mut self, last: u8, out: &mut Vec<u8>) {
        let parameters = &self.sequence[2..];
        let reports = last == b't' || (last == b'y' && parameters.contains(&b'*'));
        if reports {
            return self.drop_it();
        }
        if matches!(last, b'h' | b'l') && parameters.starts_with(b"?") {
            let alternate = |mode: &[u8]| matches!(mode, b"47" | b"1047" | b"1049");
            if parameters[1..].split(|&byte| byte == b';').any(alternate) {
                self.alternate = last == b'h';
            }
        }
        out.append(&mut self.sequence);
        out.push(last);
        self.state = State::Text;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed(printed: &[u8]) -> Vec<u8> {
        Screen::default().pass(printed)
    }

    #[test]
    fn text_colours_and_cursor_pass() {
        let printed =
            "caf\u{e9} \x1b[1;32mok\x1b[0m\x1b[2J\x1b[H\x1b[?25l\x1b(B\x1b7\u{a0}\r\n".as_bytes();
        assert_eq!(passed(printed), printed);
    }

    #[test]
    fn what_commands_a_terminal_behind_the_persons_back_does_not() {
        for harmful in [
            &b"\x1b]52;c;aGk=\x07"[..],
            b"\x1b]0;title\x1b\\",
            b"\x1bP+q544e\x1b\\",
            b"\x1b_payload\x1b\\",
            b"\x1b[21t",
            b"\x1b[1;1;1;1;1;1*y",
            "\u{9d}52;c;aGk=\u{9c}".as_bytes(),
            b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\",
        ] {
            let text = [b"a", harmful, b"b"].concat();
            let out = passed(&text);
            assert!(
                !out.contains(&0x1b) && out.starts_with(b"a") && out.ends_with(b"b"),
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn the_alternate_screen_is_left_when_it_is_shown() {
        let mut screen = Screen::default();
        assert!(!screen.reset().ends_with(b"\x1b[?1049l"));
        screen.pass(b"\x1b[?1049h");
        assert!(screen.reset().ends_with(b"\x1b[?1049l"));
        screen.pass(b"\x1b[?2004;1049l");
        assert!(!screen.reset().ends_with(b"\x1b[?1049l"));
    }

    proptest! {
        #[test]
        fn no_string_gets_through_however_output_is_cut(
            printed in prop::collection::vec(prop_oneof![Just(0x1bu8), Just(b']'), Just(b'P'), Just(0xc2), Just(0x9d), Just(0x07), Just(b'\\'), any::<u8>()], 0..80),
            cut in 0usize..80,
        ) {
            let whole = passed(&printed);
            let mut screen = Screen::default();
            let (first, second) = printed.split_at(cut.min(printed.len()));
            let mut pieces = screen.pass(first);
            pieces.extend(screen.pass(second));
            prop_assert_eq!(&pieces, &whole);
            for introducer in [&b"\x1b]"[..], b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\xc2\x9d", b"\xc2\x90"] {
                prop_assert!(!whole.windows(2).any(|pair| pair == introducer), "{}", whole.escape_ascii());
            }
        }
    }
}
