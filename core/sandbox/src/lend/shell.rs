//! Generates the settings of the shell inside, and how it is started.
//!
//! Promise: the shell is the person's own, with the search path that was decided and a mark in its prompt; no rc file
//! of the person is read, because those hold tokens. It breaks if a shell reads another file than the ones it is told
//! here, so each is started with the option that says so. History goes to the private home.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use enclos_paths::{AbsPath, ProjectPath};

use super::{Contents, GeneratedFile};

/// A shell that is known by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// GNU bash.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// Any POSIX shell: dash, ksh, busybox.
    Posix,
    /// One whose settings cannot be generated: it starts with what it does by itself.
    Other,
}

impl Family {
    /// The family of the shell at `path`, by its name.
    #[must_use]
    pub fn of(path: &AbsPath) -> Self {
        match path.name().map(OsStr::as_bytes).unwrap_or_default() {
            b"bash" => Self::Bash,
            b"zsh" => Self::Zsh,
            b"fish" => Self::Fish,
            b"sh" | b"dash" | b"ash" | b"ksh" | b"mksh" | b"yash" => Self::Posix,
            _ => Self::Other,
        }
    }
}

/// How an interactive shell is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interactive {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Variables besides those of the [`super::Lending`].
    pub env: Vec<(OsString, OsString)>,
    /// Files for the private home.
    pub files: Vec<GeneratedFile>,
}

/// Where the generated files lie, below home.
const FOLDER: &str = ".local/share/enclos-shell";

/// How `shell` is started in a jail whose home is `home` and whose search path is `path`, with `mark` before its
/// prompt.
#[must_use]
pub fn interactive(shell: &AbsPath, home: &AbsPath, path: &[AbsPath], mark: &str) -> Interactive {
    let search = super::join(path);
    let at = |name: &str| {
        super::ground::under(home, format!("{FOLDER}/{name}")).map(|at| at.as_path().into())
    };
    let rc: OsString;
    let mut argv = vec![OsString::from(shell.as_path())];
    let mut env = Vec::new();
    let file = match Family::of(shell) {
        Family::Bash => {
            rc = at("bashrc").unwrap_or_default();
            argv.extend(["--noprofile".into(), "--rcfile".into(), rc, "-i".into()]);
            ("bashrc", bash(&search, mark))
        }
        Family::Zsh => {
            rc = at("zsh").unwrap_or_default();
            env.push(("ZDOTDIR".into(), rc));
            // Without the files in /etc, of which those of macOS save sessions in home and put PATH into another order.
            argv.extend(["-d".into(), "-i".into()]);
            ("zsh/.zshrc", zsh(&search, mark))
        }
        Family::Fish => {
            rc = at("init.fish").unwrap_or_default();
            let source = [b"source ", &fish_quoted(rc.as_bytes())[..]].concat();
            argv.extend([
                "-i".into(),
                "-C".into(),
                OsStr::from_bytes(&source).to_owned(),
            ]);
            ("init.fish", fish(path, mark))
        }
        Family::Posix => {
            rc = at("shrc").unwrap_or_default();
            env.push(("ENV".into(), rc));
            argv.push("-i".into());
            ("shrc", posix(&search, mark))
        }
        Family::Other => {
            return Interactive {
                argv,
                env,
                files: Vec::new(),
            };
        }
    };
    let (name, bytes) = file;
    let inside_home = ProjectPath::new(format!("{FOLDER}/{name}")).ok();
    let file = inside_home.map(|at| GeneratedFile {
        inside_home: at,
        contents: Contents::Bytes(bytes),
        mode: 0o644,
    });
    Interactive {
        argv,
        env,
        files: file.into_iter().collect(),
    }
}

