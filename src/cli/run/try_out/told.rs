//! What is said of a trial: for people step by step, for machines one JSON document a line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::place::Place;
use crate::cli::Failure;
use crate::cli::console::{CYAN, print};
use crate::system::process::Piece;

/// A command, before it runs.
pub(super) struct Step<'a> {
    pub(super) words: &'a [String],
    pub(super) folder: &'a Path,
    /// What it is for.
    pub(super) what: &'a str,
}

pub(super) struct Teller {
    json: bool,
    /// A person answers.
    asks: bool,
    number: usize,
    /// Where the step before was done.
    folder: PathBuf,
    /// The step that is told, for machines.
    step: Value,
    said: Vec<u8>,
}

impl Teller {
    pub(super) fn new(json: bool, asks: bool) -> Self {
        Self { json, asks, number: 0, folder: PathBuf::new(), step: Value::Null, said: Vec::new() }
    }

    pub(super) fn begin(&self, folder: &Path) -> Result<(), Failure> {
        let answers = if self.asks { "" } else { " Nobody is asked: this program answers by itself, and says so." };
        self.words(&format!(
            "Five minutes without a key: real commands on a scripted agent, in {}.{answers}\n\
             Nothing else is touched, your own runs least of all.\n",
            folder.display()
        ))
    }

    pub(super) fn step(&mut self, step: &Step<'_>) -> Result<(), Failure> {
        self.number += 1;
        self.said.clear();
        let Step { words, folder, what } = step;
        self.step = json!({ "step": self.number, "command": words, "folder": folder, "what": what });
        let goes = if self.folder == *folder { String::new() } else { format!("   $ cd {}\n", folder.display()) };
        self.folder = folder.to_path_buf();
        let typed = words.join(" ");
        self.words(&format!("\n{CYAN}{}.{CYAN:#} {what}\n{goes}   $ {typed}\n", self.number))
    }

    /// What the command of the step says, as it says it.
    pub(super) fn piece(&mut self, piece: &Piece) {
        self.said.extend_from_slice(&piece.bytes);
        let text = String::from_utf8_lossy(&piece.bytes);
        let lines: String = text.split_inclusive('\n').fold(String::new(), |mut lines, line| {
            // Writing to a String cannot fail.
            let _ = write!(lines, "     {line}");
            lines
        });
        // Whoever does not listen any more is told by the exit code.
        let _ = self.words(&lines);
    }

    /// All that the command said.
    pub(super) fn output(&self) -> String {
        String::from_utf8_lossy(&self.said).into_owned()
    }

    pub(super) fn ended(&mut self, code: u8) -> Result<(), Failure> {
        if self.json {
            self.step["exit"] = json!(code);
            self.step["output"] = json!(self.output());
            return print(&format!("{}\n", self.step));
        }
        let meaning = match code {
            0 => "done",
            2 => "a human is needed",
            _ => "refused",
        };
        self.words(&format!("   -> exit {code}: {meaning}\n"))
    }

    /// What the report of the run knows of it.
    pub(super) fn happened(&self, report: &Value) -> Result<(), Failure> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
        let attempts = list("attempts").into_iter().map(|attempt| {
            let reason = attempt["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!(
                "{}, attempt {}: {}{reason}",
                text(&attempt["phase"]),
                attempt["attempt"],
                text(&attempt["outcome"])
            )
        });
        let calls = list("calls").into_iter().map(|call| {
            let answer = call["answer"]["action"]
                .as_str()
                .map_or("waits for an answer".to_owned(), |it| format!("answered {it}"));
            format!("call for a human in {}: {answer}", text(&call["phase"]))
        });
        let happened: Vec<String> = attempts.chain(calls).collect();
        if self.json {
            return print(&format!("{}\n", json!({ "after_step": self.number, "happened": happened })));
        }
        happened.iter().try_for_each(|line| self.words(&format!("   * {line}\n")))
    }

    pub(super) fn ask(&self, question: &str) -> Result<(), Failure> {
        self.words(&format!("\n   {question}"))
    }

    pub(super) fn report(&self, path: &Path, opened: bool) -> Result<(), Failure> {
        let how = if opened { "opened in your browser" } else { "open it in a browser" };
        self.words(&format!("\nThe report is {} ({how}).\n", path.display()))
    }

    pub(super) fn end(&self, place: &Place, report: &Path) -> Result<(), Failure> {
        let (kept, folder) = (place.is_kept(), place.folder().display().to_string());
        if self.json {
            let report = kept.then_some(report);
            return print(&format!(
                "{}\n",
                json!({ "steps": self.number, "folder": folder, "kept": kept, "report": report })
            ));
        }
        if kept {
            self.words(&format!("All of it stays in {folder}; the same commands can be typed in {folder}/project.\n"))?;
        } else {
            self.words(&format!("{folder} is removed now, the report with it; `loa-run try --keep` keeps it.\n"))?;
        }
        self.words("Next, in a repository of your own: `loa-run init --ignore`, `loa-run doctor`, `loa-run run`.\n")
    }

    /// For people.
    fn words(&self, text: &str) -> Result<(), Failure> {
        if self.json { Ok(()) } else { print(text) }
    }
}
