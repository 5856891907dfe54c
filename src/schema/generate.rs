//! Schemas from types: draft 2020-12, with what schemars says otherwise than the contract means.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Where the schemas are known under; the name of the kind follows.
const BASE: &str = "https://loa-conformance.dev/schemas/";

/// The `$id` of a kind's schema.
#[must_use]
pub fn schema_id(name: &str) -> String {
    format!("{BASE}{name}.schema.json")
}

/// The schema of a kind, its keys in the order in which a reader wants them.
pub(super) fn schema(name: &str, generate: fn(&mut SchemaGenerator) -> Schema, examples: Vec<Value>) -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(as_the_contract_means));
    let mut generated = match generate(&mut settings.into_generator()).to_value() {
        Value::Object(map) => map,
        other => unreachable!("a type of ours has an object as schema, not {other}"),
    };
    let mut schema = Map::new();
    schema.insert("$schema".into(), generated.remove("$schema").unwrap_or_default());
    schema.insert("$id".into(), schema_id(name).into());
    for key in ["title", "description"] {
        schema.extend(generated.remove_entry(key));
    }
    schema.insert("examples".into(), examples.into());
    let definitions = generated.remove_entry("$defs");
    schema.extend(generated);
    schema.extend(definitions);
    schema.into()
}

fn as_the_contract_means(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    absent_is_not_null(schema);
    integers_by_range(schema);
    words_as_enum(schema);
}

/// An optional field may be left out, and then it is not there: null is no value of it.
fn absent_is_not_null(schema: &mut Map<String, Value>) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else { return };
    choices.retain(|choice| *choice != json!({"type": "null"}));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// `uint64` and its like are formats of no standard; what they mean is a range.
fn integers_by_range(schema: &mut Map<String, Value>) {
    /// The greatest whole number that every reader of JSON keeps exactly.
    const EXACT: u64 = (1 << 53) - 1;
    let greatest = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        Some("uint64" | "uint" | "uint128") => EXACT,
        Some("double" | "float" | "int8" | "int16" | "int32" | "int64" | "int") => {
            schema.remove("format");
            return;
        }
        _ => return,
    };
    schema.remove("format");
    schema.entry("maximum").or_insert(greatest.into());
}

/// A vocabulary whose words carry comments becomes a `oneOf` of constants, which no validator explains well; here it is an
/// `enum` again, and the comments stand in its description.
fn words_as_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let Some(words) = choices.iter().map(|choice| choice.get("const").cloned()).collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut description = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    for choice in choices {
        if let (Some(word), Some(about)) = (choice["const"].as_str(), choice["description"].as_str()) {
            description.extend(["\n- `", word, "`: ", about]);
        }
    }
    schema.remove("oneOf");
    schema.insert("description".into(), description.trim_start().into());
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), words.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::contract_kinds;

    #[test]
    fn nothing_nullable_no_foreign_format_and_no_one_of_words_is_left() {
        for kind in contract_kinds() {
            let text = kind.schema_file();
            for wrong in ["\"null\"", "\"default\": null", "uint", "\"double\""] {
                assert!(!text.contains(wrong), "{} holds {wrong}", kind.name());
            }
        }
        let checkpoint = crate::schema::CHECKPOINT.schema();
        assert_eq!(checkpoint["$defs"]["ArtifactAction"]["enum"], json!(["created", "modified", "deleted"]));
        assert_eq!(checkpoint["properties"]["metrics"]["$ref"], "#/$defs/Metrics");
        assert_eq!(checkpoint["properties"]["metrics"]["anyOf"], Value::Null);
    }
}
