//! Where a jailed command finds the session's own folders: pure, for every system.
//!
//! Where folders can be mounted (Linux), everything has the path it has outside, and `/tmp` is the private one. Where
//! nothing can be mounted (macOS), the copy and the private home are used where they lie, and programs are told so by
//! their environment. A Unix socket's path has room for 103 bytes there, which a temporary folder deep in the home of a
//! person with a long name would use up: so it has a second, short name, a link that is laid at the start.

use enclos_paths::AbsPath;

use crate::lend::Os;

/// Where the private home `private` of a person whose home is `own` is found.
#[must_use]
pub fn home(os: Os, own: &AbsPath, private: &AbsPath) -> AbsPath {
    match os {
        Os::Linux => own.clone(),
        Os::Macos => private.clone(),
    }
}

/// Where the copy `copy` of `original` is found.
#[must_use]
pub fn tree(os: Os, original: &AbsPath, copy: &AbsPath) -> AbsPath {
    match os {
        Os::Linux => original.clone(),
        Os::Macos => copy.clone(),
    }
}

/// Where the temporary folder `private` of a session of user `uid` is found.
#[must_use]
pub fn tmp(os: Os, uid: u32, private: &AbsPath) -> AbsPath {
    match os {
        Os::Linux => private.resolve("/tmp"),
        Os::Macos => {
            let name = format!("enclos-tmp-{uid}/{:016x}", hash(private.as_bytes()));
            // Every longer-lived place is longer; the system empties this one now and then, and it is laid again.
            private.resolve("/private/tmp").resolve(name)
        }
    }
}

/// FNV-1a: the same in every version of Enclos, as `resume` finds the folder by it.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abs(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    #[test]
    fn what_can_be_mounted_has_the_path_it_has_outside() {
        let (own, private) = (abs("/home/u"), abs("/data/s/home"));
        assert_eq!(home(Os::Linux, &own, &private), own);
        assert_eq!(tree(Os::Linux, &abs("/p"), &abs("/copy")), abs("/p"));
        assert_eq!(tmp(Os::Linux, 501, &abs("/data/s/tmp")), abs("/tmp"));
    }

    #[test]
    fn what_cannot_is_used_where_it_lies() {
        let (own, private) = (abs("/Users/u"), abs("/Users/u/.enclos.noindex/p/home"));
        assert_eq!(home(Os::Macos, &own, &private), private);
        assert_eq!(tree(Os::Macos, &abs("/p"), &abs("/copy")), abs("/copy"));
    }

    #[test]
    fn a_temporary_folder_has_a_short_name_of_its_own() {
        let long = abs(&format!("/Users/{}/.enclos.noindex/p/tmp", "u".repeat(200)));
        let short = tmp(Os::Macos, 501, &long);
        assert_eq!(
            short.to_string(),
            "/private/tmp/enclos-tmp-501/430cc567cc23d502"
        );
        assert_ne!(
            short,
            tmp(Os::Macos, 501, &abs("/Users/u/.enclos.noindex/q/tmp"))
        );
        assert!(
            short.as_bytes().len() < 50,
            "half of it is left for the names of sockets"
        );
    }
}
