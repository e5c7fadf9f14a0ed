//! placeholder
use crate::arguments::BenchRequest;
use crate::failure::Failure;
use crate::surroundings::Surroundings;
/// placeholder
pub(crate) fn bench(_around: &Surroundings, _request: &BenchRequest) -> Result<(), Failure> {
    Err(Failure::Bench("nothing is measured yet"))
}
