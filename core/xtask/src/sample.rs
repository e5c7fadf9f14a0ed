//! A small project and a scripted agent that works on it: what `cargo xtask run` shows without arguments.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use crate::failure::Failure;
use crate::step::capture;
use crate::surroundings::Surroundings;

/// A project made for one tour, and the name of the session on it.
pub(crate) struct Sample {
    pub(crate) folder: PathBuf,
    pub(crate) session: String,
}

/// What the agent does: it edits, adds, deletes, commits, and leaves something uncommitted.
pub(crate) const AGENT: &str = r#"set -e
echo "agent: working in $(pwd)"
sed -i.old 's/Hello/Good day/' src/greet.sh && rm src/greet.sh.old
printf '\n## Names\n\nPass a name: `sh src/greet.sh Ada`.\n' >> README.md
printf '#!/bin/sh\nsh src/greet.sh Ada | grep -q "Good day, Ada"\n' > test.sh
chmod +x test.sh
rm notes.txt
git add -A
git commit -q -m "greet: be polite, and test it"
./test.sh && echo "agent: the test passes"
echo "still to review" > todo.txt
"#;

const FILES: [(&str, &str); 4] = [
    ("README.md", "# Greet\n\nSays hello.\n"),
    ("src/greet.sh", "name=${1:-world}\necho \"Hello, $name\"\n"),
    ("notes.txt", "old thoughts\n"),
    (".gitignore", "*.log\n"),
];

/// Makes a new project below the temporary folder: a git repository with one commit.
///
/// # Errors
/// A file cannot be written, or git fails.
pub(crate) fn make(around: &Surroundings) -> Result<Sample, Failure> {
    let (folder, session) = new_folder(&around.temp)?;
    for (name, text) in FILES {
        let path = folder.join(name);
        let failed = |source| Failure::File {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(path.parent().unwrap_or(&folder)).map_err(failed)?;
        fs::write(&path, text).map_err(failed)?;
    }
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "Start"],
    ] {
        let identity = [
            "-c",
            "user.name=Sample",
            "-c",
            "user.email=sample@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        capture(
            Command::new("git")
                .current_dir(&folder)
                .args(identity)
                .args(arguments),
        )?;
    }
    Ok(Sample { folder, session })
}

/// A folder that nobody had before: creating it fails if it exists, so two tours never share one. Its name comes from
/// the clock, since sessions of earlier tours may outlive their folders.
fn new_folder(temp: &Path) -> Result<(PathBuf, String), Failure> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let mut number = since.as_secs();
    loop {
        let tag = tag(number);
        let outer = temp.join(format!("enclos-sample-{tag}"));
        match fs::create_dir(&outer) {
            Ok(()) => return Ok((outer.join("greet"), format!("greet-{tag}"))),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => {
                return Err(Failure::File {
                    path: outer,
                    source,
                });
            }
        }
    }
}

/// Four letters and digits that are another four in the next second, and for the next nineteen days.
fn tag(number: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digit = |place: u32| {
        let digit = usize::try_from(number / 36_u64.pow(place) % 36).unwrap_or(0);
        char::from(DIGITS[digit])
    };
    [3, 2, 1, 0].map(digit).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::around;

    #[test]
    fn each_sample_is_a_project_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let (first, second) = (
            make(&around(temp.path())).unwrap(),
            make(&around(temp.path())).unwrap(),
        );
        assert_ne!(
            (first.folder, first.session),
            (second.folder.clone(), second.session)
        );
        assert_eq!(status(&second.folder), "");
    }

    /// The agent runs here without a jail: a sample that shows nothing would make a poor tour.
    #[test]
    fn the_agent_edits_adds_deletes_and_commits() {
        let temp = tempfile::tempdir().unwrap();
        let sample = make(&around(temp.path())).unwrap();
        let mut agent = Command::new("sh");
        agent.args(["-c", AGENT]).current_dir(&sample.folder);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ] {
            agent
                .env(name, value)
                .env(name.replace("AUTHOR", "COMMITTER"), value);
        }
        let output = agent.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(status(&sample.folder), "?? todo.txt\n");
        let mut diff = Command::new("git");
        diff.args(["diff", "--name-status", "HEAD~1"])
            .current_dir(&sample.folder);
        let changes = String::from_utf8(capture(&mut diff).unwrap()).unwrap();
        assert_eq!(
            changes,
            "M\tREADME.md\nD\tnotes.txt\nM\tsrc/greet.sh\nA\ttest.sh\n"
        );
    }

    fn status(folder: &Path) -> String {
        let printed = capture(
            Command::new("git")
                .args(["status", "--porcelain"])
                .current_dir(folder),
        )
        .unwrap();
        String::from_utf8(printed).unwrap()
    }
}
