//! The layers of configuration, read from disk and put together.
//!
//! The managed file counts only when root owns it and nobody else can write it. The project's file is the agent's to
//! write once it is applied, so what it widens counts only while its bytes are the ones the person agreed to; the
//! agreed bytes are kept here, and what they narrowed goes on counting when the file changes or disappears.

use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use enclos_paths::AbsPath;
use enclos_policy::Document;
use enclos_policy::Layer;
use enclos_policy::Layers;
use enclos_policy::MergeErrors;
use enclos_policy::ParseError;
use enclos_policy::Policy;
use enclos_policy::Trust;
use enclos_policy::TrustHash;
use enclos_policy::merge;
use enclos_policy::parse;

use crate::Environment;
use crate::private;
use crate::private::Durability;
use crate::private::PrivateError;

/// The project's file, below the project's root.
pub const PROJECT_FILE: &str = ".enclos.toml";

/// Reads every layer for `project` and merges them with the flags.
///
/// # Errors
/// A layer that cannot be read, is wrong, or asks for what is never given. Nothing has been started.
pub fn load(
    environment: &Environment,
    project: &AbsPath,
    flags: Document,
) -> Result<Policy, ConfigError> {
    let text = project_text(project)?;
    load_from(environment, project, text.as_deref(), flags)
}

/// The same with `text` as the bytes of the project's file, so that what is shown to a person, and agreed to, is what
/// was read.
///
/// # Errors
/// As [`load`].
pub fn load_from(
    environment: &Environment,
    project: &AbsPath,
    text: Option<&[u8]>,
    flags: Document,
) -> Result<Policy, ConfigError> {
    let managed = managed(&environment.places.managed)?;
    let user = document(
        &environment.places.config.resolve("config.toml"),
        Layer::User,
    )?;
    let file = project.resolve(PROJECT_FILE);
    let now = parse(text.unwrap_or_default(), Layer::Project).map_err(|s| wrong(&file, s))?;
    let trust = trust(environment, project, text)?;
    let layers = Layers {
        managed,
        user,
        project: now,
        trust,
        flags,
    };
    Ok(merge(&layers, &places(environment, project))?)
}

/// The folders that give paths in configuration their meaning and that are never lent.
#[must_use]
pub fn places(environment: &Environment, project: &AbsPath) -> enclos_policy::Places {
    let own = &environment.places;
    enclos_policy::Places {
        home: environment.user.home.clone(),
        project: project.clone(),
        cwd: environment.cwd.clone(),
        own: vec![
            own.state.clone(),
            own.copies.clone(),
            own.caches.clone(),
            own.config.clone(),
            own.runtime.clone(),
        ],
    }
}

/// The bytes of the project's file; none when there is none.
///
/// # Errors
/// When it is there and cannot be read.
pub fn project_text(project: &AbsPath) -> Result<Option<Vec<u8>>, ConfigError> {
    read(&project.resolve(PROJECT_FILE))
}

/// The version of the project's file that the person agreed to; none when they never did.
///
/// # Errors
/// When it is there and cannot be read.
pub fn trusted_text(
    environment: &Environment,
    project: &AbsPath,
) -> Result<Option<Vec<u8>>, ConfigError> {
    read(&trust_file(environment, project))
}

/// Records that the person agrees to exactly `text` for `project`.
///
/// # Errors
/// When it cannot be recorded; what was agreed to before still counts.
pub fn agree(environment: &Environment, project: &AbsPath, text: &[u8]) -> Result<(), ConfigError> {
    let file = trust_file(environment, project);
    private::folder(&environment.places.state, environment.user.uid)?;
    private::folder(
        &environment.places.state.resolve(TRUST),
        environment.user.uid,
    )?;
    Ok(private::replace(&file, text, Durability::Disk)?)
}

fn trust(
    environment: &Environment,
    project: &AbsPath,
    now: Option<&[u8]>,
) -> Result<Trust, ConfigError> {
    let file = trust_file(environment, project);
    let Some(agreed) = read(&file)? else {
        return Ok(Trust::Unknown);
    };
    if now.is_some_and(|now| TrustHash::of(now) == TrustHash::of(&agreed)) {
        return Ok(Trust::Trusted);
    }
    let trusted = parse(&agreed, Layer::Project).map_err(|s| wrong(&file, s))?;
    Ok(Trust::Changed { trusted })
}

fn trust_file(environment: &Environment, project: &AbsPath) -> AbsPath {
    let name = blake3::hash(project.as_bytes()).to_hex();
    environment
        .places
        .state
        .resolve(TRUST)
        .resolve(name.as_str())
}

const TRUST: &str = "trust";

fn managed(file: &AbsPath) -> Result<Document, ConfigError> {
    match fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() || found.uid() != 0 || found.mode() & 0o022 != 0 => {
            Err(ConfigError::Unowned { path: file.clone() })
        }
        _ => document(file, Layer::Managed),
    }
}

