//! From a policy and a copy to the jail the command runs in.
//!
//! Everything that is lent is resolved first and judged again by what it resolves to: a link inside a folder that may
//! be lent can lead to one that may not.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;

use enclos_paths::AbsPath;
use enclos_policy::EnvRule;
use enclos_policy::History;
use enclos_policy::LendRefused;
use enclos_policy::Lent as PolicyLent;
use enclos_policy::LentAccess;
use enclos_policy::Local;
use enclos_policy::Places;
use enclos_policy::Policy;
use enclos_policy::may_lend;
use enclos_sandbox::Access;
use enclos_sandbox::Command;
use enclos_sandbox::Doors;
use enclos_sandbox::HostFacts;
use enclos_sandbox::Jail;
use enclos_sandbox::Lent;
use enclos_sandbox::Network;
use enclos_sandbox::Overlay;
use enclos_sandbox::Tree;
use enclos_sandbox::User;
use enclos_sandbox::etc;
use enclos_sandbox::lend;
use enclos_sandbox::lend::Catalogue;
use enclos_sandbox::lend::Contents;
use enclos_sandbox::lend::GeneratedFile;
use enclos_sandbox::lend::Lending;
use enclos_sandbox::lend::Os;
use enclos_sandbox::lend::caches::Means;
use enclos_sandbox::seen;

use crate::Draft;
use crate::Environment;
use crate::Record;
use crate::TreeRecord;
use crate::config;
use crate::cover;
use crate::cover::Covers;

/// Plans the jail of a session whose copies are made, and fills its private home and `/etc`.
///
/// `caches` is the folder of the project's caches that
/// this session has to itself.
pub(crate) fn plan(
    environment: &Environment,
    draft: &Draft,
    record: &Record,
    caches: &AbsPath,
) -> Result<Planned, JailError> {
    let places = config::places(environment, draft.project.path());
    let user = User {
        name: environment.user.name.clone(),
        uid: environment.user.uid,
        gid: environment.user.gid,
        home: environment.user.home.clone(),
        shell: environment.user.shell.clone(),
    };
    let store = &record.store;
    let home = store.resolve("home");
    let lending = lending(environment, draft, record)?;
    lend::lay::home(&home, &lending.files)?;
    lend::lay::home(&home, &git_files(environment, record, &lending))?;
    let host = AbsPath::new("/etc").map_err(|_| JailError::NoEtc)?;
    let facts = HostFacts::gather(&bwrap_search(environment));
    let kept = environment.places.caches.resolve("etc");
    crate::private::folder(&environment.places.caches, environment.user.uid)?;
    crate::private::folder(&kept, environment.user.uid)?;
    let etc = etc::kept(&kept, &user, &facts, &host)?;
    let mut lent = lend::lay::folders(&lending.folders, caches, MEANS, &clone_cache)?;
    let mut covered: Vec<AbsPath> = lending.covered.clone();
    let mut notes: Vec<String> = lending.notes.iter().map(ToString::to_string).collect();
    for wanted in &draft.policy.lent {
        let (folder, covers) = named(&wanted.value, &draft.policy, &places)?;
        if !covers.complete {
            notes.push(format!(
                "{} is too big to be searched for credential files",
                wanted.value.path
            ));
        }
        covered.extend(covers.files);
        let link = link_in_home(
            OS,
            (&environment.user.home, &home),
            &wanted.value.path,
            &folder,
        );
        lend::lay::home(&home, link.as_slice())?;
        lent.push(folder);
    }
    let project = project(draft, record);
    let shell = shell(environment, draft, &lending, (&home, &project))?;
    let jail = Jail {
        user,
        trees: record.trees.iter().map(tree).collect(),
        home: home.clone(),
        tmp: store.resolve("tmp"),
        etc,
        lent,
        covered,
        sockets: draft
            .policy
            .sockets
            .iter()
            .map(|socket| socket.value.clone())
            .collect(),
        protected: places
            .own
            .into_iter()
            .filter(|own| *own != environment.places.caches)
            .collect(),
        network: match draft.policy.local.value {
            Local::Reachable => Network::None,
            Local::Closed => Network::NoLocal,
        },
        command: command(draft, &shell, &project),
        stage: environment.executable.clone(),
    };
    Ok(Planned { jail, shell, notes })
}

