//! Changing top-level keys of a document in place, as somebody with an editor would: YAML stays the YAML that it was and
//! JSON stays JSON, byte for byte but for the keys that are named.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::diag::{Budget, Document, Entry, Format, Node, Place, documents};

/// Sets and removes top-level keys of a YAML or JSON mapping.
///
/// # Errors
/// What stands in the way; nothing was changed then. What comes out is read again and must be what was asked for.
pub(super) fn edited(text: &str, set: &BTreeMap<String, Value>, remove: &[String]) -> Result<String, String> {
    let mut wanted = mapping(text)?;
    wanted.retain(|key, _| !remove.contains(key));
    wanted.extend(set.clone());
    let mut now = text.to_owned();
    for key in remove {
        now = without(&now, key)?;
    }
    for (key, value) in set {
        now = with(&now, key, value)?;
    }
    match mapping(&now) {
        Ok(found) if found == wanted => Ok(now),
        _ => Err(format!("it cannot be changed in place: {text}")),
    }
}

fn read(text: &str) -> Result<Document, String> {
    let read = documents(text.as_bytes(), Format::Yaml, &Budget::default()).next();
    read.ok_or("there is no document")?.map_err(|finding| finding.message)
}

fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    match read(text)?.to_json() {
        Value::Object(mapping) => Ok(mapping),
        other => Err(format!("it is no mapping: {other}")),
    }
}

/// Whether a mapping is written in braces, as JSON is.
fn is_flow(text: &str, root: &Node) -> bool {
    text[offset(text, root.span.start)..].starts_with('{')
}

fn without(text: &str, key: &str) -> Result<String, String> {
    let document = read(text)?;
    let root = document.root();
    let entries = root.entries();
    let Some(at) = entries.iter().position(|entry| entry.key == key) else { return Ok(text.to_owned()) };
    let start = |entry: &Entry| offset(text, entry.key_span.start);
    let end = |entry: &Entry| offset(text, entry.value.span.end);
    let (from, to) = match (is_flow(text, root), entries.get(at + 1)) {
        (true, Some(next)) => (start(&entries[at]), start(next)),
        (true, None) if at > 0 => (end(&entries[at - 1]), end(&entries[at])),
        (true, None) => (start(&entries[at]), end(&entries[at])),
        (false, next) => {
            let last = end_of_line(text, end(&entries[at]));
            (start(&entries[at]), next.map_or(last, |next| last.min(start(next))))
        }
    };
    Ok(format!("{}{}", &text[..from], &text[to..]))
}

fn with(text: &str, key: &str, value: &Value) -> Result<String, String> {
    let document = read(text)?;
    let root = document.root();
    if value.is_object() && !is_flow(text, root) {
        return in_block(text, root, key, value);
    }
    let Some(entry) = root.entry(key) else { return Ok(appended(text, root, key, value)) };
    if entry.value.span == entry.key_span {
        return Err(format!("`{key}` has no value that could be replaced"));
    }
    let (from, to) = (offset(text, entry.value.span.start), offset(text, entry.value.span.end));
    Ok(format!("{}{value}{}", &text[..from], &text[to..]))
}

/// A mapping in a document of blocks is a block as well, for not everybody reads more than that.
fn in_block(text: &str, root: &Node, key: &str, value: &Value) -> Result<String, String> {
    let block = serde_yaml::to_string(&BTreeMap::from([(key, value)])).map_err(|error| error.to_string())?;
    let at = root.entry(key).map_or(text.len(), |entry| offset(text, entry.key_span.start));
    let (before, after) = text.split_at(at);
    let newline = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let after = if after.is_empty() { Ok(String::new()) } else { without(after, key) };
    after.map(|after| format!("{before}{newline}{block}{after}"))
}

fn appended(text: &str, root: &Node, key: &str, value: &Value) -> String {
    if !is_flow(text, root) {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{newline}{key}: {value}\n");
    }
    let last = root.entries().last().map(|entry| offset(text, entry.value.span.end));
    let (at, comma) = last.map_or((offset(text, root.span.start) + 1, ""), |at| (at, ", "));
    format!("{}{comma}{}: {value}{}", &text[..at], Value::from(key), &text[at..])
}

