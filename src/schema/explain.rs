//! From an error of the schema library to a finding for people: place, expected, found, help.

use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Error;
use serde_json::Value;

use super::expect::{alternatives, asks, examples, resolve, words};
use super::forms::Forms;
use super::mend::{self, reword, same_but_case};
use super::{Checker, Reading};
use crate::contract::Phase;
use crate::diag::{Diagnostic, Document, Entry, Node, Value as Found, closest, tokens};

/// A schema and the document that did not pass it.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) schema: &'a Value,
    pub(super) document: &'a Document,
    pub(super) reading: Reading,
}

impl Case<'_> {
    /// What one error means to a reader; an alternative of several shapes may mean several things.
    pub(super) fn explain(&self, error: &ValidationError<'_>) -> Vec<Diagnostic> {
        match error.kind() {
            Error::Required { property: Value::String(name) } => self.missing(error, name).into_iter().collect(),
            Error::AdditionalProperties { unexpected } | Error::UnevaluatedProperties { unexpected } => {
                self.unknown(error, unexpected)
            }
            Error::AnyOf { context } | Error::OneOfNotValid { context } => self.alternatives(error, context),
            _ => vec![self.wrong(error)],
        }
    }

    /// `None` where the key is there, misspelt, and refused under that name anyway: one slip, one finding.
    fn missing(&self, error: &ValidationError<'_>, name: &str) -> Option<Diagnostic> {
        let holder = error.instance_path().as_str();
        let shape = self.shape(error);
        let misspelt = self.misspelt(holder, shape, name);
        let closed = shape.get("additionalProperties").is_some_and(|others| *others == Value::Bool(false));
        if closed && misspelt.is_some_and(|entry| closest(&entry.key, self.free(holder, shape)) == Some(name)) {
            return None;
        }
        let help = match misspelt {
            Some(entry) => format!("`{}` stands at {}; did you mean `{name}`?", entry.key, entry.key_span.start),
            None => format!("add the key `{name}`"),
        };
        let mut finding = Diagnostic::error("required", format!("{} has no `{name}`", title(holder)))
            .of(format!("{holder}/{}", escape(name)))
            .found("no such key")
            .help(help);
        let expected =
            shape.pointer(&format!("/properties/{}", escape(name))).and_then(|asked| words(self.schema, asked));
        finding.expected = Some(expected.map_or(format!("the key `{name}`"), |words| format!("`{name}`: {words}")));
        finding.span = self.document.holder_of(holder);
        Some(finding)
    }

    /// The keys that the schema knows and the mapping does not have.
    fn free<'s>(&self, holder: &str, shape: &'s Value) -> Vec<&'s str> {
        let entries = self.document.node_at(holder).map_or(&[][..], Node::entries);
        let taken: HashSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        known(shape).into_iter().filter(|name| !taken.contains(name)).collect()
    }

    /// A key of the mapping that the schema does not know and that is nearly `name`.
    fn misspelt(&self, holder: &str, shape: &Value, name: &str) -> Option<&Entry> {
        let entries = self.document.node_at(holder)?.entries();
        let known = |key: &str| shape.pointer("/properties").and_then(|known| known.get(key)).is_some();
        // Who has more strangers than this did not misspell one key.
        let strangers = || entries.iter().filter(|entry| !known(&entry.key)).take(64);
        let near = closest(name, strangers().map(|entry| entry.key.as_str()))?;
        entries.iter().find(|entry| entry.key == near)
    }

    /// One finding a key. The mapping is walked once, because a hostile one has very many keys.
    fn unknown(&self, error: &ValidationError<'_>, unexpected: &[String]) -> Vec<Diagnostic> {
        let holder = error.instance_path().as_str();
        let entries = self.document.node_at(holder).map_or(&[][..], Node::entries);
        let shape = self.shape(error);
        let free = self.free(holder, shape);
        let expected = alternatives(&known(shape).into_iter().map(Value::from).collect::<Vec<_>>());
        let strangers: HashSet<&str> = unexpected.iter().map(String::as_str).collect();
        let strange = entries.iter().filter(|entry| strangers.contains(entry.key.as_str()));
        let finding = |entry: &Entry| {
            let key = &entry.key;
            let help = match closest(key, free.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "remove the key; this format has no others than its own".to_owned(),
            };
            Diagnostic::error("unknown-key", format!("{} has no key `{key}`", title(holder)))
                .at(entry.key_span)
                .of(format!("{holder}/{}", escape(key)))
                .expected(expected.as_str())
                .found(format!("the key `{key}`"))
                .help(help)
        };
        strange.take(Checker::MOST_FINDINGS + 1).map(finding).collect()
    }

    fn wrong(&self, error: &ValidationError<'_>) -> Diagnostic {
        let pointer = error.instance_path().as_str();
        let node = self.document.node_at(pointer);
        let what = title(pointer);
        let (code, message) = match error.kind() {
            Error::Type { .. } if node.is_some_and(|node| node.value == Found::Null) => {
                ("type", format!("{what} is null"))
            }
            Error::Type { .. } => ("type", format!("{what} has the wrong type")),
            Error::Enum { .. } | Error::Constant { .. } => {
                ("enum", format!("{what} is none of the values that it can have"))
            }
            Error::Format { .. } => ("format", format!("{what} has the wrong form")),
            Error::Minimum { .. } | Error::Maximum { .. } => ("range", format!("{what} is out of range")),
            Error::ExclusiveMinimum { .. } | Error::ExclusiveMaximum { .. } => {
                ("range", format!("{what} is out of range"))
            }
            Error::MinProperties { .. } => ("length", format!("{what} has too few keys")),
            Error::MaxProperties { .. } => ("length", format!("{what} has too many keys")),
            Error::MinLength { .. } | Error::MinItems { .. } => ("length", format!("{what} is too short")),
            Error::MaxLength { .. } | Error::MaxItems { .. } => ("length", format!("{what} is too long")),
            Error::Pattern { .. } => ("pattern", format!("{what} has the wrong form")),
            _ => ("schema", error.masked().to_string()),
        };
        let shape = self.shape(error);
        let mut finding = Diagnostic::error(code, message).of(pointer);
        finding.span = self.document.span_of(pointer);
        finding.expected = words(self.schema, shape);
        finding.found = node.map(Node::describe);
        finding.help = node.and_then(|node| remedy(node, shape));
        finding.fix = node.and_then(|node| mend::fix(node, shape));
        node.and_then(|node| self.tolerated(&finding, node, shape)).unwrap_or(finding)
    }

    /// The warning that takes an error's place where a lenient reading takes the value.
    fn tolerated(&self, finding: &Diagnostic, node: &Node, shape: &Value) -> Option<Diagnostic> {
        let text = node.as_str().filter(|_| self.reading.lenient)?;
        let words = shape.get("enum").and_then(Value::as_array);
        let warning = if let Some(phase) = alias(text, shape) {
            let message = format!("`{text}` is Loa's other name for the phase `{phase}`");
            let fix = reword("write the contract's name of the phase", node, phase.as_str());
            Diagnostic { fix, ..Diagnostic::warning("phase-alias", message) }
        } else if let Some(word) = words.and_then(|words| same_but_case(text, words)) {
            let message = format!("{} is `{word}` in capitals", title(error_pointer(finding)));
            Diagnostic { fix: finding.fix.clone(), ..Diagnostic::warning("word-case", message) }
        } else if finding.code == "format" && text.parse::<jiff::civil::DateTime>().is_ok() {
            Diagnostic::warning("time-without-zone", format!("{} has no zone", title(error_pointer(finding))))
        } else {
            return None;
        };
        let Diagnostic { span, pointer, expected, found, help, .. } = finding.clone();
        Some(Diagnostic { span, pointer, expected, found, help, ..warning })
    }

    /// An alternative of shapes: told apart by its one key or a bare word (see [`Forms`]), by a constant in it, or not at all.
    fn alternatives(&self, error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>]) -> Vec<Diagnostic> {
        let pointer = error.instance_path().as_str();
        let forms = Forms::of(self.schema, self.shape(error));
        let (Some(forms), Some(node)) = (forms, self.document.node_at(pointer)) else {
            return self.told_by_constant(error, branches);
        };
        let Some((at, key)) = forms.meant(node) else { return vec![forms.none_meant(node, pointer)] };
        let mut findings = forms.beside(node, pointer, key);
        let inside = branches.get(at).into_iter().flatten().filter(|error| error.instance_path().as_str() != pointer);
        findings.extend(inside.flat_map(|error| self.explain(error)));
        findings
    }

    /// An alternative of shapes: told apart by a constant (`type: USAGE`), the one that was meant is explained; where none
    /// was meant, the constants are the vocabulary.
    fn told_by_constant(
        &self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
    ) -> Vec<Diagnostic> {
        let constant = |branch: &[ValidationError<'static>]| {
            branch.iter().find_map(|error| match error.kind() {
                Error::Constant { expected_value } => {
                    Some((error.instance_path().as_str().to_owned(), expected_value.clone()))
                }
                _ => None,
            })
        };
        let constants: Vec<_> = branches.iter().filter_map(|branch| constant(branch)).collect();
        if constants.len() == branches.len() && constants.windows(2).all(|pair| pair[0].0 == pair[1].0) {
            let words: Vec<Value> = constants.iter().map(|(_, word)| (**word).clone()).collect();
            return constants.first().map(|(pointer, _)| self.no_such_word(pointer, &words)).into_iter().collect();
        }
        // A branch that asks for another type was not meant; of the others the one that is broken least.
        let here = error.instance_path().as_str();
        let mistyped = |branch: &[ValidationError<'static>]| {
            let typed = |error: &ValidationError<'_>| matches!(error.kind(), Error::Type { .. });
            branch.iter().any(|error| typed(error) && error.instance_path().as_str() == here)
        };
        let meant = branches.iter().filter(|branch| constant(branch).is_none() && !mistyped(branch));
        match meant.min_by_key(|branch| branch.len()) {
            None => vec![self.of_no_type(error, branches)],
            Some(branch) => branch.iter().flat_map(|error| self.explain(error)).collect(),
        }
    }

    /// A value whose type is none that a choice has: the types of all branches are what was expected.
    fn of_no_type(&self, error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>]) -> Diagnostic {
        let here = error.instance_path().as_str();
        let typed = |error: &&ValidationError<'static>| {
            matches!(error.kind(), Error::Type { .. }) && error.instance_path().as_str() == here
        };
        let mut findings =
            branches.iter().filter_map(|branch| branch.iter().find(typed)).map(|error| self.wrong(error));
        let Some(first) = findings.next() else { return self.wrong(error) };
        let mut expected: Vec<String> =
            first.expected.clone().into_iter().chain(findings.filter_map(|f| f.expected)).collect();
        expected.dedup();
        Diagnostic { expected: Some(expected.join(", or ")).filter(|words| !words.is_empty()), ..first }
    }

    fn no_such_word(&self, pointer: &str, words: &[Value]) -> Diagnostic {
        let message = format!("{} is none of the values that it can have", title(pointer));
        let mut finding = Diagnostic::error("enum", message).of(pointer).expected(alternatives(words));
        let node = self.document.node_at(pointer);
        finding.span = self.document.span_of(pointer);
        finding.found = node.map(Node::describe);
        finding.help = node.and_then(|node| near_word(node, words));
        finding
    }

    /// The part of the schema whose keyword failed.
    fn shape(&self, error: &ValidationError<'_>) -> &Value {
        let keyword = error.schema_path().as_str();
        let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.schema.pointer(parent).map_or(&Value::Null, |shape| resolve(self.schema, shape))
    }
}

