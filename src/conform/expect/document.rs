//! Reading other people's documents: YAML into a plain value, and how values are shown to the reader of a verdict.

use serde_json::Value;

/// How much of a value is shown.
const SHOWN: usize = 240;

/// Reads one YAML document.
///
/// # Errors
/// Why the text is not one.
pub(super) fn read(text: &str) -> Result<Value, String> {
    serde_yaml::from_str(text).map_err(|error| first_line(&error.to_string()))
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

fn first_line(text: &str) -> String {
    clip(text.lines().next().unwrap_or_default())
}
