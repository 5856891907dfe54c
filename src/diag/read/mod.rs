//! Readers: bytes to documents. One file a format; both build through the same [`build`], which holds the budgets.

mod build;
mod json;
mod scalar;
mod text;
mod yaml;

#[cfg(test)]
mod tests;

use super::{Budget, Diagnostic, Document, Format, Limit, Node};

/// What a reader made of a text: the finding that kept it from reading on is boxed, because it is large and rare.
pub type Read<T> = Result<T, Box<Diagnostic>>;

/// The documents of a file, one after the other: one for YAML and JSON, one a line for JSON lines.
///
/// The bytes are read as UTF-8; whatever keeps a document from being read is its [`Diagnostic`]. A file of JSON lines
/// goes on after a line that cannot be read.
#[must_use]
pub fn documents<'a>(
    bytes: &'a [u8],
    format: Format,
    budget: &'a Budget,
) -> Box<dyn Iterator<Item = Read<Document>> + 'a> {
    match (text_of(bytes, budget), format) {
        (Ok(text), Format::JsonLines) => json_lines(text, budget),
        (Ok(text), Format::Json) => one(json::read(text, budget)),
        (Ok(text), Format::Yaml) => one(yaml::read(text, budget)),
        (Err(finding), _) => one(Err(finding)),
    }
}

fn text_of<'a>(bytes: &'a [u8], budget: &Budget) -> Read<&'a str> {
    if bytes.len() as u64 > budget.bytes {
        return Err(budget.exceeded(Limit::Bytes, None).into());
    }
    text::decode(bytes)
}

fn one<'a>(read: Read<Node>) -> Box<dyn Iterator<Item = Read<Document>> + 'a> {
    Box::new(std::iter::once(read.map(Document::new)))
}

/// One value a line; when the first line is no value by itself, the file is read as one value over several lines.
fn json_lines<'a>(text: &'a str, budget: &'a Budget) -> Box<dyn Iterator<Item = Read<Document>> + 'a> {
    let mut lines = (0..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).peekable();
    let Some((_, first)) = lines.peek() else { return one(json::read(text, budget)) };
    if json::read(first, budget).is_err()
        && let Ok(whole) = json::read(text, budget)
    {
        return one(Ok(whole));
    }
    Box::new(lines.map(|(down, line)| match json::read(line, budget) {
        Ok(node) => Ok(Document::new(node.down(down))),
        Err(finding) => Err(finding.down(down).into()),
    }))
}