/// A jail and what else is to be known of it.
pub(crate) struct Planned {
    /// The jail.
    pub(crate) jail: Jail,
    /// The person's shell in it.
    pub(crate) shell: Command,
    /// What was left out of the lending and why, in words.
    pub(crate) notes: Vec<String>,
}

/// Where bubblewrap is looked for: folders of the system only, because a `PATH` can name anything.
pub(crate) fn bwrap_search(_environment: &Environment) -> Vec<AbsPath> {
    [
        "/usr/bin/bwrap",
        "/usr/local/bin/bwrap",
        "/bin/bwrap",
        "/run/current-system/sw/bin/bwrap",
    ]
    .into_iter()
    .filter_map(|path| AbsPath::new(path).ok())
    .collect()
}

fn tree(tree: &TreeRecord) -> Tree {
    let overlays = tree.overlaid.iter().map(|overlaid| {
        let inside = overlaid
            .path
            .as_ref()
            .map_or_else(|| tree.original.clone(), |path| tree.original.join(path));
        Overlay {
            lower: inside.clone(),
            inside,
            upper: overlaid.upper.clone(),
            work: overlaid.upper.resolve("../work"),
        }
    });
    Tree {
        inside: tree.original.clone(),
        outside: tree.copy.clone(),
        overlays: overlays.collect(),
    }
}

fn lending(
    environment: &Environment,
    draft: &Draft,
    record: &Record,
) -> Result<Lending, JailError> {
    let catalogue = Catalogue::built_in()?;
    let path = environment
        .vars
        .get(&OsString::from("PATH"))
        .cloned()
        .unwrap_or_default();
    let path = path
        .as_bytes()
        .split(|&b| b == b':')
        .map(|part| std::ffi::OsStr::from_bytes(part).to_owned())
        .collect();
    let denied = draft.policy.deny.iter().map(|deny| deny.value.clone());
    let places = config::places(environment, draft.project.path());
    let originals = record
        .trees
        .iter()
        .skip(1)
        .map(|tree| tree.original.clone());
    let outside = lend::Outside {
        os: OS,
        home: environment.user.home.clone(),
        project: draft.project.path().clone(),
        path,
        vars: environment.vars.clone(),
        shell: environment.user.shell.clone(),
        protected: places
            .own
            .into_iter()
            .chain(denied)
            .chain(originals)
            .collect(),
        readable: draft
            .policy
            .lent
            .iter()
            .map(|lent| lent.value.path.clone())
            .collect(),
    };
    let inside = lend::Inside {
        home: seen::home(OS, &environment.user.home, &record.store.resolve("home")),
        project: project(draft, record),
        tmp: seen::tmp(OS, environment.user.uid, &record.store.resolve("tmp")),
        user: environment.user.name.clone(),
        session: record.id.to_string(),
    };
    Ok(lend::find(&catalogue, &outside, &inside, &lend::Disk))
}

/// The git settings of the private home.
fn git_files(environment: &Environment, record: &Record, lending: &Lending) -> Vec<GeneratedFile> {
    let settings = crate::git::settings(environment);
    let trees: Vec<AbsPath> = record
        .trees
        .iter()
        .map(|tree| seen::tree(OS, &tree.original, &tree.copy))
        .collect();
    let ignored = fs::read(environment.user.home.resolve(".config/git/ignore")).ok();
    let large_files = if lending.has_program("git-lfs", &lend::Disk) {
        lend::git::LargeFiles::Present
    } else {
        lend::git::LargeFiles::Absent
    };
    let input = lend::git::GitInput {
        settings: &settings,
        trees: &trees,
        ignored: ignored.as_deref(),
        large_files,
    };
    lend::git::files(&input)
}

