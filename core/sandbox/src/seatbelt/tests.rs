//! The whole profile, and the table of cases asked of it.

use std::collections::BTreeSet;

use enclos_paths::AbsPath;
use proptest::prelude::*;

use super::*;
use crate::cases::{Access, CASES, Case, Outcome, Place};

fn physical(path: &str) -> PhysicalPath {
    PhysicalPath::new(&AbsPath::new(path).unwrap()).unwrap()
}

fn all(paths: &[&str]) -> Vec<PhysicalPath> {
    paths.iter().map(|path| physical(path)).collect()
}

/// A session as most are: one copy in the folder of all copies, two folders and a socket lent.
fn facts() -> Facts {
    Facts {
        tag: Tag::new("enclos-1f2e").unwrap(),
        trees: all(&["/Users/u/.enclos.noindex/p"]),
        home: physical("/Users/u/Library/Application Support/Enclos/sessions/1f2e/home"),
        tmp: physical("/private/tmp/enclos-501/1f2e"),
        readable: all(&["/Users/u/data"]),
        writable: all(&["/Users/u/out"]),
        covered: all(&["/Users/u/data/.netrc"]),
        sockets: all(&["/Users/u/run/db.sock"]),
        protected: all(&[
            "/Users/u/code/p",
            "/Users/u/.enclos.noindex",
            "/Users/u/Library/Application Support/Enclos",
            "/Users/u/.ssh",
            "/Users/u/Library/Keychains",
            "/Library/Keychains",
        ]),
        developer: Some(physical("/Applications/Xcode.app/Contents/Developer")),
        terminal: Some(physical("/dev/ttys004")),
        network: Network {
            proxy: None,
            loopback: Loopback::Open {
                denied: [5432, 8080].into(),
            },
        },
        services: BTreeSet::new(),
    }
}

fn compiled(facts: &Facts) -> Ruleset {
    let profile = profile(facts).unwrap();
    Ruleset::compile(profile.text(), profile.params())
        .unwrap_or_else(|error| panic!("{error}\n{}", profile.text()))
}

/// The paths that a row's place has in the world of [`facts`].
fn path(place: Place) -> &'static str {
    match place {
        Place::Copy => "/Users/u/.enclos.noindex/p/src/main.rs",
        Place::Original => "/Users/u/code/p/src/main.rs",
        Place::OriginalByAlias => "/System/Volumes/Data/Users/u/code/p/src/main.rs",
        Place::OtherSession => "/Users/u/.enclos.noindex/q/src/main.rs",
        Place::State => "/Users/u/Library/Application Support/Enclos/sessions/1f2e/journal",
        Place::SessionHome => {
            "/Users/u/Library/Application Support/Enclos/sessions/1f2e/home/.cache/x"
        }
        Place::SessionTmp => "/private/tmp/enclos-501/1f2e/x",
        Place::MachineTmp => "/private/tmp/x",
        Place::PersonHome => "/Users/u/notes.txt",
        Place::SshKey => "/Users/u/.ssh/id_ed25519",
        Place::SshFolder => "/Users/u/.ssh",
        Place::Keychain => "/Users/u/Library/Keychains/login.keychain-db",
        Place::Browser => "/Users/u/Library/Application Support/Firefox/Profiles/x/cookies.sqlite",
        Place::ShellStart => "/Users/u/.zshrc",
        Place::LentRead => "/Users/u/data/a.csv",
        Place::LentSecret => "/Users/u/data/.netrc",
        Place::LentWrite => "/Users/u/out/a.csv",
        Place::SystemProgram => "/usr/bin/env",
        Place::PasswordHashes => "/private/etc/master.passwd",
        Place::ServiceData => "/opt/homebrew/var/postgresql@16/base/1/2",
        Place::SessionSocket => "/private/tmp/enclos-501/1f2e/s.sock",
        Place::LentSocket => "/Users/u/run/db.sock",
        Place::SocketInLent => "/Users/u/data/daemon.sock",
        Place::AgentSocket => "/private/tmp/com.apple.launchd.Ab1/Listeners",
        Place::DockerSocket => "/Users/u/.docker/run/docker.sock",
        Place::OwnTerminal => "/dev/ttys004",
        Place::OtherTerminal => "/dev/ttys005",
        _ => "/nowhere",
    }
}