fn document(file: &AbsPath, layer: Layer) -> Result<Document, ConfigError> {
    let text = read(file)?.unwrap_or_default();
    parse(text, layer).map_err(|source| wrong(file, source))
}

fn wrong(file: &AbsPath, source: ParseError) -> ConfigError {
    ConfigError::Wrong {
        path: file.clone(),
        source,
    }
}

/// Reads a configuration file; none when it is not there. More than anybody writes by hand is not read to the end.
fn read(path: &AbsPath) -> Result<Option<Vec<u8>>, ConfigError> {
    const LIMIT: u64 = 1 << 20;
    let fail = |source| ConfigError::Read {
        path: path.clone(),
        source,
    };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(source) => return Err(fail(source)),
    };
    if !found.is_file() {
        // A link, a FIFO or a folder under this name is not a configuration, and reading it may hang or lead away.
        return Err(ConfigError::NotAFile { path: path.clone() });
    }
    let mut text = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(LIMIT).read_to_end(&mut text))
        .map_err(fail)?;
    Ok(Some(text))
}

/// Why there is no policy. Nothing has been started, and nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something else lies under its name.
    #[error("{path} is not a plain file")]
    NotAFile {
        /// The path.
        path: AbsPath,
    },
    /// The managed policy could have been written by somebody else than the machine's owner.
    #[error("{path} must belong to root and be writable by root alone")]
    Unowned {
        /// The file.
        path: AbsPath,
    },
    /// A file says what it cannot say.
    #[error("{source}")]
    Wrong {
        /// The file.
        path: AbsPath,
        /// Every problem with its place.
        source: ParseError,
    },
    /// The layers ask for what is never given.
    #[error(transparent)]
    Merge(#[from] MergeErrors),
    /// An agreement cannot be recorded.
    #[error(transparent)]
    Record(#[from] PrivateError),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::Clock;
    use crate::Person;
    use crate::Places;

    struct Scene {
        _dir: tempfile::TempDir,
        environment: Environment,
        project: AbsPath,
    }

    fn scene() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(fs::canonicalize(dir.path()).unwrap()).unwrap();
        let me = fs::metadata(root.as_path()).unwrap();
        let home = root.resolve("home");
        let project = home.resolve("p");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(home.resolve("config")).unwrap();
        let environment = Environment {
            user: Person {
                name: "u".into(),
                uid: me.uid(),
                gid: me.gid(),
                home: home.clone(),
                shell: home.resolve("/bin/sh"),
            },
            places: Places {
                config: home.resolve("config"),
                managed: root.resolve("policy.toml"),
                state: home.resolve("state"),
                copies: home.resolve("copies"),
                caches: home.resolve("caches"),
                runtime: root.resolve("run"),
            },
            vars: BTreeMap::new(),
            cwd: project.clone(),
            executable: home.resolve("enclos"),
            umask: 0o022,
            clock: Clock::Fixed(0),
        };
        Scene {
            _dir: dir,
            environment,
            project,
        }
    }

    fn policy(scene: &Scene) -> Result<Policy, ConfigError> {
        load(&scene.environment, &scene.project, Document::default())
    }

    #[test]
    fn a_managed_policy_that_others_could_write_is_refused() {
        let scene = scene();
        let file = &scene.environment.places.managed;
        fs::write(file, "[files]\nhide = [\"*.key\"]\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(
            matches!(policy(&scene), Err(ConfigError::Unowned { .. })),
            "writable by all"
        );
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        let owned_by_root = fs::metadata(file).unwrap().uid() == 0;
        assert_eq!(
            policy(&scene).is_ok(),
            owned_by_root,
            "only root's own file counts"
        );
    }

    #[test]
    fn what_a_project_widens_counts_once_its_bytes_are_agreed_to_and_no_longer() {
        let scene = scene();
        let file = scene.project.resolve(PROJECT_FILE);
        fs::write(&file, "[env]\npass = [\"CI\"]\n[files]\nhide = [\"a\"]\n").unwrap();
        let before = policy(&scene).unwrap();
        assert_eq!(
            (
                before.env.len(),
                before.pending.len(),
                before.hide.is_empty()
            ),
            (0, 1, false)
        );
        agree(
            &scene.environment,
            &scene.project,
            &fs::read(&file).unwrap(),
        )
        .unwrap();
        let after = policy(&scene).unwrap();
        assert_eq!((after.env.len(), after.pending.len()), (1, 0));
        fs::remove_file(&file).unwrap();
        let gone = policy(&scene).unwrap();
        assert!(
            gone.stops_unattended(),
            "a file that disappears is a change too"
        );
        assert!(!gone.hide.is_empty(), "what it narrowed goes on counting");
        assert_eq!(gone.env.len(), 0, "what it widened does not");
    }

    #[test]
    fn a_link_or_a_pipe_in_place_of_the_file_is_an_error_and_hangs_nobody() {
        let scene = scene();
        let file = scene.project.resolve(PROJECT_FILE);
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(
            matches!(policy(&scene), Err(ConfigError::NotAFile { .. })),
            "a link leads away"
        );
    }
}