fn error_pointer(finding: &Diagnostic) -> &str {
    finding.pointer.as_deref().unwrap_or_default()
}

/// The phase that a word means where a phase is asked for, and the word is one of Loa's other names.
fn alias(text: &str, shape: &Value) -> Option<Phase> {
    let words = shape.get("enum")?.as_array()?;
    let phases = words.len() == Phase::WORDS.len() && words.iter().zip(Phase::WORDS).all(|(a, b)| a == b);
    if phases { Phase::by_alias(text) } else { None }
}

/// The keys that a schema names.
fn known(shape: &Value) -> Vec<&str> {
    match shape.get("properties") {
        Some(Value::Object(known)) => known.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What mends a value that is wrong by itself.
fn remedy(node: &Node, shape: &Value) -> Option<String> {
    const LIST: &str = "a list stands in brackets, with commas between its items";
    let asked = |kind: &str| asks(shape, kind);
    // In quotes it would be a text, and still none of those that are right.
    let in_form = ["enum", "format", "pattern"].iter().any(|rule| shape.get(rule).is_some());
    if let Some(phase) = node.as_str().and_then(|text| alias(text, shape)) {
        return Some(format!("Loa's texts also say so; the contract's word is `{phase}`"));
    }
    if !matches!(node.value, Found::Null | Found::Map(_) | Found::Seq(_))
        && let Some(examples) = examples(shape)
    {
        return Some(format!("write it in this form: such as {examples}"));
    }
    match &node.value {
        Found::Map(entries) if shape["maxProperties"] == 1 && entries.len() > 1 => {
            Some("keep one of its keys, and remove the others".to_owned())
        }
        Found::Null => Some("give it a value; a key without one is left out, not null".to_owned()),
        Found::Str(text) if (asked("integer") || asked("number")) && text.parse::<f64>().is_ok() => {
            Some("remove the quotes: in quotes it is a text".to_owned())
        }
        Found::Str(text) if asked("boolean") && matches!(text.as_str(), "true" | "false") => {
            Some("remove the quotes: in quotes it is a text".to_owned())
        }
        Found::Str(_) if asked("boolean") => Some("YAML 1.2 knows `true` and `false` only".to_owned()),
        Found::Str(_) if asked("array") && !asked("string") => Some(LIST.to_owned()),
        Found::Int(_) | Found::Float(_) | Found::Bool(_) if asked("string") && !in_form => {
            Some("put it in quotes".to_owned())
        }
        Found::Str(_) if shape.get("format").is_some_and(|format| format == "date-time") => {
            Some("write date, `T`, time and zone, as RFC 3339 has it".to_owned())
        }
        _ => near_word(node, shape.get("enum").and_then(Value::as_array)?),
    }
}

fn near_word(node: &Node, words: &[Value]) -> Option<String> {
    let near = closest(node.as_str()?, words.iter().filter_map(Value::as_str))?;
    Some(format!("did you mean `{near}`?"))
}

/// The value at a pointer, as a reader names it: `decisions[0].id`.
pub(super) fn title(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the document".to_owned();
    }
    let mut path = String::new();
    for token in tokens(pointer) {
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            path.extend(["[", &token, "]"]);
        } else {
            path.extend([if path.is_empty() { "" } else { "." }, &token]);
        }
    }
    format!("`{path}`")
}

/// A key as a token of a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
