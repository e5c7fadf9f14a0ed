//! What is lent, and what is not lent along with it.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

use enclos_sandbox::{Access, Doors, Jail, Lent, PlanError, Survey, plan};

use crate::world::{Without, World, as_everyone};

/// A read-only mount does not keep anyone from connecting.
#[test]
fn a_socket_in_a_lent_folder_is_covered_unless_it_is_lent_by_name() {
    as_everyone(|world| {
        std::fs::create_dir_all(world.at("home/lent/deep")).unwrap();
        let listener = UnixListener::bind(world.at("home/lent/deep/daemon.sock")).unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let _ = connection.unwrap().write_all(b"hello");
            }
        });
        let attack = format!(
            "s = socket.socket(socket.AF_UNIX); s.connect('{}'); assert s.recv(5) == b'hello'",
            world.at("home/lent/deep/daemon.sock").display()
        );
        let jail = lending(world, "home/lent", Access::ReadOnly);
        let mut uncovered = Survey::take(&jail).unwrap();
        let doors = std::mem::take(&mut uncovered.lent[0].doors);
        assert_eq!(doors.len(), 1);
        let mut open = plan(&jail, &world.facts, &uncovered).unwrap();
        open.command.argv = crate::world::python(&attack)
            .into_iter()
            .map(Into::into)
            .collect();
        assert_eq!(
            world.carry_out(&open).out.trim(),
            "REACHED",
            "through a read-only mount"
        );
        assert_eq!(
            world.refused_in(&jail, &attack, Without::Jail),
            "ECONNREFUSED"
        );
        assert_eq!(
            world.plan(&jail).covered_doors,
            [world.path("home/lent/deep/daemon.sock")],
            "it is named"
        );

        let mut lent = jail.clone();
        lent.sockets = vec![world.path("home/lent/deep/daemon.sock")];
        lent.command.argv = open.command.argv.clone();
        assert_eq!(world.run(&lent).out.trim(), "REACHED", "lent by name");
        lent.lent.clear();
        assert_eq!(
            world.run(&lent).out.trim(),
            "REACHED",
            "lent by name without its folder"
        );
    });
}

/// Writing into a named pipe is no change of the file system either.
#[test]
fn a_named_pipe_in_a_lent_folder_is_covered() {
    as_everyone(|world| {
        let pipe = world.at("home/lent/pipe");
        let made = std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap();
        assert!(made.success());
        // Someone listens, so that opening for writing does not wait.
        let mut reader = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let attack = format!(
            "os.write(os.open('{}', os.O_WRONLY | os.O_NONBLOCK), b'x')",
            pipe.display()
        );
        let jail = lending(world, "home/lent", Access::ReadOnly);
        assert_eq!(world.refused_in(&jail, &attack, Without::Jail), "EROFS");
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x", "what was written outside came through");
    });
}

#[test]
fn read_only_and_writable_lent_folders_do_what_they_say() {
    as_everyone(|world| {
        world.write("home/lent/file", "LENT");
        let script = "cat $HOME/lent/file; echo more >> $HOME/lent/file; mv $HOME/lent/file $HOME/lent/moved";
        let mut jail = lending(world, "home/lent", Access::ReadOnly);
        jail.command = world.command(&["sh", "-c", script]);
        let said = world.run(&jail);
        assert!(
            said.out == "LENT" && said.err.contains("Read-only"),
            "{said:?}"
        );
        assert_eq!(world.read("home/lent/file"), "LENT");
        jail.lent[0].access = Access::ReadWrite;
        assert_eq!(world.run(&jail).well(), "LENT");
        assert_eq!(world.read("home/lent/moved"), "LENTmore\n");
    });
}

#[test]
fn a_project_in_the_home_and_lent_folders_in_both_are_all_there() {
    as_everyone(|world| {
        for folder in ["home/work/project", "home/lent", "state/home/.config"] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.write("home/lent/file", "LENT");
        world.write("state/home/.config/own", "OWN");
        let mut jail = lending(world, "home/lent", Access::ReadOnly);
        jail.trees[0].inside = world.path("home/work/project");
        let lent = jail.lent[0].clone();
        jail.lent.push(Lent {
            inside: world.path("home/work/project/vendor"),
            ..lent
        });
        jail.command = world.command(&[
            "sh",
            "-c",
            "cat src/main vendor/file ~/lent/file ~/.config/own; ls -a ~",
        ]);
        jail.command.cwd = world.path("home/work/project");
        assert_eq!(
            world.run(&jail).well(),
            "ORIGINALLENTLENTOWN.\n..\n.config\nlent\nwork\n"
        );
    });
}

