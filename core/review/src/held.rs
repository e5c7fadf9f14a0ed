//! What would start by itself on the person's machine once it is in the original.

/// A change that would start by itself: what, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// What would run.
    pub what: &'static str,
    /// When it would.
    pub when: &'static str,
    /// Where that is documented.
    pub source: &'static str,
}