const INTO: &str = "/Users/u/.enclos.noindex/p/taken";

/// What a row tries, in the words of Seatbelt. More than one: all of them have the row's outcome.
fn attempts(case: &Case) -> Vec<Attempt<'static>> {
    let local = |port| Target::Remote {
        localhost: true,
        port,
    };
    let at = path(case.place);
    match (case.access, case.place) {
        (Access::Connect, Place::OwnServer) => vec![Attempt::Dial(local(3000))],
        (Access::Connect, Place::EarlyService) => {
            vec![Attempt::Dial(local(5432)), Attempt::Dial(local(8080))]
        }
        (Access::Connect, Place::LateService) => vec![Attempt::Dial(local(49_152))],
        (Access::Connect, Place::Internet) => vec![Attempt::Dial(Target::Remote {
            localhost: false,
            port: 443,
        })],
        (Access::Connect, Place::KeychainService) => {
            let names = [
                "com.apple.SecurityServer",
                "com.apple.securityd.xpc",
                "com.apple.secd",
                "com.apple.security.agent",
            ];
            names.map(Attempt::Lookup).to_vec()
        }
        (Access::Connect, Place::Pasteboard) => vec![Attempt::Lookup("com.apple.pasteboard.1")],
        (Access::Connect, _) => vec![Attempt::Connect(at)],
        (Access::Start, Place::Opener) => vec![
            Attempt::OpenByApp,
            Attempt::Lookup("com.apple.coreservices.launchservicesd"),
            Attempt::Lookup("com.apple.lsd.open"),
        ],
        (Access::Start, Place::AppControl) => {
            vec![
                Attempt::AppleEvent,
                Attempt::Lookup("com.apple.coreservices.appleevents"),
            ]
        }
        (Access::Start, _) => vec![Attempt::Lookup("com.apple.xpc.launchd.domain.user")],
        (Access::Serve, _) => vec![Attempt::Serve(3000)],
        (Access::Signal, Place::OwnProcess) => vec![Attempt::Signal(Target::Own)],
        (Access::Signal, _) => vec![Attempt::Signal(Target::Other)],
        (Access::ReadArguments, _) => vec![
            Attempt::Sysctl("kern.procargs2"),
            Attempt::Sysctl("kern.procargs2.77"),
        ],
        (Access::Read, Place::OwnTerminal) => vec![Attempt::Read(at), Attempt::Control(at)],
        (Access::Read, _) => vec![Attempt::Read(at)],
        (Access::Stat, _) => vec![Attempt::Stat(at)],
        (Access::Write, _) => vec![Attempt::Write(at)],
        (Access::Create, _) => vec![Attempt::Create(at)],
        (Access::Delete, _) => vec![Attempt::Delete(at)],
        (Access::Execute, _) => vec![Attempt::Execute(at), Attempt::Load(at)],
        (Access::Clone, _) => vec![Attempt::Clone(at, INTO)],
        (Access::Link, _) => vec![Attempt::Link(at, INTO)],
        (Access::MoveIn, _) => vec![Attempt::Rename(at, INTO)],
    }
}

