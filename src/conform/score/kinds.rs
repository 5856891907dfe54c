//! The kinds of documents that a survey leaves, and all kinds of the judge.

use serde_json::{Value, json};

use super::ConformanceReport;
use super::{baseline::Baseline, baseline::KNOWN_ONCE};
use crate::conform::model::MODEL_SCRIPT;
use crate::conform::spec::{ADAPTER_ANSWER, ADAPTER_ASK, AGENT_CASE, AGENT_MANIFEST, CONTRACT_CASE, RUNTIME_MANIFEST};
use crate::conform::suite::clause;
use crate::conform::suite::{CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONTRACT_LEDGER};
use crate::diag::Format;
use crate::schema::{Kind, Marks};

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
