//! Escalation reports as a runtime may leave them: a file of its own, a block in a text, lines on the output.
//!
//! A candidate is a mapping with `trigger`, or with two other keys of a report, `state` or `context` among them: every
//! checkpoint and session file has an id and a phase. A checkpoint is none. Whether a candidate is a right report is the
//! verdict's to say.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Deserializer, Value};

use super::journal::{Footprint, Grounds};
use super::{OutputLine, ReportSeen};
use crate::diag::{Budget, Format, documents};
use crate::system::clock::Millis;

/// The keys of a report besides `trigger` (Escalation Report Schema).
const KEYS: [&str; 6] = ["execution_id", "session_id", "phase", "timestamp", "state", "context"];

/// The most lines of a report in JSON among other lines.
const LONGEST_BLOCK: usize = 1000;

/// Where reports are looked for.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(super) workspace: &'a Path,
    /// The workspace and every other folder that belongs to the case.
    pub(super) folders: &'a [PathBuf],
    /// Where files are read.
    pub(super) grounds: &'a Grounds,
    /// The manifest's glob, which replaces the search.
    pub(super) glob: Option<&'a Regex>,
    /// When the case began, in milliseconds since the epoch.
    pub(super) epoch: u64,
}

impl Places<'_> {
    /// The candidates among the files that are new or changed since `before`, oldest first; `now` bounds their times.
    pub(super) fn reports(&self, before: &Footprint, now: Millis) -> Vec<ReportSeen> {
        let after = Footprint::of(self.folders);
        let mut found = Vec::new();
        for (path, print) in after.since(before) {
            let name = self.name(path);
            if self.glob.is_some_and(|glob| !path.starts_with(self.workspace) || !glob.is_match(&name)) {
                continue;
            }
            let written = u64::try_from(print.modified / 1_000_000).unwrap_or(u64::MAX);
            let at = written.saturating_sub(self.epoch).min(now);
            let text = self.grounds.file(path).map(|file| file.text).unwrap_or_default();
            let documents: Vec<Value> = match self.glob {
                Some(_) => in_file(path, &text).into_iter().filter(is_told).collect(),
                None if mentions(&text) => in_file(path, &text).into_iter().filter(is_candidate).collect(),
                None => Vec::new(),
            };
            found.extend(documents.into_iter().map(|document| ReportSeen { path: name.clone(), document, at }));
        }
        found
    }

    fn name(&self, path: &Path) -> String {
        let relative = self.folders.iter().find_map(|folder| path.strip_prefix(folder).ok());
        relative.unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// The candidates that were printed, whole or as a block among other lines.
pub(super) fn in_output(output: &[OutputLine]) -> Vec<ReportSeen> {
    let mut found = Vec::new();
    for stream in ["stdout", "stderr"] {
        let lines: Vec<&OutputLine> = output.iter().filter(|line| line.stream == stream).collect();
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        for (line, document) in blocks(&texts) {
            found.push(ReportSeen { path: "output".to_owned(), document, at: lines[line].at });
        }
    }
    found.sort_by_key(|report| report.at);
    found
}

/// A glob of a manifest as a pattern on a relative path: `*` and `?` stay within a folder, `**` does not.
pub(super) fn glob(pattern: &str) -> Result<Regex, regex::Error> {
    let mut regex = String::from("^");
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (taken, part) = match c {
            '*' if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            c => (c.len_utf8(), regex::escape(&c.to_string())),
        };
        regex += &part;
        rest = &rest[taken..];
    }
    Regex::new(&(regex + "$"))
}

/// A text read as one YAML document.
pub(super) fn yaml(text: &str) -> Option<Value> {
    let document = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next()?;
    Some(document.ok()?.to_json())
}

fn is_candidate(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    let has_body = ["state", "context"].iter().any(|key| fields.get(*key).is_some_and(Value::is_object));
    let keys = KEYS.iter().filter(|key| fields.contains_key(**key)).count();
    !is_checkpoint(value) && (fields.contains_key("trigger") || (has_body && keys >= 2))
}

/// What has a checkpoint's required fields at its top is one.
fn is_checkpoint(value: &Value) -> bool {
    ["phase", "exit_code", "summary"].iter().all(|key| value.get(key).is_some())
}

/// What the manifest points at need not look like a report to be looked at.
fn is_told(value: &Value) -> bool {
    value.is_object() && !is_checkpoint(value)
}

/// Whether a text can hold a candidate at all; most files cannot, and are not parsed.
fn mentions(text: &str) -> bool {
    ["trigger", "state", "context"].iter().any(|key| text.contains(key))
}

fn in_file(path: &Path, text: &str) -> Vec<Value> {
    let whole = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => serde_json::from_str(text).ok(),
        Some("yaml" | "yml") => yaml(text),
        _ => None,
    };
    match whole {
        Some(document) => vec![document],
        None => blocks(&text.lines().collect::<Vec<_>>()).into_iter().map(|(_, document)| document).collect(),
    }
}

/// The candidates among lines, each with the line where it begins.
fn blocks(lines: &[&str]) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let block = json_block(&lines[at..]).or_else(|| yaml_block(&lines[at..]));
        match block {
            Some((length, document)) => {
                if is_candidate(&document) {
                    found.push((at, document));
                }
                at += length.max(1);
            }
            None => at += 1,
        }
    }
    found
}

