//! The form of `lend/*.toml`: what a row can say.
//!
//! Data only. A key that is not here does not parse, so a row cannot seem to say something that nothing reads; what
//! rows may say is held to the rules in `catalogue.rs`.

use serde::Deserialize;

use super::versions::Manager;

/// One tool: where it keeps its things, and what of them is lent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    /// What a person gains by it; shown beside what was lent.
    pub(super) why: String,
    /// Where the layout and the variables are documented.
    pub(super) source: Vec<String>,
    /// Programs whose presence on PATH says that the tool is there although it has kept nothing yet.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    #[serde(default, rename = "root")]
    pub(super) roots: Vec<Root>,
    #[serde(default)]
    pub(super) set: Vec<SetRow>,
    /// Variables that go in with the value they have outside.
    #[serde(default)]
    pub(super) pass: Vec<String>,
    /// Variables whose value is a path (or several, with colons): only parts that are reachable inside go in.
    #[serde(default)]
    pub(super) pass_path: Vec<String>,
    pub(super) versions: Option<Manager>,
    #[serde(default, rename = "file")]
    pub(super) files: Vec<FileRow>,
}

/// One place where a tool keeps things.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    /// What `{id}` stands for in values and other places.
    pub(super) id: String,
    /// Variables that move the place; the first that is set and names a folder wins.
    #[serde(default)]
    pub(super) var: Vec<String>,
    /// A line of a settings file that moves it.
    pub(super) setting: Option<Setting>,
    /// A folder of this name in the project's parents, for tools that keep things per disk.
    pub(super) nearest: Option<String>,
    /// Where it is otherwise; the first that exists wins, the first of all is the place inside when none does.
    #[serde(default)]
    pub(super) linux: Vec<String>,
    #[serde(default)]
    pub(super) macos: Vec<String>,
    /// Whether a place outside home keeps its path inside, or moves into the private home so that the tool can
    /// write beside what is lent.
    #[serde(default)]
    pub(super) outside_home: OutsideHome,
    /// Entries of which one must be there before a place chosen by a variable is lent whole.
    #[serde(default)]
    pub(super) marker: Vec<String>,
    #[serde(default)]
    pub(super) lend: Vec<LendRow>,
    #[serde(default)]
    pub(super) cache: Vec<CacheRow>,
    /// Files that hold secrets, covered wherever something around them is lent. `*` stands for one name.
    #[serde(default)]
    pub(super) secret: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OutsideHome {
    #[default]
    Stays,
    Moves,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    pub(super) file: String,
    pub(super) key: String,
}

/// A sub-folder that is lent read-only; `.` is the root itself, and a `*` stands for any part of one name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LendRow {
    pub(super) path: String,
    /// What happens to links in it that lead out of it.
    #[serde(default)]
    pub(super) links: Links,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Links {
    #[default]
    Kept,
    /// What they lead to is lent too, at its own path.
    Lent,
}

/// A sub-folder that is lent with a private copy-on-write upper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CacheRow {
    pub(super) path: String,
    /// The name of its upper in the project's cache folder.
    pub(super) name: String,
    #[serde(default)]
    pub(super) absent: Absent,
}

/// What becomes of a cache that is not there outside yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Absent {
    /// An empty one is kept for the project.
    #[default]
    Private,
    /// Nothing; the tool makes it in the private home.
    Skipped,
}

/// A variable that has a value of ours inside.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetRow {
    pub(super) name: String,
    pub(super) value: String,
    /// For those who read the rows.
    #[serde(rename = "why")]
    _why: String,
    pub(super) os: Option<super::Os>,
    /// Set only when this root was found outside.
    pub(super) when_found: Option<String>,
    /// Not set when the project's folder holds this.
    pub(super) unless_project: Option<String>,
}

/// A settings file of which harmless keys are carried into the private home.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRow {
    pub(super) path: String,
    pub(super) format: Format,
    /// `a.b.c`; `*` stands for any part of one name, `{project}` for the project's path.
    pub(super) keys: Vec<String>,
    /// For those who read the rows.
    #[serde(rename = "why")]
    _why: String,
    pub(super) os: Option<super::Os>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Toml,
    /// `key = value`, a line each.
    Lines,
}

/// What goes in of the environment whatever tools there are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvironmentRows {
    pub(super) pass: Vec<String>,
    pub(super) pass_prefix: Vec<String>,
    pub(super) pass_path: Vec<String>,
    pub(super) set: Vec<SetRow>,
}

/// What is never lent, whatever a row or a variable says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NeverRows {
    /// Folders and files, `~` for home.
    pub(super) place: Vec<NeverPlace>,
    /// Names that are covered where they lie at the top of something lent.
    pub(super) name: Vec<String>,
    /// Folders that are private or generated inside, so that a path in them means nothing there.
    pub(super) replaced: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NeverPlace {
    pub(super) path: String,
    #[serde(rename = "why")]
    _why: String,
}

/// What the jail shows of the operating system itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SystemRows {
    pub(super) linux: SystemRow,
    pub(super) macos: SystemRow,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SystemRow {
    /// Folders that are there read-only in every session.
    pub(super) folders: Vec<String>,
    /// Search path entries that follow when none of the person's is a system one.
    pub(super) path: Vec<String>,
    /// Folders of descriptions of terminals.
    pub(super) terminfo: Vec<String>,
    /// Shells to fall back to, best first.
    pub(super) shells: Vec<String>,
    /// Folders of which each entry is one whole package, such as `/opt`.
    pub(super) packages: Vec<String>,
    /// Parts of the generated `/etc` that a value may name.
    pub(super) values: Vec<String>,
    /// Files that hold secrets below the system's folders.
    pub(super) secret: Vec<String>,
}

impl SystemRows {
    pub(super) fn of(&self, os: super::Os) -> &SystemRow {
        match os {
            super::Os::Linux => &self.linux,
            super::Os::Macos => &self.macos,
        }
    }
}

impl Root {
    pub(super) fn candidates(&self, os: super::Os) -> &[String] {
        match os {
            super::Os::Linux => &self.linux,
            super::Os::Macos => &self.macos,
        }
    }
}
