//! `$name` in the texts of a case: drawn values, filled in. The rig fills them into what it does, the verdict into what it
//! expects, from the same map, so that both speak of the same values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Fills every `$name` of a text. A name that was not drawn stays as it is: the lint has refused it before.
#[must_use]
pub fn text(drawn: &BTreeMap<String, Value>, template: &str) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        let name = name_at(&rest[dollar + 1..]);
        filled.push_str(&rest[..dollar]);
        match drawn.get(name) {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => filled.push_str(&rest[dollar..=dollar + name.len()]),
        }
        rest = &rest[dollar + 1 + name.len()..];
    }
    filled.push_str(rest);
    filled
}

/// Fills every `$name` of a JSON value, keys included. A text that is nothing but one name takes the drawn value with its
/// type: `"$code"` becomes the number 137.
#[must_use]
pub fn value(drawn: &BTreeMap<String, Value>, template: &Value) -> Value {
    match template {
        Value::String(string) => match string.strip_prefix('$').and_then(|name| drawn.get(name)) {
            Some(whole) => whole.clone(),
            None => Value::String(text(drawn, string)),
        },
        Value::Array(items) => items.iter().map(|item| value(drawn, item)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (text(drawn, key), value(drawn, field))).collect())
        }
        other => other.clone(),
    }
}

/// Every name that a text mentions, without the dollar.
#[must_use]
pub fn mentioned(template: &str) -> BTreeSet<&str> {
    template.split('$').skip(1).map(name_at).filter(|name| !name.is_empty()).collect()
}

/// The name at the beginning of a text: lower-case letters, digits and underscores, a letter first. A dollar before
/// anything else is only a dollar, as in a regular expression.
fn name_at(text: &str) -> &str {
    if !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return "";
    }
    let end = text.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn() -> BTreeMap<String, Value> {
        BTreeMap::from([("p".to_owned(), json!("design")), ("code".to_owned(), json!(137))])
    }

    #[test]
    fn texts_are_filled_and_other_dollars_stay() {
        for (template, filled) in [
            ("$p", "design"),
            ("$p.yaml", "design.yaml"),
            ("UNKNOWN_EXIT_$code", "UNKNOWN_EXIT_137"),
            ("$p$code", "design137"),
            ("^ends$", "^ends$"),
            ("$5 and $P", "$5 and $P"),
            ("$stranger", "$stranger"),
            ("$", "$"),
        ] {
            assert_eq!(text(&drawn(), template), filled, "{template}");
        }
    }

    #[test]
    fn a_value_that_is_one_name_keeps_its_type() {
        assert_eq!(value(&drawn(), &json!("$code")), json!(137));
        assert_eq!(value(&drawn(), &json!({"$p": ["$code", "c$code"]})), json!({"design": [137, "c137"]}));
    }

    #[test]
    fn mentioned_names() {
        assert_eq!(mentioned("$p and $code$, $p"), BTreeSet::from(["p", "code"]));
    }
}
