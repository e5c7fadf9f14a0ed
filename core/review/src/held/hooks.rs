//! Which folders of the project this repository takes hooks from, by its own configuration.
//!
//! Only the original's `.git/config` is read, and only for `core.hooksPath`; included files are not followed.

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

use crate::source::Tree;

/// No configuration is bigger.
const LARGEST: u64 = 1 << 20;

/// The folder below `root` that `core.hooksPath` names, if it is in the project.
pub(crate) fn folder(original: &Tree, root: &AbsPath) -> Option<ProjectPath> {
    let config = ProjectPath::new(".git/config").ok()?;
    let text = original.read(&config, LARGEST).ok()?.bytes;
    let value = hooks_path(&text)?;
    root.resolve(std::ffi::OsStr::new(&value)).below(root)
}

/// The last value counts, as git has it.
fn hooks_path(text: &[u8]) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in String::from_utf8_lossy(text).lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (section, after) = rest.split_once(']').unwrap_or((rest, ""));
            in_core = section.trim().eq_ignore_ascii_case("core");
            line = after.trim();
        }
        if let Some((key, value)) = line.split_once('=')
            && in_core
            && key.trim().eq_ignore_ascii_case("hookspath")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_found_as_git_reads_it() {
        let text = b"[core]\n\tbare = false\n[Core]\n\tHooksPath = \"tools/hooks\"\n[alias]\n\thookspath = x\n";
        assert_eq!(hooks_path(text).as_deref(), Some("tools/hooks"));
        assert_eq!(
            hooks_path(b"[core] hooksPath = .h\n").as_deref(),
            Some(".h")
        );
        assert_eq!(hooks_path(b"[core \"x\"]\nhooksPath = a\n"), None);
    }
}
