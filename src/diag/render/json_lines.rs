//! For programs that read along: one JSON object a line, told apart by `type`.

use serde_json::json;

use super::json::{VERSION, of_kind};
use super::{Checked, Renderer, Summary};

/// A line of type `finding` each, and one of type `summary` at the end; where that one is missing, the program did not
/// come to its end.
#[derive(Debug)]
pub(super) struct JsonLines;

impl Renderer for JsonLines {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        let line = |finding| {
            let mut object = of_kind(checked, finding);
            object["type"] = "finding".into();
            format!("{object}\n")
        };
        checked.findings.iter().map(line).collect()
    }

    fn end(&mut self, summary: &Summary) -> String {
        let object = json!({
            "type": "summary",
            "version": VERSION,
            "files": summary.files,
            "invalid": summary.invalid,
            "findings": summary.findings,
            "unreadable": summary.unread,
        });
        format!("{object}\n")
    }
}
