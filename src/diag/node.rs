//! The tree of a document: values that know where they stand.

use super::Span;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// From its first to after its last character. A value that is left out has the span of its key.
    pub span: Span,
    /// The value.
    pub value: Value,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number; one beyond `i128` is read as `Float`.
    Int(i128),
    /// Any other number, the infinities and not-a-number included.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    Seq(Vec<Node>),
    /// A mapping, in the order of the document; no key stands in it twice.
    Map(Vec<Entry>),
}

/// One key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; one that is no text is taken as it is written.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value under a key, when this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, when this is a mapping that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of a mapping; none when this is something else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    /// The text, when this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = &self.value { Some(text) } else { None }
    }

    /// The part of the span that is worth underlining: of a mapping over several lines its first key, of such a list its
    /// first character, of anything else all.
    #[must_use]
    pub fn head(&self) -> Span {
        match &self.value {
            _ if self.span.start.line == self.span.end.line => self.span,
            Value::Map(entries) => entries.first().map_or(self.span, |entry| entry.key_span),
            Value::Seq(items) if !items.is_empty() => self.span.start.one(),
            _ => self.span,
        }
    }

    /// What this is, in words for a reader, with its content when that is short.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing (null)".to_owned(),
            Value::Bool(value) => format!("the boolean `{value}`"),
            Value::Int(value) => format!("the number {value}"),
            Value::Float(value) => format!("the number {value}"),
            Value::Str(text) => format!("the text {}", quoted(text)),
            Value::Seq(items) => counted("a list", items.len(), "item"),
            Value::Map(entries) => counted("a mapping", entries.len(), "key"),
        }
    }

    /// The same tree, `lines` further down.
    #[must_use]
    pub(super) fn down(mut self, lines: u32) -> Self {
        if lines == 0 {
            return self;
        }
        self.span = self.span.down(lines);
        match &mut self.value {
            Value::Seq(items) => {
                *items = std::mem::take(items).into_iter().map(|item| item.down(lines)).collect();
            }
            Value::Map(entries) => {
                *entries = std::mem::take(entries).into_iter().map(|entry| entry.down(lines)).collect();
            }
            _ => {}
        }
        self
    }

    /// As JSON has it. A number without a fraction becomes a whole number, as JSON Schema counts it; an infinity or
    /// not-a-number, which JSON cannot say, becomes null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => whole(*value),
            Value::Float(value) => fraction(*value),
            Value::Str(text) => Json::String(text.clone()),
            Value::Seq(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect())
            }
        }
    }
}

impl Entry {
    fn down(self, lines: u32) -> Self {
        Self { key_span: self.key_span.down(lines), value: self.value.down(lines), ..self }
    }
}

fn whole(value: i128) -> serde_json::Value {
    if let Ok(value) = i64::try_from(value) {
        value.into()
    } else if let Ok(value) = u64::try_from(value) {
        value.into()
    } else {
        #[expect(clippy::cast_precision_loss, reason = "JSON readers keep no more digits than this either")]
        let value = value as f64;
        value.into()
    }
}

fn fraction(value: f64) -> serde_json::Value {
    /// Whole numbers up to here are exact in an `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
        let value = value as i64;
        return value.into();
    }
    value.into()
}

/// The text in quotes, cut to a length that fits a line.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{:?}, cut after {LONGEST} characters", &text[..cut]),
        None => format!("{text:?}"),
    }
}

fn counted(what: &str, count: usize, unit: &str) -> String {
    match count {
        0 => format!("{what}, empty"),
        1 => format!("{what} of 1 {unit}"),
        _ => format!("{what} of {count} {unit}s"),
    }
}
