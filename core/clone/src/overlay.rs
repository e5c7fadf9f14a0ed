//! Overlaying: the original below, a writable layer above, nothing copied.
//!
//! Overlaying the whole folder is had only by name, because later edits of the original show through. Mounting is the
//! jail's business; here is what the original looked like at the start, and what the upper layer says was changed.

mod record;
mod upper;

pub(crate) use self::record::record;
pub use self::upper::{LayerChange, LayerChanges, LayerEntry, overlay_changes};
