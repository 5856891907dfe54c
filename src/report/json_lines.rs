//! The report as JSON objects, one a line: a header, one line a runtime and one a case, and a footer that counts them. Where
//! the footer is missing, something of the report is missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::conform::judge::Outcome;
use crate::conform::score::{CaseReport, ClauseReport, ConformanceReport, RuntimeReport};

/// The lines.
///
/// # Panics
/// Never: a report is plain data.
#[must_use]
pub fn json_lines(report: &ConformanceReport) -> String {
    let body: Vec<Value> = report.runtimes.iter().flat_map(runtime).collect();
    let cases = body.iter().filter(|line| line["record"] == "case").count();
    let footer = json!({"record": "end", "lines": body.len() + 2, "runtimes": report.runtimes.len(), "cases": cases,
        "outcomes": outcomes(report), "complete": report.complete, "rating": !report.is_partial()});
    let lines = std::iter::once(header(report)).chain(body).chain([footer]);
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    lines.join("\n") + "\n"
}

fn header(report: &ConformanceReport) -> Value {
    json!({"record": "begin", "version": report.version, "profile": report.profile, "edition": report.edition,
        "judge": report.judge, "suite": report.suite, "seed": report.seed, "host": report.host, "date": report.date,
        "only": report.only, "quick": report.quick})
}

fn runtime(it: &RuntimeReport) -> Vec<Value> {
    let head = json!({"record": "runtime", "runtime": it.runtime, "version": it.version, "program": it.program,
        "manifest": it.manifest, "problem": it.problem, "cells": it.cells, "elapsed_ms": it.elapsed_ms});
    let rows = it.clauses.iter().flat_map(|clause| {
        let untested = clause.cases.is_empty().then(|| line("clause", it, clause, None));
        untested.into_iter().chain(clause.cases.iter().map(|case| line("case", it, clause, Some(case))))
    });
    std::iter::once(head).chain(rows).collect()
}

fn line(record: &str, runtime: &RuntimeReport, clause: &ClauseReport, case: Option<&CaseReport>) -> Value {
    let outcome = case.map_or(clause.outcome, |case| case.outcome);
    json!({"record": record, "runtime": runtime.runtime, "clause": clause.id, "column": clause.column,
        "level": clause.level, "outcome": outcome, "case": case})
}

/// How many cases came out how.
fn outcomes(report: &ConformanceReport) -> BTreeMap<Outcome, usize> {
    let mut counts = BTreeMap::new();
    for (_, case) in report.runtimes.iter().flat_map(RuntimeReport::cases) {
        *counts.entry(case.outcome).or_insert(0) += 1;
    }
    counts
}
