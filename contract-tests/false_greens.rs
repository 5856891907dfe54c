//! Twenty-four ways in which conformance suites have gone green, or red, falsely: each tried on ours. The names count the ways.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use assert_cmd::assert::OutputAssertExt;
use assert_cmd::cargo::CommandCargoExt;
use camino::Utf8PathBuf;
use loa::conform::judge::{Evidence, Outcome, judge};
use loa::conform::observe::{Identity, Observation};
use loa::conform::score::{Cell, RedCase, Rig, Row, RuntimeReport, SurveyOptions, differences, shortcomings, survey};
use loa::conform::spec::{Case, Clause, Manifest, ProfileName, Reason, RuntimeProfile};
use loa::conform::suite::{Candidate, Files, Suite, Variant};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::conform::{CASE, GONE, GOOD, IDLE, conform, score, suite, without_expectation};

const ALL: [&str; 8] = ["preflight", "discovery", "design", "implementation", "audit", "submit", "deploy", "learning"];

/// What a case with this expectation says about what was seen.
fn judged(expectation: &Value, seen: &Observation) -> Vec<(Outcome, Reason)> {
    let case: Case = plain(json!({
        "id": "x-001-a", "clause": "X-001", "title": "t", "steps": [{ "run": {} }], "expect": [expectation]
    }));
    let clause: Clause = plain(json!({
        "id": "X-001", "column": "exit-codes", "level": "MUST", "source": ["table"], "sections": ["S"], "text": "t",
        "readings": [{ "id": "C-01b", "text": "fewer", "warns": true }], "how": "h"
    }));
    let manifest: Manifest = plain(json!({ "runtime": "it", "version": ["it"], "run": ["it"] }));
    let evidence = Evidence { case: &case, clause: &clause, manifest: &manifest, seen, control: None };
    judge(&evidence).iter().map(|check| (check.outcome, check.reason)).collect()
}

fn plain<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("what the test writes is what it says")
}

/// One step that ended so, in which every phase was started and ended with 0, `pace` milliseconds each.
fn ran(end: &Value, pace: u64) -> Observation {
    let attempts = ALL.iter().enumerate().map(|(number, phase)| attempt(phase, 1, number as u64 * 2 * pace, pace));
    let attempts: Vec<Value> = attempts.collect();
    plain(json!({
        "drawn": {}, "initial_backoff": null, "usages": [], "events": [], "orphans": [], "rig_error": null,
        "attempts": attempts,
        "steps": [{
            "verb": "run", "argv": [], "started": 0, "ended": 20 * pace, "end": end, "output": [], "workspace": 0,
            "checkpoints": {}, "reports": [], "laid": {}
        }]
    }))
}

fn attempt(phase: &str, number: u32, started: u64, pace: u64) -> Value {
    json!({
        "phase": phase, "attempt": number, "step": 0, "workspace": 0, "started": started, "ended": started + pace,
        "exit": 0, "signal": null, "cwd": "/", "env": {}, "checkpoints": {}
    })
}

fn row(clauses: &[(&str, Outcome)], red: &[(&str, &str, Reason)]) -> Row {
    let red = red.iter().map(|(case, clause, reason)| {
        ((*case).to_owned(), RedCase { clause: (*clause).to_owned(), reasons: BTreeSet::from([*reason]) })
    });
    Row { clauses: clauses.iter().map(|(id, outcome)| ((*id).to_owned(), *outcome)).collect(), red: red.collect() }
}

fn faulty() -> Variant {
    serde_yaml::from_str("{variant: v, base: sh, about: V., kills: {case: exit-004-x, reason: started-too-often}}")
        .expect("a variant")
}

