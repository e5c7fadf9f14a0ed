//! git: commits with the person's name and without their keys.

use crate::machine::as_everyone;

#[test]
fn commits_have_the_persons_name_and_no_signature() {
    as_everyone(|machine| {
        machine.needs("git");
        // Outside, commits are signed with a key, and a helper knows a password.
        machine.write(
            ".gitconfig",
            "[user]\nname = Ada\nemail = ada@example.org\nsigningkey = ABCD\n[commit]\ngpgsign = true\n[credential]\nhelper = store\n",
        );
        machine.write(".git-credentials", "https://ada:secret@example.org\n");
        machine.write("p/file", "one\n");
        machine.outside(
            "git init -q -b main . && git add . && git -c commit.gpgsign=false commit -q -m first",
        );
        let said = machine.inside(
            "echo two >> file && git commit -q -a -m second && git log --format='%an <%ae> %G? %s' && git status --short
             git config --get-all credential.helper | cat -A; test ! -e ~/.git-credentials",
        );
        assert_eq!(
            said.well(),
            "Ada <ada@example.org> N second\nAda <ada@example.org> N first\n$\n"
        );
        assert_eq!(
            machine.outside("git log --format=%s"),
            "first\n",
            "the original has its own history"
        );
    });
}
