//! What starts by itself, as data: a name, what runs, when, and where that is documented.
//!
//! A pattern is one or more names; it matches the end of a path at any depth. With `/` at its end it matches the
//! folder and everything below. `*` stands for the start of a single name. Patterns are written folded (see
//! [`super::fold`]).

/// One thing that starts by itself.
pub(super) struct Row {
    pub(super) pattern: &'static str,
    pub(super) what: &'static str,
    pub(super) when: &'static str,
    pub(super) source: &'static str,
}

const fn row(
    pattern: &'static str,
    what: &'static str,
    when: &'static str,
    source: &'static str,
) -> Row {
    Row {
        pattern,
        what,
        when,
        source,
    }
}

const GIT: &str = "at your next git command of that kind";
const COMMIT: &str = "at your next commit or other git command with hooks";
const ENTER: &str = "when a shell with it enters the folder";
const OPEN: &str = "when an editor opens the project";
const AGENT: &str = "when the agent next starts in the project";
const INSTALL: &str = "at the next command of that package manager";
const PYTHON: &str = "when Python starts in that environment or folder";
const PUSH: &str = "on the server, with its secrets, at your next push";

/// The table. A row more is a line more here.
pub(super) const TABLE: &[Row] = &[
    row(
        ".enclos.toml",
        "the rules that Enclos itself runs this project under",
        "when the next session starts",
        "core/README.md of Enclos",
    ),
    // Git.
    row(
        ".gitmodules",
        "where git fetches submodules from, and how",
        GIT,
        "https://git-scm.com/docs/gitmodules",
    ),
    row(
        ".husky/",
        "a git hook",
        COMMIT,
        "https://typicode.github.io/husky/",
    ),
    row(
        ".githooks/",
        "a git hook, where core.hooksPath says so",
        COMMIT,
        "https://git-scm.com/docs/githooks",
    ),
    row(
        "lefthook.yml",
        "commands of git hooks",
        COMMIT,
        "https://lefthook.dev/configuration/",
    ),
    row(
        ".lefthook.yml",
        "commands of git hooks",
        COMMIT,
        "https://lefthook.dev/configuration/",
    ),
    row(
        ".pre-commit-config.yaml",
        "commands of git hooks",
        COMMIT,
        "https://pre-commit.com/",
    ),
    // Shells and version managers.
    row(
        ".envrc",
        "a shell script of direnv",
        ENTER,
        "https://direnv.net/man/direnv.1.html",
    ),
    row(
        "mise.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".mise.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        "mise.local.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".mise.local.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        "mise/config.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".mise/config.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".config/mise.toml",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".config/mise/",
        "hooks, environment and tools of mise",
        ENTER,
        "https://mise.jdx.dev/configuration.html",
    ),
    row(
        ".tool-versions",
        "which programs mise and asdf put first in the path",
        ENTER,
        "https://asdf-vm.com/manage/configuration.html",
    ),
    // Editors and debuggers.
    row(
        ".vscode/tasks.json",
        "a task of VS Code, some of which run on opening a folder",
        OPEN,
        "https://code.visualstudio.com/docs/editor/workspace-trust",
    ),
    row(
        ".vscode/settings.json",
        "settings of VS Code that name programs to run",
        OPEN,
        "https://code.visualstudio.com/docs/editor/workspace-trust",
    ),
    row(
        ".vscode/launch.json",
        "what VS Code runs to debug",
        OPEN,
        "https://code.visualstudio.com/docs/editor/workspace-trust",
    ),
    row(
        ".vscode/mcp.json",
        "a server that VS Code starts for its agent",
        OPEN,
        "https://code.visualstudio.com/docs/copilot/chat/mcp-servers",
    ),
    row(
        "*.code-workspace",
        "settings and tasks of VS Code",
        OPEN,
        "https://code.visualstudio.com/docs/editor/workspaces",
    ),
    row(
        ".idea/",
        "run configurations and tools of a JetBrains editor",
        OPEN,
        "https://www.jetbrains.com/help/idea/project-security.html",
    ),
    row(
        ".devcontainer/",
        "commands that build and enter a container, some of them on the host",
        OPEN,
        "https://containers.dev/implementors/json_reference/",
    ),
    row(
        ".devcontainer.json",
        "commands that build and enter a container, some of them on the host",
        OPEN,
        "https://containers.dev/implementors/json_reference/",
    ),
    row(
        ".zed/",
        "settings and tasks of Zed that name programs to run",
        OPEN,
        "https://zed.dev/docs/configuring-zed",
    ),
    row(
        ".nvim.lua",
        "a script of Neovim (exrc)",
        OPEN,
        "https://neovim.io/doc/user/options.html#'exrc'",
    ),
    row(
        ".nvimrc",
        "a script of Neovim (exrc)",
        OPEN,
        "https://neovim.io/doc/user/options.html#'exrc'",
    ),
    row(
        ".exrc",
        "a script of Vim or Neovim (exrc)",
        OPEN,
        "https://neovim.io/doc/user/options.html#'exrc'",
    ),
    row(
        ".dir-locals.el",
        "variables of Emacs that may be code",
        OPEN,
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    row(
        ".dir-locals-2.el",
        "variables of Emacs that may be code",
        OPEN,
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    row(
        ".gdbinit",
        "a script of gdb",
        "when gdb starts in the folder",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Auto_002dloading.html",
    ),
    row(
        ".lldbinit",
        "a script of lldb",
        "when lldb starts in the folder",
        "https://lldb.llvm.org/man/lldb.html",
    ),
    // Agents.
    row(
        ".mcp.json",
        "a server that an agent starts",
        AGENT,
        "https://docs.claude.com/en/docs/claude-code/mcp",
    ),
    row(
        ".claude/",
        "hooks, permissions and commands of Claude Code",
        AGENT,
        "https://docs.claude.com/en/docs/claude-code/hooks",
    ),
    row(
        ".cursor/",
        "servers, hooks and rules of Cursor",
        AGENT,
        "https://docs.cursor.com/context/mcp",
    ),
    row(
        ".codex/",
        "settings and servers of Codex",
        AGENT,
        "https://developers.openai.com/codex/config-reference",
    ),
    row(
        ".gemini/",
        "settings and servers of Gemini CLI",
        AGENT,
        "https://geminicli.com/docs/reference/configuration/",
    ),
    // Package managers and toolchains.
    row(
        ".cargo/config.toml",
        "which programs cargo runs as compiler, linker and runner",
        INSTALL,
        "https://doc.rust-lang.org/cargo/reference/config.html",
    ),
    row(
        ".cargo/config",
        "which programs cargo runs as compiler, linker and runner",
        INSTALL,
        "https://doc.rust-lang.org/cargo/reference/config.html",
    ),
    row(
        "rust-toolchain.toml",
        "which toolchain rustup downloads and runs",
        INSTALL,
        "https://rust-lang.github.io/rustup/overrides.html",
    ),
    row(
        "rust-toolchain",
        "which toolchain rustup downloads and runs",
        INSTALL,
        "https://rust-lang.github.io/rustup/overrides.html",
    ),
    row(
        ".npmrc",
        "where npm and pnpm install from, and with which scripts and shell",
        INSTALL,
        "https://docs.npmjs.com/cli/configuring-npm/npmrc",
    ),
    row(
        ".yarnrc.yml",
        "which program yarn itself is, and its plugins",
        INSTALL,
        "https://yarnpkg.com/configuration/yarnrc",
    ),
    row(
        ".yarnrc",
        "which program yarn itself is",
        INSTALL,
        "https://classic.yarnpkg.com/lang/en/docs/yarnrc/",
    ),
    row(
        ".yarn/",
        "yarn itself and its plugins",
        INSTALL,
        "https://yarnpkg.com/configuration/yarnrc",
    ),
    row(
        ".pnpmfile.cjs",
        "code that pnpm runs",
        INSTALL,
        "https://pnpm.io/pnpmfile",
    ),
    row(
        ".pnpmfile.mjs",
        "code that pnpm runs",
        INSTALL,
        "https://pnpm.io/pnpmfile",
    ),
    row(
        "bunfig.toml",
        "code that bun loads first, and where it installs from",
        INSTALL,
        "https://bun.sh/docs/runtime/bunfig",
    ),
    row(
        "conftest.py",
        "code that pytest loads before any test",
        "when pytest or an editor looks for tests",
        "https://docs.pytest.org/en/stable/reference/fixtures.html#conftest-py-sharing-fixtures-across-multiple-files",
    ),
    row(
        "*.pth",
        "code that Python runs at start",
        PYTHON,
        "https://docs.python.org/3/library/site.html",
    ),
    row(
        "sitecustomize.py",
        "code that Python runs at start",
        PYTHON,
        "https://docs.python.org/3/library/site.html",
    ),
    row(
        "usercustomize.py",
        "code that Python runs at start",
        PYTHON,
        "https://docs.python.org/3/library/site.html",
    ),
    // Servers.
    row(
        ".github/workflows/",
        "a workflow of GitHub",
        PUSH,
        "https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax",
    ),
    row(
        ".gitlab-ci.yml",
        "a pipeline of GitLab",
        PUSH,
        "https://docs.gitlab.com/ci/yaml/",
    ),
    row(
        ".circleci/",
        "a pipeline of CircleCI",
        PUSH,
        "https://circleci.com/docs/configuration-reference/",
    ),
];

/// A folder that git would take for a repository.
pub(super) const GIT_FOLDER: Row = row(
    "",
    "a folder that git takes for a repository, with its own configuration and hooks",
    "when you run git in it, or a prompt does",
    "https://git-scm.com/docs/git-config#Documentation/git-config.txt-safebareRepository",
);

/// A folder that `core.hooksPath` names.
pub(super) const HOOK_FOLDER: Row = row(
    "",
    "a git hook: core.hooksPath of this repository names the folder",
    COMMIT,
    "https://git-scm.com/docs/githooks",
);

/// A build script of cargo.
pub(super) const BUILD_SCRIPT: Row = row(
    "",
    "a build script, which rust-analyzer runs",
    "when an editor with rust-analyzer opens the project, and at the next build",
    "https://rust-analyzer.github.io/book/security.html",
);

/// A proc macro.
pub(super) const PROC_MACRO: Row = row(
    "",
    "a procedural macro, which rust-analyzer loads",
    "when an editor with rust-analyzer opens the project, and at the next build",
    "https://rust-analyzer.github.io/book/security.html",
);