#[test]
fn the_profile_keeps_every_row_of_the_table() {
    let rules = compiled(&facts());
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.macos != Outcome::NotHere) {
        for attempt in attempts(case) {
            let verdict = rules.attempt(attempt).unwrap();
            if verdict.allowed != (case.macos == Outcome::Allowed) {
                let rule = verdict
                    .rule
                    .map(|rule| format!("{} (line {})", rule.reason, rule.line));
                wrong.push(format!(
                    "{case} by {attempt:?}: {} by {rule:?}",
                    verdict.allowed
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without the part that closes what is open by itself, a closed profile lets the attacks through.
#[test]
fn a_closed_default_alone_does_not_keep_the_table() {
    let rules = Ruleset::compile(
        "(version 1)(deny default)(allow file-read* file-write* (subpath \"/Users/u/.enclos.noindex/p\"))",
        &[],
    )
    .unwrap();
    let linked = rules
        .attempt(Attempt::Link(path(Place::SshKey), INTO))
        .unwrap();
    assert!(
        linked.allowed,
        "a second name for the key, readable in the copy"
    );
    let folder = rules
        .allowed("file-clone", Target::Path(path(Place::SshFolder)))
        .unwrap();
    assert!(folder.allowed);
}

#[test]
fn without_loopback_no_address_is_in_the_profile() {
    let closed = Facts {
        network: Network::default(),
        ..facts()
    };
    let text = profile(&closed).unwrap().text().to_owned();
    assert!(
        !text.contains("remote ip") && !text.contains("local ip"),
        "nothing of the network is named"
    );
    let rules = compiled(&closed);
    for port in [80, 3000, 5432] {
        for localhost in [true, false] {
            let verdict = rules
                .attempt(Attempt::Dial(Target::Remote { localhost, port }))
                .unwrap();
            assert!(!verdict.allowed, "{localhost} {port}");
        }
    }
    assert!(!rules.attempt(Attempt::Serve(3000)).unwrap().allowed);
}

#[test]
fn the_proxy_is_the_one_way_out_even_among_denied_ports() {
    let dial = |facts: &Facts, port| {
        let target = Target::Remote {
            localhost: true,
            port,
        };
        compiled(facts)
            .attempt(Attempt::Dial(target))
            .unwrap()
            .allowed
    };
    let only = Facts {
        network: Network {
            proxy: Some(4711),
            loopback: Loopback::Closed,
        },
        ..facts()
    };
    assert!(dial(&only, 4711) && !dial(&only, 4712));
    let denied = Loopback::Open {
        denied: [4711, 4712].into(),
    };
    let both = Facts {
        network: Network {
            proxy: Some(4711),
            loopback: denied,
        },
        ..facts()
    };
    assert!(dial(&both, 4711) && !dial(&both, 4712) && dial(&both, 4713));
}

#[test]
fn only_the_terminal_of_the_session_is_open_and_those_made_inside() {
    let none = compiled(&Facts {
        terminal: None,
        ..facts()
    });
    assert!(
        !none
            .attempt(Attempt::Write("/dev/ttys004"))
            .unwrap()
            .allowed
    );
    let made = Target::Granted {
        path: "/dev/ttys009",
        class: "com.apple.sandbox.pty",
    };
    assert!(none.allowed("file-write-data", made).unwrap().allowed);
    let other = Facts {
        terminal: Some(physical("/dev/disk0")),
        ..facts()
    };
    insta::assert_snapshot!(profile(&other).unwrap_err(), @"/dev/disk0 is not a terminal");
}

#[test]
fn what_is_protected_stays_closed_inside_something_lent() {
    let wide = Facts {
        readable: all(&["/Users/u"]),
        writable: all(&["/Users/u/code"]),
        ..facts()
    };
    let rules = compiled(&wide);
    for place in [
        Place::Original,
        Place::SshKey,
        Place::OtherSession,
        Place::State,
        Place::Keychain,
    ] {
        for attempt in [
            Attempt::Read(path(place)),
            Attempt::Write(path(place)),
            Attempt::Execute(path(place)),
            Attempt::Clone(path(place), INTO),
            Attempt::Link(path(place), INTO),
            Attempt::Connect(path(place)),
        ] {
            assert!(!rules.attempt(attempt).unwrap().allowed, "{attempt:?}");
        }
    }
    assert!(
        rules
            .attempt(Attempt::Read(path(Place::PersonHome)))
            .unwrap()
            .allowed,
        "it is lent"
    );
    assert!(
        rules
            .attempt(Attempt::Write(path(Place::Copy)))
            .unwrap()
            .allowed,
        "the copy stays open"
    );
    assert!(
        rules
            .attempt(Attempt::Stat("/Users/u/.enclos.noindex"))
            .unwrap()
            .allowed,
        "on the way to the copy"
    );
}

/// The attack: move the folder that holds the key, read the key under its new path.
#[test]
fn a_folder_that_holds_something_closed_stays_where_it_is() {
    let wide = Facts {
        writable: all(&["/Users/u/out"]),
        protected: all(&["/Users/u/out/a/b/key"]),
        covered: Vec::new(),
        ..facts()
    };
    let rules = compiled(&wide);
    let moved = Attempt::Read("/Users/u/out/z/b/key");
    assert!(
        rules.attempt(moved).unwrap().allowed,
        "under another path the key would be open"
    );
    for folder in [
        "/Users/u/out",
        "/Users/u/out/a",
        "/Users/u/out/a/b",
        "/Users/u/out/a/b/key",
    ] {
        let rename = Attempt::Rename(folder, "/Users/u/out/z");
        assert!(!rules.attempt(rename).unwrap().allowed, "{folder}");
        assert!(
            !rules.attempt(Attempt::Clone(folder, INTO)).unwrap().allowed,
            "{folder} as a whole"
        );
    }
    let beside = Attempt::Rename("/Users/u/out/a/other", "/Users/u/out/z");
    assert!(rules.attempt(beside).unwrap().allowed);
    assert!(
        rules
            .attempt(Attempt::Create("/Users/u/out/a/b/new"))
            .unwrap()
            .allowed
    );
    let plain = compiled(&facts());
    assert!(
        plain
            .attempt(Attempt::Clone("/Users/u/out/x", INTO))
            .unwrap()
            .allowed,
        "nothing closed in it"
    );
}

#[test]
fn facts_that_contradict_each_other_make_no_profile() {
    let none = Facts {
        trees: Vec::new(),
        ..facts()
    };
    assert_eq!(profile(&none), Err(ProfileError::NoTree));
    let own = Facts {
        protected: all(&["/Users/u/.enclos.noindex/p"]),
        ..facts()
    };
    assert!(matches!(
        profile(&own),
        Err(ProfileError::Contradiction { .. })
    ));
}

#[test]
fn services_are_opened_one_by_one() {
    let ask = |facts: &Facts, name| {
        compiled(facts)
            .attempt(Attempt::Lookup(name))
            .unwrap()
            .allowed
    };
    assert!(!ask(&facts(), "com.apple.trustd.agent") && !ask(&facts(), "com.apple.FSEvents"));
    let trusting = Facts {
        services: [Service::SystemTrust].into(),
        ..facts()
    };
    assert!(ask(&trusting, "com.apple.trustd.agent") && !ask(&trusting, "com.apple.FSEvents"));
    assert!(
        !ask(&trusting, "com.apple.trustd"),
        "the name is compared whole"
    );
}

#[test]
fn long_lists_become_several_rules_that_all_count() {
    let many: Vec<_> = (0..900)
        .map(|n| physical(&format!("/Users/u/{}/{n}", "long".repeat(10))))
        .collect();
    let facts = Facts {
        protected: many,
        readable: all(&["/Users/u"]),
        ..facts()
    };
    let text = profile(&facts).unwrap().text().to_owned();
    let longest = text.split("\n\n").map(str::len).max().unwrap();
    assert!(longest < 1 << 14, "a rule has {longest} bytes");
    let rules = compiled(&facts);
    for n in [0, 450, 899] {
        let path = format!("/Users/u/{}/{n}/key", "long".repeat(10));
        assert!(
            !rules.attempt(Attempt::Read(&path)).unwrap().allowed,
            "{path}"
        );
    }
}

/// Whoever names a folder cannot write a rule with it.
#[test]
fn a_path_is_never_part_of_the_text() {
    let evil = "/Users/u/p\"))(allow default)(allow file-read* (literal \"";
    let facts = Facts {
        trees: all(&[evil]),
        ..facts()
    };
    let profile = profile(&facts).unwrap();
    assert!(!profile.text().contains("allow default"));
    let rules = Ruleset::compile(profile.text(), profile.params()).unwrap();
    assert!(
        !rules
            .attempt(Attempt::Read("/Users/u/notes.txt"))
            .unwrap()
            .allowed
    );
    assert!(
        rules
            .attempt(Attempt::Read(&format!("{evil}/x")))
            .unwrap()
            .allowed
    );
}

#[test]
fn every_rule_says_why() {
    let everything = Facts {
        services: [Service::FileEvents, Service::SystemTrust].into(),
        network: Network {
            proxy: Some(4711),
            ..facts().network
        },
        ..facts()
    };
    for rule in compiled(&everything).rules() {
        assert!(
            !rule.reason.is_empty(),
            "the rule in line {} gives no reason",
            rule.line
        );
    }
}

#[test]
fn an_answer_names_its_rule_and_how_sure_it_is() {
    let rules = compiled(&facts());
    let said = |attempt| {
        let verdict = rules.attempt(attempt).unwrap();
        let rule = verdict.rule.unwrap();
        format!(
            "{} ({:?}, {})",
            rule.reason, rule.certainty, verdict.operation
        )
    };
    insta::assert_snapshot!(said(Attempt::Read(path(Place::Original))), @"Never, whatever is lent above: the original, Enclos's own folders, keys. (Sure, file-read-data)");
    insta::assert_snapshot!(said(Attempt::Read(path(Place::PersonHome))), @"What is not opened below is closed. The mark finds this session's denials in the system's log. (Sure, default)");
    insta::assert_snapshot!(said(Attempt::Clone(path(Place::SshFolder), INTO)), @"Never, whatever is lent above: the original, Enclos's own folders, keys. (Sure, file-clone)");
    insta::assert_snapshot!(said(Attempt::OpenByApp), @"LaunchServices opens apps and documents with the person's rights. (Sure, lsopen)");
}

#[test]
fn the_generated_part_is_as_reviewed() {
    let text = profile(&facts()).unwrap().text().to_owned();
    let generated = text.split("; The copies, the session").nth(1).unwrap();
    insta::assert_snapshot!(format!("; The copies, the session{generated}"), @r#"
    ; The copies, the session's home and its temporary folder.
    (allow file-read* file-write* file-link file-clone file-map-executable process-exec*
      (subpath (param "TREE_0"))
      (subpath (param "HOME"))
      (subpath (param "TMP")))

    ; Unix sockets of the session among themselves. No other path is opened, so no agent or daemon is reached.
    (allow network-outbound network-inbound network-bind
      (subpath (param "TREE_0"))
      (subpath (param "HOME"))
      (subpath (param "TMP")))

    ; The session's own terminal and no other: what is written to another one is typed there.
    (allow file-read* file-write* file-ioctl
      (literal (param "TERMINAL")))

    ; Compilers and tools of the chosen developer folder.
    (allow file-read* file-map-executable process-exec*
      (subpath (param "DEVELOPER")))

    ; Lent to read and run.
    (allow file-read* file-map-executable process-exec*
      (literal (param "READ_0"))
      (subpath (param "READ_0")))

    ; Lent to change.
    (allow file-read* file-write* file-link file-map-executable process-exec*
      (literal (param "WRITE_0"))
      (subpath (param "WRITE_0")))

    ; The same, cloned as a whole. [inferred]
    (allow file-clone
      (subpath (param "WRITE_0")))

    ; Lent to connect to.
    (allow network-outbound
      (literal (param "SOCKET_0")))

    ; Credentials that lie in something lent.
    (deny file-read* file-read-data file-read-xattr file-write* file-write-data file-write-create file-write-unlink file-write-mode file-write-xattr file-link file-clone file-map-executable process-exec* network-outbound network-inbound network-bind
      (literal (param "COVERED_0"))
      (subpath (param "COVERED_0")))

    ; Servers of the session and what connects to them. Rules cannot tell them from other services of this machine, nor loopback from the local network on the listening side.
    (allow network-outbound
      (remote ip "localhost:*"))

    ; The listening side.
    (allow network-bind network-inbound
      (local ip "localhost:*"))

    ; Services that listen already, and known ones. [reported]
    (deny network-outbound
      (remote ip "localhost:5432")
      (remote ip "localhost:8080"))

    ; Never, whatever is lent above: the original, Enclos's own folders, keys.
    (deny file-read* file-read-data file-read-xattr file-write* file-write-data file-write-create file-write-unlink file-write-mode file-write-xattr file-link file-clone file-map-executable process-exec* network-outbound network-inbound network-bind file-read-metadata
      (literal (param "PROTECTED_0"))
      (subpath (param "PROTECTED_0"))
      (literal (param "PROTECTED_3"))
      (subpath (param "PROTECTED_3"))
      (literal (param "PROTECTED_4"))
      (subpath (param "PROTECTED_4"))
      (literal (param "PROTECTED_5"))
      (subpath (param "PROTECTED_5")))

    ; The same around the session's own folders. [reported]
    (deny file-read* file-read-data file-read-xattr file-write* file-write-data file-write-create file-write-unlink file-write-mode file-write-xattr file-link file-clone file-map-executable process-exec* network-outbound network-inbound network-bind
      (require-all (subpath (param "PROTECTED_1")) (require-not (subpath (param "TREE_0")))))

    ; The same around the session's own folders. [reported]
    (deny file-read* file-read-data file-read-xattr file-write* file-write-data file-write-create file-write-unlink file-write-mode file-write-xattr file-link file-clone file-map-executable process-exec* network-outbound network-inbound network-bind
      (require-all (subpath (param "PROTECTED_2")) (require-not (subpath (param "HOME")))))
    "#);
}

#[test]
fn paths_are_values_of_parameters() {
    let profile = profile(&facts()).unwrap();
    let params: Vec<_> = profile
        .params()
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    insta::assert_snapshot!(params.join("\n"), @r"
    TREE_0=/Users/u/.enclos.noindex/p
    HOME=/Users/u/Library/Application Support/Enclos/sessions/1f2e/home
    TMP=/private/tmp/enclos-501/1f2e
    TERMINAL=/dev/ttys004
    DEVELOPER=/Applications/Xcode.app/Contents/Developer
    READ_0=/Users/u/data
    WRITE_0=/Users/u/out
    SOCKET_0=/Users/u/run/db.sock
    COVERED_0=/Users/u/data/.netrc
    PROTECTED_0=/Users/u/code/p
    PROTECTED_3=/Users/u/.ssh
    PROTECTED_4=/Users/u/Library/Keychains
    PROTECTED_5=/Library/Keychains
    PROTECTED_1=/Users/u/.enclos.noindex
    PROTECTED_2=/Users/u/Library/Application Support/Enclos
    ");
}

#[test]
fn the_arguments_are_those_of_sandbox_exec() {
    let profile = profile(&facts()).unwrap();
    let arguments = profile.arguments();
    assert_eq!(
        (&*arguments[0], arguments[1].to_str()),
        ("-p".as_ref(), Some(profile.text()))
    );
    assert_eq!(
        (&*arguments[2], &*arguments[3]),
        ("-D".as_ref(), "TREE_0=/Users/u/.enclos.noindex/p".as_ref())
    );
    assert_eq!(arguments.len(), 2 + 2 * profile.params().len());
}

proptest! {
    /// Whatever is lent and protected: the profile reads back, the protected is closed, the copy is open.
    #[test]
    fn any_facts_make_a_profile_that_keeps_its_word(
        lent in prop::collection::vec("/[a-zA-Z\"()\\\\; é]{1,8}(/[a-z]{1,4}){0,2}", 0..5),
        protected in prop::collection::vec("/[a-zA-Z\"()\\\\; é]{1,8}(/[a-z]{1,4}){0,2}", 1..5),
    ) {
        let physical = |path: &String| PhysicalPath::new(&AbsPath::new(path).unwrap()).ok();
        let protected: Vec<_> = protected.iter().filter_map(physical).collect();
        let facts = Facts {
            readable: lent.iter().filter_map(physical).collect(),
            writable: lent.iter().filter_map(physical).collect(),
            protected: protected.clone(),
            ..facts()
        };
        if let Ok(profile) = profile(&facts) {
            let rules = Ruleset::compile(profile.text(), profile.params())
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            for path in &protected {
                let file = format!("{path}/x");
                let open = rules.attempt(Attempt::Read(&file)).unwrap().allowed;
                prop_assert!(!open, "{}", file);
            }
            prop_assert!(rules.attempt(Attempt::Write(path(Place::Copy))).unwrap().allowed);
        }
    }
}
