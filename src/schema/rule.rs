//! Rules: what is asked for beyond reading a document into its type, and the words that explain each.

use camino::Utf8Path;
use serde_json::Value;

use crate::diag::{Diagnostic, Document};

/// What a rule asks for, why, and how to mend what breaks it: what `loa-validate explain` shows.
#[derive(Debug, Clone, Copy)]
pub struct Explanation {
    /// Stable name, in kebab case; the code of its findings.
    pub id: &'static str,
    /// What the rule asks for, in one sentence without a full stop.
    pub about: &'static str,
    /// Why anybody should care.
    pub why: &'static str,
    /// What to do about a finding.
    pub mend: &'static str,
    /// A document that breaks this rule and no other, and one just beside it that does not; `None` where no text can show
    /// it.
    pub example: Option<Example>,
}

/// Two documents that differ in what a rule asks for.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The name of their kind.
    pub kind: &'static str,
    /// Where they lie.
    pub path: &'static str,
    /// What breaks the rule.
    pub wrong: &'static str,
    /// What does not.
    pub right: &'static str,
}

/// What a schema cannot say about a document: one rule, which finds nothing where it does not apply.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its words.
    pub text: Explanation,
    /// The rule. It also sees documents that the schema refuses.
    pub check: fn(&Subject<'_>) -> Vec<Diagnostic>,
}

/// A rule over the documents of one file in their order, such as the lines of a log.
#[derive(Debug, Clone, Copy)]
pub struct SequenceRule {
    /// Its words.
    pub text: Explanation,
    /// Begins with a file.
    pub begin: fn() -> Box<dyn Sequence>,
}

/// What a rule remembers while it walks through a file.
pub trait Sequence {
    /// Looks at the next document. It also sees documents that the schema refuses.
    fn next(&mut self, subject: &Subject<'_>) -> Vec<Diagnostic>;
}

/// A document as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Where the document was read from.
    pub path: &'a Utf8Path,
    /// The document.
    pub document: &'a Document,
    /// The schema of its kind.
    pub schema: &'a Value,
}
