//! The shell tool of a request: whatever it is called, and whatever it wants to be told. Pure.

use serde_json::{Map, Value, json};

/// A tool that a request offers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    /// The JSON Schema of its arguments; null where the dialect has none.
    pub(super) schema: Value,
}

/// How the argument that holds the command is called.
const COMMAND: [&str; 2] = ["command", "cmd"];
/// What the names of shell tools have in them, the likeliest first.
const SHELLS: [&str; 5] = ["bash", "shell", "exec", "terminal", "command"];

/// The call of a command by the request's shell tool: the tool's name and its arguments. `None` when no tool takes one.
pub(super) fn call(tools: &[Tool], command: &str) -> Option<(String, Value)> {
    let takes = |tool: &&Tool| command_key(&tool.schema).is_some();
    let rank = |tool: &&Tool| {
        let name = tool.name.to_lowercase();
        SHELLS.iter().position(|word| name.contains(word)).unwrap_or(SHELLS.len())
    };
    let tool = tools.iter().filter(takes).min_by_key(rank)?;
    Some((tool.name.clone(), arguments(&tool.schema, command)))
}

/// Whether a tool is called as those are that run commands.
pub(in crate::conform) fn is_named_so(name: &str) -> bool {
    let name = name.to_lowercase();
    SHELLS.iter().any(|word| name.contains(word))
}

/// The property that holds the command, if it is a text or a list. One of a few words is no command of a shell.
fn command_key(schema: &Value) -> Option<&'static str> {
    COMMAND.into_iter().find(|key| {
        let property = &schema["properties"][*key];
        property["enum"].is_null() && (is(property, "string") || is(property, "array"))
    })
}

fn arguments(schema: &Value, command: &str) -> Value {
    let mut arguments = Map::new();
    if let Some(key) = command_key(schema) {
        let listed = is(&schema["properties"][key], "array");
        arguments.insert(key.to_owned(), if listed { json!(["bash", "-lc", command]) } else { json!(command) });
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for key in required {
        if !arguments.contains_key(key) {
            arguments.insert(key.to_owned(), filler(&schema["properties"][key]));
        }
    }
    Value::Object(arguments)
}

/// Something that a required argument takes, where nothing is known of it.
fn filler(property: &Value) -> Value {
    if let Some(first) = property["enum"].get(0) {
        return first.clone();
    }
    if is(property, "boolean") {
        json!(false)
    } else if is(property, "integer") || is(property, "number") {
        property.get("minimum").cloned().unwrap_or(json!(60))
    } else if is(property, "array") {
        json!([])
    } else if is(property, "object") {
        json!({})
    } else {
        json!("scripted")
    }
}

fn is(property: &Value, kind: &str) -> bool {
    match &property["type"] {
        Value::String(word) => word.eq_ignore_ascii_case(kind),
        Value::Array(words) => words.iter().any(|word| word == kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_tool_has_a_word_for_it_in_its_name() {
        let named = ["Bash", "exec_command", "run_shell_command", "Read", "edit"].map(is_named_so);
        assert_eq!(named, [true, true, true, false, false]);
    }

    fn tool(name: &str, schema: Value) -> Tool {
        Tool { name: name.to_owned(), schema }
    }

    #[test]
    fn the_shell_is_known_by_its_schema_and_preferred_by_its_name() {
        let text = json!({"type": "string"});
        let read = tool("Read", json!({"properties": {"file_path": text}}));
        let monitor = tool("Monitor", json!({"properties": {"command": text}}));
        let bash = tool("Bash", json!({"properties": {"command": text, "timeout": {"type": "number"}}}));
        let output = tool("BashOutput", json!({"properties": {"bash_id": text}}));
        let codex = tool("exec_command", json!({"properties": {"cmd": text}, "required": ["cmd"]}));
        let argv = tool("shell", json!({"properties": {"command": {"type": "array"}}}));
        let bare = tool("custom", Value::Null);
        let edit = tool("edit", json!({"properties": {"command": {"type": "string", "enum": ["view", "create"]}}}));
        for (tools, expected) in [
            (vec![read.clone(), monitor.clone(), output, bash], Some(("Bash", json!({"command": "ls"})))),
            (vec![bare.clone(), codex], Some(("exec_command", json!({"cmd": "ls"})))),
            (vec![monitor], Some(("Monitor", json!({"command": "ls"})))),
            (vec![argv], Some(("shell", json!({"command": ["bash", "-lc", "ls"]})))),
            (vec![read, bare, edit], None),
            (vec![], None),
        ] {
            let expected = expected.map(|(name, input)| (name.to_owned(), input));
            assert_eq!(call(&tools, "ls"), expected, "{tools:?}");
        }
    }

    #[test]
    fn what_else_is_required_is_filled_in() {
        let schema = json!({
            "properties": {
                "command": {"type": ["string", "null"]}, "why": {"type": "string"}, "risk": {"enum": ["low", "high"]},
                "background": {"type": "BOOLEAN"}, "timeout": {"type": "integer", "minimum": 5}, "list": {"type": "array"},
                "map": {"type": "object"}, "optional": {"type": "string"}
            },
            "required": ["why", "risk", "background", "timeout", "list", "map", "command", "unknown"]
        });
        let expected = json!({
            "command": "ls", "why": "scripted", "risk": "low", "background": false, "timeout": 5, "list": [], "map": {},
            "unknown": "scripted"
        });
        assert_eq!(call(&[tool("run", schema)], "ls"), Some(("run".to_owned(), expected)));
    }
}
