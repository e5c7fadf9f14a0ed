//! The result as a table that a person compares by eye.

use std::fmt::Write;
use std::time::Duration;

use crate::bench::contest::Row;
use crate::bench::contest::Spread;
use crate::bench::jobs::Bound;
use crate::surroundings::Surroundings;

/// The rows under a head, columns aligned.
pub(crate) fn table(around: &Surroundings, rows: &[Row]) -> String {
    let mut text = String::from("\n");
    let head = format!(
        "{:<12}{:>18}{:>18}  {:<34}{:>7}{:>9}{:>9}",
        "job", "ours", "baseline", "", "ratio", "must", "stretch"
    );
    let _ = writeln!(text, "{}", around.paint("1", head.trim_end()));
    for row in rows {
        let _ = writeln!(
            text,
            "{:<12}{:>18}{:>18}  {:<34}{:>7}{:>9}{:>9}  {}",
            row.job,
            spread(row.ours),
            row.theirs.map(spread).unwrap_or_default(),
            row.baseline,
            row.ratio()
                .map(|ratio| format!("{ratio:.2} x"))
                .unwrap_or_default(),
            bound(row.must),
            bound(row.stretch),
            verdict(around, row),
        );
    }
    text.push_str("\nMedians of runs in turns, and half of what lies between the fastest and the slowest. Ratios count, times do not.\n");
    text
}

fn verdict(around: &Surroundings, row: &Row) -> String {
    let keeps = |bound: Option<Bound>| bound.map(|bound| row.keeps(bound));
    match (keeps(row.must), keeps(row.stretch)) {
        (_, Some(true)) => around.paint("32", "stretch"),
        (Some(true) | None, _) => around.paint("32", "ok"),
        (Some(false), _) => around.paint("31", "MISSED"),
    }
}

fn spread(spread: Spread) -> String {
    format!(
        "{} ±{}",
        time(spread.median),
        time((spread.most - spread.least) / 2)
    )
}

fn bound(bound: Option<Bound>) -> String {
    match bound {
        None => String::new(),
        Some(Bound::Ratio(ratio)) => format!("{ratio:.2} x"),
        Some(Bound::Time(most)) => time(most),
    }
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::surroundings::tests::around;

    #[test]
    fn rows_are_aligned_and_judged() {
        let spread = |millis: u64| {
            let median = Duration::from_millis(millis);
            Spread {
                median,
                least: median,
                most: median + Duration::from_millis(2),
            }
        };
        let (must, stretch) = (Some(Bound::Ratio(0.55)), Some(Bound::Ratio(0.4)));
        let row = |ours, theirs| Row {
            job: "clone",
            baseline: "cp",
            ours: spread(ours),
            theirs,
            must,
            stretch,
        };
        let rows = [
            row(390, Some(spread(1000))),
            row(500, Some(spread(1000))),
            row(560, Some(spread(1000))),
        ];
        let text = table(&around(Path::new("/")), &rows);
        let verdicts: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("clone"))
            .collect();
        assert!(
            verdicts[0].ends_with("0.39 x   0.55 x   0.40 x  stretch"),
            "{text}"
        );
        assert!(
            verdicts[1].ends_with("ok") && verdicts[2].ends_with("MISSED"),
            "{text}"
        );
    }
}
