//! The names of what is kept.

use crate::baseline::Identity;

/// What the names of files begin with that are not whole yet.
pub(super) const PARTIAL: &str = "partial-";

/// The name under which a whole file is kept.
///
/// Two files with one identity are one file, or were; so there is one content for it.
pub(super) fn whole(identity: &Identity) -> String {
    let mut hasher = blake3::Hasher::new();
    for number in [identity.dev, identity.ino, identity.size] {
        hasher.update(&number.to_le_bytes());
    }
    for time in [identity.mtime, identity.ctime] {
        hasher.update(&time.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    hash[..32].to_owned()
}

/// The name under which a compressed file is kept.
pub(super) fn compressed(identity: &Identity) -> String {
    format!("{}.lz4", whole(identity))
}
