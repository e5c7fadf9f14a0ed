//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Parser;
use clap::Subcommand;
use clap::builder::styling::AnsiColor;
use clap::builder::styling::Effects;
use clap::builder::styling::Styles;

/// Your agent works on a copy. You decide what comes back.
#[derive(Debug, Parser)]
#[command(name = "enclos", version, styles = STYLES, max_term_width = 100, disable_help_subcommand = true)]
#[command(about = "Your agent works on a copy. You decide what comes back.", long_about = None)]
#[command(
    subcommand_precedence_over_arg = true,
    args_conflicts_with_subcommands = true,
    override_usage = "enclos [COMMAND]    (without one: enclos run)"
)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Examples:
  enclos run -- claude           an agent in a copy of this folder
  enclos run ~/code/web          a shell in a copy of that folder
  enclos diff web-1              what it changed
  enclos apply web-1 src/        bring the changes in src/ back

On a session's terminal, ctrl-] then d detaches; the session goes on.";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

/// The subcommands, in the order people meet them.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command, or your shell, in a copy of a folder
    Run(Box<RunArgs>),
    /// List sessions
    Sessions(SessionsArgs),
    /// Show what a session changed
    Diff(DiffArgs),
    /// Bring changes into the original
    Apply(ApplyArgs),
    /// Take the last apply back
    Undo(UndoArgs),
    /// Throw a session's copy away
    Discard(DiscardArgs),
    /// Connect this terminal to a running session
    Attach(IdArgs),
    /// Open a shell in a session's copy
    Shell(IdArgs),
    /// End every process of a session
    Stop(IdArgs),
    /// Start a session's command again in the same copy
    Resume(IdArgs),
    /// Explain what a path is to a session, or what a session may do
    Why(WhyArgs),
    /// Show what a project's .enclos.toml asks for, and agree to it
    Trust(TrustArgs),
    /// Write a .enclos.toml for a project
    Init(FolderArgs),
    /// Check what this machine can enforce
    Doctor(DoctorArgs),
    /// Delete discarded copies and leftovers
    Clean,
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

/// What `run` takes.
#[derive(Debug, ClapArgs)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// The folder to copy
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) folder: PathBuf,
    /// The command and its arguments [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// Name the session
    #[arg(long, value_name = "NAME", help_heading = "Session")]
    pub(crate) id: Option<String>,
    /// Leave at once; the session goes on by itself
    #[arg(long, help_heading = "Session")]
    pub(crate) detach: bool,
    /// Say what would be done, and do nothing
    #[arg(long, help_heading = "Session")]
    pub(crate) dry_run: bool,

    /// Apply what is neither risky nor in conflict; `all`: what starts by itself too
    #[arg(long, value_name = "all", num_args = 0..=1, require_equals = true, default_missing_value = "safe", help_heading = "At the end")]
    #[arg(value_parser = ["safe", "all"], hide_possible_values = true, conflicts_with = "discard")]
    pub(crate) apply: Option<String>,
    /// Throw the copy away
    #[arg(long, help_heading = "At the end")]
    pub(crate) discard: bool,

    /// Let a path outside the project be read
    #[arg(long, value_name = "PATH", help_heading = "What the command may do")]
    pub(crate) read: Vec<PathBuf>,
    /// Let a path outside the project be changed directly, without review
    #[arg(long, value_name = "PATH", help_heading = "What the command may do")]
    pub(crate) write: Vec<PathBuf>,
    /// Keep a path of the project out of the copy
    #[arg(long, value_name = "PATH", help_heading = "What the command may do")]
    pub(crate) hide: Vec<OsString>,
    /// Copy another folder along, under the same review
    #[arg(long, value_name = "PATH", help_heading = "What the command may do")]
    pub(crate) with: Vec<PathBuf>,
    /// Set a variable, or hand yours on
    #[arg(
        long,
        value_name = "NAME[=VALUE]",
        help_heading = "What the command may do"
    )]
    pub(crate) env: Vec<OsString>,
    /// Let a Unix socket be connected to
    #[arg(long, value_name = "PATH", help_heading = "What the command may do")]
    pub(crate) socket: Vec<PathBuf>,
    /// No network at all (so far every session is like that)
    #[arg(long, help_heading = "What the command may do")]
    pub(crate) no_network: bool,
    /// No connection to programs of this machine
    #[arg(long, help_heading = "What the command may do")]
    pub(crate) no_local: bool,

    /// How to copy: auto, reflink, clonefile, hybrid, overlay or copy
    #[arg(long, value_name = "METHOD", help_heading = "The copy")]
    pub(crate) clone_method: Option<String>,
    /// Give the command a repository without its past
    #[arg(long, help_heading = "The copy")]
    pub(crate) no_history: bool,
    /// Leave out what cannot be read instead of stopping
    #[arg(long, help_heading = "The copy")]
    pub(crate) leave_out_unreadable: bool,
}

const RUN_HELP: &str = "\
The exit code is the command's own; 125 when Enclos itself failed, 126 when the command cannot be
executed, 127 when it is not found, 128+n when signal n ended it.";

/// What `sessions` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Discarded ones too
    #[arg(long)]
    pub(crate) all: bool,
}

/// What `diff` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// The session's name, or its beginning
    pub(crate) id: String,
    /// Only these files and folders
    pub(crate) paths: Vec<PathBuf>,
    /// Only names and numbers of lines
    #[arg(long, conflicts_with = "json")]
    pub(crate) stat: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `apply` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct ApplyArgs {
    /// The session's name, or its beginning
    pub(crate) id: String,
    /// Only these files and folders; naming one approves it although it starts by itself
    pub(crate) paths: Vec<PathBuf>,
    /// Only these hunks, as `enclos diff` names them
    #[arg(long, value_name = "HUNK-ID")]
    pub(crate) hunk: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `undo` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct UndoArgs {
    /// The session's name, or its beginning
    pub(crate) id: String,
    /// Only these files and folders
    pub(crate) paths: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `discard` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct DiscardArgs {
    /// The session's name, or its beginning
    pub(crate) id: String,
    /// Delete it now instead of keeping it for 7 days
    #[arg(long)]
    pub(crate) now: bool,
}

/// A session.
#[derive(Debug, ClapArgs)]
pub(crate) struct IdArgs {
    /// The session's name, or its beginning
    pub(crate) id: String,
}

/// What `why` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct WhyArgs {
    /// A session's name, or a path
    #[arg(value_name = "ID | PATH")]
    pub(crate) what: OsString,
}

/// A project's folder.
#[derive(Debug, ClapArgs)]
pub(crate) struct FolderArgs {
    /// The project's folder
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) folder: PathBuf,
}

/// What `trust` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrustArgs {
    /// The project's folder
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) folder: PathBuf,
    /// Agree without being asked
    #[arg(long)]
    pub(crate) yes: bool,
}

/// What `doctor` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// A project's folder, to say how it would be copied
    pub(crate) folder: Option<PathBuf>,
}

/// What `completions` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
