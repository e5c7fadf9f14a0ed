//! Machines made of words, and what would be lent on them.

mod hostile;
mod managers;
mod tools;
mod typical;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::*;

/// Parsed once for all machines.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::built_in().unwrap());

/// A machine that exists only in a map.
#[derive(Debug, Clone)]
struct Machine {
    nodes: BTreeMap<AbsPath, Node>,
    outside: Outside,
    inside: Inside,
}

#[derive(Debug, Clone)]
enum Node {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

impl Machine {
    /// Ada's Linux with the usual programs of the system and a project in `~/p`.
    fn linux() -> Self {
        let outside = Outside {
            os: Os::Linux,
            home: path("/home/ada"),
            project: path("/home/ada/p"),
            path: ["/usr/local/bin", "/usr/bin", "/bin"]
                .map(OsString::from)
                .to_vec(),
            vars: BTreeMap::new(),
            shell: path("/bin/bash"),
            protected: Vec::new(),
            readable: Vec::new(),
        };
        let inside = Inside {
            home: path("/home/ada"),
            project: path("/home/ada/p"),
            tmp: path("/tmp"),
            user: "ada".into(),
            session: "calm-fox".into(),
        };
        let machine = Self {
            nodes: BTreeMap::new(),
            outside,
            inside,
        };
        let machine = machine.file("/usr/bin/git", "");
        machine
            .link("/bin", "usr/bin")
            .dir("/usr/local/bin")
            .file("/usr/bin/bash", "")
            .file("/usr/bin/sh", "")
            .dir("~/p")
    }

    /// Ada's Mac, with Apple's command line tools.
    fn mac() -> Self {
        let mut machine = Self::linux();
        machine.nodes.clear();
        machine.outside.os = Os::Macos;
        machine.outside.home = path("/Users/ada");
        machine.outside.project = path("/Users/ada/p");
        machine.outside.shell = path("/bin/zsh");
        machine.outside.path = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
            .map(OsString::from)
            .to_vec();
        machine.inside.home = path("/Users/ada/.enclos.noindex/state/home");
        machine.inside.project = path("/Users/ada/.enclos.noindex/p");
        machine.inside.tmp = path("/private/tmp/enclos-501/1a2b3c4d");
        machine
            .file("/bin/zsh", "")
            .dir("/usr/bin")
            .dir("/usr/sbin")
            .dir("/sbin")
            .dir("/Library/Developer/CommandLineTools/usr/bin")
            .link(
                "/var/db/xcode_select_link",
                "/Library/Developer/CommandLineTools",
            )
            .dir("~/p")
    }

    fn at(&self, text: &str) -> AbsPath {
        match text.strip_prefix("~/") {
            Some(below) => self.outside.home.resolve(below),
            None => path(text),
        }
    }

    fn node(mut self, at: &str, node: Node) -> Self {
        let at = self.at(at);
        let parents = std::iter::successors(at.parent(), AbsPath::parent);
        for parent in parents.collect::<Vec<_>>() {
            self.nodes.entry(parent).or_insert(Node::Folder);
        }
        self.nodes.insert(at, node);
        self
    }

    fn dir(self, at: &str) -> Self {
        self.node(at, Node::Folder)
    }

    fn file(self, at: &str, text: &str) -> Self {
        self.node(at, Node::File(text.as_bytes().to_vec()))
    }

    fn link(self, at: &str, target: &str) -> Self {
        let target = match target.strip_prefix("~/") {
            Some(_) => self.at(target).as_path().to_owned(),
            None => target.into(),
        };
        self.node(at, Node::Link(target))
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        let value = match value.strip_prefix("~/") {
            Some(_) => self.at(value).as_path().into(),
            None => OsString::from(value),
        };
        self.outside.vars.insert(name.into(), value);
        self
    }

    /// Puts entries before the system's on the search path.
    fn on_path(mut self, entries: &[&str]) -> Self {
        let mut all: Vec<OsString> = entries
            .iter()
            .map(|entry| {
                if entry.starts_with("~/") {
                    self.at(entry).as_path().into()
                } else {
                    OsString::from(entry)
                }
            })
            .collect();
        all.append(&mut self.outside.path);
        self.outside.path = all;
        self
    }

