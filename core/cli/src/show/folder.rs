//! Folders as people write them: `~/code/web` instead of `/home/ada/code/web`.

use enclos_paths::AbsPath;

/// `path` with the home folder shortened.
pub(crate) fn short(path: &str, home: &AbsPath) -> String {
    let home = home.to_string();
    match path.strip_prefix(&home) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_home_is_shortened() {
        let home = AbsPath::new("/home/ada").unwrap();
        assert_eq!(short("/home/ada/web", &home), "~/web");
        assert_eq!(short("/home/ada", &home), "~");
        assert_eq!(short("/home/adam/web", &home), "/home/adam/web");
    }
}
