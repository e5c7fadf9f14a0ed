//! Questions on the person's terminal, and whether there is one.

use std::io::BufRead;
use std::io::IsTerminal;
use std::io::Write;

use crate::show::Paint;
use crate::show::Style;

/// Whether somebody is there: input and errors are a terminal, so questions are seen and can be answered.
pub(crate) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// One possible answer: the key to type, and what it means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) key: char,
    pub(crate) words: &'static str,
}

/// Asks until one of `answers` is typed; an empty line, or the end of input, means the first one.
pub(crate) fn ask(question: &str, answers: &[Answer]) -> char {
    let style = Style::for_errors();
    let default = answers.first().map_or(' ', |answer| answer.key);
    let choices: Vec<String> = answers
        .iter()
        .map(|answer| {
            format!(
                "{} {}",
                style.paint(Paint::Name, &format!("[{}]", answer.key)),
                answer.words
            )
        })
        .collect();
    let prompt = format!("{question}\n  {}  ", choices.join("   "));
    loop {
        let mut out = std::io::stderr();
        // A terminal that cannot be written to is about to end this process anyway.
        let _ = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return default,
            Ok(_) => {}
        }
        let Some(typed) = line.trim().chars().next() else {
            return default;
        };
        let typed = typed.to_ascii_lowercase();
        if answers.iter().any(|answer| answer.key == typed) {
            return typed;
        }
    }
}
