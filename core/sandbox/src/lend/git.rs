//! Generates the git settings of the private home.
//!
//! Promise: inside, git knows the person's name, trusts the copy, signs nothing, asks no credential helper and includes
//! no file of the person. The person's own settings are read outside by the caller (`git config --global --list -z`,
//! which does not touch the project); of them only the keys of [`CARRIED`] come here, because `url.*.insteadOf`,
//! `http.*.extraheader` and helpers hold or fetch credentials.

use enclos_paths::{AbsPath, ProjectPath};

use super::{Contents, GeneratedFile, guard};

/// Settings of the person that change what commits and diffs look like and hold no secret.
pub const CARRIED: &[&str] = &[
    "branch.autosetuprebase",
    "color.ui",
    "commit.cleanup",
    "core.autocrlf",
    "core.eol",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.mnemonicprefix",
    "diff.renames",
    "fetch.prune",
    "format.pretty",
    "i18n.commitencoding",
    "init.defaultbranch",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "user.email",
    "user.name",
];

/// Whether the large file extension is on the search path inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeFiles {
    /// `git-lfs` can be run.
    Present,
    /// It cannot.
    Absent,
}

/// What the settings are generated from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitInput<'a> {
    /// Keys and values of the person's settings, in order; a key is `section.name` in any case. The caller puts
    /// `user.name` and `user.email` here as git resolves them for the original.
    pub settings: &'a [(String, Vec<u8>)],
    /// The copies and git folders inside whose owner git may see as another one.
    pub trees: &'a [AbsPath],
    /// The person's list of names that git ignores everywhere, if there is one.
    pub ignored: Option<&'a [u8]>,
    /// Whether large files can be read and written.
    pub large_files: LargeFiles,
}

/// The files for the private home: `.gitconfig`, and the list of ignored names.
#[must_use]
pub fn files(input: &GitInput<'_>) -> Vec<GeneratedFile> {
    let mut files = vec![file(".gitconfig", config(input))];
    files.push(file(
        ".config/git/ignore",
        input.ignored.unwrap_or_default().to_vec(),
    ));
    files.into_iter().flatten().collect()
}

fn file(at: &str, bytes: Vec<u8>) -> Option<GeneratedFile> {
    let inside_home = ProjectPath::new(at).ok().filter(|_| !bytes.is_empty())?;
    Some(GeneratedFile {
        inside_home,
        contents: Contents::Bytes(bytes),
        mode: 0o644,
    })
}

fn config(input: &GitInput<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |section: &str, name: &str, value: &[u8]| {
        out.extend_from_slice(format!("[{section}]\n\t{name} = ").as_bytes());
        out.extend(quoted(value));
        out.push(b'\n');
    };
    for (key, value) in input.settings {
        let key = key.to_ascii_lowercase();
        let known = CARRIED.contains(&key.as_str()) && !value.contains(&0);
        if let Some((section, name)) = key
            .split_once('.')
            .filter(|_| known && !guard::holds_a_secret(value))
        {
            put(section, name, value);
        }
    }
    for (section, name, value) in FIXED {
        put(section, name, value.as_bytes());
    }
    for tree in input.trees {
        put("safe", "directory", tree.as_bytes());
        // Submodules and nested repositories; understood from git 2.46 on, and harmless before.
        put("safe", "directory", &[tree.as_bytes(), b"/*"].concat());
    }
    if input.large_files == LargeFiles::Present {
        for (name, value) in LFS {
            put("filter \"lfs\"", name, value.as_bytes());
        }
    }
    out
}

/// What is the same for everyone.
const FIXED: &[(&str, &str, &str)] = &[
    // The keys are not inside.
    ("commit", "gpgsign", "false"),
    ("tag", "gpgsign", "false"),
    ("push", "gpgsign", "false"),
    // An empty helper drops every one that was named before.
    ("credential", "helper", ""),
    // Packing anew makes the whole of a copy differ from its original, and every block of it its own.
    ("gc", "auto", "0"),
    ("maintenance", "auto", "false"),
    // No daemon that outlives its command.
    ("core", "fsmonitor", "false"),
    ("advice", "detachedHead", "false"),
];

/// As `git lfs install` writes it. Without it, files that lie in the copy as they are would count as changed.
const LFS: &[(&str, &str)] = &[
    ("clean", "git-lfs clean -- %f"),
    ("smudge", "git-lfs smudge -- %f"),
    ("process", "git-lfs filter-process"),
    ("required", "true"),
];

/// A value in quotes, as `git-config(1)` describes under "Syntax".
fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in value {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => {}
            other => out.push(other),
        }
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn written(settings: &[(String, Vec<u8>)], trees: &[AbsPath]) -> Vec<u8> {
        config(&GitInput {
            settings,
            trees,
            ignored: None,
            large_files: LargeFiles::Absent,
        })
    }

    fn git(config: &[u8], arguments: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new("git");
        command
            .arg("config")
            .arg("--file")
            .arg(&file)
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command
            .output()
            .expect("git is needed for this test: apt-get install git");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    #[test]
    fn credentials_and_signing_of_the_person_stay_outside() {
        let settings = [
            ("user.name", "Ada"),
            ("user.signingkey", "ABCD"),
            ("commit.gpgsign", "true"),
            ("credential.helper", "store"),
            (
                "url.https://x:tok@github.com/.insteadof",
                "https://github.com/",
            ),
            (
                "http.https://github.com/.extraheader",
                "AUTHORIZATION: basic eA==",
            ),
            ("include.path", "~/.gitconfig-work"),
            ("core.sshcommand", "ssh -i ~/.ssh/id"),
            ("pull.rebase", "true"),
            ("Init.DefaultBranch", "trunk"),
        ]
        .map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        let tree = AbsPath::new("/home/ada/p").unwrap();
        let text = git(&written(&settings, &[tree]), &["--list"]);
        insta::assert_snapshot!(String::from_utf8(text).unwrap(), @r"
        user.name=Ada
        pull.rebase=true
        init.defaultbranch=trunk
        commit.gpgsign=false
        tag.gpgsign=false
        push.gpgsign=false
        credential.helper=
        gc.auto=0
        maintenance.auto=false
        core.fsmonitor=false
        advice.detachedhead=false
        safe.directory=/home/ada/p
        safe.directory=/home/ada/p/*
        ");
    }

    #[test]
    fn names_cannot_add_settings_of_their_own() {
        let evil = b"x\"\n[core]\n\tsshCommand = sh #;\\".to_vec();
        let config = written(&[("user.name".to_owned(), evil.clone())], &[]);
        assert_eq!(
            git(&config, &["--null", "user.name"]),
            [&evil[..], b"\0"].concat()
        );
        let all = String::from_utf8(git(&config, &["--name-only", "--list"])).unwrap();
        assert!(!all.contains("sshcommand"), "{all}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_name_comes_back_as_it_was(name in "[^\0\r]{1,40}") {
            let config = written(&[("user.name".to_owned(), name.clone().into_bytes())], &[]);
            prop_assert_eq!(git(&config, &["--null", "user.name"]), [name.as_bytes(), b"\0"].concat());
        }
    }
}
