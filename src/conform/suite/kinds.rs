//! The kinds of documents whose types the judge owns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conform::baseline::{Baseline, KNOWN_ONCE};
use crate::conform::manifest::STARTED;
use crate::conform::model::MODEL_SCRIPT;
use crate::conform::{
    AdapterAnswer, AdapterAsk, AgentCase, AgentManifest, Case, Claims, Clause, ConformanceReport, Defect, Manifest,
};
use crate::diag::Format;
use crate::schema::{Kind, Marks};

/// The rows of one column of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Ledger")]
#[serde(transparent)]
pub(super) struct Ledger(pub(super) Vec<Clause>);

/// Where the contract contradicts itself, or leaves open what a runtime must decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Defects of the contract")]
#[serde(transparent)]
pub struct Defects(pub Vec<Defect>);

/// How a runtime is plugged in.
pub const RUNTIME_MANIFEST: Kind = Kind::of::<Manifest>("runtime-manifest", manifests)
    .place("fixtures/runtimes/*/manifest.yaml, or a file of yours")
    .known_by(Marks { paths: &["runtimes/*/manifest.yaml"], keys: &["runtime", "version"] })
    .rules(&[STARTED]);

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

/// Clauses of the contract, or of the agent profile.
pub const CONTRACT_LEDGER: Kind = Kind::of::<Ledger>("contract-ledger", ledgers)
    .place("contract-tests/ledger/*.yaml, contract-tests/agent/ledger/*.yaml")
    .known_by(Marks { paths: &[], keys: &["id", "column", "level", "source"] });

/// The contract's own matrix and checklist.
pub const CONTRACT_CLAIMS: Kind = Kind::of::<Claims>("contract-claims", claims)
    .place("contract-tests/claims.yaml")
    .known_by(Marks { paths: &[], keys: &["edition", "claims", "checklist"] });

/// Where the contract contradicts itself.
pub const CONTRACT_DEFECTS: Kind = Kind::of::<Defects>("contract-defects", defects)
    .place("contract-tests/defects.yaml")
    .known_by(Marks { paths: &[], keys: &["id", "problem", "cost", "proposal"] });

/// What a survey found.
pub const CONFORMANCE_REPORT: Kind = Kind::of::<ConformanceReport>("conformance-report", reports)
    .place("reports/**/*.json")
    .known_by(Marks { paths: &[], keys: &["edition", "judge", "suite", "runtimes"] })
    .written_in(Format::Json);

/// The reds that are known.
pub const BASELINE: Kind = Kind::of::<Baseline>("baseline", baselines)
    .place("baseline.yaml, or a file of yours")
    .known_by(Marks { paths: &["baseline.yaml", "*.baseline.yaml"], keys: &["version", "known"] })
    .rules(&[KNOWN_ONCE]);

/// Every kind of the judge.
#[must_use]
pub fn conform_kinds() -> Vec<Kind> {
    let shared = [CONTRACT_LEDGER, CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONFORMANCE_REPORT, BASELINE, MODEL_SCRIPT];
    let own = [RUNTIME_MANIFEST, ADAPTER_ASK, ADAPTER_ANSWER, CONTRACT_CASE, AGENT_MANIFEST, AGENT_CASE];
    own.into_iter().chain(shared).collect()
}

fn baselines() -> Vec<Value> {
    vec![json!({
        "version": 1,
        "known": [{
            "runtime": "mine",
            "case": "exit-009-*",
            "reason": "started-too-often",
            "issue": "https://example.org/mine/issues/12",
            "expires": "2026-12-31"
        }]
    })]
}

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

fn clause() -> Value {
    json!({
        "id": "EXIT-003",
        "column": "exit-codes",
        "level": "MUST",
        "source": ["table"],
        "sections": ["Standard Exit Codes"],
        "text": "A phase that ends with 1 is started again.",
        "how": "A drawn phase ends with 1, then 0."
    })
}

fn ledgers() -> Vec<Value> {
    vec![json!([clause()])]
}

fn claims() -> Vec<Value> {
    let claim = json!({"runtime": "Somebody's", "cells": {"exit-codes": "Full", "escalation": "Manual"}});
    let item = json!({"section": "exit-codes", "item": "Code 1 is retried", "clauses": ["EXIT-003"]});
    vec![json!({"edition": "runtime contract 1.13.0", "claims": [claim], "checklist": [item]})]
}

fn defects() -> Vec<Value> {
    vec![json!([{
        "id": "C-01",
        "title": "Three retries, or three attempts",
        "sections": ["Standard Exit Codes"],
        "problem": "The table counts retries, the example attempts.",
        "cost": "One start more or less.",
        "proposal": "At most three retries, which makes four starts."
    }])]
}

fn reports() -> Vec<Value> {
    let check = json!({"outcome": "fail", "reason": "started-too-rarely",
        "expected": "design to start twice", "observed": "it started once", "place": {"at": 412}});
    let case = json!({"id": "exit-003-retried", "title": "Retried", "outcome": "fail", "time": "real",
        "elapsed_ms": 640, "checks": [check], "timeline": [
            {"kind": "step", "at": 0, "until": 640, "exit": 2, "label": "run ended with 2"},
            {"kind": "attempt", "at": 401, "until": 412, "phase": "design", "exit": 1, "label": "attempt 1: exit 1"}]});
    let clause_report = json!({"id": "EXIT-003", "column": "exit-codes", "level": "MUST", "outcome": "fail",
        "cases": [case]});
    let cell = json!({"word": "None", "musts": 1, "green": 0, "failed": 1, "flaky": 0, "not_observed": 0,
        "could_not_run": 0, "harness_error": 0, "untested": 0});
    let runtime = json!({"runtime": "mine", "version": "mine 1.0", "manifest": "0f", "elapsed_ms": 640,
        "cells": {"exit-codes": cell}, "clauses": [clause_report]});
    vec![json!({
        "version": 1,
        "edition": "runtime contract 1.13.0",
        "judge": "0.1.0",
        "suite": "c0ffee",
        "seed": 7,
        "host": {"os": "linux", "arch": "x86_64", "cores": 2},
        "date": "2026-11-20T09:30:00Z",
        "complete": true,
        "ledger": [clause()],
        "claims": [],
        "checklist": [],
        "runtimes": [runtime]
    })]
}
