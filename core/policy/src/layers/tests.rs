//! Who wins, layer against layer.

use super::*;
use crate::flags::Flags;
use crate::parse;

fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn places() -> Places {
    Places {
        home: abs("/home/u"),
        project: abs("/home/u/p"),
        cwd: abs("/home/u/elsewhere"),
        own: vec![abs("/home/u/.local/share/enclos")],
    }
}

/// Layers written as text; the project's file is trusted.
fn layers(managed: &str, user: &str, project: &str) -> Layers {
    Layers {
        managed: parse(managed, Layer::Managed).unwrap(),
        user: parse(user, Layer::User).unwrap(),
        project: parse(project, Layer::Project).unwrap(),
        trust: Trust::Trusted,
        flags: Document::default(),
    }
}

fn merged(layers: &Layers) -> Policy {
    merge(layers, &places()).unwrap()
}

fn lent(policy: &Policy) -> Vec<String> {
    let one = |l: &Sourced<Lent>| format!("{:?} {} ({})", l.value.access, l.value.path, l.origin);
    policy.lent.iter().map(one).collect()
}

const WIDE: &str = "[files]\nread = ['~/data', '../lib']\nwrite = ['~/out']\nwith = ['../sibling']\n\
    sockets = ['/srv/db.sock']\nhide = ['*.pem']\n[env]\npass = ['CI']\nset = { A = '1' }\n\
    [clone]\nmethod = 'overlay'\nscope = 'repository'\n[session]\non_exit = 'apply'\n";

#[test]
fn nothing_stated_is_the_default() {
    let policy = merged(&Layers::default());
    assert!(policy.lent.is_empty() && policy.env.is_empty() && policy.hide.is_empty());
    assert_eq!(policy.on_exit, Sourced::default_of(OnExit::Ask));
    assert_eq!(policy.network.value, Network::None);
    assert!(!policy.stops_unattended());
}