/// Behind the line that a place stands in; a place at a line's beginning is behind the line before.
fn end_of_line(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |length| at + length + 1)
}

/// Where a place is in the bytes of the text.
fn offset(text: &str, place: Place) -> usize {
    let mut walked = Place::START;
    for (at, character) in text.char_indices() {
        if walked >= place {
            return at;
        }
        walked = match character {
            '\n' => Place { line: walked.line + 1, column: 1 },
            '\r' if !text[at..].starts_with("\r\n") => Place { line: walked.line + 1, column: 1 },
            '\r' => walked,
            _ => Place { column: walked.column + 1, ..walked },
        };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(text: &str, set: &Value, remove: &[&str]) -> Result<String, String> {
        let set = set.as_object().expect("a map").clone().into_iter().collect();
        edited(text, &set, &remove.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn bytes_are_deleted_and_replaced_in_place_whatever_the_format() {
        let none = json!({});
        for (text, set, remove, expected) in [
            ("a: 1\nb: two # why\nc: 3\n", &none, &["b"][..], "a: 1\nc: 3\n"),
            ("a: 1\n# of b\nb: 2", &none, &["b"], "a: 1\n# of b\n"),
            ("a:\n  x: 1\n  y: [1,\n    2]\nb: 2\n", &none, &["a"], "b: 2\n"),
            ("a: |\n  one\n  two\nb: 2\n", &none, &["a"], "b: 2\n"),
            ("---\na: 1\nb: 2\n", &none, &["a"], "---\nb: 2\n"),
            ("{\"a\": 1, \"b\": \"x\", \"c\": [1]}", &none, &["b"], "{\"a\": 1, \"c\": [1]}"),
            ("{\"a\": 1, \"b\": \"x\"}", &none, &["b"], "{\"a\": 1}"),
            ("{\n  \"a\": 1,\n  \"b\": {\"é\": 2}\n}\n", &none, &["a"], "{\n  \"b\": {\"é\": 2}\n}\n"),
            ("{\"a\": 1}", &none, &["a"], "{}"),
            ("a: 1\r\nb: 2\r\n", &none, &["a"], "b: 2\r\n"),
            ("a: \"é\"\nb: 0\n", &json!({ "b": null }), &[], "a: \"é\"\nb: null\n"),
            ("{\"a\": {\"x\": 1}, \"b\": 0}", &json!({ "a": null }), &[], "{\"a\": null, \"b\": 0}"),
            ("a: 1\n", &json!({ "e": { "x": 1 } }), &[], "a: 1\ne:\n  x: 1\n"),
            ("a:\n  b: 1\nc: 2\n", &json!({ "a": { "x": 1 } }), &[], "a:\n  x: 1\nc: 2\n"),
            ("a: 1", &json!({ "e": { "x": 1 } }), &[], "a: 1\ne:\n  x: 1\n"),
            ("a: 1\n", &json!({ "e": [1] }), &[], "a: 1\ne: [1]\n"),
            ("{\"a\": 1}\n", &json!({ "e": 2 }), &[], "{\"a\": 1, \"e\": 2}\n"),
            ("{}", &json!({ "e": 2 }), &[], "{\"e\": 2}"),
            ("a: 1\n", &none, &["gone"], "a: 1\n"),
        ] {
            assert_eq!(changed(text, set, remove).as_deref(), Ok(expected), "{text:?} {set} {remove:?}");
        }
    }

    #[test]
    fn what_cannot_be_changed_in_place_is_refused_and_never_written_anew() {
        for (text, remove) in [("- a\n", "a"), ("a: [1\n", "a"), ("a: &x 1\nb: *x\n", "a")] {
            assert!(changed(text, &json!({}), &[remove]).is_err(), "{text:?}");
        }
        assert!(changed("a:\nb: 1\n", &json!({ "a": 2 }), &[]).is_err(), "there is nothing to replace");
    }
}
