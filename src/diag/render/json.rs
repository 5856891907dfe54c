//! For machines: one JSON document. The keys and their meaning are a contract with whoever reads them.

use serde_json::{Value, json};

use super::{Checked, Renderer, Summary};
use crate::diag::Diagnostic;

/// The version of what [`Json`] and `json-lines` write.
pub(super) const VERSION: u32 = 1;

/// All findings in one document, once the last is known.
#[derive(Debug, Default)]
pub(super) struct Json {
    findings: Vec<Value>,
    recognised: Vec<Value>,
}

impl Renderer for Json {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        self.recognised.extend(recognised(checked));
        self.findings.extend(checked.findings.iter().map(|finding| of_kind(checked, finding)));
        String::new()
    }

    fn end(&mut self, summary: &Summary) -> String {
        let mut document = json!({
            "version": VERSION,
            "files": summary.files,
            "invalid": summary.invalid,
            "findings": self.findings,
            "unreadable": summary.unread,
        });
        if !self.recognised.is_empty() {
            document["recognised"] = std::mem::take(&mut self.recognised).into();
        }
        format!("{document:#}\n")
    }
}

/// Which kind a file was taken for, and why; nothing where the kind was named.
pub(super) fn recognised(checked: &Checked<'_>) -> Option<Value> {
    checked.because.map(|because| json!({"file": checked.file, "kind": checked.kind, "because": because}))
}

/// A finding with the kind of its document.
pub(super) fn of_kind(checked: &Checked<'_>, finding: &Diagnostic) -> Value {
    let mut object = json(checked.file, finding);
    object["kind"] = checked.kind.into();
    object
}

/// A finding as JSON. `line`, `column`, `end_line` and `end_column` count from 1, the end is after the last character;
/// what is unknown is left out.
#[must_use]
pub fn json(file: &str, finding: &Diagnostic) -> Value {
    let mut object = json!({
        "file": file,
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
    });
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object[key] = value;
        }
    };
    put("line", finding.span.map(|span| span.start.line.into()));
    put("column", finding.span.map(|span| span.start.column.into()));
    put("end_line", finding.span.map(|span| span.end.line.into()));
    put("end_column", finding.span.map(|span| span.end.column.into()));
    put("pointer", finding.pointer.clone().map(Value::from));
    put("expected", finding.expected.clone().map(Value::from));
    put("found", finding.found.clone().map(Value::from));
    put("help", finding.help.clone().map(Value::from));
    put("related", (!finding.related.is_empty()).then(|| json!(finding.related)));
    object
}
