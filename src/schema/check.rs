//! A kind made ready to check documents.

use std::collections::HashSet;

use camino::Utf8Path;
use jsonschema::{Draft, Registry, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::explain::Case;
use super::instance::Tree;
use super::{Kind, Sequence, Subject, Trace, strangers};
use crate::diag::{Budget, Diagnostic, Document, documents};

/// How closely a document is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Also warns of keys that are tolerated in others' documents.
    pub strict: bool,
    /// Takes what the contract does not say and others write: other names of a phase, words in capitals, times without a
    /// zone. Each is a warning then.
    pub lenient: bool,
}

/// A kind whose schema is compiled: make one, then check many documents.
#[derive(Debug)]
pub struct Checker {
    kind: Kind,
    schema: Value,
    validator: Validator<Tree>,
    reading: Reading,
}

/// Compiles a schema of ours through a reference to it. Given as it is, it would first be held against the schema of all
/// schemas, which costs more than the rest; a test does that for each of ours. What is held against one here is the
/// reference, and by draft 4 that one is small.
fn compiled(schema: &Value) -> Result<Validator<Tree>, Box<dyn std::error::Error>> {
    let id = schema["$id"].as_str().unwrap_or_default();
    let registry = Registry::new().add(id, schema)?.prepare()?;
    let options = jsonschema::options_for::<Tree>().should_validate_formats(true).with_draft(Draft::Draft4);
    Ok(options.with_registry(&registry).build(&json!({ "$ref": id }))?)
}

/// What is known of a file after the check.
#[derive(Debug)]
pub struct Examined {
    /// Every finding, in the order of the file.
    pub findings: Vec<Diagnostic>,
    /// What the rules over several files need, of a kind that has such rules.
    pub trace: Option<Trace>,
}

impl Checker {
    /// A document that is wrong in more places is cut short here, so that it costs no more memory than a good one.
    pub const MOST_FINDINGS: usize = 1_000;

    /// Compiles the kind's schema.
    ///
    /// # Panics
    /// Never for a kind of ours: a test compiles the schema of each.
    #[must_use]
    pub fn new(kind: &Kind) -> Self {
        let schema = kind.schema();
        let validator = compiled(&schema).expect("a generated schema compiles");
        Self { kind: *kind, schema, validator, reading: Reading::default() }
    }

    /// The same, reading documents otherwise.
    #[must_use]
    pub fn reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Every finding about a file, in the order of the file, up to [`Checker::MOST_FINDINGS`]. `path` says where it came
    /// from, for the format and the rules.
    #[must_use]
    pub fn check(&self, bytes: &[u8], path: &Utf8Path, budget: &Budget) -> Vec<Diagnostic> {
        self.examine(bytes, path, budget).findings
    }

    /// As [`Checker::check`], and what the rules over several files need.
    #[must_use]
    pub fn examine(&self, bytes: &[u8], path: &Utf8Path, budget: &Budget) -> Examined {
        let mut sequence: Vec<Box<dyn Sequence>> =
            self.kind.sequence_rules().iter().map(|rule| (rule.begin)()).collect();
        let mut trace = None;
        let findings = documents(bytes, self.kind.format_of(path), budget).flat_map(|document| match document {
            Ok(document) => {
                let subject = Subject { path, document: &document, schema: &self.schema };
                let mut findings = self.check_document(&document, path);
                findings.extend(sequence.iter_mut().flat_map(|rule| rule.next(&subject)));
                trace = trace.take().or_else(|| self.kind.trace(&subject));
                findings
            }
            Err(finding) => vec![*finding],
        });
        let findings = bounded(findings);
        Examined { findings, trace }
    }

    /// The findings about one document that was read already. Of errors by the schema there is at most one more than
    /// [`Checker::MOST_FINDINGS`], so that a caller sees that there are more.
    #[must_use]
    pub fn check_document(&self, document: &Document, path: &Utf8Path) -> Vec<Diagnostic> {
        let mut findings = self.by_schema(document);
        let subject = Subject { path, document, schema: &self.schema };
        findings.extend(self.kind.lint_rules().iter().flat_map(|rule| (rule.check)(&subject)));
        if self.reading.strict {
            let said: HashSet<Option<String>> = findings.iter().map(|finding| finding.pointer.clone()).collect();
            let warnings = strangers::warnings(&self.schema, document.root());
            findings.extend(warnings.into_iter().filter(|warning| !said.contains(&warning.pointer)));
        }
        findings.sort_by(|a, b| (a.span, &a.pointer, a.code).cmp(&(b.span, &b.pointer, b.code)));
        findings
    }

    fn by_schema(&self, document: &Document) -> Vec<Diagnostic> {
        // Nearly every document is valid, and to see that costs less than to collect what is not.
        if self.validator.is_valid(document.root()) {
            return Vec::new();
        }
        let case = Case { schema: &self.schema, document, reading: self.reading };
        let errors = self.validator.iter_errors(document.root());
        let mut findings: Vec<Diagnostic> =
            errors.flat_map(|error| case.explain(&error)).take(Self::MOST_FINDINGS + 1).collect();
        only_the_cause(&mut findings);
        findings
    }

    /// The value that a file of one document holds, once nothing is wrong with it.
    ///
    /// # Errors
    /// The findings, when there is at least one error among them; also where the type is stricter than its schema.
    pub fn read<T: DeserializeOwned>(
        &self,
        bytes: &[u8],
        path: &Utf8Path,
        budget: &Budget,
    ) -> Result<T, Vec<Diagnostic>> {
        let document = Document::read(bytes, self.kind.format_of(path), budget).map_err(|finding| vec![*finding])?;
        let findings = self.check_document(&document, path);
        if findings.iter().any(|finding| finding.severity == crate::diag::Severity::Error) {
            return Err(findings);
        }
        serde_json::from_value(document.to_json()).map_err(|error| {
            let mut finding = Diagnostic::error("type", format!("the document cannot be read: {error}"));
            finding.span = document.span_of("");
            vec![finding]
        })
    }
}

/// A value of the wrong type breaks its other rules too; only the type is said.
fn only_the_cause(findings: &mut Vec<Diagnostic>) {
    let mistyped: HashSet<Option<String>> =
        findings.iter().filter(|finding| finding.code == "type").map(|finding| finding.pointer.clone()).collect();
    findings.retain(|finding| finding.code == "type" || !mistyped.contains(&finding.pointer));
}

/// As many findings as anybody wants, and one that says so when there are more.
fn bounded(findings: impl Iterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let most = Checker::MOST_FINDINGS;
    let mut kept: Vec<Diagnostic> = findings.take(most + 1).collect();
    if kept.len() > most {
        kept.truncate(most);
        kept.push(
            Diagnostic::error("too-many", format!("the check stopped after {most} findings"))
                .help("mend these first, and check again"),
        );
    }
    kept
}
