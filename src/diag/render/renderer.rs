//! What a renderer is given, and what it gives back.

use serde::Serialize;

use crate::diag::{Diagnostic, Severity};

/// What was found in one file.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    /// The file, as the reader of the findings knows it.
    pub file: &'a str,
    /// The name of the kind of its documents.
    pub kind: &'a str,
    /// How the kind was found; `None` where somebody named it.
    pub because: Option<&'a str>,
    /// What stands in it, to show lines of; may be empty when there are no findings.
    pub bytes: &'a [u8],
    /// In the order of the file.
    pub findings: &'a [Diagnostic],
}

impl Checked<'_> {
    /// Whether an error is among the findings.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// A file that could not be read, which is no finding about a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The file.
    pub file: String,
    /// Why, in one line.
    pub message: String,
}

/// What all files together came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were checked.
    pub files: usize,
    /// Files with an error among them.
    pub invalid: usize,
    /// Findings, warnings included.
    pub findings: usize,
    /// Files that could not be read; not among `files`.
    pub unread: Vec<Unread>,
}

impl Summary {
    /// Counts one file.
    pub fn add(&mut self, checked: &Checked<'_>) {
        self.files += 1;
        self.invalid += usize::from(checked.is_invalid());
        self.findings += checked.findings.len();
    }
}

/// The program that checked, for formats that name it.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Where to read about it.
    pub url: &'static str,
    /// What is known about the rule with this code.
    pub rule: fn(&str) -> Option<RuleWords>,
}

/// A rule in words, for formats that carry them along.
#[derive(Debug, Clone, Copy)]
pub struct RuleWords {
    /// What it asks for.
    pub about: &'static str,
    /// Why.
    pub why: &'static str,
    /// How to mend what it finds.
    pub mend: &'static str,
}

/// One format: text, a piece at a time.
pub trait Renderer {
    /// Takes one file and gives what can be written now.
    fn file(&mut self, checked: &Checked<'_>) -> String;

    /// Gives the rest, once every file was taken.
    fn end(&mut self, summary: &Summary) -> String;
}
