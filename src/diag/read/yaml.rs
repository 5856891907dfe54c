//! YAML 1.2 from the parser's events, with everything refused that two readers could read in two ways.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::Read;
use super::build::Builder;
use super::scalar;
use crate::diag::{Budget, Diagnostic, Limit, Node, Place, Span, Value};

/// Reads the one document of a text.
pub(super) fn read(text: &str, budget: &Budget) -> Read<Node> {
    let mut reader = Reader { builder: Builder::new(budget), first: None };
    let mut cursor = Cursor::new(text);
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| syntax(&error, budget))?;
        let place = self::span(span);
        let place = match event {
            Event::Scalar(_, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, ..) => {
                let from = cursor.offset(span.start.index());
                Span { end: place.start.plus(quoted(&text[from..])), ..place }
            }
            _ => place,
        };
        reader.event(event, place)?;
    }
    reader.builder.finish().ok_or_else(|| {
        Diagnostic::error("empty", "the file holds no document")
            .at(Place::START.one())
            .expected("one document")
            .found(if text.is_empty() { "an empty file" } else { "nothing but blanks and comments" })
            .into()
    })
}

struct Reader<'b> {
    builder: Builder<'b>,
    /// Where the document begins, once it has.
    first: Option<Span>,
}

type TagOf<'a> = Option<Cow<'a, Tag>>;

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Read<()> {
        match event {
            Event::DocumentStart(_) => self.document(span),
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, &tag, span),
            Event::SequenceStart(anchor, tag) => {
                self.collection(&tag, "seq", span)?;
                self.builder.open_seq(span, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.collection(&tag, "map", span)?;
                self.builder.open_map(span, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.builder.close(span.end),
            Event::Alias(_) if self.builder.wants_key() => Err(key_is_no_text(span).into()),
            Event::Alias(anchor) => self.builder.alias(anchor, span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn document(&mut self, span: Span) -> Read<()> {
        match self.first.replace(span) {
            None => Ok(()),
            Some(first) => Err(Diagnostic::error("many-documents", "a second document begins here")
                .at(span)
                .expected("one document a file")
                .found("another one")
                .help("put each document into its own file, or remove the `---` line")
                .related(first, "the first document")
                .into()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: &TagOf<'_>,
        span: Span,
    ) -> Read<()> {
        if self.builder.wants_key() {
            if style == ScalarStyle::Plain && text == "<<" {
                return Err(merge_key(span).into());
            }
            self.builder.key(text.into_owned(), span);
            return Ok(());
        }
        // A value that is left out has no place of its own.
        let span = match self.builder.pending_key() {
            Some(key) if text.is_empty() && style == ScalarStyle::Plain => key,
            _ => span,
        };
        let value = tagged(text, style, tag, span)?;
        self.builder.scalar(value, span, anchor)
    }

    fn collection(&self, tag: &TagOf<'_>, own: &str, span: Span) -> Read<()> {
        if self.builder.wants_key() {
            return Err(key_is_no_text(span.start.one()).into());
        }
        match tag {
            Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == own) => {
                Err(foreign_tag(tag, span.start.one()).into())
            }
            _ => Ok(()),
        }
    }
}

/// The value of a scalar by its quotes and its tag.
fn tagged(text: Cow<'_, str>, style: ScalarStyle, tag: &TagOf<'_>, span: Span) -> Read<Value> {
    let Some(tag) = tag else {
        let is_plain = style == ScalarStyle::Plain;
        return Ok(if is_plain { scalar::plain(&text) } else { Value::Str(text.into_owned()) });
    };
    let non_specific = tag.handle.is_empty() && tag.suffix == "!";
    if non_specific || (tag.is_yaml_core_schema() && tag.suffix == "str") {
        return Ok(Value::Str(text.into_owned()));
    }
    let value = scalar::plain(&text);
    let agrees = tag.is_yaml_core_schema()
        && match tag.suffix.as_str() {
            "null" => value == Value::Null,
            "bool" => matches!(value, Value::Bool(_)),
            "int" => matches!(value, Value::Int(_)),
            "float" => matches!(value, Value::Int(_) | Value::Float(_)),
            _ => false,
        };
    if agrees { Ok(value) } else { Err(foreign_tag(tag, span).into()) }
}

fn foreign_tag(tag: &Tag, span: Span) -> Diagnostic {
    let name = if tag.is_yaml_core_schema() { format!("!!{}", tag.suffix) } else { tag.to_string() };
    Diagnostic::error("tag", "a tag that this value cannot have")
        .at(span)
        .expected("no tag, or one of YAML's core schema that agrees with the value")
        .found(format!("the tag `{name}`"))
        .help("remove the tag")
}

fn merge_key(span: Span) -> Diagnostic {
    Diagnostic::error("merge-key", "`<<` merges in YAML 1.1 and is a plain key in YAML 1.2")
        .at(span)
        .found("the key `<<`")
        .help("write the merged keys out; put quotes around `<<` if it is meant as a key")
}

fn key_is_no_text(span: Span) -> Diagnostic {
    Diagnostic::error("complex-key", "a key that is not a plain text")
        .at(span)
        .expected("a text as key")
        .help("put quotes around the key, or write the value as a list")
}

/// A scalar with its quotes, which a text begins with. The parser's own span goes on through blanks and a comment.
fn quoted(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        let length = match (byte, bytes[0]) {
            (b'\\', b'"') => 2,
            (b'\'', b'\'') if bytes.get(at + 1) == Some(&b'\'') => 2,
            (byte, quote) if *byte == quote => return &text[..=at],
            _ => 1,
        };
        at += length;
    }
    text
}

/// From the parser's count of characters to bytes.
struct Cursor<'t> {
    text: &'t str,
    is_ascii: bool,
    characters: usize,
    bytes: usize,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, is_ascii: text.is_ascii(), characters: 0, bytes: 0 }
    }

    /// The byte offset of a character by its number; the events of a parser come in the order of the text.
    fn offset(&mut self, character: usize) -> usize {
        if self.is_ascii {
            return character.min(self.text.len());
        }
        if character < self.characters {
            (self.characters, self.bytes) = (0, 0);
        }
        let further = self.text[self.bytes..].chars().take(character - self.characters);
        self.bytes += further.map(char::len_utf8).sum::<usize>();
        self.characters = character;
        self.bytes
    }
}

fn syntax(error: &ScanError, budget: &Budget) -> Diagnostic {
    let at = place(error.marker()).one();
    // The scanner looks ahead for keys and has a limit of its own, 255 flow collections inside each other.
    if error.info() == "recursion limit exceeded" {
        return budget.exceeded(Limit::Depth, Some(at));
    }
    Diagnostic::error("syntax", format!("this is not YAML: {}", error.info())).at(at)
}

fn span(span: saphyr_parser::Span) -> Span {
    Span { start: place(&span.start), end: place(&span.end) }
}

/// The parser counts lines from 1 and columns from 0.
fn place(marker: &Marker) -> Place {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Place { line: number(marker.line()), column: number(marker.col()).saturating_add(1) }
}
