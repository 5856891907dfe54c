//! What is optional: who operates, effort, memories, context editing; each off beside each on.

use std::fs;

use super::Workspace;
use crate::run::workspace::finished;

fn with(workspace: &Workspace, sections: &str) {
    workspace.config(&format!("{sections}\nruntime:\n  retry: {{ initial_ms: 1, max: 0 }}\n"));
}

#[test]
fn who_operates_is_written_down_and_nobody_is_taken_to_watch() {
    let workspace = Workspace::only(&[("design", "true")]);
    let operator = |name: &str, value: &str| {
        let mut command = workspace.command(&["run", "--plan", "plan.json"]);
        for agent in ["CLAUDECODE", "CURSOR_AGENT", "WINDSURF_AGENT", "AIDER_SESSION", "CLAWDBOT_AGENT"] {
            command.env_remove(agent);
        }
        finished({
            command.env(name, value);
            command
        })
        .exits(0);
        let path = workspace.path(".loa-checkpoint/operator-type.yaml");
        let text = fs::read_to_string(path).expect("written");
        let yaml: serde_yaml_archived::Value = serde_yaml_archived::from_str(&text).expect("YAML");
        let word = |key: &str| yaml[key].as_str().expect("a word").to_owned();
        [word("operator_type"), word("detection_method"), word("confidence")]
    };
    assert_eq!(operator("LOA_OPERATOR", "human"), ["HUMAN_OPERATOR", "env_var", "high"]);
    assert_eq!(operator("LOA_OPERATOR", "somebody"), ["AI_OPERATOR", "env_var", "low"]);
    assert_eq!(operator("CLAUDECODE", "1"), ["AI_OPERATOR", "env_var", "high"]);
    assert_eq!(operator("NOTHING", "1"), ["AI_OPERATOR", "tty", "low"]);
    with(&workspace, "autonomous_agent: { operator: { type: human }, require_human_deploy_approval: false }");
    assert_eq!(operator("LOA_OPERATOR", "ai"), ["HUMAN_OPERATOR", "env_var", "high"], "the configuration decides");
}

#[test]
fn effort_reaches_the_stages_that_it_is_configured_for_and_no_other() {
    let say = "echo ${LOA_EFFORT_LEVEL-none} ${LOA_THINKING_BUDGET-none} >> effort";
    let workspace = Workspace::only(&[("design", say), ("audit", say)]);
    with(&workspace, "effort: { default_level: low, per_skill: { auditing-security: high } }");
    workspace.run().exits(0);
    assert_eq!(workspace.read("effort"), "low 4000\nhigh 32000\n");
    with(&workspace, "");
    workspace.run().exits(0);
    assert_eq!(workspace.read("effort"), "low 4000\nhigh 32000\nnone none\nnone none\n");
}

const SCHEMA: &str = r#"{"type":"object","required":["id","content"],"properties":{"id":{"pattern":"^MEM-[0-9]+$"}}}"#;

#[test]
fn memories_are_read_checked_and_handed_on_and_never_written() {
    let workspace = Workspace::only(&[("design", "cp \"${LOA_MEMORY_FILE-/dev/null}\" seen")]);
    fs::create_dir_all(workspace.path("grimoires/loa/memory")).expect("made");
    fs::create_dir_all(workspace.path(".claude/schemas")).expect("made");
    let (facts, bad) = ("- { id: MEM-1, content: keep }\n- { id: X, content: wrong }\n", ": : not yaml [");
    workspace.write("grimoires/loa/memory/facts.yaml", facts);
    workspace.write("grimoires/loa/memory/single.yaml", "id: MEM-2\ncontent: alone\n");
    workspace.write("grimoires/loa/memory/bad.yaml", bad);
    workspace.write(".claude/schemas/memory.schema.json", SCHEMA);
    with(&workspace, "");
    let quiet = workspace.run().exits(0);
    assert!(!quiet.stderr.contains("memory") && workspace.read("seen").is_empty(), "off: {}", quiet.stderr);
    with(&workspace, "memory_schema: { enabled: true }");
    workspace.run().exits(0).says(&[
        "memory grimoires/loa/memory/bad.yaml is not used",
        "entry 2 of the memory",
        "facts.yaml",
    ]);
    let seen: serde_json::Value = serde_json::from_str(&workspace.read("seen")).expect("JSON");
    let ids: Vec<_> = seen["memories"].as_array().expect("a list").iter().map(|entry| entry["id"].clone()).collect();
    assert_eq!(ids, ["MEM-1", "MEM-2"]);
    assert_eq!(workspace.read("grimoires/loa/memory/facts.yaml"), facts);
    assert_eq!(workspace.read("grimoires/loa/memory/bad.yaml"), bad);
    workspace.write(".claude/schemas/memory.schema.json", "{\"type\": 7}");
    workspace.run().exits(0).says(&["memories are not checked"]);
}

#[test]
fn a_compaction_is_told_what_may_go_and_what_must_stay() {
    let request =
        r#"echo '{"type":"COMPACTION_REQUEST","clear_targets":["drafts"],"preserve":["plan"]}' >> $LOA_SIGNAL_FILE"#;
    let wait = "until test -s told; do sleep 0.005; done";
    let workspace = Workspace::only(&[("design", &format!("{request}\n{wait}"))]);
    workspace.config(
        "context_editing: { enabled: true, preserve_recent_turns: 3, preserve_artifacts: [decision_records] }
runtime:
  retry: { initial_ms: 1 }
  compaction: { command: 'echo \"$LOA_COMPACTION_CLEAR_TARGETS $LOA_COMPACTION_PRESERVE $LOA_COMPACTION_RECENT_TURNS\" > told.new; mv told.new told' }
",
    );
    workspace.run().exits(0);
    assert_eq!(workspace.read("told"), "[\"drafts\"] [\"decision_records\",\"plan\"] 3\n");
}

#[test]
fn an_attempt_that_says_nothing_for_too_long_is_ended_and_tried_again() {
    let busy =
        "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.05; done; test -f once && exit 0; touch once; exec sleep 60";
    let workspace = Workspace::only(&[("design", busy)]);
    workspace.config("runtime: { retry: { initial_ms: 1 }, phases: { design: { idle_timeout_ms: 300 } } }\n");
    workspace.run().exits(0);
    assert_eq!(workspace.starts("design"), 2, "what says something may take longer");
}

#[test]
fn a_run_may_begin_late_end_early_and_pass_over_a_phase() {
    let workspace =
        Workspace::only(&[("discovery", "true"), ("design", "true"), ("audit", "true"), ("submit", "true")]);
    let range = ["run", "--plan", "plan.json", "--from", "design", "--until", "audit", "--skip", "audit"];
    workspace.loa(&range).exits(0);
    assert_eq!(workspace.ran(), ["design"]);
    assert_eq!(workspace.checkpoint("audit")["summary"].as_str().map(|text| text.starts_with("SKIPPED:")), Some(true));
    workspace.loa(&["run", "--plan", "plan.json", "--until", "deploy"]).exits(64).says(&["deploy"]);
    workspace.loa(&["run", "--plan", "plan.json", "--phase", "audit", "--until", "submit"]).exits(64);
}
