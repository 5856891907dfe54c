//! The end of a log, fit to be shown: no escapes, no secrets, no line without end.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::policy::Redactor;
use crate::system::files;
use crate::text::{cut, last_written};

/// How much of a log is read.
const WINDOW: u64 = 64 * 1024;
/// How long a line may be, in characters.
const LONGEST: usize = 300;

/// The last lines of a log, at most so many; none where it cannot be read. What was written is without secrets already, as
/// far as they were known then. Of what an agent writes in JSON only what a person would read is taken.
#[must_use]
pub fn tail(path: &Path, lines: usize, writer: Writer, redactor: &Redactor) -> Vec<String> {
    let read = || {
        let mut file = files::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
        let mut bytes = Vec::new();
        file.take(WINDOW).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>((bytes, length > WINDOW))
    };
    read().map_or_else(
        |_| Vec::new(),
        |(bytes, is_cut)| last_lines(&String::from_utf8_lossy(&bytes), is_cut, lines, (writer, redactor)),
    )
}

fn last_lines(text: &str, is_cut: bool, most: usize, (writer, redactor): (Writer, &Redactor)) -> Vec<String> {
    // Of a line that begins before what was read nobody knows what it hides.
    let text = if is_cut { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
    let text = redactor.text(text);
    let text = match writer {
        Writer::Program => text,
        Writer::Agent => in_words(&text),
    };
    let lines: Vec<String> =
        text.lines().map(|line| cut(last_written(line), LONGEST)).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

/// Who wrote a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A program, for people.
    Program,
    /// An agent, whose events are lines of JSON, and the gate behind it.
    Agent,
}

impl Writer {
    /// Who writes the logs of a phase that an agent works on, or none does.
    #[must_use]
    pub fn of(is_by_agent: bool) -> Self {
        if is_by_agent { Self::Agent } else { Self::Program }
    }
}

/// An agent's events as a person would have seen them: what was said, which commands were run, and what they printed.
fn in_words(text: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut in_pieces = false;
    for line in text.lines() {
        let Ok(event @ Value::Object(_)) = serde_json::from_str::<Value>(line) else {
            shown.push(line.to_owned());
            continue;
        };
        let is_piece = event["delta"] == true;
        if let (true, Some(last), Some(piece)) = (is_piece && in_pieces, shown.last_mut(), event["content"].as_str()) {
            last.push_str(piece);
            continue;
        }
        in_pieces = is_piece;
        let mut words = Vec::new();
        collect(&event, &mut words);
        // Most agents say the last thing again as their result.
        words.retain(|word| shown.last() != Some(word));
        shown.extend(words);
    }
    shown.join("\n")
}

/// The texts in an event that are for people, in their order.
fn collect(value: &Value, words: &mut Vec<String>) {
    const SHOWN: [&str; 9] =
        ["text", "content", "result", "command", "output", "aggregated_output", "message", "error", "errorMessage"];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if SHOWN.contains(&key.as_str()) => words.push(text.trim().to_owned()),
                    Value::Object(_) | Value::Array(_) => collect(value, words),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        _ => {}
    }
    words.retain(|word| !word.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_events_are_shown_as_what_was_said_and_done() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/transcripts");
        for (agent, did, said) in [
            ("claude-code", "printf hi", "Written."),
            ("codex", "printf hi", "Written."),
            ("opencode", "echo one", "All done."),
            ("gemini", "echo one", "All done."),
            ("qwen", "echo one", "All done."),
            ("pi", "echo one", "All done."),
        ] {
            let path = format!("{folder}/{agent}/tool.jsonl");
            let lines = tail(path.as_ref(), 30, Writer::Agent, &Redactor::default());
            assert!(lines.iter().any(|line| line.contains(did)), "{agent}: {lines:?}");
            assert!(lines.iter().all(|line| !line.contains('{')), "{agent}: {lines:?}");
            assert_eq!(lines.last().map(String::as_str), Some(said), "{agent}");
            assert_eq!(lines.iter().filter(|line| *line == said).count(), 1, "{agent}: said once: {lines:?}");
        }
        let both = "{\"type\":\"system\"}\n{\"type\":\"x\",\"text\":\"a\\nb\"}\ngate: no\n";
        assert_eq!(in_words(both), "a\nb\ngate: no");
    }

    #[test]
    fn the_end_is_thirty_lines_without_the_secrets_in_them() {
        let redactor = Redactor::new([("TOKEN", "hunter2hunter2")]);
        let text = (0..100).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n\n") + "\n\n";
        let by = (Writer::Program, &redactor);
        let lines = last_lines(&format!("{text}the token is hunter2hunter2"), false, 30, by);
        assert_eq!((lines.len(), lines[0].as_str()), (30, "line 71"));
        assert!(lines[29].contains("the token is") && !lines[29].contains("hunter2"), "{}", lines[29]);
        assert_eq!(last_lines("ter2hunter2\nwhole", true, 30, by), ["whole"]);
        assert_eq!(last_lines("one endless line", true, 30, by), Vec::<String>::new());
    }
}
