//! The list of sessions.

use enclos_api::wire::Session;
use enclos_api::wire::SessionState;
use enclos_api::wire::Sessions;
use enclos_paths::AbsPath;

use super::Paint;
use super::Style;
use super::short;

/// One line a session, columns as wide as what is in them.
pub(crate) fn sessions(list: &Sessions, home: &AbsPath, now: i64, style: Style) -> String {
    if list.sessions.is_empty() {
        return "No sessions. Start one: enclos run FOLDER -- COMMAND\n".to_owned();
    }
    let rows: Vec<[String; 5]> = list
        .sessions
        .iter()
        .map(|session| row(session, home, now))
        .collect();
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for (row, session) in rows.iter().zip(&list.sessions) {
        let paint = match session.state {
            SessionState::Working => Paint::Good,
            SessionState::Interrupted => Paint::Warn,
            SessionState::Discarded | SessionState::Preparing => Paint::Dim,
            SessionState::Ended => Paint::Strong,
        };
        let cell = |at: usize| format!("{:width$}", row[at], width = widths[at]);
        text.push_str(&format!(
            "{}  {}  {}  {}  {}\n",
            style.paint(Paint::Name, &cell(0)),
            style.paint(paint, &cell(1)),
            style.paint(Paint::Dim, &cell(2)),
            cell(3),
            style.paint(Paint::Dim, &row[4]),
        ));
    }
    text
}

fn row(session: &Session, home: &AbsPath, now: i64) -> [String; 5] {
    let state = match (session.state, session.exit) {
        (SessionState::Ended, Some(0)) => "ended".to_owned(),
        (SessionState::Ended, Some(code)) => format!("ended ({code})"),
        (state, _) => format!("{state:?}").to_lowercase(),
    };
    let command = if session.command.is_empty() {
        "shell".to_owned()
    } else {
        session.command.join(" ")
    };
    let command: String = if command.chars().count() > 50 {
        command.chars().take(49).chain(['…']).collect()
    } else {
        command
    };
    [
        session.id.clone(),
        state,
        age(now - session.created),
        short(&session.project, home),
        command,
    ]
}

/// `12 s`, `5 min`, `3 h`, `2 d`.
fn age(milliseconds: i64) -> String {
    let seconds = (milliseconds / 1000).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        assert_eq!(age(-5), "0 s");
        assert_eq!(age(59_999), "59 s");
        assert_eq!(age(3_600_000), "1 h");
        assert_eq!(age(200_000_000), "2 d");
    }
}
