//! What a program says when it cannot do what was asked: the error, its causes, and what would help.

use std::error::Error;
use std::ffi::OsString;

use serde_json::{Value, json};

use super::ExitStatus;
use super::console::{CYAN, RED, print, say};
use crate::diag::in_one_line;
use crate::text::plain;

/// An operation that failed, with the status to end with and hints for the reader.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: ExitStatus,
    error: Box<dyn Error>,
    hints: Vec<String>,
}

impl Failure {
    pub(super) fn new(status: ExitStatus, error: impl Into<Box<dyn Error>>) -> Self {
        Self { status, error: error.into(), hints: Vec::new() }
    }

    /// The error in one text, its causes left out.
    pub(super) fn text(&self) -> String {
        self.error.to_string()
    }

    /// The same with its causes.
    pub(super) fn with_causes(&self) -> String {
        in_one_line(self.error.as_ref())
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What went wrong here and there, as one failure: nobody wants to hear of it one at a time.
    pub(super) fn and(self, other: Self) -> Self {
        let Self { status, error, hints } = self;
        let error = format!("{error}\n{}", other.error).into();
        Self { status, error, hints: [hints, other.hints].concat() }
    }

    /// Prints the same for machines, on standard output: `{"error": {"code", "message", "hints"}}`.
    pub(super) fn print_json(&self) {
        print_error(self.status, &self.with_causes(), &self.hints);
    }

    /// Prints `error:`, the causes and every `hint:` to stderr.
    pub(super) fn print(&self) {
        say(format_args!("{RED}error:{RED:#} {}", self.error));
        let mut cause = self.error.source();
        while let Some(error) = cause {
            say(format_args!("  because: {error}"));
            cause = error.source();
        }
        for hint in &self.hints {
            say(format_args!("{CYAN}hint:{CYAN:#} {hint}"));
        }
    }
}

/// An error as one line of JSON on standard output. Where that cannot be written, the exit code says the rest.
pub(super) fn print_error(status: ExitStatus, message: &str, hints: &[String]) {
    let _ = print(&format!("{}\n", as_json(status, message, hints)));
}

/// For machines, which have no use for colours.
fn as_json(status: ExitStatus, message: &str, hints: &[String]) -> Value {
    let hints: Vec<String> = hints.iter().map(|hint| plain(hint)).collect();
    json!({ "error": { "code": status.code(), "message": plain(message), "hints": hints } })
}

/// Whether a command line asks for JSON, as far as its words show it: also one that cannot be parsed.
pub(super) fn asks_for_json(words: impl IntoIterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.into_iter().take_while(|word| word != "--").collect();
    let named = words.windows(2).any(|two| two[0] == "--format" && two[1] == "json");
    named || words.iter().any(|word| word == "--json" || word == "--format=json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_by_a_word_of_the_command_line() {
        for (line, asked) in [
            ("status --json", true),
            ("--json run --plam x", true),
            ("checkpoint a.yaml --format json", true),
            ("checkpoint a.yaml --format=json", true),
            ("checkpoint a.yaml --format json-lines", false),
            ("agent run -- --json", false),
            ("status", false),
        ] {
            assert_eq!(asks_for_json(line.split(' ').map(OsString::from)), asked, "{line}");
        }
    }

    #[test]
    fn an_error_for_machines_has_no_colours() {
        let message = format!("1 problem\n{RED}error[config-key]{RED:#}: no such key");
        let told = as_json(ExitStatus::Config, &message, &[format!("{CYAN}look{CYAN:#}")]);
        assert_eq!(told["error"]["message"], "1 problem\nerror[config-key]: no such key");
        assert_eq!(told["error"]["hints"], json!(["look"]));
    }
}