/// Where the project is found inside.
fn project(draft: &Draft, record: &Record) -> AbsPath {
    let original = draft.project.path();
    let tree = record.trees.iter().find(|tree| tree.original == *original);
    tree.map_or_else(
        || original.clone(),
        |tree| seen::tree(OS, original, &tree.copy),
    )
}

const OS: Os = Os::this();

/// How caches are made writable here.
const MEANS: Means = match OS {
    Os::Linux => Means::Overlay,
    Os::Macos => Means::InPlace,
};

/// A cache that cannot share its blocks starts empty rather than as a copy of gigabytes.
fn clone_cache(from: &AbsPath, to: &AbsPath) -> io::Result<()> {
    if enclos_clone::clone_whole(from, to)? {
        return Ok(());
    }
    fs::create_dir(to)
}

/// A path that the person or the project's file names, and what of it must be covered.
fn named(
    wanted: &PolicyLent,
    policy: &Policy,
    places: &Places,
) -> Result<(Lent, Covers), JailError> {
    let path = &wanted.path;
    let fail = |source| JailError::Lend {
        path: path.clone(),
        source,
    };
    let real = fs::canonicalize(path).map_err(fail)?;
    let real = AbsPath::new(real).map_err(|error| fail(io::Error::other(error)))?;
    let (lending, access) = match wanted.access {
        LentAccess::Read => (enclos_policy::Lending::Read, Access::ReadOnly),
        LentAccess::Write => (enclos_policy::Lending::Write, Access::ReadWrite),
    };
    may_lend(&real, lending, places)?;
    if let Some(deny) = policy.denied(&real) {
        return Err(JailError::Denied {
            path: path.clone(),
            by: deny.origin.to_string(),
        });
    }
    // Where nothing can be mounted a path is lent where it really lies.
    let inside = match OS {
        Os::Linux => path.clone(),
        Os::Macos => real.clone(),
    };
    let covers = cover::search(&real, &inside, policy);
    if let Some(folder) = covers.denied_folders.first() {
        return Err(JailError::HoldsDenied {
            path: path.clone(),
            denied: folder.clone(),
        });
    }
    Ok((
        Lent {
            outside: real,
            inside,
            access,
            doors: Doors::Searched,
        },
        covers,
    ))
}

/// A link in a private home that is not at the person's own home's path, to what is lent of the person's: `~/data` is
/// then what it is outside. What lies there already stays.
fn link_in_home(
    os: Os,
    (own, private): (&AbsPath, &AbsPath),
    path: &AbsPath,
    lent: &Lent,
) -> Option<GeneratedFile> {
    let inside_home = path.below(own)?;
    let place = private.join(&inside_home);
    let there = seen::home(os, own, private).join(&inside_home) == lent.inside;
    if there || place.as_path().symlink_metadata().is_ok() {
        return None;
    }
    Some(GeneratedFile {
        inside_home,
        contents: Contents::Link(lent.inside.as_path().to_owned()),
        mode: 0o777,
    })
}

/// The command that was asked for, or the shell.
fn command(draft: &Draft, shell: &Command, project: &AbsPath) -> Command {
    let mut command = shell.clone();
    if !draft.request.command.is_empty() {
        command.argv.clone_from(&draft.request.command);
    }
    if draft.policy.history.value == History::None && draft.repository.is_some() {
        let project = project.as_path().as_os_str().to_owned();
        let words = ["/bin/sh", "-c", FRESH_REPOSITORY, "enclos"].map(OsString::from);
        command.argv = words
            .into_iter()
            .chain([project])
            .chain(command.argv)
            .collect();
    }
    command
}

