//! Keys of Loa's own sections that this runtime does not read. They stand in the schema, so that a validator and an
//! editor know them; a run is never refused for one.

use schemars::{Schema, transform::Transform};
use serde_json::{Map, Value};

/// Adds the keys of a section, named with dots, to its schema.
pub(super) struct LoasOwn(pub(super) &'static str);

const BOOL: &str = r#"{"type":"boolean"}"#;
const POSITIVE: &str = r#"{"type":"integer","minimum":1}"#;
const TEXTS: &str = r#"{"type":"array","items":{"type":"string"}}"#;
const SECTION: &str = r#"{"type":"object"}"#;

/// Section, key, schema.
const KEYS: &[(&str, &str, &str)] = &[
    (
        "",
        "autonomous_mode",
        r#"{"type":"object","properties":{
        "retry":{"type":"object","properties":{"max_attempts":{"type":"integer","minimum":1},
            "base_delay_ms":{"type":"integer","minimum":0},"max_delay_ms":{"type":"integer","minimum":0}}},
        "timeouts":{"type":"object","properties":{"per_call":{"type":"integer","minimum":1},
            "per_document":{"type":"integer","minimum":1},"total_run":{"type":"integer","minimum":1}}},
        "on_error":{"type":"string","enum":["halt","continue"]}}}"#,
    ),
    ("autonomous_agent", "audit_threshold", r#"{"type":"integer","minimum":1,"maximum":5}"#),
    (
        "autonomous_agent",
        "attention_budget",
        r#"{"type":"object","properties":{
        "single_search":{"type":"integer","minimum":1},"accumulated":{"type":"integer","minimum":1},
        "session_total":{"type":"integer","minimum":1}}}"#,
    ),
    ("autonomous_agent", "feedback", SECTION),
    ("autonomous_agent", "prd_iteration", SECTION),
    ("autonomous_agent", "structured_notes", SECTION),
    (
        "autonomous_agent.operator",
        "ai_config",
        r#"{"type":"object","properties":{
        "enforce_autonomous_skill":{"type":"boolean"},"strict_quality_gates":{"type":"boolean"},
        "require_audit_before_pr":{"type":"boolean"},"require_audit_before_deploy":{"type":"boolean"}}}"#,
    ),
    ("autonomous_agent.context", "checkpoint_after_each_phase", BOOL),
    ("run_mode", "enabled", BOOL),
    (
        "run_mode",
        "rate_limiting",
        r#"{"type":"object","properties":{"calls_per_hour":{"type":"integer","minimum":1}}}"#,
    ),
    (
        "run_mode",
        "git",
        r#"{"type":"object","properties":{
        "auto_push":{"enum":[true,false,"prompt"]},"create_draft_pr":{"type":"boolean"},
        "base_branch":{"type":"string"},"sprint_commit_pattern":{"type":"string"}}}"#,
    ),
    ("run_mode.defaults", "max_cycles", POSITIVE),
    (
        "effort",
        "ai_operator_adjustment",
        r#"{"type":"object","properties":{"enabled":{"type":"boolean"},
        "reduction":{"type":"integer"}}}"#,
    ),
    ("context_editing", "clear_after_phases", TEXTS),
    ("memory_schema", "auto_capture", SECTION),
    (
        "memory_schema",
        "retrieval",
        r#"{"type":"object","properties":{"max_per_query":{"type":"integer","minimum":1},
        "min_confidence":{"type":"number","minimum":0,"maximum":1}}}"#,
    ),
    (
        "memory_schema",
        "lifecycle",
        r#"{"type":"object","properties":{"auto_archive":{"type":"boolean"},
        "check_on_session_start":{"type":"boolean"}}}"#,
    ),
    ("", "paths", r#"{"type":"object","properties":{"grimoire":{"type":"string"},"state_dir":{"type":"string"}}}"#),
];

impl Transform for LoasOwn {
    fn transform(&mut self, schema: &mut Schema) {
        let properties = schema.ensure_object().entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(properties) = properties else { return };
        for (_, key, text) in KEYS.iter().filter(|(section, _, _)| *section == self.0) {
            properties.insert((*key).to_owned(), serde_json::from_str(text).expect("the table holds JSON"));
        }
    }
}

/// Whether a JSON pointer leads to one of these keys, or below it.
pub(super) fn is_loas_own(pointer: &str) -> bool {
    KEYS.iter().any(|(section, key, _)| {
        let own = if section.is_empty() { format!("/{key}") } else { format!("/{}/{key}", section.replace('.', "/")) };
        pointer.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CONFIG;

    #[test]
    fn every_key_of_the_table_stands_in_the_schema() {
        let schema = CONFIG.schema().to_string();
        for (_, key, _) in KEYS {
            assert!(schema.contains(&format!("\"{key}\":")), "{key}");
        }
        assert!(is_loas_own("/autonomous_agent/audit_threshold"));
        assert!(is_loas_own("/autonomous_mode/retry/max_attempts"));
        assert!(!is_loas_own("/autonomous_agent/audit_thresholds"));
        assert!(!is_loas_own("/autonomous_agent/max_remediation_loops"));
    }
}
