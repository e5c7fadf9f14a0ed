//! Text that is the same in every run: places, times and ids become words.
//!
//! A snapshot must not change with the machine, the clock or chance, and must still show everything else. What is
//! replaced is therefore narrow: the world's own paths, durations with a unit, points in time, and long hexadecimal
//! words with a digit.

use enclos_paths::AbsPath;

/// What replaces what.
#[derive(Debug, Clone)]
pub struct Normal {
    /// Longer paths before those that contain them.
    places: Vec<(&'static str, String)>,
}

impl Normal {
    pub(crate) fn new(places: impl IntoIterator<Item = (&'static str, AbsPath)>) -> Self {
        Self {
            places: places
                .into_iter()
                .map(|(word, path)| (word, path.to_string()))
                .collect(),
        }
    }

    /// `bytes` as text, with places, times and ids replaced.
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for (word, path) in &self.places {
            text = text.replace(path, word);
        }
        replace_words(&text)
    }
}

const UNITS: [&str; 9] = ["ns", "µs", "us", "ms", "s", "sec", "min", "h", "seconds"];

/// Looks at every word: the longest run of letters, digits and what points in time are written with.
fn replace_words(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if end == 0 {
            normal.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        let (replacement, used) = of_word(word, after);
        normal.push_str(replacement.unwrap_or(word));
        rest = &after[used..];
    }
    normal
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | ':' | '-' | '_' | '+')
}

/// What `word` becomes, and how much of what follows belongs to it.
fn of_word(word: &str, after: &str) -> (Option<&'static str>, usize) {
    // A full stop or colon at the end belongs to the sentence.
    let bare = word.trim_end_matches(['.', ':']);
    if is_moment(bare) {
        return (Some("[WHEN]"), 0);
    }
    if is_id(bare) {
        return (Some("[ID]"), 0);
    }
    let digits = bare
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(bare.len());
    if digits == 0 {
        return (None, 0);
    }
    if UNITS.contains(&&bare[digits..]) {
        return (Some("[TIME]"), 0);
    }
    if digits == word.len()
        && let Some(next) = after.strip_prefix(' ')
    {
        let end = next.find(|c: char| !is_word(c)).unwrap_or(next.len());
        if UNITS.contains(&next[..end].trim_end_matches('.')) {
            return (Some("[TIME]"), 1 + end);
        }
    }
    (None, 0)
}

/// `2026-01-31`, `2026-01-31T12:00:00Z`, `12:00`, `12:00:00`.
fn is_moment(word: &str) -> bool {
    let shape: String = word
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let is_date = shape.starts_with("9999-99-99");
    is_date && shape[10..].chars().next().is_none_or(|c| c == 'T')
        || shape == "99:99"
        || shape == "99:99:99"
}

/// Eight or more hexadecimal digits, at least one of them decimal.
fn is_id(word: &str) -> bool {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    word.len() >= 8 && word.chars().all(is_hex) && word.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let path = |path: &str| AbsPath::new(path).unwrap();
        Normal::new([
            ("$HOME", path("/var/tmp/ew-1/home")),
            ("$WORLD", path("/var/tmp/ew-1")),
        ])
        .of(text.as_bytes())
    }

    #[test]
    fn places_become_words() {
        assert_eq!(
            normal("/var/tmp/ew-1/home/web and /var/tmp/ew-1/run"),
            "$HOME/web and $WORLD/run"
        );
    }

    #[test]
    fn durations_and_moments_become_words() {
        assert_eq!(normal("done in 12.3 ms."), "done in [TIME]");
        assert_eq!(normal("took 4s, then 0.2 s"), "took [TIME], then [TIME]");
        assert_eq!(normal("2026-01-31T12:00:00Z (12:00)"), "[WHEN] ([WHEN])");
        assert_eq!(normal("2026-01-31 12:00:00"), "[WHEN] [WHEN]");
    }

    #[test]
    fn ids_become_words_and_names_do_not() {
        assert_eq!(normal("session 1a2b3c4d in web-2"), "session [ID] in web-2");
        assert_eq!(
            normal("a facade, 12 files, 3 hunks"),
            "a facade, 12 files, 3 hunks"
        );
    }

    #[test]
    fn sizes_and_counts_stay() {
        assert_eq!(
            normal("5 sessions, 1.5 MB, line 3: x"),
            "5 sessions, 1.5 MB, line 3: x"
        );
    }
}
