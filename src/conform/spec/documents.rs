//! The kinds of documents that say what is judged: manifests, cases, and what an adapter is asked.

use serde_json::{Value, json};

use super::manifest::STARTED;
use super::patterns::PATTERNS;
use super::{AdapterAnswer, AdapterAsk, AgentCase, AgentManifest, Case, Manifest};
use crate::diag::Format;
use crate::schema::{Kind, Marks};

/// How a runtime is plugged in.
pub const RUNTIME_MANIFEST: Kind = Kind::of::<Manifest>("runtime-manifest", manifests)
    .place("fixtures/runtimes/*/manifest.yaml, or a file of yours")
    .known_by(Marks { paths: &["runtimes/*/manifest.yaml"], keys: &["runtime", "version"] })
    .rules(&[STARTED, PATTERNS]);

/// What an adapter is asked.
pub const ADAPTER_ASK: Kind = Kind::of::<AdapterAsk>("adapter-ask", asks)
    .place("lines on an adapter's standard input")
    .known_by(Marks { paths: &[], keys: &["ask", "verb"] })
    .written_in(Format::JsonLines);

/// What an adapter answers.
pub const ADAPTER_ANSWER: Kind = Kind::of::<AdapterAnswer>("adapter-answer", answers)
    .place("lines on an adapter's standard output")
    .known_by(Marks { paths: &[], keys: &["answer", "type"] })
    .written_in(Format::JsonLines);

/// What the judge does to a runtime, and what it must see.
pub const CONTRACT_CASE: Kind = Kind::of::<Case>("contract-case", cases)
    .place("contract-tests/cases/**/*.yaml")
    .known_by(Marks { paths: &[], keys: &["id", "clause", "steps", "expect"] });

/// How an agent is plugged in.
pub const AGENT_MANIFEST: Kind = Kind::of::<AgentManifest>("agent-manifest", agent_manifests)
    .place("fixtures/agents/*/manifest.yaml, or a file of yours")
    .known_by(Marks { paths: &["agents/*/manifest.yaml"], keys: &["agent", "run"] });

/// What the judge does to an agent, and what it must see.
pub const AGENT_CASE: Kind = Kind::of::<AgentCase>("agent-case", agent_cases)
    .place("contract-tests/agent/cases/**/*.yaml")
    .known_by(Marks { paths: &["agent/cases/**/*.yaml"], keys: &["id", "clause", "model", "steps", "expect"] });

fn manifests() -> Vec<Value> {
    vec![json!({
        "runtime": "mine",
        "version": ["mine", "--version"],
        "run": ["mine", "run", "{plan}"],
        "resume": ["mine", "resume", "{plan}"]
    })]
}

fn asks() -> Vec<Value> {
    let env = json!({"HOME": "/case/home", "LOA_OPERATOR": "ai", "PATH": "/usr/bin:/bin"});
    vec![
        json!({"ask": 1, "verb": "run", "plan": "/case/plan.json", "workspace": "/case/workspace-0", "env": env}),
        json!({"ask": 2, "verb": "resolve", "action": "skip_phase", "plan": "/case/plan.json",
            "workspace": "/case/workspace-0", "env": env}),
    ]
}

fn answers() -> Vec<Value> {
    let state = json!({"execution_id": "e-1", "current_phase": "design", "completed_phases": ["preflight", "discovery"],
        "last_checkpoint": null});
    vec![
        json!({"type": "exit", "answer": 1, "code": 2}),
        json!({"type": "said", "answer": 1, "text": "phase design failed"}),
        json!({"type": "signal", "answer": 1, "name": "KILL"}),
        json!({"type": "state", "answer": 3, "state": state}),
        json!({"type": "unsupported", "answer": 4, "why": "a batch job cannot be stopped"}),
    ]
}

fn cases() -> Vec<Value> {
    vec![json!({
        "id": "exit-003-retried",
        "clause": "EXIT-003",
        "title": "A phase that ends with 1 and then with 0 is started twice",
        "needs": ["EXIT-001"],
        "draw": {"p": {"phase": ["discovery", "design"]}},
        "phases": {"$p": [[{"exit": 1}], [{"exit": 0}]]},
        "steps": [{"run": {}}],
        "expect": [{"starts": {"phase": "$p", "count": 2}}]
    })]
}

fn agent_manifests() -> Vec<Value> {
    vec![json!({
        "agent": "mine",
        "version": ["mine", "--version"],
        "run": ["mine", "--json", "{knobs}", "{prompt}"],
        "resume": ["mine", "--json", "--session", "{session}", "{knobs}", "{prompt}"],
        "env": {"OPENAI_BASE_URL": "{address}/v1", "OPENAI_API_KEY": "dummy"},
        "settings": [{"flag": "--json", "default": "prose for people", "why": "a machine reads it"}],
        "knobs": {"max_turns": {"argv": ["--max-turns", "{value}"], "default": "no bound"}},
        "stream": {
            "session": [{"when": {"/type": "start"}, "read": "/session"}],
            "failure": [{"when": {"/type": "end", "/ok": false}, "read": ["/status"]}],
            "turn_limit": [{"when": {"/type": "end", "/why": "max_turns"}}]
        }
    })]
}

fn agent_cases() -> Vec<Value> {
    vec![json!({
        "id": "status-004-429-once",
        "clause": "STATUS-004",
        "title": "A request that is answered with 429 is tried again",
        "needs": ["STATUS-001"],
        "draw": {"n": {"nonce": 8}},
        "model": {"steps": [{"error": {"status": 429}}, {"text": "$n"}]},
        "steps": [{"run": {"prompt": "Say $n."}}],
        "expect": [{"requests": {"step": 0, "at_least": 2}}, {"ends": {"step": 0, "code": 0}}]
    })]
}
