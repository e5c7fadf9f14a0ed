//! Measures what the product promises about speed, side by side with what a person would use instead.
//!
//! Machines are noisy, so only ratios count: each job and its baseline run in turns, each first as often as second, and
//! the medians are divided. What is measured is the release build through its command line, on an XFS file system made
//! for it, with homes and state of its own. A ratio says nothing about a machine whose cores are busy; that is said.

mod arena;
mod contest;
mod disk;
mod jobs;
mod table;
mod tree;

use crate::arguments::BenchRequest;
use crate::bench::arena::Arena;
use crate::bench::disk::Disk;
use crate::bench::jobs::JOBS;
use crate::bench::jobs::Job;
use crate::failure::Failure;
use crate::manual::Topic;
use crate::run;
use crate::setup;
use crate::setup::Purpose;
use crate::step::step;
use crate::surroundings::Surroundings;

/// Measures the jobs that `request` names and prints one row for each.
///
/// # Errors
/// A name is unknown, this is not root, or a program fails.
pub(crate) fn bench(around: &Surroundings, request: &BenchRequest) -> Result<(), Failure> {
    let jobs = chosen(&request.jobs)?;
    setup::require(around, Purpose::Bench)?;
    if around.os != "linux" || !around.is_root()? {
        return Err(Failure::Bench(
            "mounting a file system takes root and Linux",
        ));
    }
    let enclos = step(around, "build", || run::build(around))?;
    let disk = Disk::make(&around.temp)?;
    let arena = Arena::open(enclos, disk.path())?;
    let mut rows = Vec::new();
    for job in jobs {
        let measured = step(around, job.name, || {
            let contest = (job.prepare)(&arena)?;
            contest::measure(contest, job, request.runs)
        });
        match measured {
            Ok(row) => rows.push(row),
            // One job that cannot be measured must not hide the others.
            Err(failure) => eprintln!(
                "{} {}: {failure}",
                around.paint("1;31", "not measured:"),
                job.name
            ),
        }
    }
    print!("{}", table::table(around, &rows));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Job>, Failure> {
    if names.is_empty() {
        return Ok(JOBS.iter().collect());
    }
    let find = |name: &String| {
        let unknown = || {
            let known: Vec<_> = JOBS.iter().map(|job| job.name).collect();
            let problem = format!("there is no job `{name}`; there are {}", known.join(", "));
            Failure::Usage {
                problem,
                topic: Topic::Bench,
            }
        };
        JOBS.iter().find(|job| job.name == name).ok_or_else(unknown)
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), JOBS.len());
        assert_eq!(chosen(&["start".into()]).unwrap()[0].name, "start");
        let problem = chosen(&["strat".into()])
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("strat") && problem.contains("start"),
            "{problem}"
        );
    }
}
