//! The ways to make a copy: what was asked for, what was used, and why another one had to do.

use std::fmt;
use std::str::FromStr;

/// The way to copy that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Method {
    /// The best one that keeps the whole promise here: clonefile or reflink, else hybrid, else a plain copy.
    #[default]
    Auto,
    /// Files share their blocks with the original until one side writes (Linux: XFS, btrfs and others).
    Reflink,
    /// The whole folder is cloned in one call, then file by file (macOS: APFS).
    Clonefile,
    /// What git tracks or does not ignore is copied, heavy ignored folders are overlaid (Linux).
    Hybrid,
    /// The live original lies under a writable layer: nothing is copied, and later edits of it are visible.
    Overlay,
    /// Every byte is copied.
    Copy,
}

/// The way to copy that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MethodUsed {
    /// As [`Method::Reflink`].
    Reflink,
    /// As [`Method::Clonefile`].
    Clonefile,
    /// As [`Method::Hybrid`].
    Hybrid,
    /// As [`Method::Overlay`].
    Overlay,
    /// As [`Method::Copy`].
    Copy,
}

impl Method {
    /// Every method, in the order in which they are explained to people.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::Reflink,
        Self::Clonefile,
        Self::Hybrid,
        Self::Overlay,
        Self::Copy,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Reflink => "reflink",
            Self::Clonefile => "clonefile",
            Self::Hybrid => "hybrid",
            Self::Overlay => "overlay",
            Self::Copy => "copy",
        }
    }
}

impl MethodUsed {
    /// The name that asks for it on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reflink => Method::Reflink.name(),
            Self::Clonefile => Method::Clonefile.name(),
            Self::Hybrid => Method::Hybrid.name(),
            Self::Overlay => Method::Overlay.name(),
            Self::Copy => Method::Copy.name(),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for MethodUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of the methods.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a way to clone: use auto, reflink, clonefile, hybrid, overlay or copy")]
pub struct UnknownMethod {
    /// What was written.
    pub name: String,
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownMethod {
                name: name.to_owned(),
            })
    }
}

/// Why bytes have to be copied although a cheaper way was wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FallBack {
    /// The file system cannot share blocks between files.
    NoSharing,
    /// The copy lies on another file system than the original.
    OtherFileSystem,
    /// This system has no such call at all.
    NotOnThisSystem(Method),
    /// A folder that would be overlaid holds a mount or files of another owner or group.
    NotOverlayable,
}

impl fmt::Display for FallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSharing => f.write_str("the file system cannot share blocks between files"),
            Self::OtherFileSystem => {
                f.write_str("the copy lies on another file system than the original")
            }
            Self::NotOnThisSystem(method) => write!(f, "this system has no {method}"),
            Self::NotOverlayable => {
                f.write_str("it holds a mount, or files of another owner or group")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read_back_from_its_name() {
        for method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        let error = "snapshot".parse::<Method>().unwrap_err();
        assert!(error.to_string().contains("`snapshot`"), "{error}");
    }
}
