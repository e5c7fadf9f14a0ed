//! What building software needs works inside.

use enclos_sandbox::Exit;

use crate::world::{as_everyone, python, words};

/// Without the right to move across folders every such rename fails, and with it most package managers.
#[test]
fn files_move_and_link_across_folders() {
    let script = "mkdir a b; echo x > a/f; mv a/f b/f; ln b/f a/g; ln -s ../b/f a/s; mv b c; mv c ~/; cat ~/c/f a/g";
    as_everyone(|world| {
        assert_eq!(world.jailed(&["sh", "-c", script]).well(), "x\nx\n");
        let rename = "open('src/f', 'w'); os.mkdir('t'); os.rename('src/f', 't/f')";
        let mut plan = world.plan(&world.jail(&words(&python(rename))));
        let refer = 1 << 13;
        for rule in &mut plan.confinement.landlock.as_mut().unwrap().rules {
            rule.rights &= !refer;
        }
        assert_eq!(
            world.carry_out(&plan).out.trim(),
            "refused: EXDEV",
            "without that right"
        );
    });
}

#[test]
fn a_program_is_compiled_and_runs() {
    let script = "printf '#include <stdio.h>\\nint main(void){puts(\"built\");return 6;}' > m.c && cc m.c -o m && ./m";
    as_everyone(|world| {
        let said = world.jailed(&["sh", "-c", script]);
        assert_eq!(
            (said.out.as_str(), said.exit),
            ("built\n", Exit::Code(6)),
            "{said:?}"
        );
    });
}

#[test]
fn interpreters_run_with_threads_and_children() {
    let javascript = "const {execFileSync} = require('child_process'); const fs = require('fs'); \
                      fs.promises.readFile('src/main').then(b => console.log(String(b), String(execFileSync('echo', ['child']))))";
    let python = "import subprocess, concurrent.futures as f; \
                  print(list(f.ThreadPoolExecutor(4).map(lambda n: n * n, range(3))), subprocess.check_output(['echo', 'child']))";
    as_everyone(|world| {
        assert_eq!(
            world.jailed(&["/usr/bin/node", "-e", javascript]).well(),
            "ORIGINAL child\n\n"
        );
        assert_eq!(
            world.jailed(&["/usr/bin/python3", "-c", python]).well(),
            "[0, 1, 4] b'child\\n'\n"
        );
    });
}

#[test]
fn a_commit_is_made() {
    let script = "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm m && git log --format=%s";
    as_everyone(|world| assert_eq!(world.jailed(&["sh", "-c", script]).well(), "m\n"));
}

#[test]
fn make_runs_in_parallel() {
    let makefile = "all: a b c\na b c:\n\t@echo $@ > $@.out\n";
    as_everyone(|world| {
        world.write("state/copy/Makefile", makefile);
        assert_eq!(
            world
                .jailed(&["sh", "-c", "make -s -j4 && cat *.out"])
                .well(),
            "a\nb\nc\n"
        );
    });
}

#[test]
fn small_things_that_programs_expect() {
    let script = "set -e; cat <(echo substituted); echo here > /dev/stdout; echo null > /dev/null; \
                  head -c 4 /dev/urandom | wc -c; mktemp >/dev/null; touch /dev/shm/x; \
                  whoami; id -gn; cd ~; test \"$PWD\" = \"$HOME\"; test -w .; umask; getent hosts localhost | head -1";
    as_everyone(|world| {
        let said = world.jailed(&["bash", "-c", script]);
        let expected = "substituted\nhere\n4\nada\nada\n0022\n::1             localhost ip6-localhost ip6-loopback\n";
        assert_eq!(said.out, expected, "{said:?}");
    });
}

#[test]
fn a_script_without_a_first_line_runs_as_a_shell_would_run_it() {
    as_everyone(|world| {
        world.write("state/copy/script", "echo script $1\n");
        let mut mode = std::fs::metadata(world.at("state/copy/script"))
            .unwrap()
            .permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(world.at("state/copy/script"), mode).unwrap();
        assert_eq!(world.jailed(&["./script", "word"]).well(), "script word\n");
    });
}
