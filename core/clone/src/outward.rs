//! Links that leave the project: where they lead, so that the person can decide to lend it.
//!
//! A link is project content and never followed here. What it leads to is worked out from its text alone, so it is a
//! hint for a person and nothing to open.

use std::path::Path;

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;

/// Where the link at `path` with the text `target` leads, if that is outside of `project`.
pub(crate) fn outward(path: &ProjectPath, target: &Path, project: &AbsPath) -> Option<AbsPath> {
    let folder = match path.parent() {
        Some(parent) => project.join(&parent),
        None => project.clone(),
    };
    let lead = folder.resolve(target);
    (!lead.is_within(project)).then_some(lead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(path: &str, target: &str) -> Option<String> {
        let project = AbsPath::new("/home/u/project").unwrap();
        outward(
            &ProjectPath::new(path).unwrap(),
            Path::new(target),
            &project,
        )
        .map(|p| p.to_string())
    }

    #[test]
    fn links_within_the_project_do_not_leave_it() {
        assert_eq!(leads("a/link", "../b"), None);
        assert_eq!(leads("link", "a/../../project/b"), None);
        assert_eq!(leads("link", "/home/u/project/a"), None);
        assert_eq!(leads("link", "."), None);
    }

    #[test]
    fn links_that_leave_are_named_with_where_they_lead() {
        assert_eq!(leads("link", "../other").as_deref(), Some("/home/u/other"));
        assert_eq!(
            leads("a/b/link", "../../../x").as_deref(),
            Some("/home/u/x")
        );
        assert_eq!(leads("data", "/mnt/data").as_deref(), Some("/mnt/data"));
        assert_eq!(
            leads("link", "/home/u/project2").as_deref(),
            Some("/home/u/project2")
        );
    }
}
