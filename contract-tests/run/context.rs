//! The context of a stage: both streams, warnings, compaction, overflow (Context Signals Interface).

use serde_json::Value;

use super::Workspace;

/// Appends usages one by one, each after the runtime has seen the one before.
fn usages(tokens: &[u64]) -> String {
    let line = |tokens: &u64| {
        format!(
            "n=$(grep -c CURRENT $LOA_EVENT_FILE); echo '{{\"type\":\"USAGE\",\"context_tokens\":{tokens}}}' >> $LOA_SIGNAL_FILE; until test $(grep -c CURRENT $LOA_EVENT_FILE) -gt $n; do sleep 0.005; done"
        )
    };
    tokens.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn events(workspace: &Workspace) -> Vec<Value> {
    let text = workspace.exchanged("design", "events.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn config(editing: bool) -> String {
    format!(
        "autonomous_agent: {{ context: {{ soft_limit_tokens: 1000, hard_limit_tokens: 2000 }} }}\ncontext_editing: {{ enabled: {editing} }}\nruntime: {{ retry: {{ initial_ms: 1 }} }}\n"
    )
}

#[test]
fn each_threshold_is_warned_of_once_and_again_after_a_fall() {
    let workspace = Workspace::only(&[("design", &usages(&[999, 1000, 1500, 500, 1001, 2000]))]);
    workspace.config(&config(false));
    workspace.run().exits(0).says(&["context warning soft", "context warning hard"]);
    let events = events(&workspace);
    let levels: Vec<_> = of_type(&events, "CONTEXT_WARNING")
        .iter()
        .map(|event| (event["level"].as_str().unwrap_or("").to_owned(), event["current_tokens"].as_u64()))
        .collect();
    let expected = [("soft", 1000), ("soft", 1001), ("hard", 2000)].map(|(l, t)| (l.to_owned(), Some(t)));
    assert_eq!(levels, expected);
    let compactions: Vec<_> = of_type(&events, "COMPACTION").iter().map(|event| event["level"].clone()).collect();
    assert_eq!(compactions, ["standard", "standard", "emergency"]);
    assert_eq!(of_type(&events, "CONTEXT_CURRENT").len(), 6);
    assert!(of_type(&events, "CONTEXT_NEAR_LIMIT").is_empty() && of_type(&events, "COMPACTION_COMPLETE").is_empty());
    let state = workspace.read(".loa-checkpoint/context-state.yaml");
    assert!(state.contains("current_tokens: 2000") && state.contains("'hard'"), "{state}");
}

#[test]
fn the_stage_is_told_the_limits() {
    let workspace = Workspace::only(&[("design", "echo $CONTEXT_SOFT_LIMIT $CONTEXT_HARD_LIMIT > limits")]);
    workspace.run().exits(0);
    assert_eq!(workspace.read("limits"), "80000 150000\n");
    workspace.config(&config(false));
    workspace.run().exits(0);
    assert_eq!(workspace.read("limits"), "1000 2000\n");
}

#[test]
fn a_context_that_stays_at_its_limit_calls_a_human() {
    let after = format!("{}\nsleep 60", usages(&[2000, 2001]));
    for script in [after.as_str(), &usages(&[2000, 2001])] {
        let workspace = Workspace::only(&[("design", script), ("submit", "true")]);
        workspace.config(&config(false));
        workspace.run().exits(2);
        assert_eq!(workspace.report()["trigger"], "context_overflow");
        assert_eq!(workspace.starts("submit"), 0);
    }
    let workspace = Workspace::only(&[("design", &usages(&[2000, 1999, 2000]))]);
    workspace.config(&config(false));
    workspace.run().exits(0);
}

#[test]
fn context_editing_has_its_own_signals_and_a_command_that_does_the_work() {
    let request = r#"echo '{"type":"COMPACTION_REQUEST","clear_targets":["a"],"preserve":[]}' >> $LOA_SIGNAL_FILE"#;
    let wait = "until test $(grep -c COMPLETE $LOA_EVENT_FILE) -eq 2; do sleep 0.005; done";
    let workspace = Workspace::only(&[("design", &format!("{}\n{request}\n{wait}", usages(&[1600])))]);
    workspace.config(&format!(
        "{}  compaction: {{ command: 'echo $LOA_COMPACTION_LEVEL $LOA_PHASE >> compacted; echo \"{{\\\"tokens_freed\\\":600,\\\"items_cleared\\\":4}}\"' }}\n",
        config(true).replace("runtime: { retry: { initial_ms: 1 } }", "runtime:\n  retry: { initial_ms: 1 }")
    ));
    workspace.run().exits(0);
    let events = events(&workspace);
    let near = of_type(&events, "CONTEXT_NEAR_LIMIT");
    assert_eq!((near.len(), &near[0]["percent_used"]), (1, &serde_json::json!(80.0)));
    let complete = of_type(&events, "COMPACTION_COMPLETE");
    assert_eq!(complete.len(), 2, "one at the soft limit, one asked for");
    assert_eq!(complete[0]["tokens_freed"], 600);
    assert_eq!(complete[0]["items_cleared"], 4);
    assert_eq!(complete[0]["new_percent"], 50.0);
    assert_eq!(workspace.read("compacted"), "standard design\nstandard design\n");
}

#[test]
fn a_signal_that_is_none_is_said_and_does_no_harm() {
    let workspace =
        Workspace::only(&[("design", "echo nonsense >> $LOA_SIGNAL_FILE; printf '{\"type\":' >> $LOA_SIGNAL_FILE")]);
    workspace.run().exits(0).says(&["signal not understood", "nonsense"]);
}
