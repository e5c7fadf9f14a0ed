//! From what the core knows to what goes over a wire.

use enclos_paths::AbsPath;
use enclos_paths::ProjectPath;
use enclos_paths::shown;
use enclos_review as review;
use enclos_session::Found;
use enclos_session::Look;
use enclos_session::State;
use enclos_session::TreeLook;

use crate::wire;

pub(crate) fn session(found: &Found) -> wire::Session {
    let record = &found.record;
    let state = match record.state {
        _ if found.is_interrupted() => wire::SessionState::Interrupted,
        State::Preparing => wire::SessionState::Preparing,
        State::Prepared | State::Running { .. } => wire::SessionState::Working,
        State::Ended { .. } => wire::SessionState::Ended,
        State::Discarded { .. } => wire::SessionState::Discarded,
    };
    let exit = match record.state {
        State::Ended { exit, .. } => Some(exit.code()),
        _ => None,
    };
    let project = record.project();
    wire::Session {
        id: record.id.to_string(),
        project: project
            .map(|tree| tree.original.to_string())
            .unwrap_or_default(),
        command: record
            .command
            .iter()
            .map(|part| shown(part.as_encoded_bytes()).to_string())
            .collect(),
        created: record.created,
        state,
        exit,
        method: project.map(|tree| tree.method.clone()).unwrap_or_default(),
        applied: record
            .applies
            .iter()
            .filter(|apply| !apply.undone)
            .map(|apply| apply.files)
            .sum(),
        gaps: record.gaps.clone(),
    }
}

/// A look as a diff; `wanted` narrows it to some paths.
pub(crate) fn diff(id: &str, look: &Look, wanted: &[(AbsPath, ProjectPath)]) -> wire::Diff {
    let taken = look.trees.first().map_or(0, |tree| {
        i64::try_from(tree.review.taken / 1_000_000).unwrap_or(0)
    });
    let trees = look
        .trees
        .iter()
        .map(|tree| diff_tree(tree, wanted))
        .collect();
    wire::Diff {
        version: wire::VERSION,
        session: id.to_owned(),
        taken,
        while_running: look.while_running,
        trees,
    }
}

fn diff_tree(look: &TreeLook, wanted: &[(AbsPath, ProjectPath)]) -> wire::DiffTree {
    let is_wanted = |path: &ProjectPath| {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|(root, below)| *root == look.tree.original && path.is_within(below))
    };
    let review = &look.review;
    wire::DiffTree {
        original: look.tree.original.to_string(),
        files: review
            .files
            .iter()
            .filter(|file| is_wanted(&file.path))
            .map(diff_file)
            .collect(),
        folders: review
            .folders
            .iter()
            .filter(|folder| is_wanted(&folder.path))
            .map(diff_folder)
            .collect(),
        git_files: review.git.as_ref().map_or(0, |git| git.files),
        notes: review
            .notes
            .iter()
            .filter(|note| is_wanted(&note.path))
            .map(note)
            .collect(),
    }
}

fn diff_file(file: &review::FileChange) -> wire::DiffFile {
    let (change, from) = match &file.kind {
        review::ChangeKind::Added => (wire::Change::Added, None),
        review::ChangeKind::Deleted => (wire::Change::Deleted, None),
        review::ChangeKind::Renamed { from } => (wire::Change::Renamed, Some(from.to_string())),
        review::ChangeKind::TypeChanged => (wire::Change::TypeChanged, None),
        review::ChangeKind::ModeOnly => (wire::Change::Mode, None),
        review::ChangeKind::LinkChanged => (wire::Change::Link, None),
        _ => (wire::Change::Modified, None),
    };
    let content = match &file.content {
        review::Content::Text(_) => wire::ContentKind::Text,
        review::Content::Binary => wire::ContentKind::Binary,
        review::Content::Later => wire::ContentKind::Later,
        review::Content::None => wire::ContentKind::None,
        _ => wire::ContentKind::TooLarge,
    };
    wire::DiffFile {
        path: file.path.to_string(),
        path_bytes: path_bytes(&file.path),
        change,
        from,
        before: file.before.as_ref().map(side),
        after: file.after.as_ref().map(side),
        content,
        hunks: file.content.hunks().iter().map(hunk).collect(),
        standing: standing(&file.standing),
        held: file.held.as_ref().map(|held| wire::Held {
            what: held.what.to_owned(),
            when: held.when.to_owned(),
        }),
        hard_linked: file.hard_linked.is_some(),
    }
}

