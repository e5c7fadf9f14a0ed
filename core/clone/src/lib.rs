//! Copy-on-write copies of a folder, what they looked like at the start, and the contents to compare with.
//!
//! A clone is the folder as it was: bytes, modes, times, links, extended attributes. The [`Baseline`] records the
//! identity of every entry on both sides, so a later look finds what changed in the copy and in the original without
//! reading contents. Cloning never writes to the original and never leaves a half-made clone that looks whole.

mod baseline;

pub use baseline::{Baseline, Entry, Identity, Kind, Presence, Skipped};
