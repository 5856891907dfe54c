//! Reading other people's documents: YAML into a plain value, and how values are shown to the reader of a verdict.

use serde_json::Value;

use crate::diag::{Budget, Format, documents};

/// How much of a value is shown.
const SHOWN: usize = 240;

/// Reads one YAML document.
///
/// # Errors
/// Why the text is not one.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let read = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next();
    let document = read.expect("a YAML file is one document or one finding");
    document.map(|document| document.to_json()).map_err(|finding| clip(&finding.message))
}

/// A value as one short line of JSON.
pub(super) fn show(value: &Value) -> String {
    clip(&value.to_string())
}

/// A text, cut where it becomes too long to read.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
