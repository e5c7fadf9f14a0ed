//! Folders that tools fill and fill again, as data.
//!
//! Only names that nobody gives to a folder of sources are here, or names that count beside a certain file. `build`
//! and `dist` are left to the ignore rules, because in many projects they are written by hand.

use std::collections::HashMap;

use enclos_paths::ProjectPath;

use crate::held::fold;
use crate::source::Tree;

/// A tool's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) rebuild: Option<&'static str>,
}

struct Row {
    /// The folder's name, folded.
    name: &'static str,
    /// The file beside it that makes it one, if the name alone does not; or, with `/` in front, the file in it.
    mark: &'static str,
    rebuild: Option<&'static str>,
}

const fn row(name: &'static str, mark: &'static str, rebuild: Option<&'static str>) -> Row {
    Row {
        name,
        mark,
        rebuild,
    }
}

/// The first row that fits counts: the lock file says which package manager it was.
const TABLE: &[Row] = &[
    row("node_modules", "pnpm-lock.yaml", Some("pnpm install")),
    row("node_modules", "yarn.lock", Some("yarn install")),
    row("node_modules", "bun.lock", Some("bun install")),
    row("node_modules", "package-lock.json", Some("npm ci")),
    row("node_modules", "", Some("npm install")),
    row("bower_components", "", Some("bower install")),
    row("target", "Cargo.toml", Some("cargo build")),
    row("target", "pom.xml", Some("mvn compile")),
    row("target", "build.sbt", Some("sbt compile")),
    row(".venv", "uv.lock", Some("uv sync")),
    row(".venv", "poetry.lock", Some("poetry install")),
    row(
        ".venv",
        "requirements.txt",
        Some("python -m venv .venv && .venv/bin/pip install -r requirements.txt"),
    ),
    row(".venv", "", None),
    row("venv", "/pyvenv.cfg", None),
    row("env", "/pyvenv.cfg", None),
    row("__pycache__", "", None),
    row(".pytest_cache", "", None),
    row(".mypy_cache", "", None),
    row(".ruff_cache", "", None),
    row(".tox", "", Some("tox")),
    row(".nox", "", Some("nox")),
    row(".pnpm-store", "", Some("pnpm install")),
    row(".next", "", Some("next build")),
    row(".nuxt", "", Some("nuxt build")),
    row(".svelte-kit", "", Some("svelte-kit sync")),
    row(".turbo", "", None),
    row(".parcel-cache", "", None),
    row(".gradle", "", Some("gradle build")),
    row("build", "build.gradle", Some("gradle build")),
    row("build", "build.gradle.kts", Some("gradle build")),
    row("build", "/CMakeCache.txt", Some("cmake --build build")),
    row(".build", "Package.swift", Some("swift build")),
    row("deriveddata", "", None),
    row("pods", "Podfile.lock", Some("pod install")),
    row("_build", "mix.exs", Some("mix compile")),
    row("deps", "mix.exs", Some("mix deps.get")),
    row("dist-newstyle", "", Some("cabal build")),
    row(".stack-work", "", Some("stack build")),
    row("zig-cache", "", Some("zig build")),
    row(".zig-cache", "", Some("zig build")),
    row(".terraform", "", Some("terraform init")),
];

/// Remembers which folders of the copy are output.
pub(super) struct Outputs<'a> {
    copy: &'a Tree,
    known: HashMap<ProjectPath, Option<Output>>,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(copy: &'a Tree) -> Self {
        let known = HashMap::new();
        Self { copy, known }
    }

    /// What `folder` is, if it is some tool's.
    pub(super) fn of(&mut self, folder: &ProjectPath) -> Option<Output> {
        let copy = self.copy;
        *self
            .known
            .entry(folder.clone())
            .or_insert_with_key(|folder| find(copy, folder))
    }
}

fn find(copy: &Tree, folder: &ProjectPath) -> Option<Output> {
    let name = fold::fold(folder.name().as_encoded_bytes());
    let mut rows = TABLE.iter().filter(|row| row.name == name);
    rows.find(|row| row.mark.is_empty() || is_marked(copy, folder, row.mark))
        .map(|row| Output {
            rebuild: row.rebuild,
        })
}

fn is_marked(copy: &Tree, folder: &ProjectPath, mark: &str) -> bool {
    let path = match (mark.strip_prefix('/'), folder.parent()) {
        (Some(inside), _) => folder.join(inside),
        (None, Some(parent)) => parent.join(mark),
        (None, None) => ProjectPath::new(mark),
    };
    path.is_ok_and(|path| matches!(copy.stat(&path), Ok(Some(_))))
}
