//! A hermetic world for tests: what they need from the machine, made for each and gone afterwards.

mod loopfs;

pub use loopfs::{LoopFs, LoopFsError};
