//! What is planned for sessions on macOS: what is open, what is closed, what is refused.

use super::*;
use crate::seatbelt::{Attempt, Ruleset, Target};
use crate::{Doors, Gap, Stdio, User};

fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn lent(path: &str, access: Access) -> Lent {
    Lent {
        outside: abs(path),
        inside: abs(path),
        access,
        doors: Doors::Searched,
    }
}

fn jail() -> Jail {
    Jail {
        user: User {
            name: "u".into(),
            uid: 501,
            gid: 20,
            home: abs("/Users/u"),
            shell: abs("/bin/zsh"),
        },
        trees: vec![Tree {
            inside: abs("/Users/u/code/p"),
            outside: abs("/Users/u/.enclos.noindex/p/tree"),
            overlays: Vec::new(),
        }],
        home: abs("/Users/u/.enclos.noindex/p/home"),
        tmp: abs("/Users/u/.enclos.noindex/p/tmp"),
        etc: abs("/Users/u/.enclos.noindex/p/etc"),
        lent: vec![
            lent("/Users/u/data", Access::ReadOnly),
            lent(
                "/Users/u/.enclos.noindex/p/home/.cache/x",
                Access::ReadWrite,
            ),
        ],
        covered: vec![abs("/Users/u/data/.netrc")],
        sockets: Vec::new(),
        protected: vec![
            abs("/Users/u/.enclos.noindex"),
            abs("/tmp/enclos-501"),
            abs("/Users/u/.ssh"),
        ],
        network: Network::None,
        command: Command {
            argv: vec!["true".into()],
            env: Vec::new(),
            cwd: abs("/Users/u/.enclos.noindex/p/tree"),
            umask: 0o022,
            stdio: Stdio::Pipes,
        },
        stage: abs("/usr/local/bin/enclos"),
    }
}

const FACTS: HostFacts = HostFacts {
    sandbox_exec: true,
    nested: false,
    developer: None,
};

/// Everything is what it is called, but for the links of every Mac and those in `links`.
fn survey(jail: &Jail, links: &[(&str, &str)]) -> Survey {
    let named = jail
        .lent
        .iter()
        .flat_map(|lent| [&lent.outside, &lent.inside])
        .chain(jail.trees.iter().flat_map(|t| [&t.inside, &t.outside]))
        .chain([&jail.home, &jail.tmp])
        .chain(&jail.covered)
        .chain(&jail.sockets)
        .chain(&jail.protected);
    let resolve = |path: &AbsPath| {
        let known = [("/tmp", "/private/tmp"), ("/var", "/private/var")];
        let link = known.iter().chain(links).find_map(|(link, real)| {
            let below = path.below(&abs(link))?;
            Some(abs(real).join(&below))
        });
        let whole = links.iter().find(|(link, _)| abs(link) == *path);
        link.or(whole.map(|(_, real)| abs(real)))
            .unwrap_or_else(|| path.clone())
    };
    Survey {
        real: named.map(|path| (path.clone(), resolve(path))).collect(),
        listening: [8080].into(),
    }
}

fn planned(jail: &Jail, links: &[(&str, &str)]) -> Result<Plan, PlanError> {
    plan(jail, &FACTS, &survey(jail, links))
}

fn rules(plan: &Plan, terminal: Option<&str>) -> Ruleset {
    let profile = plan.profile(terminal.map(abs)).unwrap();
    Ruleset::compile(profile.text(), profile.params()).unwrap()
}

#[test]
fn the_copy_and_the_sessions_home_are_open_and_everything_around_them_is_closed() {
    let plan = planned(&jail(), &[]).unwrap();
    let rules = rules(&plan, None);
    let writes = |path: &str| rules.attempt(Attempt::Write(path)).unwrap().allowed;
    let reads = |path: &str| rules.attempt(Attempt::Read(path)).unwrap().allowed;
    for own in ["tree/a", "home/.cache/x/y", "tmp/s"] {
        let path = format!("/Users/u/.enclos.noindex/p/{own}");
        assert!(writes(&path) && reads(&path), "{path}");
    }
    assert!(reads("/Users/u/data/a") && !writes("/Users/u/data/a"));
    for closed in [
        "/Users/u/code/p/a",
        "/Users/u/data/.netrc",
        "/Users/u/.ssh/id_ed25519",
        "/Users/u/.enclos.noindex/other/tree/a",
        "/private/tmp/enclos-501/socket",
        "/private/tmp/enclos-tmp-501/closed",
    ] {
        assert!(!reads(closed) && !writes(closed), "{closed}");
    }
}

