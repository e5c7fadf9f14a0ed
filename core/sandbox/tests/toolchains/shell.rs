//! The person's shell inside: their path, a mark, and none of their settings.

use enclos_sandbox::Exit;

use crate::machine::as_everyone;

#[test]
fn the_shell_is_the_persons_with_settings_of_ours() {
    as_everyone(|machine| {
        machine.needs("bash");
        machine.write(".bashrc", "export TOKEN=secret\necho leaked\n");
        machine.write(".profile", "echo leaked\n");
        machine.write(".local/bin/mine", "#!/bin/sh\necho my own program\n");
        machine.outside("chmod +x ~/.local/bin/mine");
        machine.path.push(machine.home(".local/bin"));
        machine.var("GITHUB_TOKEN", "secret");
        let said = machine.session(
            &[],
            "mine\necho shell=$0 enclos=$ENCLOS home=$HOME\nset\nexit 7\n",
            |_| {},
        );
        assert_eq!(said.exit, Exit::Code(7), "{}", said.text);
        for expected in [
            "my own program",
            "[enclos] ",
            "enclos=1",
            &format!("home={}", machine.home("").display()),
        ] {
            assert!(
                said.text.contains(expected.trim_end_matches('/')),
                "{expected}: {}",
                said.text
            );
        }
        for private in ["leaked", "secret"] {
            assert!(!said.text.contains(private), "{private}: {}", said.text);
        }
    });
}
