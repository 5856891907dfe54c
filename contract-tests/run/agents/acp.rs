//! Agents behind the Agent Client Protocol: a scripted one, played through the whole of `loa-run`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::run::workspace::collected;
use crate::run::{Workspace, until};

/// A workspace whose only phase is `design`, done by the agent of `fixtures/acp/agent.py`.
struct Scripted {
    workspace: Workspace,
}

impl Scripted {
    /// The agent's every start plays this turn.
    fn new(turn: &Value) -> Self {
        let scripted = Self { workspace: Workspace::only(&[]) };
        fs::create_dir_all(scripted.workspace.path("acp")).expect("made");
        let plan = json!({ "phases": [{ "id": "design", "prompt": "Design it." }] });
        scripted.workspace.write("plan.json", &plan.to_string());
        scripted.configured("", "");
        scripted.plays("rest", &json!({}), turn);
        scripted
    }

    /// Adds keys to the section of the backend, and lines to the section `runtime`.
    fn configured(&self, keys: &str, lines: &str) {
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/acp/agent.py");
        self.workspace.config(&format!(
            "autonomous_agent: {{ context: {{ soft_limit_tokens: 1000, hard_limit_tokens: 2000 }} }}\nruntime:\n  backend: mine\n  retry: {{ initial_ms: 1, max_ms: 1, jitter: 0 }}\n  outage_patience: 0\n  backends: {{ mine: {{ kind: acp, run: [python3, '{}', --acp], args: [last], env: {{ ACP: '{}' }}{keys} }} }}\n{lines}",
            agent.display(),
            self.workspace.path("acp").display(),
        ));
    }

    /// What the start of this number answers to methods, and does in its turn; `rest` are all others.
    fn plays(&self, start: &str, replies: &Value, turn: &Value) {
        let script = json!({ "replies": replies, "turn": turn });
        self.workspace.write(&format!("acp/{start}.json"), &script.to_string());
    }