#[test]
fn what_is_protected_cannot_be_lent_from_above_from_below_or_by_a_link() {
    as_everyone(|world| {
        std::os::unix::fs::symlink(world.at("home/.ssh"), world.at("home/lent/innocent")).unwrap();
        std::fs::create_dir_all(world.at("home/.ssh/keys")).unwrap();
        for path in [
            "home/.ssh",
            "home",
            "home/.ssh/keys",
            "home/lent/innocent",
            "state/copy",
        ] {
            let jail = lending(world, path, Access::ReadOnly);
            let refusal = plan(&jail, &world.facts, &Survey::take(&jail).unwrap()).unwrap_err();
            assert!(
                matches!(refusal, PlanError::Protected { .. }),
                "{path}: {refusal:?}"
            );
        }
        for path in ["/", "/proc", "/run", "/dev/shm", "/sys/kernel"] {
            let mut jail = world.jail(&["true"]);
            let path = enclos_paths::AbsPath::new(path).unwrap();
            jail.lent.push(Lent {
                outside: path.clone(),
                inside: path,
                access: Access::ReadOnly,
                doors: Doors::Searched,
            });
            let refusal = plan(&jail, &world.facts, &Survey::take(&jail).unwrap()).unwrap_err();
            assert!(
                matches!(refusal, PlanError::Protected { .. }),
                "{refusal:?}"
            );
        }
    });
}

#[test]
fn the_original_is_not_lent_beside_its_copy() {
    as_everyone(|world| {
        for (outside, inside) in [
            ("project/src", "project/src"),
            ("project", "home/p"),
            ("home/..", "home/q"),
        ] {
            let mut jail = world.jail(&["true"]);
            jail.protected.clear();
            let outside = world.path("home").resolve(world.at(outside));
            jail.lent.push(Lent {
                outside,
                inside: world.path(inside),
                access: Access::ReadOnly,
                doors: Doors::Searched,
            });
            let refusal = plan(&jail, &world.facts, &Survey::take(&jail).unwrap()).unwrap_err();
            assert!(
                matches!(refusal, PlanError::ShowsOriginal { .. }),
                "{inside}: {refusal:?}"
            );
        }
        // A folder around the project may be lent at its own path: the copy covers the original.
        let mut jail = world.jail(&["sh", "-c", "cat src/main; cat ../siblings/s"]);
        std::fs::create_dir_all(world.at("around/project")).unwrap();
        std::fs::create_dir_all(world.at("around/siblings")).unwrap();
        world.write("around/siblings/s", "SIBLING");
        jail.trees[0].inside = world.path("around/project");
        jail.command.cwd = world.path("around/project");
        jail.lent.push(Lent {
            outside: world.path("around"),
            inside: world.path("around"),
            access: Access::ReadOnly,
            doors: Doors::Searched,
        });
        assert_eq!(world.run(&jail).well(), "ORIGINALSIBLING");
    });
}

/// An upper layer takes the changes; the lent folder stays as it is, and the next run finds them.
#[test]
fn a_copy_on_write_lent_folder_is_changed_in_its_upper_layer_only() {
    as_everyone(|world| {
        // Characters that mean something in mount options.
        let lower = "home/lent/re,gis:try\\";
        for folder in [lower, "state/up,per", "state/work"] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.write(&format!("{lower}/file"), "LOWER");
        let access = Access::Overlay {
            upper: world.path("state/up,per"),
            work: world.path("state/work"),
        };
        let mut jail = lending(world, lower, access);
        jail.command.cwd = world.path(lower);
        jail.command.argv = ["sh", "-c", "cat file; echo new > made; echo changed > file"]
            .map(Into::into)
            .into();
        assert_eq!(world.run(&jail).well(), "LOWER");
        assert_eq!(world.read(&format!("{lower}/file")), "LOWER");
        assert!(!Path::new(&world.at(lower)).join("made").exists());
        assert_eq!(world.read("state/up,per/made"), "new\n");
        jail.command.argv = ["sh", "-c", "cat file made; rm file; ls"]
            .map(Into::into)
            .into();
        assert_eq!(
            world.run(&jail).well(),
            "changed\nnew\nmade\n",
            "a second run on the same layers"
        );
        assert_eq!(world.read(&format!("{lower}/file")), "LOWER");
    });
}

/// Heavy folders of a project are overlaid into its copy.
#[test]
fn an_overlay_in_the_copy_shows_the_originals_folder() {
    as_everyone(|world| {
        for folder in [
            "project/node_modules/p",
            "state/copy/node_modules",
            "state/upper",
            "state/work",
        ] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.write("project/node_modules/p/index", "INDEX");
        let mut jail = world.jail(&[
            "sh",
            "-c",
            "cat node_modules/p/index; echo x > node_modules/p/index; tty; id -u",
        ]);
        jail.trees[0].overlays.push(enclos_sandbox::Overlay {
            inside: world.path("project/node_modules"),
            lower: world.path("project/node_modules"),
            upper: world.path("state/upper"),
            work: world.path("state/work"),
        });
        let said = world.run(&jail);
        assert_eq!(
            said.out,
            format!("INDEXnot a tty\n{}\n", world.user().uid),
            "{said:?}"
        );
        assert_eq!(world.read("project/node_modules/p/index"), "INDEX");
        assert_eq!(world.read("state/upper/p/index"), "x\n");
    });
}

fn lending(world: &World, path: &str, access: Access) -> Jail {
    let mut jail = world.jail(&["true"]);
    let path = world.path(path);
    jail.lent.push(Lent {
        outside: path.clone(),
        inside: path,
        access,
        doors: Doors::Searched,
    });
    jail
}
