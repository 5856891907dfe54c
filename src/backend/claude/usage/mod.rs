//! What a subscription was used for, counted in the logs that Claude Code keeps of its sessions (Usage and Rate Limiting
//! of the backend layer).
//!
//! Every message counts once, in the window that its own time lies in: a message stands on several lines, and a session that is
//! continued as another one repeats what went before.

mod entry;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use jiff::Timestamp;

use crate::policy::{Answers, Tally, Usage, Window};
use crate::system::files;
use entry::{Entry, What, entry};

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// Counts what the logs below this folder say about the two windows. A folder that is not there holds nothing.
pub(super) fn usage(projects: &Path, cycle: Window, week: Window) -> Usage {
    let mut count = Count::new(cycle, week);
    let since = cycle.start.min(week.start);
    for file in logs_since(projects, since) {
        if read(&file, &mut count).is_err() {
            count.unread += 1;
        }
    }
    count.done()
}

/// Logs that were written to since; an older one says nothing about the windows.
fn logs_since(projects: &Path, since: Timestamp) -> Vec<PathBuf> {
    let walk = WalkBuilder::new(projects).standard_filters(false).build();
    let logs = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let logs = logs.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "jsonl"));
    let written = |entry: &ignore::DirEntry| Timestamp::try_from(entry.metadata().ok()?.modified().ok()?).ok();
    logs.filter(|entry| written(entry).is_none_or(|at| at >= since)).map(ignore::DirEntry::into_path).collect()
}

fn read(file: &Path, count: &mut Count) -> io::Result<()> {
    let mut file = BufReader::new(files::open(file)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        count.line(&String::from_utf8_lossy(&line));
    }
}

/// What was counted so far.
#[derive(Debug)]
struct Count {
    windows: [(Tally, HashSet<String>); 2],
    /// The figures of each message, of which every line tells as much as was known when it was written.
    seen: HashMap<String, (u64, u64)>,
    unread: u64,
}

impl Count {
    fn new(cycle: Window, week: Window) -> Self {
        let empty = |window| (Tally { window, prompts: 0, sessions: 0, models: BTreeMap::new() }, HashSet::new());
        Self { windows: [cycle, week].map(empty), seen: HashMap::new(), unread: 0 }
    }

    fn line(&mut self, line: &str) {
        match entry(line) {
            _ if line.trim().is_empty() => {}
            Ok(Some(entry)) => self.entry(entry),
            Ok(None) => {}
            Err(_) => self.unread += 1,
        }
    }

    fn entry(&mut self, Entry { id, session, at, what }: Entry) {
        let told = self.seen.get(&id).copied();
        let (input, output) = if let What::Answer { input, output, .. } = what { (input, output) } else { (0, 0) };
        let (before_in, before_out) = told.unwrap_or_default();
        self.seen.insert(id, (input.max(before_in), output.max(before_out)));
        let more = Answers {
            answers: u64::from(told.is_none()),
            input_tokens: input.saturating_sub(before_in),
            output_tokens: output.saturating_sub(before_out),
        };
        for (tally, sessions) in self.windows.iter_mut().filter(|(tally, _)| tally.window.holds(at)) {
            match &what {
                What::Prompt => tally.prompts += more.answers,
                What::Answer { model, .. } => tally.models.entry(model.clone()).or_default().add(more),
            }
            if told.is_none() && !sessions.contains(&session) {
                sessions.insert(session.clone());
                tally.sessions = sessions.len();
            }
        }
    }

    fn done(self) -> Usage {
        let [(cycle, _), (week, _)] = self.windows;
        Usage { cycle, week, unread: self.unread }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::system::files::{Appender, Privacy, ensure_folder};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn prompt(id: &str, session: &str, at: &str) -> Value {
        json!({ "type": "user", "uuid": id, "promptId": id, "sessionId": session, "timestamp": at,
            "userType": "external", "message": { "role": "user", "content": "Go on" } })
    }

    fn answer(id: &str, session: &str, at: &str, (input, output): (u64, u64)) -> Value {
        json!({ "type": "assistant", "sessionId": session, "timestamp": at, "message": { "id": id,
            "model": "claude-sonnet-4-5", "usage": { "input_tokens": input, "output_tokens": output } } })
    }

    /// The cycle begins at ten on a Sunday, the week on the Monday before.
    fn counted(logs: &[(&str, &str)]) -> Usage {
        let place = tempfile::tempdir().expect("a folder");
        for (name, text) in logs {
            let path = place.path().join(name);
            ensure_folder(path.parent().expect("in a folder")).expect("made");
            Appender::open(&path, Privacy::Private).and_then(|mut log| log.append(text.as_bytes())).expect("written");
        }
        let window = |start: &str, end: &str| Window { start: at(start), end: at(end) };
        let cycle = window("2026-03-01T10:00:00Z", "2026-03-01T15:00:00Z");
        usage(place.path(), cycle, window("2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"))
    }

    fn lines(lines: &[Value]) -> String {
        lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
    }

    /// Two lines of one message, a session that was continued under another name, and lines that nobody can read.
    #[test]
    fn every_message_counts_once_and_a_bad_line_costs_only_itself() {
        let first = [
            prompt("p1", "s1", "2026-03-01T12:00:00Z"),
            answer("m1", "s1", "2026-03-01T12:00:01Z", (5000, 1)),
            answer("m1", "s1", "2026-03-01T12:00:02Z", (5000, 40)),
        ];
        let again = [&first[..], &[prompt("p2", "s2", "2026-03-01T12:30:00Z")]].concat();
        let broken = format!("{}{{\"type\": \"assist\n\n\u{fffd}\n{}", lines(&first), lines(&again[3..]));
        for logs in [
            &[("a/s1.jsonl", lines(&first).as_str()), ("a/s2.jsonl", lines(&again).as_str())][..],
            &[("a/s1.jsonl", broken.as_str()), ("a/notes.txt", "no log")],
        ] {
            let found = counted(logs);
            assert_eq!((found.cycle.prompts, found.cycle.sessions), (2, 2), "{logs:?}");
            let answers = Answers { answers: 1, input_tokens: 5000, output_tokens: 40 };
            assert_eq!(found.cycle.models, BTreeMap::from([("claude-sonnet-4-5".to_owned(), answers)]), "{logs:?}");
            assert_eq!(found.unread, if logs[0].1 == broken { 2 } else { 0 });
        }
    }

    /// A session that began before the cycle counts with what was said in it since.
    #[test]
    fn a_message_counts_in_the_windows_of_its_own_time() {
        let log = lines(&[
            prompt("old", "s", "2026-02-22T23:59:59Z"),
            prompt("monday", "s", "2026-02-23T00:00:00Z"),
            prompt("before", "s", "2026-03-01T09:59:59.999Z"),
            prompt("first", "s", "2026-03-01T15:30:00+05:30"),
            prompt("last", "s", "2026-03-01T11:29:59-03:30"),
            prompt("after", "s", "2026-03-01T15:00:00Z"),
        ]);
        let found = counted(&[("deep/er/s.jsonl", &log)]);
        assert_eq!((found.cycle.prompts, found.cycle.sessions), (2, 1));
        assert_eq!((found.week.prompts, found.week.sessions), (5, 1));
        assert_eq!(counted(&[]).week.prompts, 0);
    }
}
