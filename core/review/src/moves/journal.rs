//! What is being moved, written down before the first move.

use serde::Deserialize;
use serde::Serialize;

use super::Move;
use super::Plan;
use super::lines;
use super::lines::FormatError;
use super::lines::MoveLine;
use crate::RecordId;

/// The moves of an apply or undo in progress.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    /// The record that it will be.
    pub(crate) id: RecordId,
    /// The name of the staging folder in the original.
    pub(crate) staging: String,
    /// In the order in which they are done.
    pub(crate) moves: Vec<Move>,
}

const FORM: &str = "enclos apply journal";

#[derive(Serialize, Deserialize)]
struct Header {
    record: u32,
    staging: String,
}

impl Journal {
    /// The text of a journal of `plan`, whose tasks are done in the given order.
    pub(crate) fn text(
        id: RecordId,
        staging: &str,
        plan: &Plan<'_>,
        order: &[(usize, usize)],
    ) -> Result<Vec<u8>, serde_json::Error> {
        let header = Header {
            record: id.0,
            staging: staging.into(),
        };
        let line = |&(unit, task): &(usize, usize)| {
            MoveLine::new(unit, &[], &plan.units[unit].tasks[task].step)
        };
        let lines: Vec<_> = order.iter().map(line).collect();
        lines::write(FORM, &header, &lines)
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, FormatError> {
        let (header, lines) = lines::read::<Header>(FORM, text)?;
        Ok(Self {
            id: RecordId(header.record),
            staging: header.staging,
            moves: lines.iter().map(MoveLine::step).collect::<Result<_, _>>()?,
        })
    }
}
