//! A scripted agent: what it will do is written down in the test, and it does just that.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A list of things to do, carried out by `sh` in the folder where the agent is started.
///
/// The first one that fails ends the agent with that exit code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    script: Vec<u8>,
}

impl Agent {
    /// An agent that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            script: b"set -e\n".to_vec(),
        }
    }

    /// Writes a file, with the folders that lead to it.
    #[must_use]
    pub fn writes(self, path: impl AsRef<[u8]>, contents: impl AsRef<[u8]>) -> Self {
        self.makes_folder_of(path.as_ref())
            .prints_to(b">", path.as_ref(), contents.as_ref())
    }

    /// Adds to a file.
    #[must_use]
    pub fn appends(self, path: impl AsRef<[u8]>, contents: impl AsRef<[u8]>) -> Self {
        self.prints_to(b">>", path.as_ref(), contents.as_ref())
    }

    /// Deletes a file or a folder with everything in it.
    #[must_use]
    pub fn deletes(self, path: impl AsRef<[u8]>) -> Self {
        self.line(&[b"rm -r --", &quoted(path.as_ref())])
    }

    /// Renames a file or folder.
    #[must_use]
    pub fn renames(self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Self {
        self.makes_folder_of(to.as_ref()).line(&[
            b"mv --",
            &quoted(from.as_ref()),
            &quoted(to.as_ref()),
        ])
    }

    /// Sets permission bits.
    #[must_use]
    pub fn sets_mode(self, path: impl AsRef<[u8]>, mode: u32) -> Self {
        self.line(&[
            format!("chmod {mode:o} --").as_bytes(),
            &quoted(path.as_ref()),
        ])
    }

    /// Makes a symbolic link.
    #[must_use]
    pub fn links(self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.line(&[
            b"ln -s --",
            &quoted(target.as_ref()),
            &quoted(path.as_ref()),
        ])
    }

    /// Commits everything that is not ignored.
    #[must_use]
    pub fn commits(self, message: impl AsRef<[u8]>) -> Self {
        self.line(&[b"git add --all"])
            .line(&[b"git commit --quiet --message", &quoted(message.as_ref())])
    }

    /// Prints a line.
    #[must_use]
    pub fn says(self, text: impl AsRef<[u8]>) -> Self {
        self.line(&[b"printf '%s\\n'", &quoted(text.as_ref())])
    }

    /// Runs a line of shell as it is.
    #[must_use]
    pub fn runs(self, shell: impl AsRef<[u8]>) -> Self {
        self.line(&[shell.as_ref()])
    }

    /// Ends with this code.
    #[must_use]
    pub fn exits(self, code: u8) -> Self {
        self.line(&[format!("exit {code}").as_bytes()])
    }

    /// The agent as words of a command line: `sh`, `-c`, the script.
    #[must_use]
    pub fn command(&self) -> Vec<OsString> {
        let mut words = vec![OsString::from("sh")];
        words.extend(self.arguments());
        words
    }

    /// The same without the leading `sh`.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        vec!["-c".into(), OsString::from_vec(self.script.clone())]
    }

    fn makes_folder_of(self, path: &[u8]) -> Self {
        match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => self.line(&[b"mkdir -p --", &quoted(&path[..slash])]),
            None => self,
        }
    }

    fn prints_to(self, arrow: &[u8], path: &[u8], contents: &[u8]) -> Self {
        self.line(&[b"printf %s", &quoted(contents), arrow, &quoted(path)])
    }

    fn line(mut self, words: &[&[u8]]) -> Self {
        self.script.extend(words.join(&b' '));
        self.script.push(b'\n');
        self
    }
}

/// One word for `sh`, whatever bytes it has; only NUL cannot be in it.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for &byte in bytes {
        if byte == b'\'' {
            word.extend(b"'\\''");
        } else {
            word.push(byte);
        }
    }
    word.push(b'\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use crate::tree;

    #[test]
    fn an_agent_does_what_is_written_down() {
        let world = World::new();
        let project = world
            .project("web")
            .file("old", "1")
            .file("gone", "")
            .file("a", "a")
            .git_init()
            .build();
        let agent = Agent::new()
            .writes("new/it's.txt", "a 'quoted'\nline % \\n")
            .appends("a", "b")
            .renames("old", "deep/er/old")
            .deletes("gone")
            .sets_mode("a", 0o755)
            .links("link", "a")
            .commits("It's done")
            .says("bye")
            .exits(3);
        let output = world
            .command("sh")
            .args(agent.arguments())
            .current_dir(&project)
            .run()
            .code(3);
        assert_eq!(output.stdout(), "bye\n");
        assert_eq!(project.read("new/it's.txt"), "a 'quoted'\nline % \\n");
        assert_eq!(project.read("a"), "ab");
        let names = tree(&project).names();
        let outside: Vec<_> = names
            .iter()
            .filter(|name| !name.starts_with(".git"))
            .collect();
        assert_eq!(
            outside,
            [
                "a",
                "deep",
                "deep/er",
                "deep/er/old",
                "link",
                "new",
                "new/it's.txt"
            ]
        );
        let log = world
            .command("git")
            .args(["log", "--format=%s"])
            .current_dir(&project)
            .run()
            .success();
        assert_eq!(log.stdout(), "It's done\nStart\n");
    }

    #[test]
    fn the_first_failure_ends_it() {
        let world = World::new();
        let project = world.project("web").build();
        let agent = Agent::new().runs("exit 7").writes("after", "");
        world
            .command("sh")
            .args(agent.arguments())
            .current_dir(&project)
            .run()
            .code(7);
        assert!(!project.path("after").exists(), "nothing after the failure");
    }
}