#[test]
fn a_project_gets_nothing_more_until_it_is_trusted_and_less_at_once() {
    let mut layers = layers("", "", WIDE);
    layers.trust = Trust::Unknown;
    let policy = merged(&layers);
    assert!(policy.lent.is_empty() && policy.with.is_empty() && policy.sockets.is_empty());
    assert!(policy.env.is_empty() && policy.scope.is_none());
    assert_eq!(policy.clone_method, Sourced::default_of(CloneMethod::Auto));
    assert_eq!(policy.on_exit, Sourced::default_of(OnExit::Ask));
    assert_eq!(policy.hide.rules().len(), 1, "hide counts at once");
    assert!(
        !policy.stops_unattended(),
        "a project never seen runs, with less"
    );
    let asked: Vec<_> = policy
        .pending
        .iter()
        .map(|s| format!("{}: {}", s.origin, s.value))
        .collect();
    insta::assert_snapshot!(asked.join("\n"), @r#"
    .enclos.toml:2: read ~/data
    .enclos.toml:2: read ../lib
    .enclos.toml:3: change ~/out directly, without review
    .enclos.toml:4: copy and review ../sibling as well
    .enclos.toml:5: connect to the socket /srv/db.sock
    .enclos.toml:8: see your variable CI
    .enclos.toml:9: set A to "1"
    .enclos.toml:11: see your later edits of the original (clone method overlay)
    .enclos.toml:12: take the whole repository in
    .enclos.toml:14: apply its changes without asking you
    "#);
}

#[test]
fn a_trusted_project_gets_what_it_asks_for() {
    let policy = merged(&layers("", "", WIDE));
    insta::assert_snapshot!(lent(&policy).join("\n"), @r"
    Read /home/u/data (.enclos.toml:2)
    Read /home/u/lib (.enclos.toml:2)
    Write /home/u/out (.enclos.toml:3)
    ");
    assert_eq!(policy.with[0].value, abs("/home/u/sibling"));
    assert_eq!(policy.on_exit.value, OnExit::Apply);
    assert_eq!(policy.env.len(), 2);
    assert!(policy.pending.is_empty());
}

/// The attack: the agent edits `.enclos.toml` in a session, the change is applied, the next session runs on it.
#[test]
fn a_changed_file_gains_nothing_and_loses_nothing_that_it_narrowed() {
    let trusted = parse(
        "[files]\nhide = ['prod/']\nread = ['~/a']\n[limits]\ntime = '1h'",
        Layer::Project,
    )
    .unwrap();
    let mut layers = layers("", "", "[files]\nread = ['~/a', '~/b']\n");
    assert_eq!(
        lent(&merged(&layers)).len(),
        2,
        "were it trusted, both would be lent"
    );

    layers.trust = Trust::Changed { trusted };
    let policy = merged(&layers);
    assert!(policy.lent.is_empty(), "not even what was agreed to before");
    assert_eq!(policy.hide.rules()[0].value.as_str(), "prod/");
    assert_eq!(
        policy.hide.rules()[0].origin.to_string(),
        ".enclos.toml:2 as you trusted it"
    );
    assert_eq!(
        policy.time_limit.as_ref().unwrap().value,
        Duration::from_secs(3600)
    );
    assert!(policy.stops_unattended());
    let changes = policy.changed.unwrap();
    assert_eq!(changes.asks_more.len(), 1);
    assert_eq!(changes.narrows_less.len(), 2);
}

#[test]
fn a_deleted_file_is_a_changed_one() {
    let trusted = parse("[files]\nhide = ['prod/']", Layer::Project).unwrap();
    let layers = Layers {
        trust: Trust::Changed { trusted },
        ..Layers::default()
    };
    let policy = merged(&layers);
    assert_eq!(policy.hide.rules().len(), 1);
    assert!(policy.stops_unattended());
}

#[test]
fn flags_win_over_the_person_s_file_and_the_project_s() {
    let mut layers = layers(
        "",
        "[session]\non_exit = 'keep'",
        "[session]\non_exit = 'ask'",
    );
    assert_eq!(merged(&layers).on_exit.value, OnExit::Ask);
    let flags = Flags {
        on_exit: Some((OnExit::Discard, "--discard")),
        ..Flags::default()
    };
    layers.flags = flags.document(&places().project).unwrap();
    assert_eq!(
        merged(&layers).on_exit,
        Sourced::new(OnExit::Discard, Origin::Flag("--discard"))
    );
}

#[test]
fn relative_paths_start_where_they_are_written() {
    let mut layers = layers("", "", "[files]\nread = ['../lib']");
    let flags = Flags {
        read: vec!["../lib".into(), "~/x".into()],
        ..Flags::default()
    };
    layers.flags = flags.document(&places().project).unwrap();
    insta::assert_snapshot!(lent(&merged(&layers)).join("\n"), @r"
    Read /home/u/lib (.enclos.toml:2)
    Read /home/u/x (--read)
    ");

    let mut layers = Layers {
        flags: layers.flags,
        ..Layers::default()
    };
    layers.user = parse("[files]\nwrite = ['~/x']", Layer::User).unwrap();
    assert_eq!(
        lent(&merged(&layers))[0],
        "Write /home/u/x (config.toml:2)",
        "write is the stronger"
    );
}

#[test]
fn what_the_owner_or_the_project_closes_stays_closed() {
    let closed = "[network]\nlocal = false\n[clone]\nhistory = 'none'\n";
    let open = "[network]\nlocal = true\n[clone]\nhistory = 'full'\n";
    let by_owner = merged(&layers(closed, open, open));
    assert_eq!(by_owner.local.value, Local::Closed);
    assert_eq!(by_owner.history.origin.layer(), Some(Layer::Managed));

    let by_person = merged(&layers("", closed, open));
    assert_eq!(
        by_person.local.value,
        Local::Reachable,
        "a person agreed to the project's file"
    );

    let mut untrusted = layers("", open, closed);
    untrusted.trust = Trust::Unknown;
    assert_eq!(merged(&untrusted).local.value, Local::Closed);
}

#[test]
fn the_shortest_limit_counts_whoever_wrote_it() {
    let limit = |hours: u32| format!("[limits]\ntime = '{hours}h'\n");
    let policy = merged(&layers(&limit(3), &limit(1), &limit(2)));
    let limit = policy.time_limit.unwrap();
    assert_eq!(
        (limit.value.as_secs(), limit.origin.layer()),
        (3600, Some(Layer::User))
    );
}

#[test]
fn deny_is_stronger_than_any_lending() {
    let owner = "[files]\ndeny = ['~/data/private', '/srv']";
    let user = "[files]\nread = ['~/data', '~/DATA/Private/x']\nsockets = ['/srv/db.sock']\nwith = ['/srv/lib']";
    let policy = merged(&layers(owner, user, ""));
    assert_eq!(lent(&policy), ["Read /home/u/data (config.toml:2)"]);
    assert!(policy.sockets.is_empty() && policy.with.is_empty());
    let overruled: Vec<_> = policy
        .overruled
        .iter()
        .map(|o| format!("{} by {}", o.asked.value, o.by.origin))
        .collect();
    insta::assert_snapshot!(overruled.join("\n"), @r"
    /home/u/DATA/Private/x by policy.toml:2
    /srv/lib by policy.toml:2
    /srv/db.sock by policy.toml:2
    ");
}

#[test]
fn deny_means_what_it_says_inside_and_around_the_project() {
    let policy = merged(&layers("[files]\ndeny = ['~/p/prod']", "", ""));
    assert_eq!(policy.hide.rules()[0].value.as_str(), "/prod");
    let denied = layers("[files]\ndeny = ['~/p']", "", "");
    let error = merge(&denied, &places()).unwrap_err();
    insta::assert_snapshot!(error, @"policy.toml:2: /home/u/p is denied, and the project lies in it");
}

#[test]
fn what_is_never_lent_is_an_error_with_its_line_all_at_once() {
    let user = "[files]\nread = ['~/.ssh', '/']\nwrite = ['~/bin']\nsockets = ['/var/run/docker.sock']\nwith = ['~/p/sub']";
    let error = merge(&layers("", user, ""), &places()).unwrap_err();
    assert_eq!(error.all().len(), 5);
    insta::assert_snapshot!(error, @r"
    config.toml:2: /home/u/.ssh is never lent: SSH keys
    config.toml:2: / holds the whole of /home/u; name the folders that the session needs
    config.toml:3: /home/u/bin is never lent for writing: programs on your PATH
    config.toml:4: /var/run/docker.sock is never lent: Docker, which can do anything on this machine
    config.toml:5: /home/u/p/sub is part of the project and so in the copy already
    ");
}

#[test]
fn what_an_untrusted_project_may_never_have_does_not_stop_the_run() {
    let mut layers = layers("", "", "[files]\nread = ['~/.ssh']");
    layers.trust = Trust::Unknown;
    assert_eq!(merged(&layers).pending.len(), 1);
}

#[test]
fn later_layers_set_a_variable_again() {
    let policy = merged(&layers(
        "",
        "[env]\npass = ['A', 'B']",
        "[env]\nset = { A = '1' }",
    ));
    let rule = |name: &str| &policy.env[&EnvName::new(name).unwrap()];
    assert_eq!(rule("A").value, EnvRule::Set(EnvValue::new("1").unwrap()));
    assert_eq!(rule("B").value, EnvRule::Pass);
}
