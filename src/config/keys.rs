//! The keys of our own section, and the environment variable of each.
//!
//! One rule makes every name: `LOA_RUN_`, then the key without `runtime.`, in capitals, with `_` for each dot. So
//! `runtime.retry.max` is `LOA_RUN_RETRY_MAX`, and `runtime.phases.audit.skip` is `LOA_RUN_PHASES_AUDIT_SKIP`. Of maps with
//! names of one's own only `backends` has variables: `runtime.backends.my-agent.model` is `LOA_RUN_BACKENDS_MY_AGENT_MODEL`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::kind::CONFIG;

/// How the variables of our own keys begin.
pub const PREFIX: &str = "LOA_RUN_";

/// Every variable of our own section, and its key.
#[must_use]
pub fn runtime_variables() -> BTreeMap<String, String> {
    let schema = CONFIG.schema();
    let mut keys = Vec::new();
    walk(&schema, &schema["properties"]["runtime"], "runtime", &mut keys);
    keys.into_iter().map(|key| (variable(&key), key)).collect()
}

/// The variable of a key of ours.
fn variable(key: &str) -> String {
    let name = key.strip_prefix("runtime.").unwrap_or(key);
    format!("{PREFIX}{}", name.replace('.', "_").to_uppercase())
}

/// The key of an agent's own section that a variable means, with the name as the variable has it, in small letters.
pub(super) fn backend_key(variable: &str) -> Option<String> {
    static KEYS: LazyLock<BTreeMap<String, String>> = LazyLock::new(backend_keys);
    let rest = variable.strip_prefix(PREFIX)?.strip_prefix("BACKENDS_")?;
    let ends = |ending: &&String| rest.strip_suffix(ending.as_str()).is_some_and(|name| !name.is_empty());
    let ending = KEYS.keys().filter(ends).max_by_key(|ending| ending.len())?;
    let name = rest.strip_suffix(ending.as_str())?.to_lowercase();
    Some(format!("runtime.backends.{name}.{}", KEYS[ending]))
}

/// How the name of a backend reads in a variable, and so in the key that [`backend_key`] yields.
pub(super) fn backend_name_in_key(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// The keys of an agent's section, by how a variable of each ends.
fn backend_keys() -> BTreeMap<String, String> {
    let schema = CONFIG.schema();
    let reference = |schema: &Value| schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')).map(str::to_owned);
    let runtime = &schema["properties"]["runtime"];
    let runtime = reference(runtime).and_then(|pointer| schema.pointer(&pointer)).unwrap_or(runtime);
    let mut keys = Vec::new();
    walk(&schema, &runtime["properties"]["backends"]["additionalProperties"], "", &mut keys);
    let ending = |key: String| (key.replace('.', "_").to_uppercase(), key.trim_start_matches('.').to_owned());
    keys.into_iter().map(ending).collect()
}

/// The key that a variable of ours seems to mean, when it is none of the known.
pub(super) fn likely_key(variable: &str) -> String {
    let name = variable.strip_prefix(PREFIX).unwrap_or(variable);
    format!("runtime.{}", name.to_lowercase())
}

/// Collects the keys that hold a value, where a schema has them.
fn walk(root: &Value, schema: &Value, key: &str, keys: &mut Vec<String>) {
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    let schema = reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema);
    if let Some(properties) = schema["properties"].as_object() {
        for (name, inner) in properties {
            walk(root, inner, &format!("{key}.{name}"), keys);
        }
    } else if schema["type"] != "object" {
        keys.push(key.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_ours_has_one_variable_and_the_old_names_are_among_them() {
        let variables = runtime_variables();
        for (name, key) in [
            ("LOA_RUN_RETRY_MAX", "runtime.retry.max"),
            ("LOA_RUN_RETRY_INITIAL_MS", "runtime.retry.initial_ms"),
            ("LOA_RUN_PHASES_AUDIT_SKIP", "runtime.phases.audit.skip"),
            ("LOA_RUN_PHASES_AUDIT_RETRY_MAX", "runtime.phases.audit.retry.max"),
            ("LOA_RUN_PHASES_IMPLEMENTATION_TIMEOUT_MS", "runtime.phases.implementation.timeout_ms"),
            ("LOA_RUN_PHASES_DESIGN_COMMAND", "runtime.phases.design.command"),
        ] {
            assert_eq!(variables.get(name).map(String::as_str), Some(key), "{variables:#?}");
        }
        assert!(!variables.contains_key("LOA_RUN_PHASES_AUDIT_ENV"), "a map of one's own has no variable");
        let mut keys = Vec::new();
        let schema = CONFIG.schema();
        walk(&schema, &schema["properties"]["runtime"], "runtime", &mut keys);
        assert_eq!(keys.len(), variables.len(), "no two keys share a variable");
    }

    #[test]
    fn an_agents_keys_have_variables_whatever_its_name() {
        for (name, key) in [
            ("LOA_RUN_BACKENDS_CLAUDE_MODEL", Some("runtime.backends.claude.model")),
            ("LOA_RUN_BACKENDS_CLAUDE_MAX_TURNS", Some("runtime.backends.claude.max_turns")),
            ("LOA_RUN_BACKENDS_MY_AGENT_RETRY_MAX", Some("runtime.backends.my_agent.retry.max")),
            ("LOA_RUN_BACKENDS_MODEL_MODEL", Some("runtime.backends.model.model")),
            ("LOA_RUN_BACKENDS_X_PROMPTS_PRE_USER", Some("runtime.backends.x.prompts.pre_user")),
            ("LOA_RUN_BACKENDS_MODEL", None),
            ("LOA_RUN_BACKENDS_CLAUDE_ENV", None),
            ("LOA_RUN_BACKEND", None),
        ] {
            assert_eq!(backend_key(name).as_deref(), key, "{name}");
        }
        assert_eq!(backend_name_in_key("My-Agent"), "my_agent");
    }
}