/// Makes a repository of one commit in the copy, whose own was left out, and then becomes the command. It runs inside
/// the jail like anything else that touches the copy. Without git there is no repository, and the command runs.
const FRESH_REPOSITORY: &str = "\
p=$1; shift
[ -e \"$p/.git\" ] || (cd \"$p\" && git init -q -b main . && git add -A . && \
git -c user.name=Enclos -c user.email=enclos@localhost commit -q --no-verify --allow-empty -m 'The project as it was') >/dev/null 2>&1
exec \"$@\"";

/// The person's shell inside, with the environment that every command gets.
fn shell(
    environment: &Environment,
    draft: &Draft,
    lending: &Lending,
    (home, project): (&AbsPath, &AbsPath),
) -> Result<Command, JailError> {
    let mut env: Vec<(OsString, OsString)> = lending.env.clone();
    let own = seen::home(OS, &environment.user.home, home);
    let shell = lend::shell::interactive(&lending.shell, &own, &lending.path, MARK);
    lend::lay::home(home, &shell.files)?;
    env.extend(shell.env);
    for (name, rule) in &draft.policy.env {
        let name = OsString::from(name.as_str());
        let value = match &rule.value {
            EnvRule::Pass => environment.vars.get(&name).cloned(),
            EnvRule::Set(value) => Some(value.as_os_str().to_owned()),
        };
        env.retain(|(own, _)| *own != name);
        env.extend(value.map(|value| (name, value)));
    }
    let start = draft
        .start
        .as_ref()
        .map_or_else(|| project.clone(), |below| project.join(below));
    let stdio = crate::resume::stdio(draft.request.streams);
    Ok(Command {
        argv: shell.argv,
        env,
        cwd: start,
        umask: environment.umask,
        stdio,
    })
}

/// What the prompt inside begins with.
const MARK: &str = "[enclos] ";

/// Why a jail cannot be planned. Nothing has been started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailError {
    /// A path that was named cannot be lent because it is not there.
    #[error("{path} cannot be lent")]
    Lend {
        /// The path.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path that was named leads to one that is denied.
    #[error("{path} cannot be lent: it is denied by {by}")]
    Denied {
        /// The path.
        path: AbsPath,
        /// Where that stands.
        by: String,
    },
    /// A folder that was named holds one that is denied.
    #[error("{path} cannot be lent: {denied} in it is denied; name the folders that are needed")]
    HoldsDenied {
        /// The folder.
        path: AbsPath,
        /// The denied one.
        denied: AbsPath,
    },
    /// A path that was named leads to one that is never lent.
    #[error(transparent)]
    Refused(#[from] LendRefused),
    /// The lists of what may be lent are wrong.
    #[error(transparent)]
    Catalogue(#[from] lend::CatalogueError),
    /// The private home or the caches cannot be laid out.
    #[error(transparent)]
    Lay(#[from] lend::lay::LayError),
    /// `/etc` cannot be generated.
    #[error(transparent)]
    Etc(#[from] etc::EtcError),
    /// The folder for what is kept between sessions cannot be used.
    #[error(transparent)]
    Kept(#[from] crate::PrivateError),
    /// This system has no `/etc`.
    #[error("this system has no /etc")]
    NoEtc,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_of_the_home_is_found_in_the_private_one() {
        let dir = tempfile::tempdir().unwrap();
        let private = AbsPath::new(dir.path()).unwrap();
        let own = AbsPath::new("/Users/u").unwrap();
        let abs = |path: &str| AbsPath::new(path).unwrap();
        let lent = |inside: &str| Lent {
            outside: abs("/Volumes/work/data"),
            inside: abs(inside),
            access: Access::ReadOnly,
            doors: Doors::Searched,
        };
        let link = |os, path: &str, inside: &str| {
            let link = link_in_home(os, (&own, &private), &abs(path), &lent(inside))?;
            Some((link.inside_home.to_string(), link.contents))
        };
        let real = "/Volumes/work/data";
        let target = Contents::Link(real.into());
        let there = Some(("data".to_owned(), target));
        assert_eq!(link(Os::Macos, "/Users/u/data", real), there);
        assert_eq!(link(Os::Macos, "/opt/data", real), None, "it has its path");
        let shown = link(Os::Linux, "/Users/u/data", "/Users/u/data");
        assert_eq!(shown, None, "it is mounted there");
        fs::write(private.resolve("data"), "").unwrap();
        assert_eq!(link(Os::Macos, "/Users/u/data", real), None, "it is taken");
    }
}
