//! What a program says when it cannot do what was asked: the error, its causes, and what would help.

use std::error::Error;

use super::ExitStatus;
use super::console::{CYAN, RED, say};

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

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints `error:`, the numbered causes and every `hint:` to stderr.
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
