//! Path types that cannot escape a project.
//!
//! Every border of Enclos takes one of these instead of a `Path`: the constructor is the only check, so code behind
//! it need not ask again whether a path is absolute, normal or inside. Bytes are kept as they are: a name that is not
//! UTF-8 survives every round trip. Nothing here touches a file system; resolving links is the caller's business.

mod abs;
mod project;
mod shown;
#[cfg(feature = "serde")]
mod wire;

pub use abs::{AbsPath, AbsPathError};
pub use project::{ProjectPath, ProjectPathError, ProjectRoot};
pub use shown::{Shown, shown};