/// A JSON object that begins with this line, and how many lines it takes.
fn json_block(lines: &[&str]) -> Option<(usize, Value)> {
    let first = lines.first()?.trim_start();
    if !first.starts_with('{') {
        return None;
    }
    if let Ok(value) = serde_json::from_str(first) {
        return Some((1, value));
    }
    let text = lines[..lines.len().min(LONGEST_BLOCK)].join("\n");
    let mut values = Deserializer::from_str(&text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let length = text[..values.byte_offset()].matches('\n').count() + 1;
    Some((length, value))
}

/// A YAML mapping that begins with this line, which holds a key of a report, and how many lines it takes.
fn yaml_block(lines: &[&str]) -> Option<(usize, Value)> {
    static FIRST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:trigger|execution_id|session_id|phase|timestamp|state|context):(?:\s|$)").expect("tested")
    });
    static KEY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(?:[\w-]+:(?:\s|$)|-\s)").expect("tested"));
    let first = lines.first().filter(|line| FIRST.is_match(line))?;
    let indent = first.len() - first.trim_start().len();
    let belongs = |line: &&&str| {
        let Some(dedented) = line.get(indent..).filter(|_| line[..indent.min(line.len())].trim().is_empty()) else {
            return line.trim().is_empty();
        };
        dedented.trim().is_empty() || dedented.starts_with([' ', '\t']) || KEY.is_match(dedented)
    };
    let block: Vec<&str> = lines.iter().take_while(belongs).map(|line| line.get(indent..).unwrap_or("")).collect();
    let document = yaml(&block.join("\n"))?;
    Some((block.len(), document))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes what the judge finds")]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(text: &str) -> Vec<Value> {
        blocks(&text.lines().collect::<Vec<_>>()).into_iter().map(|(_, document)| document).collect()
    }

    #[test]
    fn what_is_a_candidate() {
        for (document, expected) in [
            (json!({ "trigger": "manual" }), true),
            (json!({ "state": {}, "execution_id": "e" }), true),
            (json!({ "context": {}, "state": "RUNNING" }), true),
            (json!({ "execution_id": "e", "session_id": "s", "phase": "design" }), false),
            (json!({ "state": {} }), false),
            (json!({ "execution_id": "e", "phase": "design", "exit_code": 2, "summary": "", "context": {} }), false),
            (json!(["trigger"]), false),
        ] {
            assert_eq!(is_candidate(&document), expected, "{document}");
        }
    }

    #[test]
    fn blocks_are_found_among_other_lines() {
        let yaml = "design failed\n\nexecution_id: e\ntrigger: manual\nstate:\n  phases:\n    - phase: design\n\n\
                    context:\n  suggested_actions: [look]\nthat was it\ntrigger happy";
        let expected = json!({
            "execution_id": "e", "trigger": "manual", "state": { "phases": [{ "phase": "design" }] },
            "context": { "suggested_actions": ["look"] },
        });
        assert_eq!(lines(yaml), [expected]);
        let fenced = "# Report\n```yaml\n  trigger: timeout\n  phase: audit\n```\n";
        assert_eq!(lines(fenced), [json!({ "trigger": "timeout", "phase": "audit" })]);
        let json_lines = "x\n{\n  \"trigger\": \"manual\"\n}\n{\"a\":1}\n{\"trigger\":\"timeout\"}\n{broken\n";
        assert_eq!(lines(json_lines), [json!({ "trigger": "manual" }), json!({ "trigger": "timeout" })]);
        assert!(lines("the trigger: was nothing\nsee {trigger}\n").is_empty());
    }

    #[test]
    fn files_are_found_by_content_or_by_the_manifests_glob() {
        let place = tempfile::tempdir().expect("a folder");
        let folders = [place.path().to_path_buf()];
        let before = Footprint::of(&folders);
        std::fs::create_dir(place.path().join("out")).expect("made");
        for (name, text) in [
            ("out/report.md", "words\n\n```json\n{\"trigger\": \"manual\"}\n```\n"),
            ("design.yaml", "phase: design\nexit_code: 2\nsummary: s\ncontext: {}\nexecution_id: e\n"),
            ("r.yml", "kind: mine\nphase: design\n"),
        ] {
            std::fs::write(place.path().join(name), text).expect("written");
        }
        let grounds = Grounds::new(place.path().to_path_buf(), Vec::new());
        let places = Places { workspace: place.path(), folders: &folders, grounds: &grounds, glob: None, epoch: 0 };
        let found = places.reports(&before, 5);
        assert_eq!(
            found,
            [ReportSeen { path: "out/report.md".to_owned(), document: json!({ "trigger": "manual" }), at: 5 }]
        );
        let glob = glob("*.yml").expect("a glob");
        let found = Places { glob: Some(&glob), ..places }.reports(&before, 5);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "r.yml");
    }

    #[test]
    fn globs_stay_within_a_folder_unless_told() {
        for (pattern, path, expected) in [
            ("out/*.yaml", "out/a.yaml", true),
            ("out/*.yaml", "out/deep/a.yaml", false),
            ("out/**/*.yaml", "out/deep/a.yaml", true),
            ("out/**/*.yaml", "out/a.yaml", true),
            ("**", "any/thing", true),
            ("a?c", "abc", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(glob(pattern).expect("a glob").is_match(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_printed_report_has_the_time_of_its_first_line() {
        let line = |at, stream: &str, text: &str| OutputLine { at, stream: stream.to_owned(), text: text.to_owned() };
        let output = [
            line(1, "stderr", "x"),
            line(2, "stdout", "{"),
            line(3, "stderr", "}"),
            line(4, "stdout", "\"trigger\":1}"),
        ];
        let expected = ReportSeen { path: "output".to_owned(), document: json!({ "trigger": 1 }), at: 2 };
        assert_eq!(in_output(&output), [expected]);
    }
}
