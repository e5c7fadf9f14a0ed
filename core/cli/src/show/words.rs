//! Which words of a changed line changed.
//!
//! Lines are the agent's, so both their length and the number of pairs that are compared are bounded: past the bound a
//! line is shown as changed as a whole, which is never wrong.

use similar::ChangeTag;
use similar::TextDiff;

/// Lines longer than this, in bytes, are not compared word by word.
const LONGEST: usize = 400;

/// A part of a line, and whether it is different on the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) changed: bool,
}

/// The two sides of a changed line in parts; none when they have too little in common for the parts to mean anything.
pub(super) fn parts(old: &str, new: &str) -> Option<(Vec<Part>, Vec<Part>)> {
    if old.len() > LONGEST || new.len() > LONGEST {
        return None;
    }
    let diff = TextDiff::from_words(old, new);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut kept = 0;
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                kept += text.trim().len();
                add(&mut before, text, false);
                add(&mut after, text, false);
            }
            ChangeTag::Delete => add(&mut before, text, true),
            ChangeTag::Insert => add(&mut after, text, true),
        }
    }
    let longer = old.trim().len().max(new.trim().len());
    (kept * 3 >= longer).then_some((before, after))
}

fn add(parts: &mut Vec<Part>, text: &str, changed: bool) {
    match parts.last_mut().filter(|part| part.changed == changed) {
        Some(part) => part.text.push_str(text),
        None => parts.push(Part {
            text: text.to_owned(),
            changed,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(parts: &[Part]) -> String {
        parts
            .iter()
            .map(|part| {
                if part.changed {
                    format!("[{}]", part.text)
                } else {
                    part.text.clone()
                }
            })
            .collect()
    }

    #[test]
    fn the_changed_words_are_marked_on_both_sides() {
        let (old, new) = parts("let addr = zero;", "let addr = one;").unwrap();
        assert_eq!(marked(&old), "let addr = [zero;]");
        assert_eq!(marked(&new), "let addr = [one;]");
    }

    #[test]
    fn lines_with_nothing_in_common_are_changed_as_a_whole() {
        assert_eq!(parts("alpha beta gamma", "one two three"), None);
        assert_eq!(
            parts(&"x ".repeat(300), "x"),
            None,
            "a long line is not compared"
        );
    }
}
