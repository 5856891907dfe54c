//! What a kind of document is.

use camino::Utf8Path;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::together::Trace;
use super::{Explanation, Marks, Rule, SequenceRule, Subject, generate};
use crate::diag::Format;

/// A kind of document. A module that owns a type declares its kind in one expression:
///
/// ```
/// use loa::schema::Kind;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// #[schemars(title = "Note")]
/// /// A note.
/// struct Note {
///     /// What it says.
///     text: String,
/// }
///
/// const NOTE: Kind = Kind::of::<Note>("note", || vec![serde_json::json!({"text": "hello"})]).place("notes/*.yaml");
/// assert_eq!(NOTE.schema()["title"], "Note");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    name: &'static str,
    place: &'static str,
    format: Format,
    generate: fn(&mut SchemaGenerator) -> Schema,
    examples: fn() -> Vec<Value>,
    rules: &'static [Rule],
    sequence: &'static [SequenceRule],
    marks: Marks,
    trace: fn(&Subject<'_>) -> Option<Trace>,
}

impl Kind {
    /// The kind of the documents that hold a `T`, with at least one example. In YAML, without rules, found anywhere.
    ///
    /// `T` has a title (`#[schemars(title = "…")]`), a doc comment, and denies unknown fields if the format is ours.
    #[must_use]
    pub const fn of<T: JsonSchema>(name: &'static str, examples: fn() -> Vec<Value>) -> Self {
        Self {
            name,
            place: "anywhere",
            format: Format::Yaml,
            generate: SchemaGenerator::root_schema_for::<T>,
            examples,
            rules: &[],
            sequence: &[],
            marks: Marks::NONE,
            trace: |_| None,
        }
    }

    /// Says where such documents lie, as a pattern of paths.
    #[must_use]
    pub const fn place(mut self, pattern: &'static str) -> Self {
        self.place = pattern;
        self
    }

    /// Says how they are written.
    #[must_use]
    pub const fn written_in(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Adds what the schema cannot say.
    #[must_use]
    pub const fn rules(mut self, rules: &'static [Rule]) -> Self {
        self.rules = rules;
        self
    }

    /// Adds rules over the documents of one file in their order.
    #[must_use]
    pub const fn in_sequence(mut self, rules: &'static [SequenceRule]) -> Self {
        self.sequence = rules;
        self
    }

    /// Says how such documents are recognised.
    #[must_use]
    pub const fn known_by(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// Says what is kept of such a document for the rules over several files.
    #[must_use]
    pub(super) const fn traced(mut self, trace: fn(&Subject<'_>) -> Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// The name, as the command line takes it and as the schema's file is named.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where such documents lie.
    #[must_use]
    pub fn where_found(&self) -> &'static str {
        self.place
    }

    /// How such a file is written: by its extension where that says so, else by the kind.
    #[must_use]
    pub fn format_of(&self, path: &Utf8Path) -> Format {
        match path.extension() {
            Some("json") if self.format == Format::Yaml => Format::Json,
            _ => self.format,
        }
    }

    /// The lint rules.
    #[must_use]
    pub fn lint_rules(&self) -> &'static [Rule] {
        self.rules
    }

    /// The rules over the documents of one file in their order.
    #[must_use]
    pub fn sequence_rules(&self) -> &'static [SequenceRule] {
        self.sequence
    }

    /// The words for every rule of the kind.
    #[must_use]
    pub fn explanations(&self) -> Vec<Explanation> {
        let rules = self.rules.iter().map(|rule| rule.text);
        rules.chain(self.sequence.iter().map(|rule| rule.text)).collect()
    }

    /// How such documents are recognised.
    #[must_use]
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// What is kept of a document for the rules over several files.
    pub(super) fn trace(&self, subject: &Subject<'_>) -> Option<Trace> {
        (self.trace)(subject)
    }

    /// The JSON Schema, draft 2020-12, generated from the type.
    #[must_use]
    pub fn schema(&self) -> Value {
        generate::schema(self.name, self.generate, (self.examples)())
    }

    /// The schema's file, as it is committed: pretty, with a line end.
    #[must_use]
    pub fn schema_file(&self) -> String {
        format!("{:#}\n", self.schema())
    }
}
