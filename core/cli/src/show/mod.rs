//! What people see: colours, lists, diffs, sentences. Nothing here decides anything.

mod diff;
mod folder;
mod outcome;
mod progress;
mod sessions;
mod style;
mod words;

pub(crate) use diff::diff;
pub(crate) use diff::stat;
pub(crate) use folder::short;
pub(crate) use outcome::Direction;
pub(crate) use outcome::applied;
pub(crate) use outcome::summary;
pub(crate) use progress::Bar;
pub(crate) use sessions::sessions;
pub(crate) use style::Paint;
pub(crate) use style::Style;

/// `1 file`, `2 files`, `1,204 files`.
pub(crate) fn count(number: u64, one: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let plural = if number == 1 { "" } else { "s" };
    format!("{text} {one}{plural}")
}

/// `512 B`, `1.2 MB`, in powers of 1000 as file managers count.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut tenths = number / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(1204, "file"), "1,204 files");
        assert_eq!(count(1_234_567, "file"), "1,234,567 files");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_250_000), "1.2 MB");
        assert_eq!(bytes(393_000_000_000), "393.0 GB");
    }
}
