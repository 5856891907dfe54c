//! Fixes of values that break the schema: only where one reading is possible and the meaning stays.

use serde_json::Value;

use super::expect::asks;
use crate::diag::{Fix, Node, Place, Span, Value as Found};

/// The fix of a value that is wrong by itself, where there is a safe one.
pub(super) fn fix(node: &Node, shape: &Value) -> Option<Fix> {
    if node.span.start.line != node.span.end.line || node.span.is_empty() {
        return None;
    }
    let asked = |kind: &str| asks(shape, kind);
    let in_form = ["enum", "format", "pattern"].iter().any(|rule| shape.get(rule).is_some());
    match &node.value {
        Found::Str(text) if (asked("integer") || asked("number") || numbers(shape)) && is_number(text) => {
            Some(Fix::replace("remove the quotes", node.span, text.as_str()))
        }
        Found::Str(text) if asked("boolean") => {
            Some(Fix::replace("write the boolean as YAML 1.2 knows it", node.span, boolean(text)?))
        }
        Found::Int(_) | Found::Float(_) | Found::Bool(_) if asked("string") && !in_form => {
            Some(Fix::surround("put it in quotes", node.span, "\""))
        }
        Found::Str(text) if shape.get("format").is_some_and(|format| format == "date-time") => timestamp(node, text),
        Found::Str(text) => {
            let word = same_but_case(text, shape.get("enum")?.as_array()?)?;
            reword("write the word as the contract does", node, word)
        }
        _ => None,
    }
}

/// Replaces a text by another: inside its quotes if it has some, and as a whole where it is written in escapes.
pub(super) fn reword(title: &'static str, node: &Node, word: &str) -> Option<Fix> {
    let fix = match inner(node, node.as_str()?) {
        Some(inner) => Fix::replace(title, inner, word),
        // In quotes as JSON writes them, which YAML reads alike.
        None => Fix::replace(title, node.span, Value::from(word).to_string()),
    };
    Some(fix)
}

/// The word that is the same except for capitals.
pub(super) fn same_but_case<'a>(text: &str, words: &'a [Value]) -> Option<&'a str> {
    words.iter().filter_map(Value::as_str).find(|word| word.eq_ignore_ascii_case(text))
}

/// Whether only numbers are allowed, such as the exit codes.
fn numbers(shape: &Value) -> bool {
    shape.get("enum").and_then(Value::as_array).is_some_and(|words| words.iter().all(Value::is_number))
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '.')) && text.parse::<f64>().is_ok()
}

fn boolean(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some("true"),
        "false" | "no" | "off" | "n" => Some("false"),
        _ => None,
    }
}

/// `2026-11-20 09:30:00Z` with its `T`; the moment stays the same.
fn timestamp(node: &Node, text: &str) -> Option<Fix> {
    let (date, time) = text.split_once(' ')?;
    let zoned = time.ends_with(['Z', 'z']) || time.contains('+') || time.contains('-');
    if date.len() != 10 || !zoned || format!("{date}T{time}").parse::<jiff::Timestamp>().is_err() {
        return None;
    }
    let title = "put a T between date and time";
    let Some(Span { start, .. }) = inner(node, text) else { return reword(title, node, &format!("{date}T{time}")) };
    let blank = Place { column: start.column + 10, ..start }.one();
    Some(Fix::replace(title, blank, "T"))
}

/// Where the characters of a text stand: without its quotes. `None` where they are written as escapes.
fn inner(node: &Node, text: &str) -> Option<Span> {
    let Span { start, end } = node.span;
    let (written, characters) = ((end.column - start.column) as usize, text.chars().count());
    let by = |count: u32| Span {
        start: Place { column: start.column + count, ..start },
        end: Place { column: end.column - count, ..end },
    };
    match written.checked_sub(characters)? {
        0 => Some(by(0)),
        2 => Some(by(1)),
        _ => None,
    }
}