    fn lend(&self) -> Lending {
        find(&CATALOGUE, &self.outside, &self.inside, self)
    }
}

impl Probe for Machine {
    fn kind(&self, path: &AbsPath) -> Option<Kind> {
        // As for the kernel, links in the parents are followed.
        let real = match path.parent() {
            Some(parent) => self.real(&parent, 0)?.child(path.name()?).ok()?,
            None => path.clone(),
        };
        Some(match self.nodes.get(&real)? {
            Node::Folder => Kind::Folder,
            Node::File(_) => Kind::File,
            Node::Link(_) => Kind::Link,
        })
    }

    fn read_link(&self, path: &AbsPath) -> Option<PathBuf> {
        let real = self.real(&path.parent()?, 0)?.child(path.name()?).ok()?;
        match self.nodes.get(&real)? {
            Node::Link(target) => Some(target.clone()),
            _ => None,
        }
    }

    fn read_small_file(&self, path: &AbsPath) -> Option<Vec<u8>> {
        match self.nodes.get(&self.real(path, 0)?)? {
            Node::File(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    fn list_dir(&self, path: &AbsPath) -> Vec<OsString> {
        let Some(real) = self.real(path, 0) else {
            return Vec::new();
        };
        let below = self
            .nodes
            .keys()
            .filter(|node| node.parent().as_ref() == Some(&real));
        below
            .filter_map(|node| node.name().map(OsString::from))
            .collect()
    }

    fn resolve(&self, path: &AbsPath) -> Option<AbsPath> {
        self.real(path, 0)
    }
}

impl Machine {
    fn real(&self, path: &AbsPath, depth: u8) -> Option<AbsPath> {
        if depth > 40 {
            return None;
        }
        let Some(parent) = path.parent() else {
            return Some(path.clone());
        };
        let at = self.real(&parent, depth + 1)?.child(path.name()?).ok()?;
        match self.nodes.get(&at)? {
            Node::Link(target) => self.real(&at.parent()?.resolve(target), depth + 1),
            _ => Some(at),
        }
    }
}

impl Lending {
    fn paths(&self) -> Vec<String> {
        self.path.iter().map(ToString::to_string).collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        let found = self.env.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.to_str().unwrap().to_owned())
    }

    /// The lent folders with the marks of their access.
    fn shown(&self) -> Vec<String> {
        let line = |folder: &Folder| {
            let access = match &folder.access {
                Access::ReadOnly => "read ".to_owned(),
                Access::Cache {
                    name,
                    lower: Lower::Present,
                } => format!("cache {name} "),
                Access::Cache {
                    name,
                    lower: Lower::Absent,
                } => format!("empty {name} "),
            };
            let from = if folder.outside == folder.inside {
                String::new()
            } else {
                format!(" <- {}", folder.outside)
            };
            format!("{access}{}{from}", folder.inside)
        };
        self.folders.iter().map(line).collect()
    }

    fn said(&self) -> Vec<String> {
        self.notes.iter().map(ToString::to_string).collect()
    }

    fn file(&self, at: &str) -> Option<&Contents> {
        self.files
            .iter()
            .find(|file| file.inside_home.as_bytes() == at.as_bytes())
            .map(|file| &file.contents)
    }

    fn text(&self, at: &str) -> Option<String> {
        match self.file(at)? {
            Contents::Bytes(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
            Contents::Link(_) => None,
        }
    }

    /// Everything, for snapshots.
    fn whole(&self) -> String {
        let mut out = vec!["# folders".to_owned()];
        out.extend(self.shown());
        out.push("# covered".into());
        out.extend(self.covered.iter().map(ToString::to_string));
        out.push("# environment".into());
        out.extend(
            self.env
                .iter()
                .map(|(name, value)| format!("{}={}", name.display(), value.display())),
        );
        out.push("# files".into());
        for file in &self.files {
            out.push(match &file.contents {
                Contents::Link(target) => format!("{} -> {}", file.inside_home, target.display()),
                Contents::Bytes(bytes) => {
                    format!(
                        "{}: {}",
                        file.inside_home,
                        String::from_utf8_lossy(bytes).trim().replace('\n', " | ")
                    )
                }
            });
        }
        out.push("# notes".into());
        out.extend(self.said());
        out.join("\n")
    }
}
