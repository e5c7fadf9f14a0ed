//! What an apply or undo did, kept so that it can be undone.

use enclos_paths::ProjectPath;
use serde::Deserialize;
use serde::Serialize;

use super::Move;
use super::lines;
use super::lines::FormatError;
use super::lines::MoveLine;
use super::lines::Name;
use crate::RecordId;

/// An apply or undo that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) units: Vec<Kept>,
}

/// What a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Apply,
    /// Of an undo of this one.
    Undo(RecordId),
}

/// One unit that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) reports: Vec<ProjectPath>,
    /// In the order in which they were done.
    pub(crate) moves: Vec<Move>,
}

const FORM: &str = "enclos apply record";

#[derive(Serialize, Deserialize)]
struct Header {
    /// The record that this one undid.
    undoes: Option<u32>,
}

impl Record {
    pub(crate) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let undoes = match self.kind {
            Kind::Apply => None,
            Kind::Undo(id) => Some(id.0),
        };
        let mut lines = Vec::new();
        for (unit, kept) in self.units.iter().enumerate() {
            for (at, step) in kept.moves.iter().enumerate() {
                let reports = if at == 0 { &kept.reports[..] } else { &[] };
                lines.push(MoveLine::new(unit, reports, step));
            }
        }
        lines::write(FORM, &Header { undoes }, &lines)
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, FormatError> {
        let (header, lines) = lines::read::<Header>(FORM, text)?;
        let kind = header
            .undoes
            .map_or(Kind::Apply, |id| Kind::Undo(RecordId(id)));
        let mut units: Vec<Kept> = Vec::new();
        let mut last = None;
        for line in &lines {
            if last != Some(line.unit) {
                let reports = line
                    .reports
                    .iter()
                    .map(Name::path)
                    .collect::<Result<_, _>>()?;
                units.push(Kept {
                    reports,
                    moves: Vec::new(),
                });
                last = Some(line.unit);
            }
            if let Some(unit) = units.last_mut() {
                unit.moves.push(line.step()?);
            }
        }
        Ok(Self { kind, units })
    }
}
