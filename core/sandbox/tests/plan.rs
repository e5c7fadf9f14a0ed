//! What is planned for a jail, on every system.
#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::collections::BTreeSet;

use enclos_paths::{AbsPath, ProjectPath};
use enclos_sandbox::linux::facts::{Bwrap, Finding, Machine, RootEntry, Userns};
use enclos_sandbox::linux::survey::{Found, Kind};
use enclos_sandbox::linux::{HostFacts, Plan, PlanError, Survey, plan};
use enclos_sandbox::{
    Access, Command, Doors, Gap, Jail, Lent, Level, Network, Overlay, Stdio, Tree, User,
};
use proptest::prelude::*;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn jail() -> Jail {
    Jail {
        user: User {
            name: "ada".into(),
            uid: 1000,
            gid: 1001,
            home: path("/home/ada"),
            shell: path("/bin/zsh"),
        },
        trees: vec![Tree {
            inside: path("/home/ada/work"),
            outside: path("/state/copy"),
            overlays: Vec::new(),
        }],
        home: path("/state/home"),
        tmp: path("/state/tmp"),
        etc: path("/state/etc"),
        lent: Vec::new(),
        covered: Vec::new(),
        sockets: Vec::new(),
        protected: Vec::new(),
        network: Network::None,
        command: Command {
            argv: vec!["true".into()],
            env: Vec::new(),
            cwd: path("/home/ada/work"),
            umask: 0o022,
            stdio: Stdio::Pipes,
        },
        stage: path("/opt/enclos/enclos"),
    }
}

fn facts() -> HostFacts {
    let link = |at: &str, to: &str| RootEntry {
        path: path(at),
        link: Some(to.into()),
    };
    HostFacts {
        bwrap: Some(Bwrap {
            path: path("/usr/bin/bwrap"),
            setuid: false,
            disables_userns: true,
        }),
        landlock_abi: 7,
        userns: Userns::Allowed,
        machine: Machine::X86_64,
        root_entries: vec![link("/bin", "usr/bin"), link("/lib64", "usr/lib64")],
        etc_folders: Vec::new(),
        proc_covers: vec![path("/proc/sys"), path("/proc/irq")],
    }
}

fn lend(jail: &mut Jail, at: &str, access: Access) {
    jail.lent.push(Lent {
        outside: path(at),
        inside: path(at),
        access,
        doors: Doors::Searched,
    });
}

/// A survey that finds folders where they say they are.
fn survey(jail: &Jail) -> Survey {
    let found = |real: &AbsPath, kind| Found {
        real: real.clone(),
        kind,
        doors: Vec::new(),
        complete: true,
    };
    Survey {
        lent: jail
            .lent
            .iter()
            .map(|lent| found(&lent.outside, Kind::Folder))
            .collect(),
        sockets: jail
            .sockets
            .iter()
            .map(|socket| found(socket, Kind::Socket))
            .collect(),
        protected: jail.protected.clone(),
        absent: BTreeSet::new(),
    }
}

fn planned(jail: &Jail) -> Result<Plan, PlanError> {
    plan(jail, &facts(), &survey(jail))
}

/// The options, one a line.
fn options(plan: &Plan) -> String {
    let mut text = String::new();
    for word in &plan.bwrap_options {
        let word = word.to_str().unwrap();
        text.push_str(if word.starts_with("--") { "\n" } else { " " });
        text.push_str(word);
    }
    text
}

/// Toolchains in the home, one read-only and one with a private layer, and the project beside them.
fn usual() -> Plan {
    let mut jail = jail();
    lend(&mut jail, "/home/ada/.rustup", Access::ReadOnly);
    lend(
        &mut jail,
        "/home/ada/.cargo/registry",
        Access::Overlay {
            upper: path("/caches/up"),
            work: path("/caches/work"),
        },
    );
    jail.covered.push(path("/home/ada/.rustup/token"));
    planned(&jail).unwrap()
}