fn bash(search: &OsStr, mark: &str) -> Vec<u8> {
    let prompt = plain(mark);
    let mut rc = exports(search);
    rc.extend_from_slice(
        b"HISTFILE=$HOME/.bash_history\nHISTCONTROL=ignoredups\nshopt -s checkwinsize\n",
    );
    rc.extend_from_slice(b"PS1=");
    rc.extend(quoted(format!("{prompt}\\w \\$ ").as_bytes()));
    rc.push(b'\n');
    rc
}

fn zsh(search: &OsStr, mark: &str) -> Vec<u8> {
    let prompt = plain(mark);
    let mut rc = exports(search);
    rc.extend_from_slice(b"unset ZDOTDIR\n");
    rc.extend_from_slice(b"HISTFILE=$HOME/.zsh_history\nHISTSIZE=10000\nSAVEHIST=10000\nsetopt interactivecomments\n");
    rc.extend_from_slice(b"setopt nopromptsubst\nbindkey -e\nPROMPT=");
    rc.extend(quoted(format!("{prompt}%~ %# ").as_bytes()));
    rc.push(b'\n');
    rc
}

fn fish(path: &[AbsPath], mark: &str) -> Vec<u8> {
    let mut rc = b"set -gx PATH".to_vec();
    for entry in path {
        rc.push(b' ');
        rc.extend(fish_quoted(entry.as_bytes()));
    }
    rc.extend_from_slice(b"\nset -g fish_greeting\nfunctions -c fish_prompt __enclos_prompt\n");
    rc.extend_from_slice(b"function fish_prompt\n    printf '%s' ");
    rc.extend(fish_quoted(plain(mark).as_bytes()));
    rc.extend_from_slice(b"\n    __enclos_prompt\nend\n");
    rc
}

fn posix(search: &OsStr, mark: &str) -> Vec<u8> {
    let prompt = plain(mark);
    let mut rc = exports(search);
    rc.extend_from_slice(b"PS1=");
    rc.extend(quoted(format!("{prompt}$ ").as_bytes()));
    rc.push(b'\n');
    rc
}

/// `PATH` once more, because a shell of the system may have changed it on its way here.
fn exports(search: &OsStr) -> Vec<u8> {
    let mut rc = b"export PATH=".to_vec();
    rc.extend(quoted(search.as_bytes()));
    rc.push(b'\n');
    rc
}

/// The mark without what one of the shells gives a meaning to in a prompt, or what would move a cursor.
fn plain(mark: &str) -> String {
    mark.chars()
        .filter(|c| c.is_alphanumeric() || " []()<>{}:;,._-+=@#/|~'".contains(*c))
        .collect()
}

/// A word for a POSIX shell: in single quotes, in which only they are special.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            out.extend_from_slice(b"'\\''")
        } else {
            out.push(byte)
        }
    }
    out.push(b'\'');
    out
}

