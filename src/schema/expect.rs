//! What a piece of a schema asks for, in plain words.

use serde_json::{Value, json};

use super::forms::Forms;

/// The words for a schema; `None` when it asks for nothing that has a word here.
pub(super) fn words(root: &Value, schema: &Value) -> Option<String> {
    let schema = resolve(root, schema);
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return Some(alternatives(options));
    }
    if let Some(value) = schema.get("const") {
        return Some(ticked(value));
    }
    if let Some(forms) = Forms::of(root, schema) {
        return Some(forms.expected());
    }
    let Some(kind) = schema.get("type") else {
        // Beside a reference a schema says only what it narrows.
        return schema.get("maximum").map(|_| format!("a number{}", range(schema)));
    };
    match kind {
        Value::Array(kinds) => {
            let kinds: Option<Vec<String>> = kinds.iter().map(|kind| of_kind(schema, kind.as_str()?)).collect();
            kinds.map(|kinds| kinds.join(", or "))
        }
        kind => of_kind(schema, kind.as_str()?),
    }
}

/// Whether a value of this type passes.
pub(super) fn asks(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        one => one.is_some_and(|one| one == kind),
    }
}

fn of_kind(schema: &Value, kind: &str) -> Option<String> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let words = match kind {
        "string" if text("format") == Some("date-time") => "a timestamp such as \"2026-01-31T14:00:00Z\"".to_owned(),
        "string" if text("format") == Some("date") => "a date such as \"2026-01-31\"".to_owned(),
        "string" if examples(schema).is_some() => format!("a text such as {}", examples(schema).unwrap_or_default()),
        "string" if text("pattern").is_some() => {
            format!("a text that matches `{}`", text("pattern").unwrap_or_default())
        }
        "string" if schema.get("minLength").is_some() => "a text that is not empty".to_owned(),
        "string" => "a text".to_owned(),
        "integer" => format!("a whole number{}", range(schema)),
        "number" => format!("a number{}", range(schema)),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => list(schema),
        "object" => mapping(schema),
        _ => return None,
    };
    Some(words)
}

/// What a text of a certain form looks like, where the schema shows it.
pub(super) fn examples(schema: &Value) -> Option<String> {
    schema.get("pattern")?;
    schema.get("examples").and_then(Value::as_array).map(|some| alternatives(some))
}

fn mapping(schema: &Value) -> String {
    let keys = schema.get("properties").and_then(Value::as_object).filter(|_| schema["maxProperties"] == 1);
    keys.map_or_else(
        || "a mapping".to_owned(),
        |keys| {
            format!("a mapping with one key: {}", alternatives(&keys.keys().map(|key| json!(key)).collect::<Vec<_>>()))
        },
    )
}

fn list(schema: &Value) -> String {
    let count = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (count("minItems"), count("maxItems")) {
        (Some(least), Some(most)) if least == most => format!("a list of {least} items"),
        (Some(1), None) => "a list that is not empty".to_owned(),
        _ => "a list".to_owned(),
    }
}

/// Follows `$ref` to a definition of the same schema.
pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = schema;
    while let Some(target) = at.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
        let Some(next) = root.pointer(target) else { return at };
        at = next;
    }
    at
}

/// The values with `or` before the last.
pub(super) fn alternatives(options: &[Value]) -> String {
    let mut words: Vec<String> = options.iter().map(ticked).collect();
    match words.pop() {
        None => "nothing".to_owned(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
    }
}

fn ticked(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |word| format!("`{word}`"))
}

fn range(schema: &Value) -> String {
    /// A limit from here on is that of a machine word, and nobody wants to read it.
    const MACHINE: u64 = u32::MAX as u64;
    let least = schema.get("minimum");
    let most = schema.get("maximum").filter(|most| most.as_u64().is_none_or(|most| most < MACHINE));
    match (least, most) {
        (Some(least), Some(most)) if least == most => format!(": {least}"),
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}
