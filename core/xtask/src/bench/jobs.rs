//! The jobs: what is measured, against what, and what the ratio must be.

mod apply;
mod build;
mod clone;
mod discard;
mod find;
mod start;

use std::time::Duration;

use crate::bench::arena::Arena;
use crate::bench::contest::Contest;
use crate::failure::Failure;

/// One row of the table before it is measured.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// What a person would use instead.
    pub(crate) baseline: &'static str,
    /// What a plain good implementation reaches.
    pub(crate) must: Option<Bound>,
    /// What to aim at.
    pub(crate) stretch: Option<Bound>,
    /// Plants the trees and makes the sessions that the contest needs.
    pub(crate) prepare: fn(&Arena) -> Result<Box<dyn Contest>, Failure>,
}

/// What a measurement may be at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// Our time divided by the baseline's.
    Ratio(f64),
    /// A time of its own, where there is nothing to compare with.
    Time(Duration),
}

const fn ratio(most: f64) -> Option<Bound> {
    Some(Bound::Ratio(most))
}

const fn millis(most: u64) -> Option<Bound> {
    Some(Bound::Time(Duration::from_millis(most)))
}

/// In the order of a session's life.
pub(crate) const JOBS: &[Job] = &[
    Job {
        name: "start",
        baseline: "bwrap true",
        must: ratio(5.0),
        stretch: ratio(3.3),
        prepare: start::prepare,
    },
    Job {
        name: "clone",
        baseline: "cp -a --reflink=always",
        must: ratio(0.55),
        stretch: ratio(0.40),
        prepare: clone::prepare_first,
    },
    Job {
        name: "clone-again",
        baseline: "cp -a --reflink=always",
        must: None,
        stretch: ratio(0.10),
        prepare: clone::prepare_again,
    },
    Job {
        name: "build",
        baseline: "the same build outside",
        must: ratio(1.03),
        stretch: ratio(1.01),
        prepare: build::prepare,
    },
    Job {
        name: "find",
        baseline: "rsync -rlpn --delete",
        must: ratio(0.15),
        stretch: ratio(0.09),
        prepare: find::prepare,
    },
    Job {
        name: "apply",
        baseline: "rsync -a, syncfs",
        must: ratio(0.85),
        stretch: ratio(0.55),
        prepare: apply::prepare_quiet,
    },
    Job {
        name: "apply-busy",
        baseline: "its own quiet time",
        must: ratio(2.0),
        stretch: ratio(1.2),
        prepare: apply::prepare_busy,
    },
    Job {
        name: "discard",
        baseline: "",
        must: millis(10),
        stretch: millis(3),
        prepare: discard::prepare,
    },
];