/// A word for fish, in whose single quotes `\` and `'` are special.
fn fish_quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in word {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn text(shell: &Interactive) -> String {
        let [file] = &shell.files[..] else {
            panic!("one file is generated")
        };
        let Contents::Bytes(bytes) = &file.contents else {
            panic!("a file is generated")
        };
        String::from_utf8(bytes.clone()).unwrap()
    }

    fn start(shell: &str) -> Interactive {
        interactive(
            &path(shell),
            &path("/home/ada"),
            &[path("/opt/it's/bin"), path("/usr/bin")],
            "[enclos] ",
        )
    }

    #[test]
    fn every_family_is_told_where_its_settings_are() {
        let told = [
            "/bin/bash",
            "/bin/zsh",
            "/usr/bin/fish",
            "/bin/dash",
            "/usr/bin/nu",
        ]
        .map(|shell| {
            let shell = start(shell);
            let env: Vec<_> = shell
                .env
                .iter()
                .map(|(n, v)| format!("{}={}", n.display(), v.display()))
                .collect();
            let argv: Vec<_> = shell.argv.iter().map(|a| a.display().to_string()).collect();
            format!("{} {}", env.join(" "), argv.join(" "))
                .trim()
                .to_owned()
        });
        insta::assert_snapshot!(told.join("\n"), @r"
        /bin/bash --noprofile --rcfile /home/ada/.local/share/enclos-shell/bashrc -i
        ZDOTDIR=/home/ada/.local/share/enclos-shell/zsh /bin/zsh -d -i
        /usr/bin/fish -i -C source '/home/ada/.local/share/enclos-shell/init.fish'
        ENV=/home/ada/.local/share/enclos-shell/shrc /bin/dash -i
        /usr/bin/nu
        ");
    }

    #[test]
    fn the_settings_of_each_family() {
        insta::assert_snapshot!(text(&start("/bin/bash")), @r"
        export PATH='/opt/it'\''s/bin:/usr/bin'
        HISTFILE=$HOME/.bash_history
        HISTCONTROL=ignoredups
        shopt -s checkwinsize
        PS1='[enclos] \w \$ '
        ");
        insta::assert_snapshot!(text(&start("/bin/zsh")), @r"
        export PATH='/opt/it'\''s/bin:/usr/bin'
        unset ZDOTDIR
        HISTFILE=$HOME/.zsh_history
        HISTSIZE=10000
        SAVEHIST=10000
        setopt interactivecomments
        setopt nopromptsubst
        bindkey -e
        PROMPT='[enclos] %~ %# '
        ");
        insta::assert_snapshot!(text(&start("/usr/bin/fish")), @r"
        set -gx PATH '/opt/it\'s/bin' '/usr/bin'
        set -g fish_greeting
        functions -c fish_prompt __enclos_prompt
        function fish_prompt
            printf '%s' '[enclos] '
            __enclos_prompt
        end
        ");
        insta::assert_snapshot!(text(&start("/bin/sh")), @r"
        export PATH='/opt/it'\''s/bin:/usr/bin'
        PS1='[enclos] $ '
        ");
    }

    /// Runs `shell` with its settings in a fresh home and reads what it prints for `script`.
    fn run(shell: &str, script: &str, mark: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let home = path(folder.path().to_str().unwrap());
        for rc in [".bashrc", ".profile", ".bash_profile"] {
            std::fs::write(folder.path().join(rc), "export TOKEN=leaked; echo LEAKED\n").unwrap();
        }
        let how = interactive(&path(shell), &home, &[path("/usr/bin"), path("/bin")], mark);
        for file in &how.files {
            let at = folder.path().join(&file.inside_home);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            let Contents::Bytes(bytes) = &file.contents else {
                panic!("a file is generated")
            };
            std::fs::write(at, bytes).unwrap();
        }
        let mut command = Command::new(&how.argv[0]);
        command
            .args(&how.argv[1..])
            .env_clear()
            .env("HOME", folder.path())
            .env("PATH", "/nowhere")
            .envs(how.env);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.as_ref().unwrap(), script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    #[test]
    fn the_search_path_is_set_and_rc_files_of_the_person_are_not_read() {
        for shell in ["/bin/bash", "/bin/sh"] {
            let said = run(shell, "echo path=$PATH token=$TOKEN\nexit\n", "[enclos] ");
            assert!(
                said.contains("path=/usr/bin:/bin token="),
                "{shell}: {said}"
            );
            assert!(
                !said.contains("LEAKED") && !said.contains("leaked"),
                "{shell} read an rc file: {said}"
            );
            assert!(said.contains("[enclos] "), "{shell} shows no mark: {said}");
        }
    }

    #[test]
    fn a_mark_is_text_and_no_command() {
        let mark = "[$(echo ru)n `echo x` 'q' \\w !1 \x1b[2J] ";
        for shell in ["/bin/bash", "/bin/sh"] {
            let said = run(shell, "exit\n", mark);
            assert!(!said.contains("run"), "{shell} ran the mark: {said}");
            assert!(
                said.contains("[(echo ru)n echo x 'q' w 1 [2J] "),
                "{shell}: {said}"
            );
        }
    }
}
