//! JSON (RFC 8259) with spans.
//!
//! YAML's reader will not do: it takes what is no JSON, and it refuses what is, such as an escaped pair of surrogates or
//! an indent of tabs.

use super::Read;
use super::build::{Builder, NO_ANCHOR};
use crate::diag::{Budget, Diagnostic, Node, Place, Span, Value};

/// Reads the one value of a text.
pub(super) fn read(text: &str, budget: &Budget) -> Read<Node> {
    let mut reader = Reader { text, at: 0, place: Place::START, closers: Vec::new() };
    let mut builder = Builder::new(budget);
    reader.blanks();
    if reader.peek().is_none() {
        return Err(Diagnostic::error("empty", "the file holds no value")
            .at(Place::START.one())
            .expected("one JSON value")
            .found("nothing")
            .into());
    }
    reader.value(&mut builder)?;
    while !reader.closers.is_empty() {
        reader.step(&mut builder)?;
    }
    reader.blanks();
    match reader.peek() {
        None => Ok(builder.finish().expect("a value was read")),
        Some(_) => Err(reader.unexpected("the end of the value").into()),
    }
}

struct Reader<'t> {
    text: &'t str,
    /// Byte offset.
    at: usize,
    place: Place,
    /// Open lists and objects: the closing character, and whether an element stands in it already.
    closers: Vec<(char, bool)>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes one character.
    fn pass(&mut self, character: char) {
        self.at += character.len_utf8();
        let ends_line = character == '\n' || (character == '\r' && !self.rest().starts_with('\n'));
        if ends_line {
            self.place = Place { line: self.place.line.saturating_add(1), column: 1 };
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
    }

    fn blanks(&mut self) {
        while let Some(character @ (' ' | '\t' | '\n' | '\r')) = self.peek() {
            self.pass(character);
        }
    }

    fn take(&mut self, character: char) -> bool {
        let stands = self.peek() == Some(character);
        if stands {
            self.pass(character);
        }
        stands
    }

    /// One element of the innermost list or object, or its end.
    fn step(&mut self, builder: &mut Builder<'_>) -> Read<()> {
        let (closer, has_elements) = *self.closers.last().expect("called only while something is open");
        self.blanks();
        if self.take(closer) {
            self.closers.pop();
            return builder.close(self.place);
        }
        if has_elements {
            if !self.take(',') {
                return Err(self.unexpected(&format!("`,` or `{closer}`")).into());
            }
            self.blanks();
        }
        if let Some((_, has_elements)) = self.closers.last_mut() {
            *has_elements = true;
        }
        if closer == '}' {
            self.key(builder)?;
        }
        self.value(builder)
    }

    fn key(&mut self, builder: &mut Builder<'_>) -> Read<()> {
        let start = self.place;
        if self.peek() != Some('"') {
            return Err(self.unexpected("a key in double quotes").into());
        }
        let key = self.string()?;
        builder.key(key, Span { start, end: self.place });
        self.blanks();
        if !self.take(':') {
            return Err(self.unexpected("`:`").into());
        }
        self.blanks();
        Ok(())
    }

    /// A scalar, or the opening of a list or object.
    fn value(&mut self, builder: &mut Builder<'_>) -> Read<()> {
        let start = self.place;
        match self.peek() {
            Some('[') => {
                builder.open_seq(start.one(), NO_ANCHOR)?;
                self.open('[', ']');
                Ok(())
            }
            Some('{') => {
                builder.open_map(start.one(), NO_ANCHOR)?;
                self.open('{', '}');
                Ok(())
            }
            Some('"') => {
                let text = self.string()?;
                builder.scalar(Value::Str(text), Span { start, end: self.place }, NO_ANCHOR)
            }
            _ => {
                let value = self.word()?;
                builder.scalar(value, Span { start, end: self.place }, NO_ANCHOR)
            }
        }
    }

    fn open(&mut self, opener: char, closer: char) {
        self.pass(opener);
        self.closers.push((closer, false));
    }

    /// `null`, `true`, `false` or a number.
    fn word(&mut self) -> Read<Value> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))).unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..end]).ok().and_then(|json: serde_json::Value| match json {
            serde_json::Value::Null => Some(Value::Null),
            serde_json::Value::Bool(value) => Some(Value::Bool(value)),
            serde_json::Value::Number(number) => number.as_i128().map(Value::Int).or(number.as_f64().map(Value::Float)),
            _ => None,
        });
        let Some(value) = value else { return Err(self.unexpected("a JSON value").into()) };
        self.at += end;
        self.place.column = self.place.column.saturating_add(u32::try_from(end).unwrap_or(u32::MAX));
        Ok(value)
    }

    /// A string, which begins here; escapes are left to `serde_json`.
    fn string(&mut self) -> Read<String> {
        let (from, start) = (self.at, self.place);
        self.pass('"');
        loop {
            match self.peek() {
                Some('"') => break self.pass('"'),
                Some('\\') => {
                    self.pass('\\');
                    self.peek().into_iter().for_each(|escaped| self.pass(escaped));
                }
                Some('\n' | '\r') | None => {
                    return Err(Diagnostic::error("syntax", "this is not JSON: a string that does not end")
                        .at(Span { start, end: self.place })
                        .expected("`\"` on the same line")
                        .into());
                }
                Some(character) => self.pass(character),
            }
        }
        serde_json::from_str(&self.text[from..self.at]).map_err(|_| {
            Diagnostic::error("syntax", "this is not JSON: a string with a wrong escape or a raw tab")
                .at(Span { start, end: self.place })
                .into()
        })
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let found = self.peek().map_or("the end of the text".to_owned(), |character| format!("`{character}`"));
        Diagnostic::error("syntax", format!("this is not JSON: expected {expected}, found {found}"))
            .at(self.place.one())
            .expected(expected)
            .found(found)
    }
}