fn path_bytes(path: &ProjectPath) -> Option<String> {
    match std::str::from_utf8(path.as_bytes()) {
        Ok(_) => None,
        Err(_) => Some(
            path.as_bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        ),
    }
}

fn side(state: &review::FileState) -> wire::Side {
    let mode = format!("{:o}", state.mode);
    let empty = wire::Side {
        kind: String::new(),
        mode,
        size: None,
        hash: None,
        target: None,
    };
    match &state.kind {
        review::FileKind::File { size, hash } => wire::Side {
            kind: "file".to_owned(),
            size: Some(*size),
            hash: Some(hash.to_string()),
            ..empty
        },
        review::FileKind::Folder => wire::Side {
            kind: "folder".to_owned(),
            ..empty
        },
        review::FileKind::Link { target } => {
            let target = shown(target.as_os_str().as_encoded_bytes()).to_string();
            wire::Side {
                kind: "link".to_owned(),
                target: Some(target),
                ..empty
            }
        }
    }
}

fn hunk(hunk: &review::Hunk) -> wire::Hunk {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = hunk.lines.iter().map(|line| wire::Line {
        kind: match line.kind {
            review::LineKind::Context => wire::LineKind::Context,
            review::LineKind::Removed => wire::LineKind::Removed,
            review::LineKind::Added => wire::LineKind::Added,
        },
        text: text(&line.bytes),
        newline: line.newline_at_end,
    });
    let range = |lines: review::Lines| wire::Lines {
        start: lines.start,
        count: lines.count,
    };
    wire::Hunk {
        id: hunk.id.to_string(),
        old: range(hunk.old),
        new: range(hunk.new),
        heading: hunk.heading.as_deref().map(text),
        lines: lines.collect(),
    }
}

pub(crate) fn standing(standing: &review::Standing) -> wire::Standing {
    match standing {
        review::Standing::Untouched => wire::Standing::Untouched,
        review::Standing::Merges => wire::Standing::Merges,
        review::Standing::Conflict(conflict) => wire::Standing::Conflict {
            why: conflict_words(conflict),
        },
        _ => wire::Standing::Conflict {
            why: "it was also changed in the original".to_owned(),
        },
    }
}

fn conflict_words(conflict: &review::Conflict) -> String {
    let words = match conflict {
        review::Conflict::BothChanged(review::Meeting::Regions(_)) => {
            "you and the agent changed the same lines"
        }
        review::Conflict::BothChanged(review::Meeting::Mode) => {
            "you and the agent changed its permissions differently"
        }
        review::Conflict::BothChanged(review::Meeting::NoBase(absence)) => {
            return format!(
                "you and the agent both changed it, and {}",
                absence.reason()
            );
        }
        review::Conflict::BothAdded => "you and the agent both added it",
        review::Conflict::DeletedByPerson => "you deleted it, the agent changed it",
        review::Conflict::DeletedByAgent => "the agent deleted it, you changed it",
        review::Conflict::KindsDiffer => "you and the agent made different kinds of things of it",
        _ => "you and the agent both changed it",
    };
    words.to_owned()
}

pub(crate) fn diff_folder(folder: &review::FolderChange) -> wire::DiffFolder {
    let (why, rebuild) = match &folder.why {
        review::Unreviewable::Ignored { .. } => ("the project's ignore rules leave it out", None),
        review::Unreviewable::BuildOutput { rebuild } => {
            ("a build or package manager makes it", *rebuild)
        }
        review::Unreviewable::TooDeep => {
            ("it lies too deep to be reviewed, and is not applied", None)
        }
        _ => ("it cannot be reviewed file by file", None),
    };
    wire::DiffFolder {
        path: folder.path.to_string(),
        files: folder.files,
        why: why.to_owned(),
        rebuild: rebuild.map(ToOwned::to_owned),
    }
}

fn note(note: &review::Note) -> String {
    let what = match note.kind {
        review::NoteKind::Special => "a socket, pipe or device, which stays in the copy",
        review::NoteKind::UnreadableInCopy => "cannot be read in the copy",
        review::NoteKind::UnreadableInOriginal => "cannot be read in the original",
        review::NoteKind::Moving => "changed while it was looked at; look again",
        review::NoteKind::Mount => "another file system is mounted there, so it is left alone",
        review::NoteKind::LeftOut => {
            "was left out of the copy, so what lies there now is not applied"
        }
        review::NoteKind::Reserved => {
            "has a name that Enclos needs for itself, so it is not applied"
        }
        _ => "cannot be reviewed",
    };
    format!("{}: {what}", note.path)
}
