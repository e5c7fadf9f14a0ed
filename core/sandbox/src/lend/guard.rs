//! Whether a name or a value looks like a secret, so that an allow list cannot let one through by mistake.
//!
//! Promise: what is called a token, key or password, what has a known token's shape, and an address with a password
//! in it does not go in, even where a row names the variable. It is the second line of defence and no detector: the
//! first is that only listed names are looked at. A secret of no known shape under a harmless listed name passes.

/// Whether a variable or key is named as secrets are.
pub(super) fn names_a_secret(name: &[u8]) -> bool {
    let upper = name.to_ascii_uppercase();
    upper
        .split(|b| !b.is_ascii_alphanumeric())
        .any(|word| SECRET_WORDS.iter().any(|s| s.as_bytes() == word))
}

/// Whether a value looks like a secret or holds one.
pub(super) fn holds_a_secret(value: &[u8]) -> bool {
    has_password_in_address(value)
        || words(value).any(|word| {
            SHAPES
                .iter()
                .any(|s| word.len() >= s.len() + 8 && word.starts_with(s.as_bytes()))
        })
        || words(value).any(looks_random)
}

/// `scheme://user:password@host`, or `scheme://token@host`.
fn has_password_in_address(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some(at) = find(rest, b"://") {
        rest = &rest[at + 3..];
        let end = rest
            .iter()
            .position(|b| matches!(b, b'/' | b'?' | b'#' | b' ' | b',' | b'|'))
            .unwrap_or(rest.len());
        if rest[..end].contains(&b'@') {
            return true;
        }
    }
    false
}

/// Forty or more characters of mixed case with digits: no flag, path component or locale looks so.
fn looks_random(word: &[u8]) -> bool {
    word.len() >= 40
        && word.iter().any(u8::is_ascii_uppercase)
        && word.iter().any(u8::is_ascii_lowercase)
        && word.iter().filter(|b| b.is_ascii_digit()).count() >= 3
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'.')))
        .filter(|w| !w.is_empty())
}

fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}

const SECRET_WORDS: &[&str] = &[
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "KEY",
    "KEYS",
    "APIKEY",
    "AUTH",
    "AUTHTOKEN",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "COOKIE",
];

/// Beginnings of tokens whose form their makers publish.
const SHAPES: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "sk-",
    "sk_live_",
    "rk_live_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "dckr_pat_",
    "eyJ",
    "ya29.",
    "shpat_",
    "cio",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for bad in [
            "NPM_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD_PASS",
            "_authToken_AUTH",
            "GH_PAT",
            "Api-Key",
        ] {
            assert!(names_a_secret(bad.as_bytes()), "{bad}");
        }
        for good in [
            "PATH",
            "LC_ALL",
            "KEYBOARD",
            "PASSTHROUGH",
            "GOFLAGS",
            "MONKEY",
        ] {
            assert!(!names_a_secret(good.as_bytes()), "{good}");
        }
    }

    #[test]
    fn values_with_secrets_are_known_by_their_shape() {
        for bad in [
            "https://u:p@host/x",
            "direct,https://tok@proxy.example",
            "ghp_0123456789abcdef0123",
            "x=sk-abcdefgh12345678",
            "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIzNDU2Nzg",
        ] {
            assert!(holds_a_secret(bad.as_bytes()), "{bad}");
        }
        for good in [
            "en_GB.UTF-8",
            "-C target-cpu=native",
            "https://proxy.example/a@b",
            "rs=0:di=01;34:*.tar=01;31",
            "3.12.1",
            "npm_",
        ] {
            assert!(!holds_a_secret(good.as_bytes()), "{good}");
        }
    }
}
