//! Readers: bytes to documents. One file a format; both build through the same [`build`], which holds the budgets.

mod build;
mod json;
mod scalar;
mod text;
mod yaml;

#[cfg(test)]
mod tests;

use super::{Budget, Diagnostic, Document, Format, Limit};

/// What a reader made of a text: the finding that kept it from reading on is boxed, because it is large and rare.
pub type Read<T> = Result<T, Box<Diagnostic>>;

/// The documents of a file: one for YAML and JSON, one a line for JSON lines.
///
/// The bytes are read as UTF-8; whatever keeps a document from being read is its [`Diagnostic`]. A file of JSON lines
/// goes on after a line that cannot be read.
#[must_use]
pub fn documents(bytes: &[u8], format: Format, budget: &Budget) -> Vec<Read<Document>> {
    if bytes.len() as u64 > budget.bytes {
        return vec![Err(budget.exceeded(Limit::Bytes, None).into())];
    }
    let text = match text::decode(bytes) {
        Ok(text) => text,
        Err(finding) => return vec![Err(finding)],
    };
    match format {
        Format::Yaml => vec![yaml::read(text, budget).map(Document::new)],
        Format::Json => vec![json::read(text, budget).map(Document::new)],
        Format::JsonLines => json_lines(text, budget),
    }
}

/// One value a line; when the first line is no value by itself, the file is read as one value over several lines.
fn json_lines(text: &str, budget: &Budget) -> Vec<Read<Document>> {
    let lines = || (0..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let first_stands_alone = lines().next().is_some_and(|(_, first)| json::read(first, budget).is_ok());
    if !first_stands_alone && let Ok(whole) = json::read(text, budget) {
        return vec![Ok(Document::new(whole))];
    }
    if lines().next().is_none() {
        return vec![json::read(text, budget).map(Document::new)];
    }
    lines()
        .map(|(down, line)| match json::read(line, budget) {
            Ok(node) => Ok(Document::new(node.down(down))),
            Err(finding) => Err(finding.down(down).into()),
        })
        .collect()
}
