//! A kind made ready to check documents.

use std::collections::HashSet;

use camino::Utf8Path;
use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::explain::Case;
use super::{Kind, Subject};
use crate::diag::{Budget, Diagnostic, Document, documents};

/// A kind whose schema is compiled: make one, then check many documents.
#[derive(Debug)]
pub struct Checker {
    kind: Kind,
    schema: Value,
    validator: Validator,
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
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&schema).expect("a generated schema compiles");
        Self { kind: *kind, schema, validator }
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
        let documents = documents(bytes, self.kind.format_of(path), budget);
        let findings = documents.flat_map(|document| match document {
            Ok(document) => self.check_document(&document, path).0,
            Err(finding) => vec![*finding],
        });
        bounded(findings)
    }

    /// The findings about one document that was read already, and the document as JSON has it. Of errors by the schema
    /// there is at most one more than [`Checker::MOST_FINDINGS`], so that a caller sees that there are more.
    #[must_use]
    pub fn check_document(&self, document: &Document, path: &Utf8Path) -> (Vec<Diagnostic>, Value) {
        let json = document.to_json();
        let case = Case { schema: &self.schema, document };
        let errors = self.validator.iter_errors(&json);
        let mut findings: Vec<Diagnostic> =
            errors.flat_map(|error| case.explain(&error)).take(Self::MOST_FINDINGS + 1).collect();
        only_the_cause(&mut findings);
        let subject = Subject { path, document };
        findings.extend(self.kind.lint_rules().iter().flat_map(|rule| (rule.check)(&subject)));
        findings.sort_by(|a, b| (a.span, &a.pointer, a.code).cmp(&(b.span, &b.pointer, b.code)));
        (findings, json)
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
        let (findings, json) = self.check_document(&document, path);
        if findings.iter().any(|finding| finding.severity == crate::diag::Severity::Error) {
            return Err(findings);
        }
        serde_json::from_value(json).map_err(|error| {
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
