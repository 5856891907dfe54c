//! One file, checked as a kind that was named or that is found here.

use camino::Utf8Path;

use super::checkers::Checkers;
use super::expand::{Input, Met};
use super::input::{Unreadable, read};
use super::mend::{Mended, mend};
use crate::diag::{Budget, Diagnostic, Document, Format};
use crate::schema::{Checker, Kind, Trace, by_content, by_path};

/// What was found in one file.
#[derive(Debug)]
pub(super) struct Checked {
    /// The file, as the reader of the findings knows it.
    pub(super) name: String,
    /// The name of its kind; empty when nobody could tell.
    pub(super) kind: &'static str,
    /// How its kind was found, where nobody named it.
    pub(super) why: Option<String>,
    /// What stands in it; empty when there are no findings.
    pub(super) bytes: Vec<u8>,
    /// In the order of the file.
    pub(super) findings: Vec<Diagnostic>,
    /// For the rules over several files.
    pub(super) trace: Option<Trace>,
    /// What it would be with everything mended that is safe to mend, where that was asked for.
    pub(super) mended: Option<Mended>,
}

/// What became of one input.
#[derive(Debug)]
pub(super) enum Looked {
    Checked(Box<Checked>),
    /// Met on a walk, and no document of ours.
    Passed,
    Unreadable(Unreadable),
}

/// How to look.
#[derive(Debug)]
pub(super) struct Look<'a> {
    pub(super) checkers: &'a Checkers,
    /// The kind that was named.
    pub(super) kind: Option<&'a str>,
    pub(super) budget: Budget,
    /// What standard input is called.
    pub(super) stdin_name: Option<&'a str>,
    /// Whether to mend.
    pub(super) mends: bool,
    /// Whether links are followed wherever they lead.
    pub(super) follows: bool,
}

impl Look<'_> {
    /// Reads and checks one file.
    pub(super) fn at(&self, input: &Input) -> Looked {
        let bytes = match read(input, &self.budget, self.follows) {
            Ok(bytes) => bytes,
            Err(error) => return Looked::Unreadable(error),
        };
        let stdin = input.path == "-";
        let path = if stdin { Utf8Path::new(self.stdin_name.unwrap_or("-")) } else { &input.path };
        let name = if path == "-" { "<stdin>" } else { path.as_str() }.to_owned();
        let (kind, why) = match self.kind {
            Some(kind) => (kind, None),
            None => match self.recognised(path, &bytes) {
                Ok((kind, why)) => (kind.name(), Some(why)),
                Err(finding) if input.met != Met::Walked || lies_among_checkpoints(path) => {
                    return Looked::Checked(Box::new(unknown(name, bytes, *finding)));
                }
                Err(_) => return Looked::Passed,
            },
        };
        let checker = self.checkers.of(kind);
        Looked::Checked(Box::new(Checked { name, why, ..self.checked(checker, bytes, path) }))
    }

    fn checked(&self, checker: &Checker, bytes: Vec<u8>, path: &Utf8Path) -> Checked {
        let mut examined = checker.examine(&bytes, path, &self.budget);
        let mended = if self.mends { mend(checker, &bytes, path, &self.budget, &examined.findings) } else { None };
        let mut bytes = bytes;
        if let Some(mended) = &mended {
            bytes = mended.text.clone().into_bytes();
            examined = checker.examine(&bytes, path, &self.budget);
        }
        // Traced files may be found wrong later, when they are held against each other.
        if examined.findings.is_empty() && examined.trace.is_none() {
            bytes = Vec::new();
        }
        let (findings, trace) = (examined.findings, examined.trace);
        Checked { name: String::new(), kind: checker.kind().name(), why: None, bytes, findings, trace, mended }
    }

    /// The kind by the path, or else by the first document in the file.
    fn recognised(&self, path: &Utf8Path, bytes: &[u8]) -> Result<(&Kind, String), Box<Diagnostic>> {
        let kinds = self.checkers.kinds();
        if let Some(found) = by_path(kinds, path) {
            return Ok(found);
        }
        let format = match path.extension() {
            Some("json") => Format::Json,
            Some("jsonl") => Format::JsonLines,
            _ => Format::Yaml,
        };
        let document = Document::read(bytes, format, &self.budget)?;
        by_content(kinds, document.root()).ok_or_else(|| {
            Diagnostic::error("unknown-kind", "nobody can tell what kind of document this is")
                .at(document.root().head())
                .expected("a path or keys that tell its kind")
                .found(document.root().describe())
                .help("name the kind: `loa-validate KIND FILE`; `loa-validate list` shows the kinds")
                .into()
        })
    }
}

/// Whether a file lies where only checkpoints and their siblings do.
fn lies_among_checkpoints(path: &Utf8Path) -> bool {
    path.parent().and_then(Utf8Path::file_name) == Some(".loa-checkpoint")
}

fn unknown(name: String, bytes: Vec<u8>, finding: Diagnostic) -> Checked {
    Checked { name, kind: "", why: None, bytes, findings: vec![finding], trace: None, mended: None }
}
