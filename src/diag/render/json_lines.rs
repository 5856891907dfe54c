//! For programs that read along: one JSON object a line, told apart by `type`.

use serde_json::{Value, json};

use super::json::{VERSION, of_kind, recognised};
use super::{Checked, Renderer, Summary};

/// A line of type `recognised` for each file whose kind was found and not named, one of type `finding` each, and one of type
/// `summary` at the end; where that one is missing, the program did not come to its end.
#[derive(Debug)]
pub(super) struct JsonLines;

impl Renderer for JsonLines {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        let line = |kind: &str, mut object: Value| {
            object["type"] = kind.into();
            format!("{object}\n")
        };
        let recognised = recognised(checked).map(|object| line("recognised", object));
        let findings = checked.findings.iter().map(|finding| line("finding", of_kind(checked, finding)));
        recognised.into_iter().chain(findings).collect()
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
