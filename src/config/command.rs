//! A command as the configuration writes it: a list of arguments, or one line for the shell.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments, run as they stand. Never empty.
    Argv(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

impl Command {
    /// The program and its arguments.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Argv(argv) => argv.clone(),
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }
}

impl JsonSchema for Command {
    fn schema_name() -> Cow<'static, str> {
        "Command".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["array", "string"],
            "items": { "type": "string" },
            "minItems": 1,
            "minLength": 1,
            "description": "A list of a program and its arguments, or one line that is given to `sh -c`."
        })
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Argv(argv) => argv.serialize(serializer),
            Self::Shell(line) => line.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || serde::de::Error::custom("expected a list of strings or a string, not empty");
        let words = match Value::deserialize(deserializer)? {
            Value::String(line) if !line.is_empty() => return Ok(Self::Shell(line)),
            Value::Array(words) if !words.is_empty() => words,
            _ => return Err(wrong()),
        };
        let argv: Option<Vec<String>> = words.into_iter().map(|word| Some(word.as_str()?.to_owned())).collect();
        argv.map(Self::Argv).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_runs_as_it_stands_and_a_line_through_the_shell() {
        for (written, argv) in
            [(json!(["cc", "-o", "a b"]), &["cc", "-o", "a b"][..]), (json!("a | b"), &["sh", "-c", "a | b"])]
        {
            let command: Command = serde_json::from_value(written.clone()).expect("a command");
            assert_eq!(command.argv(), argv);
            assert_eq!(serde_json::to_value(&command).expect("plain data"), written);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for written in [json!([]), json!(""), json!([1]), json!({"run": "x"}), json!(null), json!(7)] {
            assert!(serde_json::from_value::<Command>(written.clone()).is_err(), "{written}");
        }
    }
}