fn report(suite: &TempDir) -> Value {
    let text = fs::read_to_string(suite.path().join("out/report.json")).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// The outcome of every case that a report tells of, by name.
fn outcomes(suite: &TempDir) -> BTreeMap<String, String> {
    let report = report(suite);
    let clauses = report["runtimes"].as_array().expect("a list").iter().filter_map(|it| it["clauses"].as_array());
    let cases = clauses.flatten().filter_map(|clause| clause["cases"].as_array()).flatten();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    cases.map(|case| (word(&case["id"]), word(&case["outcome"]))).collect()
}

fn add(suite: &TempDir, path: &str, text: &str) {
    fs::write(suite.path().join(path), text).expect("a file");
}

/// A row of the ledger beside the first one.
fn add_clause(suite: &TempDir, id: &str, rest: &str) {
    let path = suite.path().join("ledger/x.yaml");
    let before = fs::read_to_string(&path).expect("a ledger");
    let row =
        format!("- {{id: {id}, column: exit-codes, level: MUST, source: [table], sections: [S], text: T., {rest}}}\n");
    fs::write(path, before.trim_end().to_owned() + "\n" + &row).expect("a file");
}

/// A selection that matches nothing ran without a failure, and was reported as a success.
#[test]
fn f01_nothing_selected_is_no_success() {
    let suite = suite(&[GOOD]);
    score(&suite, &["loop"]).assert().code(0);
    score(&suite, &["loop", "--only", "NO-SUCH"]).assert().code(3);
}

/// The harness could not set itself up, printed why, and ended with 0.
#[test]
fn f02_a_setup_that_fails_never_ends_with_0() {
    let suite = suite(&[GOOD]);
    conform(&["score", "--suite", "/no/such/suite"]).assert().code(66);
    score(&suite, &["/no/such/manifest.yaml"]).assert().code(66);
    add(&suite, "claims.yaml", "edition: [");
    score(&suite, &["loop"]).assert().code(78);
}

/// What was skipped was counted with what passed, or the field with the verdict did not show it.
#[test]
fn f03_what_is_not_seen_is_no_pass() {
    let suite = suite(&[GOOD]);
    add_clause(&suite, "X-002", "how: h");
    let resumes = CASE.replace("x-001", "x-002").replace("X-001", "X-002").replace("{run: {}}", "{resume: {}}");
    add(&suite, "cases/x-002-a.yaml", &resumes);
    score(&suite, &["loop"]).assert().code(3).stdout(contains("Partial 1/2").and(contains("1 not observed")));
    assert_eq!(outcomes(&suite)["x-002-a"], "not-observed");
}

/// A level without a single requirement was kept to a hundred percent.
#[test]
fn f04_a_cell_of_nothing_is_not_full() {
    use loa::conform::spec::CellWord;
    let cell = |musts: &[(&str, Outcome)]| Cell::of(musts, &[], jiff::civil::date(2026, 1, 1)).word;
    assert_eq!(cell(&[("X-001", Outcome::Pass)]), CellWord::Full);
    for outcomes in [&[][..], &[("X-001", Outcome::NotApplicable)], &[("X-001", Outcome::Untested)]] {
        assert_ne!(cell(outcomes), CellWord::Full, "{outcomes:?}");
    }
}

/// The input had to be refused; a parser that crashed on it had refused it, too.
#[test]
fn f05_a_crash_is_no_refusal() {
    let refused = json!({ "resolved": { "step": 0, "accepted": false } });
    assert_eq!(judged(&refused, &ran(&json!({ "exited": 1 }), 10))[0].0, Outcome::Pass);
    for end in [json!({ "signalled": "SEGV" }), json!("out_of_budget"), json!("nothing")] {
        assert_eq!(judged(&refused, &ran(&end, 10)), [(Outcome::Fail, Reason::VerbFailed)], "{end}");
    }
}

/// A process that died by a signal has no exit code; read as a number it was 0.
#[test]
fn f06_death_by_a_signal_is_no_exit_code() {
    let dying = (
        "loop",
        GOOD.1.replace("'{dir}/loop.sh', '{plan}'", "-c, 'sh \"$0\" \"$1\"; kill -KILL $$', '{dir}/loop.sh', '{plan}'"),
    );
    let suite = suite(&[(dying.0, &dying.1)]);
    score(&suite, &["loop"]).assert().code(1).stdout(contains("ended-by-signal"));
}

/// The verdict was right and its reason was not: the test would have passed with the rule under test taken out.
#[test]
fn f07_a_kill_for_another_reason_is_no_kill() {
    let base = row(&[("EXIT-004", Outcome::Pass)], &[]);
    let dead = |reason| row(&[("EXIT-004", Outcome::Fail)], &[("exit-004-x", "EXIT-004", reason)]);
    assert!(differences(&faulty(), &base, &dead(Reason::StartedTooOften)).is_empty());
    assert!(!differences(&faulty(), &base, &dead(Reason::DidNotEnd)).is_empty());
}

/// A case without an expectation fell through to the branch for success.
#[test]
fn f08_a_case_that_expects_nothing_is_refused() {
    let expectations = CASE.split_once("expect:").expect("a case expects something").1.to_owned();
    for nothing in [" []\n", " [{events: {type: T, at_least: 0}}]\n", " [{state: {step: 0, fields: {}}}]\n", ""] {
        let suite = suite(&[GOOD]);
        let text = CASE.replace(&expectations, nothing);
        add(&suite, "cases/x-001-a.yaml", if nothing.is_empty() { text.trim_end_matches("expect:") } else { &text });
        conform(&["lint", "--suite"]).arg(suite.path()).assert().code(78);
        score(&suite, &["loop"]).assert().code(78);
    }
}

/// A rig that answers from a script.
struct Scripted<F: Fn() -> Observation + Sync>(F);

impl<F: Fn() -> Observation + Sync> Rig for Scripted<F> {
    fn identify(&self, _: &Candidate) -> Identity {
        Identity::default()
    }

    fn observe(&self, _: &Case, _: &Candidate) -> Observation {
        (self.0)()
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// What a survey of one candidate with a small suite says, when the rig sees this.
fn surveyed(seen: impl Fn() -> Observation + Sync) -> RuntimeReport {
    let place = suite(&[GOOD]);
    let files = Files::in_folder(place.path(), ProfileName::Runtime).expect("a suite");
    let suite = Suite::<RuntimeProfile>::load(files).unwrap_or_else(|found| panic!("{found:?}"));
    let candidate = suite.candidate("loop", place.path()).expect("it is bundled");
    let options = SurveyOptions { jobs: 2, timing_jobs: 1, ..SurveyOptions::default() };
    survey(&suite, &[candidate], &Scripted(seen), &options, &|_| {}).remove(0)
}

fn outcome(report: &RuntimeReport) -> Outcome {
    report.clauses[0].outcome
}

/// The runner caught what its own assertion threw, and went on.
#[test]
fn f09_a_judge_that_breaks_says_so() {
    let broken = surveyed(|| panic!("the judge has a defect"));
    assert_eq!(outcome(&broken), Outcome::HarnessError);
    let failing = surveyed(|| {
        plain(json!({
            "drawn": {}, "initial_backoff": null, "usages": [], "events": [], "orphans": [], "rig_error": "no socket",
            "attempts": [], "steps": []
        }))
    });
    assert_eq!(outcome(&failing), Outcome::HarnessError);
    assert_eq!(outcome(&surveyed(|| ran(&json!({ "exited": 0 }), 10))), Outcome::Pass);
}

/// The target said that it had done it, and nobody looked.
#[test]
fn f10_words_without_effects_prove_nothing() {
    let said = ALL.map(|phase| format!("echo phase {phase} done")).join("; ");
    let boasting = GOOD.1.replace("'{dir}/loop.sh', '{plan}'", &format!("-c, '{said}; echo all phases are done'"));
    let suite = suite(&[("loop", &boasting)]);
    score(&suite, &["loop"]).assert().code(1).stdout(contains("nothing-started"));
}

/// A line of known failures that matched nothing any more, or never did, hid the next regression.
#[test]
fn f11_what_is_known_must_still_be_so() {
    let stale = GOOD.1.replace("exit-codes: Full", "exit-codes: None");
    score(&suite(&[("loop", &stale)]), &[]).assert().code(1).stdout(contains("known to be None and was Full"));
    let misspelt = GOOD.1.replace(
        "expect:",
        "attest: [{clause: X-0001, by: A, on: 2026-01-01, expires: 2026-02-01, \
        evidence: e}], expect:",
    );
    score(&suite(&[("loop", &misspelt)]), &[]).assert().code(78).stderr(contains("did you mean X-001"));
}

/// Part of the suite was run, and its report handed in as that of the whole.
#[test]
fn f12_a_part_is_never_a_rating() {
    let suite = suite(&[GOOD]);
    add_clause(&suite, "X-002", "how: h");
    add(&suite, "cases/x-002-a.yaml", &CASE.replace("x-001", "x-002").replace("X-001", "X-002"));
    score(&suite, &["loop", "--only", "X-001"]).assert().code(0).stdout(contains("this is no rating"));
    assert_eq!(report(&suite)["only"], "X-001");
    assert_eq!(report(&suite)["runtimes"][0]["cells"]["exit-codes"]["word"], "Partial");
    let readme = suite.path().join("README.md");
    fs::write(&readme, "<!-- loa:claims --><!-- /loa:claims -->\n<!-- loa:matrix --><!-- /loa:matrix -->\n")
        .expect("a file");
    let mut command = conform(&["readme", "--readme"]);
    command.arg(readme).arg("--suite").arg(suite.path()).arg("--report").arg(suite.path().join("out/report.json"));
    command.arg("--driven").arg("/nowhere").arg("--agents").arg("/nowhere");
    command.assert().code(1).stderr(contains("no rating"));
}

/// Any of several answers was right, so that nobody noticed when the rule behind one of them was gone.
#[test]
fn f13_each_accepted_answer_names_its_reading_and_no_other_is_right() {
    let starts = json!({ "starts": { "phase": "design", "count": 2, "accept": [{ "count": 3, "reading": "C-01b" }] } });
    let started = |count: u32| {
        let mut seen = ran(&json!({ "exited": 0 }), 10);
        seen.attempts.retain(|attempt| attempt.phase != "design");
        seen.attempts.extend((1..=count).map(|number| plain(attempt("design", number, u64::from(number) * 50, 10))));
        judged(&starts, &seen)[0]
    };
    assert_eq!(started(1).0, Outcome::Fail);
    assert_eq!(started(2), (Outcome::Pass, Reason::AsExpected));
    assert_eq!(started(3), (Outcome::Warn, Reason::AnotherReading));
    assert_eq!(started(4).0, Outcome::Fail);
    let suite = suite(&[GOOD]);
    let unnamed = CASE
        .replace("  - ends", "  - starts: {phase: design, count: 1, accept: [{count: 2, reading: C-99}]}\n  - ends");
    add(&suite, "cases/x-001-a.yaml", &unnamed);
    score(&suite, &["loop"]).assert().code(78).stderr(contains("no reading C-99"));
}

/// What nothing tested was shown as failed, or was not shown.
#[test]
fn f14_what_is_untested_is_shown_as_that() {
    let suite = suite(&[GOOD]);
    add_clause(&suite, "X-002", "untested: nobody has written a case");
    score(&suite, &["loop"]).assert().code(3).stdout(contains("Partial 1/2").and(contains("1 untested")));
    let report = report(&suite);
    let clause = report["runtimes"][0]["clauses"].as_array().expect("a list").iter().find(|it| it["id"] == "X-002");
    assert_eq!(clause.expect("it is there")["outcome"], "untested");
}

/// Failures of the target were exported as errors of the harness, or the other way round.
#[test]
fn f15_a_fault_of_the_target_and_one_of_the_judge_are_told_apart() {
    let suite = suite(&[GOOD, IDLE]);
    score(&suite, &["idle"]).assert().code(1);
    assert_eq!(outcomes(&suite)["x-001-a"], "fail");
    let programs = suite.path().join("bin");
    fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink("/bin/sh", programs.join("sh")).expect("a link");
    score(&suite, &["loop"]).env("PATH", &programs).assert().code(4);
    assert_eq!(outcomes(&suite)["x-001-a"], "harness-error");
    assert!(!Outcome::HarnessError.is_red() && Outcome::Fail.is_red());
}

/// The counterpart that the harness played broke the specification itself.
#[test]
fn f16_what_the_judge_hands_out_is_valid() {
    let suite = suite(&[GOOD]);
    let mut command = score(&suite, &["loop", "--keep"]);
    command.env("TMPDIR", suite.path()).assert().code(0);
    let mut kept = fs::read_dir(suite.path()).expect("a folder").filter_map(Result::ok).map(|entry| entry.path());
    let kept: PathBuf = kept.find(|path| path.join("plan.json").is_file()).expect("the case's folder is kept");
    for (kind, file) in [("plan", "plan.json"), ("config", "workspace-0/.loa.config.yaml")] {
        let mut validate = std::process::Command::cargo_bin("loa-validate").expect("it is built");
        validate.args([kind, "--strict"]).arg(kept.join(file)).assert().code(0);
    }
}

/// A busy machine was slower than an upper bound, and a correct target red.
#[test]
fn f17_a_slow_machine_turns_nothing_red() {
    for expectation in [
        json!({ "order": ALL }),
        json!({ "ends": { "code": 0 } }),
        json!({ "starts": { "phase": "design", "count": 1 } }),
        json!({ "nothing_after": { "phase": "learning" } }),
    ] {
        let at = |pace| judged(&expectation, &ran(&json!({ "exited": 0 }), pace));
        assert_eq!(at(10), at(100_000), "{expectation}");
        assert_eq!(at(10)[0].0, Outcome::Pass, "{expectation}");
    }
    // The one bound from above keeps a case from being judged, and makes nothing red.
    let by_a_fast_clock = Observation { speed: Some(7200), ..ran(&json!({ "exited": 0 }), 100_000) };
    let within = judged(&json!({ "within": { "step": 0, "minutes": 470 } }), &by_a_fast_clock);
    assert_eq!(within, [(Outcome::NotObserved, Reason::TooSlow)]);
}

/// One case hung, and with it went the results of all that had finished.
#[test]
fn f18_a_hang_costs_its_own_case() {
    let hanging = "{runtime: loop, version: [sh, -c, echo 1], run: [sh, '{dir}/loop.sh', '{plan}'], budget_seconds: 1, \
        resume: [sh, -c, 'sh \"$0\" \"$1\"; sleep 60', '{dir}/loop.sh', '{plan}']}";
    let suite = suite(&[("loop", hanging)]);
    add_clause(&suite, "X-002", "how: h");
    let resumes = CASE.replace("x-001", "x-002").replace("X-001", "X-002").replace("{run: {}}", "{resume: {}}");
    add(&suite, "cases/x-002-a.yaml", &resumes);
    score(&suite, &["loop"]).assert().code(1).stdout(contains("did-not-end"));
    let outcomes = outcomes(&suite);
    assert_eq!((outcomes["x-001-a"].as_str(), outcomes["x-002-a"].as_str()), ("pass", "fail"));
}

/// Two tests of one name were taken for one, or for one that flickers.
#[test]
fn f19_a_name_is_given_once() {
    let suite = suite(&[GOOD]);
    fs::create_dir(suite.path().join("cases/more")).expect("a folder");
    add(&suite, "cases/more/x-001-a.yaml", CASE);
    score(&suite, &["loop"]).assert().code(78).stderr(contains("duplicate-id"));
    let mut files = BTreeMap::from([(Utf8PathBuf::from("claims.yaml"), "edition: e\nclaims: []\nchecklist: []\n")]);
    let twice =
        "- {id: X-001, column: exit-codes, level: MUST, source: [table], sections: [S], text: T., untested: u}\n";
    let twice = twice.repeat(2);
    files.insert("ledger/x.yaml".into(), &twice);
    let files = files.into_iter().map(|(path, text)| (path, text.as_bytes().to_vec())).collect();
    let found = Suite::<RuntimeProfile>::load(files).expect_err("one name, two clauses");
    assert_eq!(found[0].diagnostic.code, "duplicate-id");
}

/// The evidence was a pair of values that the target had reported itself, equal by its own word.
#[test]
fn f20_a_verdict_follows_from_what_was_seen_and_from_nothing_else() {
    let starts = json!({ "starts": { "phase": "design", "count": 1 } });
    let seen = ran(&json!({ "exited": 0 }), 10);
    let stored = serde_json::to_value(&seen).expect("plain data");
    let read: Observation = plain(stored.clone());
    assert_eq!(judged(&starts, &read), judged(&starts, &seen));
    let mut tampered = stored;
    tampered["attempts"].as_array_mut().expect("a list").retain(|attempt| attempt["phase"] != "design");
    tampered["steps"][0]["output"] =
        json!([{ "at": 1, "stream": "stdout", "text": "{\"expected\": 1, \"observed\": 1, \"outcome\": \"pass\"}" }]);
    assert_eq!(judged(&starts, &plain(tampered))[0].0, Outcome::Fail);
}

/// A small and correct target failed for features that it had never claimed.
#[test]
fn f21_an_unclaimed_feature_binds_nobody() {
    let suite = suite(&[GOOD]);
    add_clause(&suite, "X-002", "how: h, when: claimed");
    let effort = "  - effort: {phase: design, level: high}\n";
    let text = CASE.replace("x-001", "x-002").replace("X-001", "X-002").replace("steps:", "feature: effort\nsteps:");
    add(&suite, "cases/x-002-a.yaml", &(text + effort));
    score(&suite, &["loop"]).assert().code(0).stdout(contains("Full 1/1"));
    assert_eq!(outcomes(&suite)["x-002-a"], "not-applicable");
    let claiming = GOOD.1.replace("expect:", "features: [effort], expect:");
    add(&suite, "runtimes/loop/manifest.yaml", &claiming);
    score(&suite, &["loop"]).assert().code(1).stdout(contains("no-effort"));
}

/// A mutant died of a neighbouring test, and the test that was meant for it never fired.
#[test]
fn f22_a_kill_by_a_neighbour_is_no_kill() {
    let base = row(&[("EXIT-004", Outcome::Pass), ("EXIT-008", Outcome::Pass)], &[]);
    let neighbour = ("exit-008-y", "EXIT-008", Reason::StartedTooOften);
    let row = row(&[("EXIT-004", Outcome::Pass), ("EXIT-008", Outcome::Fail)], &[neighbour]);
    let found = differences(&faulty(), &base, &row).join("\n");
    assert!(found.contains("survived: exit-004-x is not red") && found.contains("EXIT-008 turned red"), "{found}");
}

/// A mutant that did not even start was counted among the killed.
#[test]
fn f23_what_cannot_start_is_void_and_not_killed() {
    let place = suite(&[GOOD, GONE]);
    let variant = "{variant: gone, base: loop, about: G., manifest: {run: [no-such-program]}, \
        kills: {case: x-001-a, reason: nothing-started}}";
    fs::create_dir(place.path().join("faulty")).expect("a folder");
    add(&place, "faulty/gone.yaml", variant);
    let tried = conform(&["variants", "gone", "--suite"]).arg(place.path()).assert().code(1);
    tried.stdout(contains("gone: void: it cannot be started").and(contains("killed 0 of 1")));
    add(
        &place,
        "faulty/gone.yaml",
        &variant.replace("manifest: {run: [no-such-program]}", "manifest: {run: ['true']}"),
    );
    let tried = conform(&["variants", "gone", "--suite"]).arg(place.path()).assert().code(0);
    tried.stdout(contains("killed 1 of 1"));
    let misfit = "change: [{file: loop.sh, find: what is not there, replace: x}]";
    add(&place, "faulty/gone.yaml", &variant.replace("manifest: {run: [no-such-program]}", misfit));
    conform(&["variants", "gone", "--suite"]).arg(place.path()).assert().code(78).stderr(contains("occurs 0 times"));
    let dead = surveyed(|| ran(&json!({ "exited": 0 }), 10));
    let unstarted = RuntimeReport { problem: Some("no such program".into()), ..dead };
    assert!(shortcomings(&unstarted).join("\n").starts_with("void"), "a base that cannot start is void as well");
}

/// One and the same finding ended with another exit code in another mode.
#[test]
fn f24_a_red_ends_alike_on_every_way() {
    let suite = suite(&[GOOD, IDLE]);
    // One that says what it earns is asked for something else: whether it earns that.
    add(&suite, "own.yaml", &without_expectation(IDLE.1));
    let path = suite.path().join("own.yaml");
    let path = path.to_str().expect("UTF-8");
    for way in [
        &["idle"][..],
        &["idle", "--json"],
        &["idle", "--keep"],
        &["idle", "--jobs", "1"],
        &[path],
        &["idle", "loop"],
        &["loop", "idle"],
        &["idle", "--only", "X-001"],
        &["idle", "--strict-claims"],
    ] {
        score(&suite, way).env("TMPDIR", suite.path()).assert().code(1);
    }
    let calls = AtomicUsize::new(0);
    let red = surveyed(|| {
        calls.fetch_add(1, Ordering::Relaxed);
        ran(&json!({ "exited": 1 }), 10)
    });
    assert_eq!((outcome(&red), calls.into_inner()), (Outcome::Fail, 2), "a red is done once more, on every way");
}