    /// What a start of it heard.
    fn heard(&self, start: usize) -> Vec<Value> {
        let text = self.workspace.read(&format!("acp/heard-{start}.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).expect("what it hears is JSON")).collect()
    }

    /// The methods that it heard, in order.
    fn methods(&self, start: usize) -> Vec<String> {
        self.heard(start).iter().filter_map(|message| message["method"].as_str().map(str::to_owned)).collect()
    }

    /// The parameters of a method that it heard.
    fn params(&self, start: usize, method: &str) -> Value {
        self.heard(start).iter().find(|message| message["method"] == method).expect(method)["params"].clone()
    }

    fn told(&self, start: usize) -> String {
        self.params(start, "session/prompt")["prompt"][0]["text"].as_str().expect("a text").to_owned()
    }

    fn starts(&self) -> usize {
        (1..100).take_while(|n| self.workspace.path(&format!("acp/started-{n}")).exists()).count()
    }

    fn record(&self) -> serde_yaml_archived::Value {
        self.workspace.agent("design")
    }

    fn classes(&self) -> Vec<String> {
        self.workspace.classes("design")
    }
}

fn done() -> Value {
    json!([{ "say": "All " }, { "say": "done." }, { "end": { "stopReason": "end_turn" } }])
}

fn alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn an_agent_does_a_phase() {
    let agent = Scripted::new(&done());
    agent.workspace.run().exits(0);
    assert_eq!(agent.methods(1), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(agent.told(1), "Design it.");
    let workspace = agent.params(1, "session/new")["cwd"].as_str().expect("a folder").to_owned();
    assert_eq!(
        fs::canonicalize(workspace).expect("it is there"),
        fs::canonicalize(agent.workspace.path("")).expect("ours")
    );
    assert_eq!(agent.workspace.checkpoint("design")["summary"], "UNVERIFIED: All done.");
    assert_eq!((agent.classes(), agent.record()["session"].as_str()), (vec!["done".to_owned()], Some("s-1")));
    assert_eq!(agent.record()["invocations"][0]["code"], 0, "it ended by itself");
    assert_eq!(agent.workspace.read("acp/started-1/arguments"), "--acp\nlast");
    assert!(agent.workspace.read("acp/started-1/environment").contains("LOA_PHASE=design\n"));
}

#[test]
fn what_it_may_is_the_configurations_word() {
    for (permissions, allowed) in
        [("read", &["read"][..]), ("edit", &["read", "edit"]), ("all", &["read", "edit", "execute"])]
    {
        let kinds = ["read", "edit", "execute"];
        let mut turn: Vec<Value> = kinds.iter().map(|kind| json!({ "ask": kind })).collect();
        turn.extend(done().as_array().cloned().unwrap_or_default());
        let agent = Scripted::new(&json!(turn));
        agent.configured(&format!(", permissions: {permissions}"), "");
        let ran = agent.workspace.run().exits(0);
        let denied = kinds.len() - allowed.len();
        assert_eq!(ran.stderr.contains(&format!("not allowed to use {denied} tools")), denied > 0, "{}", ran.stderr);
        for kind in kinds {
            let heard = agent.heard(1);
            let answer = heard.iter().find(|message| message["id"] == format!("ask-{kind}")).expect("an answer");
            let option = if allowed.contains(&kind) { "the allow_once" } else { "the reject_once" };
            assert_eq!(answer["result"]["outcome"]["optionId"], option, "{permissions} {kind}");
        }
    }
}

#[test]
fn an_agent_that_stops_at_what_it_was_not_allowed_calls_a_human() {
    let agent = Scripted::new(&json!([{ "ask": "execute" }, { "end": { "stopReason": "end_turn" } }]));
    agent.workspace.run().exits(2).says(&["not allowed"]);
    assert_eq!((agent.starts(), agent.classes()), (1, vec!["permanent".to_owned()]));
}

#[test]
fn errors_have_their_class() {
    for (error, class, starts) in [
        (json!({ "code": -32000, "message": "Authentication required" }), "permanent", 1),
        (json!({ "code": 401, "message": "bad key" }), "permanent", 1),
        (json!({ "code": 529, "message": "Overloaded", "data": ["of any", "type"] }), "transient", 4),
        (
            json!({ "code": -32603, "message": "Internal error", "data": { "errorKind": "server_error" } }),
            "transient",
            4,
        ),
        (json!({ "code": -32603, "message": "Prompt is too long" }), "overflow", 1),
    ] {
        let agent = Scripted::new(&json!([{ "fail": error }]));
        agent.workspace.run().exits(2);
        assert_eq!(agent.classes(), vec![class; starts], "{error}");
    }
}

#[test]
fn a_failure_for_the_moment_is_tried_again_in_its_session() {
    let agent = Scripted::new(&done());
    agent.plays("1", &json!({}), &json!([{ "fail": { "code": 529, "message": "Overloaded" } }]));
    agent.workspace.run().exits(0).says(&["529", "trying again"]);
    assert_eq!(agent.classes(), ["transient", "done"]);
    assert_eq!(agent.methods(2), ["initialize", "session/load", "session/prompt"]);
    assert_eq!(agent.params(2, "session/load")["sessionId"], "s-1");
    assert!(!agent.told(2).contains("Design it."), "{}", agent.told(2));
    assert_eq!(agent.workspace.checkpoint("design")["summary"], "UNVERIFIED: All done.");
}

#[test]
fn an_agent_that_can_resume_is_not_made_to_load() {
    let abilities = json!({ "loadSession": true, "sessionCapabilities": { "resume": {}, "close": {} } });
    let replies = json!({ "initialize": { "protocolVersion": 1, "agentCapabilities": abilities } });
    let agent = Scripted::new(&done());
    agent.plays("1", &replies, &json!([{ "fail": { "code": 529, "message": "Overloaded" } }]));
    agent.plays("2", &replies, &done());
    agent.workspace.run().exits(0);
    assert_eq!(agent.methods(2), ["initialize", "session/resume", "session/prompt", "session/close"]);
}

#[test]
fn a_session_that_is_gone_is_replaced_in_the_same_attempt() {
    let agent = Scripted::new(&done());
    agent.plays("1", &json!({}), &json!([{ "fail": { "code": 529, "message": "Overloaded" } }]));
    let gone = json!({ "error": { "code": -32002, "message": "Resource not found: s-1" } });
    agent.plays("2", &json!({ "session/load": gone }), &done());
    agent.workspace.run().exits(0).says(&["a new one begins"]);
    assert_eq!(agent.starts(), 3);
    assert!(agent.told(3).contains("Design it."));
    assert_eq!(agent.record()["session"].as_str(), Some("s-3"));
}

#[test]
fn an_end_that_hides_a_failure_is_no_success() {
    let end = json!({ "end": { "stopReason": "end_turn" } });
    let air = json!({ "category": "connection", "severity": "error", "title": "unexpected status 529", "actions": ["retry"] });
    let air =
        json!({ "end": { "stopReason": "end_turn", "_meta": { "jetbrains": { "air": { "sessionFailure": air } } } } });
    for (turn, class) in [
        (json!([end]), "transient"),
        (
            json!([{ "say": "{\"error\": {\"message\": \"no\", \"type\": \"invalid_request_error\"}}" }, end]),
            "permanent",
        ),
        (json!([{ "say": "I begin." }, { "ask": "read" }, end]), "transient"),
        (json!([air]), "transient"),
        (json!([{ "end": { "stopReason": "refusal" } }]), "permanent"),
        (json!([{ "say": "On and on." }, { "end": { "stopReason": "max_turn_requests" } }]), "timed_out"),
    ] {
        let agent = Scripted::new(&done());
        agent.plays("1", &json!({}), &turn);
        let code = if class == "permanent" { 2 } else { 0 };
        agent.workspace.run().exits(code);
        assert_eq!(agent.classes()[0], class, "{turn}");
    }
}

#[test]
fn a_used_up_quota_is_waited_for() {
    let agent = Scripted::new(&json!([{ "fail": { "code": 429, "message": "quota" } }]));
    agent.configured("", "  limit_patience_hours: 0.000001\n");
    agent.workspace.run().exits(1);
    assert_eq!((agent.classes(), agent.starts()), (vec!["limit".to_owned()], 1));
}

#[test]
fn a_death_without_a_word_is_no_success() {
    let agent = Scripted::new(&done());
    agent.plays("1", &json!({}), &json!([{ "say": "I begin." }, { "die": 0 }]));
    agent.plays("2", &json!({ "session/load": null }), &json!([]));
    agent.workspace.run().exits(0);
    assert_eq!(agent.classes(), ["lost", "lost", "done"]);
    assert_eq!(agent.record()["invocations"][1]["code"], 3, "what the process returned is kept");
    assert_eq!(agent.params(3, "session/load")["sessionId"], "s-1");
}

#[test]
fn after_kill_9_the_agent_is_gone_and_resume_loads_its_session() {
    let agent = Scripted::new(&done());
    agent.workspace.without_boundary();
    let pid = "echo $$ > child; exec sleep 60";
    agent.plays("1", &json!({}), &json!([{ "say": "I work." }, { "run": pid }, { "await": "never" }]));
    let mut run = agent.workspace.start();
    until("the agent works", || !agent.workspace.read("child").is_empty() && agent.record()["session"].is_string());
    run.kill().expect("killed");
    run.wait().expect("awaited");
    let child = agent.workspace.read("child");
    until("the agent's group is gone", || !alive(&child));
    agent.workspace.resume().exits(0).says(&["goes on in session s-1"]);
    assert_eq!(agent.params(2, "session/load")["sessionId"], "s-1");
    assert!(agent.told(2).contains("Go on where you stopped"), "{}", agent.told(2));
}

#[test]
fn an_agent_that_takes_too_long_is_cancelled_and_goes_on() {
    let abilities = json!({ "loadSession": true, "sessionCapabilities": { "close": {} } });
    let replies = json!({ "initialize": { "protocolVersion": 1, "agentCapabilities": abilities } });
    let agent = Scripted::new(&done());
    agent.configured("", "  phases: { design: { idle_timeout_ms: 1500 } }\n");
    let cancelled = json!({ "end": { "stopReason": "cancelled" } });
    agent.plays("1", &replies, &json!([{ "say": "I wait." }, { "await": "cancel" }, cancelled]));
    agent.workspace.run().exits(0).says(&["it said nothing for 1.5 s"]);
    assert_eq!(agent.classes(), ["timed_out", "done"]);
    assert_eq!(agent.methods(1)[2..], ["session/prompt", "session/cancel", "session/close"]);
    assert_eq!(agent.record()["invocations"][0]["code"], 0, "it ended by itself");
    assert_eq!(agent.params(2, "session/load")["sessionId"], "s-1");
}

#[test]
fn a_long_message_that_comes_byte_by_byte_is_life() {
    let agent = Scripted::new(&json!([{ "dribble": "All done." }, { "end": { "stopReason": "end_turn" } }]));
    agent.configured("", "  phases: { design: { idle_timeout_ms: 1500 } }\n");
    agent.workspace.run().exits(0);
    assert_eq!(agent.classes(), ["done"]);
    assert_eq!(agent.workspace.checkpoint("design")["summary"], "UNVERIFIED: All done.");
}

#[test]
fn an_agent_that_hears_nothing_is_ended_with_everything_below_it() {
    let agent = Scripted::new(&done());
    agent.workspace.without_boundary();
    let hangs = "trap '' TERM; echo $$ > child; sleep 60; sleep 60";
    agent.plays("1", &json!({}), &json!([{ "say": "I hang." }, { "run": hangs }, { "await": "never" }]));
    let run = agent.workspace.start();
    until("the agent works", || !agent.workspace.read("child").is_empty() && agent.record()["session"].is_string());
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs").success());
    collected(run).exits(130);
    assert!(!alive(&agent.workspace.read("child")));
    assert_eq!(agent.classes(), ["cancelled"]);
    assert!(agent.methods(1).contains(&"session/cancel".to_owned()));
}

#[test]
fn its_usage_is_its_context() {
    let usage = |used: u64| json!({ "update": { "sessionUpdate": "usage_update", "used": used, "size": 9000 } });
    let agent = Scripted::new(&done());
    agent.plays(
        "1",
        &json!({}),
        &json!([usage(500), usage(1500), { "say": "Done." }, { "end": { "stopReason": "end_turn" } }]),
    );
    agent.workspace.run().exits(0).says(&["context warning soft"]);
    assert!(agent.workspace.read(".loa-checkpoint/context-state.yaml").contains("current_tokens: 1500\n"));
}

#[test]
fn a_context_at_its_limit_is_compacted_where_the_agent_is_known_to_by_a_prompt() {
    let usage = |used: u64| json!({ "update": { "sessionUpdate": "usage_update", "used": used, "size": 9000 } });
    let full =
        json!([{ "say": "I work." }, usage(2500), { "await": "cancel" }, { "end": { "stopReason": "cancelled" } }]);
    let agent = Scripted::new(&done());
    agent.configured(", compact: /compact", "");
    agent.plays("1", &json!({}), &full);
    agent.plays("2", &json!({}), &json!([usage(300), { "end": { "stopReason": "end_turn" } }]));
    agent.workspace.run().exits(0).says(&["emergency compaction (asked of the agent)"]);
    assert_eq!(
        (agent.classes(), agent.told(2)),
        (["cancelled", "done", "done"].map(str::to_owned).to_vec(), "/compact".to_owned())
    );
    assert!(agent.told(3).contains("Go on where you stopped"));

    let agent = Scripted::new(&json!([{ "say": "I work." }, usage(2500), usage(2600), { "await": "cancel" }]));
    agent.workspace.run().exits(2);
    assert_eq!(agent.starts(), 1);
    assert_eq!(agent.workspace.report()["trigger"], "context_overflow", "nobody is known to compact");
}

#[test]
fn a_compaction_is_told() {
    let compaction = |status: &str| json!({ "update": { "sessionUpdate": "compaction_update", "compactionId": "c", "status": status } });
    let usage = json!({ "update": { "sessionUpdate": "usage_update", "used": 900 } });
    let mut turn = vec![usage, compaction("in_progress"), compaction("completed"), compaction("completed")];
    turn.extend(done().as_array().cloned().unwrap_or_default());
    let agent = Scripted::new(&json!(turn));
    let ran = agent.workspace.run().exits(0).says(&["the agent compacted its context from 900"]);
    assert_eq!(ran.stderr.matches("the agent compacted").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_it_says_and_nobody_knows_is_borne_and_told() {
    let agent = Scripted::new(&json!([
        { "raw": "listening on stdio" },
        { "raw": "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu" },
        { "long": 17_000_000 },
        { "raw": "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":7}" },
        { "update": { "sessionUpdate": "of_tomorrow", "anything": [1] } },
        { "request": "fs/read_text_file" },
        { "stray": "of a subagent" },
        { "say": "All done." },
        { "end": { "stopReason": "end_turn" } },
    ]));
    agent.workspace.run().exits(0);
    let heard = agent.heard(1);
    let refused = heard.iter().find(|message| message["id"] == "other").expect("an answer");
    assert_eq!(refused["error"]["code"], -32601);
    let evidence = agent.record()["invocations"][0]["evidence"].as_str().expect("a text").to_owned();
    assert!(evidence.contains("no messages: 3, the first: `listening on stdio`"), "{evidence}");
    assert_eq!(agent.workspace.checkpoint("design")["summary"], "UNVERIFIED: All done.");
}

#[test]
fn a_program_that_is_no_agent_calls_a_human() {
    let agent = Scripted::new(&done());
    agent.workspace.config("runtime: { backend: mine, backends: { mine: { kind: acp, run: [yes, hello] } } }\n");
    agent.workspace.run().exits(2).says(&["does not speak the Agent Client Protocol"]);
    assert_eq!(agent.classes(), ["permanent"]);
}

#[test]
fn mode_model_and_login_are_the_configurations() {
    let agent = Scripted::new(&done());
    agent.configured(", mode: yolo, model: big, auth: api-key, max_turns: 9", "");
    let offer =
        json!({ "sessionId": "s-1", "modes": { "currentModeId": "ask" }, "models": { "currentModelId": "small" } });
    agent.plays("rest", &json!({ "session/new": offer }), &done());
    agent.workspace.run().exits(0);
    let methods =
        ["initialize", "authenticate", "session/new", "session/set_mode", "session/set_model", "session/prompt"];
    assert_eq!(agent.methods(1), methods);
    assert_eq!(agent.params(1, "session/set_mode")["modeId"], "yolo");
    assert_eq!(agent.params(1, "session/set_model")["modelId"], "big");
    assert_eq!(agent.params(1, "authenticate")["methodId"], "api-key");
}

#[test]
fn a_section_that_does_not_fit_is_refused() {
    let workspace = Workspace::only(&[]);
    workspace.write("plan.json", &json!({ "phases": [{ "id": "design", "prompt": "x" }] }).to_string());
    for (section, words) in [
        ("{ kind: acp }", "no `run`"),
        ("{ kind: acp, run: [x], resume: [x] }", "`resume` is for commands"),
        ("{ run: [x, '{prompt}'], mode: yolo }", "`mode` is for agents of the kind `acp`"),
        ("{ run: [x, '{prompt}'], docker: { user: me } }", "container"),
        ("{ run: [x, '{prompt}'], docker: { container: box, privileged: true } }", "privileged"),
    ] {
        workspace.config(&format!("runtime: {{ backend: mine, backends: {{ mine: {section} }} }}\n"));
        workspace.run().exits(78).says(&[words]);
    }
}
