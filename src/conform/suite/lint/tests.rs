//! A small suite with one thing wrong each time.

use camino::Utf8PathBuf;

use crate::conform::spec::{AgentProfile, ProfileName, RuntimeProfile};
use crate::conform::suite::{Files, Suite};

const LEDGER: &str = "
- {id: X-001, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h,
   readings: [{id: C-01b, text: r}]}
- {id: X-002, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, untested: why}
- {id: X-003, column: exit-codes, level: MUST, source: [table], sections: [S], text: t, how: h}
";
const CASE: &str = "
id: x-001-a
clause: X-001
title: t
draw: {p: {phase: [design]}}
steps: [{run: {}}]
expect: [{starts: {phase: $p, count: 1, accept: [{count: 2, reading: C-01b}]}}]
";
const OTHER: &str = "
id: x-003-a
clause: X-003
title: t
needs: [X-001]
steps: [{run: {}}]
expect: [no_orphans]
";
const CLAIMS: &str = "
edition: e
claims: [{runtime: R, cells: {exit-codes: Full}}]
checklist: [{section: exit-codes, item: i, clauses: [X-001]}]
";
const MANIFEST: &str = "{runtime: it, version: [it], run: [it]}";

/// The codes found after one text was replaced by another in one file.
fn found(file: &str, from: &str, to: &str) -> Vec<String> {
    let files = [
        ("ledger/x.yaml", LEDGER),
        ("cases/x/x-001-a.yaml", CASE),
        ("cases/x/x-003-a.yaml", OTHER),
        ("claims.yaml", CLAIMS),
        ("runtimes/it/manifest.yaml", MANIFEST),
    ];
    let files: Files = files
        .into_iter()
        .map(|(name, text)| {
            let text = if name == file { text.replace(from, to) } else { text.to_owned() };
            assert!(name != file || from == to || text.contains(to), "{from} stands in {file}");
            (Utf8PathBuf::from(name), text.into_bytes())
        })
        .collect();
    match Suite::<RuntimeProfile>::load(files) {
        Ok(_) => Vec::new(),
        Err(findings) => findings.iter().map(|it| format!("{} {}", it.file, it.diagnostic.code)).collect(),
    }
}

#[test]
fn nothing_is_wrong_with_the_small_suite() {
    assert_eq!(found("", "", ""), Vec::<String>::new());
}

#[test]
fn nothing_is_wrong_with_the_bundled_suite() {
    let suite =
        Suite::<RuntimeProfile>::load(Files::bundled(ProfileName::Runtime)).expect("the bundled suite is valid");
    assert!(suite.cases.len() >= 45 && suite.clauses.len() >= 117, "{} cases", suite.cases.len());
    let agents = Suite::<AgentProfile>::load(Files::bundled(ProfileName::Agent)).expect("the bundled suite is valid");
    assert!(agents.cases.len() >= 40 && agents.clauses.len() >= 20, "{} cases", agents.cases.len());
    let answered = agents.cases.iter().position(|case| case.clause == "STATUS-001").expect("a case");
    assert_eq!(agents.control(), Some(agents.leader(answered)), "what all others need is what they are compared with");
}

#[test]
fn every_rule_finds_its_fault() {
    let (one, three, ledger) = ("cases/x/x-001-a.yaml", "cases/x/x-003-a.yaml", "ledger/x.yaml");
    for (file, from, to, code) in [
        (one, "id: x-001-a", "id: x-001-b", "case-stem"),
        (three, "id: x-003-a", "id: y-003-a", "case-id"),
        (one, "$p", "$q", "case-name"),
        (one, "phase: $p", "phase: design", "case-name"),
        (one, "C-01b", "C-02b", "case-reading"),
        (one, "steps: [{run: {}}]", "steps: []", "case-empty"),
        (one, "[{starts: {phase: $p, count: 1, accept: [{count: 2, reading: C-01b}]}}]", "[]", "case-empty"),
        (three, "[no_orphans]", "[{events: {type: T, at_least: 0}}]", "case-vacuous"),
        (three, "needs: [X-001]", "needs: [X-002]", "case-needs"),
        (three, "needs: [X-001]", "needs: [X-009]", "unknown-clause"),
        (one, "title: t", "title: t\nneeds: [X-003]", "needs-circle"),
        (three, "needs: [X-001]", "needs: [X-003]", "needs-circle"),
        (ledger, "id: X-002", "id: X-001", "duplicate-id"),
        (ledger, "untested: why", "how: h", "clause-tested"),
        (ledger, "text: t, how: h}", "text: t, untested: why}", "clause-tested"),
        (ledger, "text: t, how: h}", "text: t, how: h, untested: why}", "clause-tested"),
        (ledger, "untested: why", "untested: why, presupposes: [X-009]", "unknown-clause"),
        ("claims.yaml", "clauses: [X-001]", "clauses: [X-009]", "unknown-clause"),
        ("runtimes/it/manifest.yaml", "runtime: it", "runtime: other", "manifest-folder"),
        ("runtimes/it/manifest.yaml", "run: [it]", "run: [it], expect: {sessions: Full}", "strange-column"),
        (ledger, "id: X-002, column: exit-codes", "id: X-002, column: control", "strange-column"),
    ] {
        let codes = found(file, from, to);
        assert!(codes.iter().any(|found| found.ends_with(code)), "{from} -> {to}: {codes:?}");
    }
}

#[test]
fn unknown_keys_are_refused_in_every_file() {
    for (file, from) in
        [("ledger/x.yaml", "how: h,"), ("cases/x/x-003-a.yaml", "title: t"), ("claims.yaml", "edition: e")]
    {
        let to = format!("stranger: 1\n{from}").replace("\nhow", ", how");
        assert!(!found(file, from, &to).is_empty(), "{file}");
    }
    assert!(!found("runtimes/it/manifest.yaml", "runtime: it", "stranger: 1, runtime: it").is_empty());
}
