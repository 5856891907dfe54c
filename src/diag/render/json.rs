//! For machines: one finding as one JSON object. The keys and their meaning are a contract with whoever reads them.

use serde_json::{Value, json};

use crate::diag::Diagnostic;

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