#[test]
fn loopback_is_open_but_for_what_listens_unless_it_is_closed() {
    let dials = |jail: &Jail, port| {
        let target = Target::Remote {
            localhost: true,
            port,
        };
        let rules = rules(&planned(jail, &[]).unwrap(), None);
        rules.attempt(Attempt::Dial(target)).unwrap().allowed
    };
    let open = jail();
    assert!(dials(&open, 3000) && !dials(&open, 8080) && !dials(&open, 5432));
    let closed = Jail {
        network: Network::NoLocal,
        ..jail()
    };
    assert!(!dials(&closed, 3000));
    let gaps = |jail: &Jail| planned(jail, &[]).unwrap().enforcement.network;
    assert!(gaps(&open).gaps().contains(&Gap::LateLocalServices));
    assert_eq!(gaps(&closed).gaps(), []);
}

#[test]
fn each_command_has_the_profile_of_its_own_terminal() {
    let plan = planned(&jail(), &[]).unwrap();
    let writes = |rules: &Ruleset, path| rules.attempt(Attempt::Write(path)).unwrap().allowed;
    let with = rules(&plan, Some("/dev/ttys003"));
    assert!(writes(&with, "/dev/ttys003") && !writes(&with, "/dev/ttys004"));
    assert!(!writes(&rules(&plan, None), "/dev/ttys003"));
    assert!(plan.profile(Some(abs("/dev/disk0"))).is_err());
}

#[test]
fn links_are_resolved_before_rules_are_made() {
    let mut jail = jail();
    jail.lent.push(lent("/Users/u/link", Access::ReadOnly));
    let plan = planned(&jail, &[("/Users/u/link", "/Volumes/work/data")]).unwrap();
    let rules = rules(&plan, None);
    assert!(
        rules
            .attempt(Attempt::Read("/Volumes/work/data/a"))
            .unwrap()
            .allowed
    );
    let elsewhere = planned(&jail, &[("/Users/u/link", "/Users/u/.ssh/keys")]).unwrap_err();
    insta::assert_snapshot!(elsewhere, @"/Users/u/.ssh/keys cannot be lent: /Users/u/.ssh must stay outside");
}

#[test]
fn what_would_show_too_much_is_refused() {
    let said = |path: &str| {
        let mut jail = jail();
        jail.lent.push(lent(path, Access::ReadOnly));
        planned(&jail, &[]).unwrap_err().to_string()
    };
    insta::assert_snapshot!(said("/Users/u/.enclos.noindex/other"), @"/Users/u/.enclos.noindex/other cannot be lent: /Users/u/.enclos.noindex must stay outside");
    insta::assert_snapshot!(said("/Users/u"), @"/Users/u cannot be lent: /Users/u/.enclos.noindex must stay outside");
    insta::assert_snapshot!(said("/Users/u/code/p/docs"), @"/Users/u/code/p/docs cannot be lent: it would show the original /Users/u/code/p itself");
    let mut around = jail();
    around.lent.push(lent("/Users/u/code", Access::ReadOnly));
    let rules = rules(&planned(&around, &[]).unwrap(), None);
    let reads = |path| rules.attempt(Attempt::Read(path)).unwrap().allowed;
    assert!(reads("/Users/u/code/q") && !reads("/Users/u/code/p/a"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut empty = jail();
    empty.command.argv.clear();
    assert_eq!(planned(&empty, &[]), Err(PlanError::NoCommand));
    let nested = HostFacts {
        nested: true,
        ..FACTS
    };
    let result = plan(&jail(), &nested, &survey(&jail(), &[]));
    assert_eq!(result, Err(PlanError::Nested));
    let result = plan(&jail(), &FACTS, &Survey::default());
    assert!(matches!(result, Err(PlanError::NotSurveyed { .. })));
}

#[test]
fn the_temporary_folder_has_a_short_name_that_leads_to_it() {
    let tmp = planned(&jail(), &[]).unwrap().tmp;
    assert_eq!(tmp.folder, abs("/Users/u/.enclos.noindex/p/tmp"));
    assert!(tmp.link.is_within(&abs("/private/tmp/enclos-tmp-501")));
}

#[test]
fn denials_in_the_log_name_the_session() {
    assert_eq!(tag(&jail()).as_str(), "enclos-p");
    let odd = Jail {
        home: abs("/x/caf\u{e9} \"1\"/home"),
        ..jail()
    };
    assert_eq!(tag(&odd).as_str(), "enclos-caf----1-");
    let root = Jail {
        home: abs("/home"),
        ..jail()
    };
    assert_eq!(tag(&root).as_str(), "enclos-");
}

#[test]
fn processes_are_known_by_the_sessions_folders() {
    let first = Identity {
        pid: 7,
        started: (1, 2),
    };
    let marks = planned(&jail(), &[])
        .unwrap()
        .marks(first, Some(3), [1].into());
    assert_eq!(marks.folders.len(), 3);
    assert_eq!(marks.terminals, [3].into());
}
