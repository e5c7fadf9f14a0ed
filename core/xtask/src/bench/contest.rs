//! Two ways of doing the same, measured in turns.

use std::time::Duration;

use crate::bench::jobs::Bound;
use crate::bench::jobs::Job;
use crate::failure::Failure;

/// Two ways of doing the same on the same disk. Each call leaves everything as it found it, outside of the measured
/// time.
pub(crate) trait Contest {
    /// Does it our way and returns how long that took.
    fn ours(&mut self) -> Result<Duration, Failure>;
    /// Does it the way that is to be beaten, where there is one.
    fn theirs(&mut self) -> Result<Option<Duration>, Failure>;
}

/// What came out of a contest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) job: &'static str,
    pub(crate) baseline: &'static str,
    pub(crate) ours: Spread,
    pub(crate) theirs: Option<Spread>,
    pub(crate) must: Option<Bound>,
    pub(crate) stretch: Option<Bound>,
}

/// The middle of some durations and how far they lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) median: Duration,
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

/// Measures both sides `runs` times in turns, after one turn that only warms up.
///
/// # Errors
/// A program fails.
pub(crate) fn measure(
    mut contest: Box<dyn Contest>,
    job: &Job,
    runs: usize,
) -> Result<Row, Failure> {
    contest.ours()?;
    contest.theirs()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..runs {
        if turn % 2 == 0 {
            ours.push(contest.ours()?);
            theirs.extend(contest.theirs()?);
        } else {
            theirs.extend(contest.theirs()?);
            ours.push(contest.ours()?);
        }
    }
    let nothing = Failure::Bench("no run at all");
    Ok(Row {
        job: job.name,
        baseline: job.baseline,
        ours: Spread::of(&mut ours).ok_or(nothing)?,
        theirs: Spread::of(&mut theirs),
        must: job.must,
        stretch: job.stretch,
    })
}

impl Spread {
    fn of(durations: &mut [Duration]) -> Option<Self> {
        durations.sort_unstable();
        let median = *durations.get(durations.len() / 2)?;
        Some(Self {
            median,
            least: *durations.first()?,
            most: *durations.last()?,
        })
    }
}

impl Row {
    /// Our median divided by theirs.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let theirs = self.theirs?.median.as_secs_f64();
        (theirs > 0.0).then(|| self.ours.median.as_secs_f64() / theirs)
    }

    /// Whether our side keeps within `bound`.
    pub(crate) fn keeps(&self, bound: Bound) -> bool {
        match bound {
            Bound::Ratio(most) => self.ratio().is_some_and(|ratio| ratio <= most),
            Bound::Time(most) => self.ours.median <= most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as long as it is told, and notes whose turn it was.
    struct Scripted(std::rc::Rc<std::cell::RefCell<String>>, u64);

    impl Contest for Scripted {
        fn ours(&mut self) -> Result<Duration, Failure> {
            self.0.borrow_mut().push('o');
            self.1 += 10;
            Ok(Duration::from_millis(self.1))
        }

        fn theirs(&mut self) -> Result<Option<Duration>, Failure> {
            self.0.borrow_mut().push('t');
            Ok(Some(Duration::from_millis(100)))
        }
    }

    #[test]
    fn turns_alternate_and_the_middle_counts() {
        let turns = std::rc::Rc::default();
        let job = &crate::bench::jobs::JOBS[0];
        let row = measure(Box::new(Scripted(std::rc::Rc::clone(&turns), 0)), job, 3).unwrap();
        assert_eq!(*turns.borrow(), "otottoot");
        assert_eq!(
            row.ours.median,
            Duration::from_millis(30),
            "10 warmed up; 20, 30 and 40 count"
        );
        assert_eq!(row.ratio(), Some(0.3));
        assert!(
            row.keeps(Bound::Ratio(0.3)) && !row.keeps(Bound::Ratio(0.29)),
            "a bound is inclusive"
        );
        assert!(
            row.keeps(Bound::Time(Duration::from_millis(30))),
            "a time is one without a baseline"
        );
    }
}
