//! What becomes of a report: every format by the program, the pages of `reports/`, the action for GitHub.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::action::second_step;
use crate::conform::{GOOD, IDLE, conform, score, suite};

const REPORT: &str = "fixtures/documents/conformance-report/valid/with-timelines.json";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn report(arguments: &[&str]) -> Command {
    let mut command = conform(&["report"]);
    command.arg(root().join(REPORT)).args(arguments).env_remove("GITHUB_STEP_SUMMARY");
    command
}

#[test]
fn a_stored_report_is_rendered_in_every_format() {
    for (format, needed) in [
        ("terminal", "next: loa-conform score mine --only exit-003-retried --seed 7 --keep"),
        ("html", "<svg class=\"timeline\""),
        ("markdown", "# Conformance report"),
        ("summary", "## Conformance, runtime profile"),
        ("json", "\"timeline\": ["),
        ("json-lines", "\"record\":\"end\""),
        ("junit", "<testsuite name=\"mine: Exit Codes\""),
        ("github", "::error file=fixtures/runtimes/mine/manifest.yaml,title=EXIT-003 fail"),
    ] {
        report(&["--format", format]).assert().code(0).stdout(contains(needed));
    }
}

#[test]
fn a_report_goes_where_it_is_asked_to_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    report(&["--format", "junit", "--out", &path("r.xml")]).assert().code(0).stdout("");
    assert!(fs::read_to_string(path("r.xml")).expect("written").starts_with("<?xml"));
    report(&["--format", "badge", "--out", &path("badges")]).assert().code(0);
    assert!(fs::read_to_string(path("badges/mine-exit-codes.svg")).expect("written").contains("Partial 1/2"));
    report(&["--format", "badge"]).assert().code(64).stderr(contains("--out"));
    report(&["--format", "html", "--out", "/no/such/folder/r.html"]).assert().code(74);
    conform(&["report", "/no/such/report.json"]).assert().code(66);
    fs::write(path("half.json"), "{\"version\": 1").expect("a file");
    conform(&["report", &path("half.json")]).assert().code(78).stderr(contains("half.json:1"));
}

#[test]
fn the_summary_of_a_job_is_appended_where_there_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("summary.md");
    fs::write(&file, "before\n").expect("a file");
    let mut command = report(&["--format", "summary", "--step-summary"]);
    command.env("GITHUB_STEP_SUMMARY", &file).assert().code(0).stdout("");
    let text = fs::read_to_string(&file).expect("there");
    assert!(text.starts_with("before\n## Conformance") && text.contains("it started once"), "{text}");
    report(&["--format", "summary", "--step-summary"]).assert().code(0).stderr(contains("no summary was written"));
}

#[test]
fn a_score_writes_the_page_and_what_else_was_asked_for() {
    let suite = suite(&[IDLE]);
    score(&suite, &["idle", "--format", "junit,json-lines"]).assert().code(1).stdout(contains("report.html"));
    let read = |name: &str| fs::read_to_string(suite.path().join("out").join(name)).expect("written");
    assert!(read("report.html").contains("nothing-started"), "the page has the red");
    assert!(read("report.junit.xml").contains("failures=\"1\""));
    assert!(read("report.jsonl").contains("\"record\":\"end\""));
    let report: Value = serde_json::from_str(&read("report.json")).expect("JSON");
    let timeline = &report["runtimes"][0]["clauses"][0]["cases"][0]["timeline"];
    assert_eq!(timeline[0]["kind"], "step", "{report:#}");
    assert_eq!(timeline[0]["exit"], 0);
}

#[test]
fn the_pages_are_written_and_are_stale_as_soon_as_something_differs() {
    let suite = suite(&[GOOD]);
    score(&suite, &[]).assert().code(0);
    let defects = suite.path().join("defects.yaml");
    let list = "[{id: C-36, title: t, sections: [s], problem: p, cost: c, ours: o, proposal: Say so.}]";
    fs::write(&defects, list).expect("a file");
    let pages = |more: &[&str]| {
        let mut command = conform(&["pages"]);
        command.arg("--suite").arg(suite.path()).arg("--report").arg(suite.path().join("out/report.json"));
        command.arg("--driven").arg(suite.path().join("none")).arg("--agents").arg(suite.path().join("none"));
        command.arg("--into").arg(suite.path()).arg("--defects").arg(&defects).args(more);
        command
    };
    pages(&["--check"]).assert().code(66).stderr(contains("run `loa-conform pages`"));
    pages(&[]).assert().code(0);
    pages(&["--check"]).assert().code(0);
    fs::write(&defects, list.replace("Say so", "Say something")).expect("a file");
    pages(&["--check"]).assert().code(1).stderr(contains("contract-defects.md is stale from line"));
    fs::write(&defects, list.replace("ours: o, ", "")).expect("a file");
    pages(&[]).assert().code(78).stderr(contains("C-36 has no reading"));
    fs::write(&defects, list).expect("a file");
    fs::write(suite.path().join("index.html"), "old").expect("a file");
    pages(&["--check"])
        .assert()
        .code(1)
        .stderr(contains("index.html is stale").and(contains("contract-defects").not()));
}

const ACTION: &str = ".github/actions/loa-conform/action.yml";

fn action() -> Value {
    serde_yaml::from_str(&fs::read_to_string(root().join(ACTION)).expect("readable")).expect("YAML")
}

/// The action, with these inputs: what it printed, its outputs and its summary.
fn judged(folder: &Path, inputs: &[(&str, &str)]) -> (Output, String, String) {
    let mut command = second_step(&action(), folder, inputs);
    let (outputs, summary) = (folder.join("outputs"), folder.join("summary"));
    fs::write(&outputs, "").expect("a file");
    let output = command.env("GITHUB_OUTPUT", &outputs).env("GITHUB_STEP_SUMMARY", &summary).output().expect("bash");
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    (output, read(outputs), read(summary))
}

#[test]
fn the_action_judges_a_manifest_annotates_it_and_sets_every_output() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mine.yaml"), "{runtime: mine, version: ['true'], run: ['true']}").expect("a file");
    let inputs = [("runtimes", "mine.yaml\n"), ("arguments", "--only\nEXIT-001\n--seed\n7")];
    let (output, outputs, summary) = judged(folder.path(), &inputs);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("\n::error file=mine.yaml,title=EXIT-001 fail"), "{text}");
    assert!(summary.contains("## Conformance, runtime profile"), "{summary}");
    let action = action();
    let expected = "exit-code=1\ncases=2\nfailed=1\nreport=conformance/report.json\npage=conformance/report.html\n\
                    junit=conformance/report.junit.xml\nbadges=conformance/badges\n";
    assert_eq!(outputs, expected);
    for (name, output) in action["outputs"].as_object().expect("outputs") {
        assert_eq!(output["value"], format!("${{{{ steps.judge.outputs.{name} }}}}"));
        assert!(outputs.contains(&format!("{name}=")), "{name}");
    }
    for place in ["report.html", "report.junit.xml", "badges/mine-exit-codes.svg"] {
        assert!(folder.path().join("conformance").join(place).is_file(), "{place}");
    }
}

#[test]
fn the_action_takes_no_code_and_says_when_nothing_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (output, outputs, _) = judged(folder.path(), &[("runtimes", "$(touch owned)\n`touch owned`")]);
    assert_eq!(output.status.code(), Some(66), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(outputs, "");
    assert!(!folder.path().join("owned").exists());
}