#[test]
fn bubblewrap_gets_these_options() {
    insta::assert_snapshot!(options(&usual()), @r#"
    --unshare-user
    --unshare-pid
    --unshare-net
    --unshare-ipc
    --unshare-uts
    --unshare-cgroup-try
    --hostname enclos
    --cap-drop ALL
    --clearenv
    --disable-userns
    --uid 1000
    --gid 1001
    --as-pid-1
    --ro-bind /usr /usr
    --symlink usr/bin /bin
    --symlink usr/lib64 /lib64
    --ro-bind /state/etc /etc
    --proc /proc
    --ro-bind /proc/sys /proc/sys
    --ro-bind /proc/irq /proc/irq
    --dev /dev
    --dir /run/enclos
    --dir /var
    --symlink ../run /var/run
    --symlink ../tmp /var/tmp
    --bind /state/home /home/ada
    --bind /caches/up /home/ada/.cargo/registry
    --ro-bind /home/ada/.rustup /home/ada/.rustup
    --ro-bind /state/etc/.covered /home/ada/.rustup/token
    --bind /state/copy /home/ada/work
    --bind /state/tmp /tmp
    --ro-bind /opt/enclos/enclos /run/enclos/stage
    --remount-ro /
    --chdir /
    "#);
}

#[test]
fn overlays_are_mounted_before_and_mount_points_looked_at() {
    let plan = usual();
    insta::assert_debug_snapshot!(plan.outer, @r#"
    Some(
        Outer {
            stage: AbsPath(/opt/enclos/enclos),
            overlays: [
                OverlayMount {
                    lower: AbsPath(/home/ada/.cargo/registry),
                    upper: AbsPath(/caches/up),
                    work: AbsPath(/caches/work),
                },
            ],
        },
    )
    "#);
    insta::assert_debug_snapshot!(plan.mount_points, @r#"
    [
        MountPoint {
            root: AbsPath(/state/home),
            place: ProjectPath(.cargo/registry),
            folder: true,
            make: true,
        },
        MountPoint {
            root: AbsPath(/state/home),
            place: ProjectPath(.rustup),
            folder: true,
            make: true,
        },
        MountPoint {
            root: AbsPath(/state/home),
            place: ProjectPath(work),
            folder: true,
            make: true,
        },
    ]
    "#);
}

#[test]
fn only_the_home_the_copy_tmp_and_dev_can_be_written() {
    insta::assert_debug_snapshot!(usual().confinement.landlock, @r#"
    Some(
        Landlock {
            handled: 65535,
            scoped: 3,
            rules: [
                FileRule {
                    path: AbsPath(/),
                    rights: 13,
                },
                FileRule {
                    path: AbsPath(/dev),
                    rights: 63423,
                },
                FileRule {
                    path: AbsPath(/home/ada),
                    rights: 30655,
                },
                FileRule {
                    path: AbsPath(/tmp),
                    rights: 30655,
                },
            ],
        },
    )
    "#);
}

#[test]
fn no_value_of_the_persons_is_among_the_options() {
    let mut jail = jail();
    jail.command
        .env
        .push(("TOKEN".into(), "SECRET-VALUE".into()));
    jail.command.argv.push("SECRET-WORD".into());
    let options = options(&planned(&jail).unwrap());
    assert!(!options.contains("SECRET"), "{options}");
}

#[test]
fn what_is_missing_is_a_gap_and_never_a_silence() {
    let mut facts = facts();
    facts.landlock_abi = 1;
    facts.machine = Machine::Other;
    facts.bwrap.as_mut().unwrap().disables_userns = false;
    let mut jail = jail();
    lend(&mut jail, "/big", Access::ReadOnly);
    let mut survey = survey(&jail);
    survey.lent[0].complete = false;
    let plan = plan(&jail, &facts, &survey).unwrap();
    let files = vec![
        Gap::LandlockMissing { abi: 1 },
        Gap::SocketsNotSearched {
            folder: path("/big"),
        },
    ];
    let processes = vec![Gap::SeccompUnknownMachine, Gap::NamespacesFilteredOnly];
    assert_eq!(plan.enforcement.filesystem, Level::Partial(files));
    assert_eq!(plan.enforcement.processes, Level::Partial(processes));
    assert_eq!(plan.enforcement.network, Level::Full);
    assert_eq!(
        (plan.confinement.landlock, plan.confinement.filter),
        (None, Vec::new())
    );
    assert!(
        !plan
            .bwrap_options
            .iter()
            .any(|option| option == "--disable-userns")
    );
    let findings = facts.findings();
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings.iter().all(|finding| !finding.is_fatal()));
}

#[test]
fn what_makes_a_jail_impossible_is_said_with_the_line_to_type() {
    let mut none = facts();
    none.bwrap = None;
    assert_eq!(
        plan(&jail(), &none, &survey(&jail())),
        Err(PlanError::BwrapMissing)
    );
    assert_eq!(none.findings(), [Finding::BwrapMissing]);
    let line = Finding::BwrapMissing.to_type().unwrap();
    assert!(line.contains("install bubblewrap"), "{line}");
    for by in [Userns::CloneSwitch, Userns::MaxZero, Userns::Unsupported] {
        let facts = HostFacts {
            userns: by,
            ..facts()
        };
        let refusal = plan(&jail(), &facts, &survey(&jail())).unwrap_err();
        assert_eq!(refusal, PlanError::NamespacesForbidden { by });
        assert!(facts.findings()[0].is_fatal());
    }
    // A profile may allow it, so it is tried; and if it fails, there is a line to type.
    let apparmor = HostFacts {
        userns: Userns::AppArmor,
        ..facts()
    };
    assert!(plan(&jail(), &apparmor, &survey(&jail())).is_ok());
    let line = apparmor.findings()[0].to_type().unwrap();
    assert!(
        line.contains("userns,") && line.contains("apparmor_parser"),
        "{line}"
    );
}

#[test]
fn a_wish_that_would_replace_what_the_jail_makes_itself_is_refused() {
    for at in [
        "/etc/foo",
        "/proc/self",
        "/dev/shm",
        "/sys",
        "/run/enclos",
        "/run",
        "/var",
        "/",
        "/tmp",
        "/usr/new",
    ] {
        let mut jail = jail();
        jail.trees.clear();
        jail.lent.push(Lent {
            outside: path("/data/x"),
            inside: path(at),
            access: Access::ReadOnly,
            doors: Doors::Searched,
        });
        let refusal = planned(&jail).unwrap_err();
        assert_eq!(refusal, PlanError::Reserved { inside: path(at) });
    }
    let mut jail = jail();
    lend(&mut jail, "/home/ada", Access::ReadOnly);
    jail.trees.clear();
    assert_eq!(
        planned(&jail),
        Err(PlanError::Twice {
            inside: path("/home/ada")
        })
    );
}

#[test]
fn of_nix_only_the_store_is_lent() {
    for (at, fine) in [
        ("/nix/store", true),
        ("/nix", false),
        ("/nix/var/nix/daemon-socket", false),
    ] {
        let mut jail = jail();
        lend(&mut jail, at, Access::ReadOnly);
        assert_eq!(planned(&jail).is_ok(), fine, "{at}");
    }
}

#[test]
fn a_project_in_the_machines_folders_has_its_place() {
    for at in [
        "/usr/src/linux",
        "/var/www/site",
        "/srv/app",
        "/opt/app",
        "/var/tmp/x",
        "/tmp/x",
        "/mnt/disk/p",
    ] {
        let mut jail = jail();
        jail.trees[0].inside = path(at);
        assert!(planned(&jail).is_ok(), "{at}");
    }
}

#[test]
fn sockets_are_lent_only_by_name() {
    let mut jail = jail();
    lend(&mut jail, "/home/ada/.daemon/sock", Access::ReadOnly);
    let mut survey = survey(&jail);
    survey.lent[0].kind = Kind::Socket;
    let refusal = plan(&jail, &facts(), &survey).unwrap_err();
    assert_eq!(
        refusal,
        PlanError::SocketLent {
            lent: path("/home/ada/.daemon/sock")
        }
    );
    survey.lent[0].kind = Kind::Other;
    assert!(matches!(
        plan(&jail, &facts(), &survey),
        Err(PlanError::NotLendable { .. })
    ));
    survey.lent[0].kind = Kind::File;
    assert!(plan(&jail, &facts(), &survey).is_ok());
    jail.sockets.push(path("/home/ada/.daemon/file"));
    survey.sockets = survey.lent.clone();
    assert!(matches!(
        plan(&jail, &facts(), &survey),
        Err(PlanError::NotASocket { .. })
    ));
}

#[test]
fn doors_are_covered_at_the_path_inside() {
    let mut jail = jail();
    lend(&mut jail, "/home/ada/.cache/x", Access::ReadOnly);
    jail.lent[0].inside = path("/home/ada/.cache/y");
    let mut survey = survey(&jail);
    survey.lent[0].doors = vec![ProjectPath::new("deep/sock").unwrap()];
    let plan = plan(&jail, &facts(), &survey).unwrap();
    assert_eq!(plan.covered_doors, [path("/home/ada/.cache/y/deep/sock")]);
    assert!(options(&plan).contains("--ro-bind /state/etc/.covered /home/ada/.cache/y/deep/sock"));
}

/// Paths of few names, so that they often lie in each other.
fn places() -> impl Strategy<Value = AbsPath> {
    let name = prop_oneof![
        Just("home"),
        Just("ada"),
        Just("work"),
        Just("a"),
        Just("b"),
        Just("var"),
        Just("tmp")
    ];
    prop::collection::vec(name, 1..5).prop_map(|names| path(&format!("/{}", names.join("/"))))
}

proptest! {
    #[test]
    fn what_contains_is_mounted_before_what_is_contained(
        places in prop::collection::btree_set(places(), 0..8),
        kinds in prop::collection::vec(0..3, 8),
    ) {
        let mut jail = jail();
        for (place, kind) in places.into_iter().zip(kinds) {
            match kind {
                0 => jail.trees[0].overlays.push(Overlay {
                    inside: place.clone(),
                    lower: path("/lower"),
                    upper: path(&format!("/upper{place}")),
                    work: path("/work"),
                }),
                kind => jail.lent.push(Lent {
                    outside: path(&format!("/machine{place}")),
                    inside: place,
                    access: if kind == 1 { Access::ReadOnly } else { Access::ReadWrite },
                    doors: Doors::Searched,
                }),
            }
        }
        let Ok(plan) = planned(&jail) else { return Ok(()) };
        let mut seen: Vec<AbsPath> = Vec::new();
        let words: Vec<_> = plan.bwrap_options.iter().map(|word| word.to_str().unwrap()).collect();
        for bind in words.windows(3).filter(|bind| bind[0] == "--bind" || bind[0] == "--ro-bind") {
            let place = path(bind[2]);
            prop_assert!(!seen.iter().any(|before| before.is_within(&place)), "{place} hides an earlier mount");
            seen.push(place);
        }
        // Each place in a folder an agent may have written is looked at first.
        for point in &plan.mount_points {
            let roots = ["/state", "/upper", "/machine"];
            prop_assert!(roots.iter().any(|root| point.root.is_within(&path(root))), "{point:?}");
        }
    }
}
