//! Drawn stories: a fault that every fixed case misses is seen in one, and explored to the shortest that still shows it.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use predicates::str::contains;
use tempfile::TempDir;

use super::conform;

/// A runtime that after a resume takes an unknown exit code for a success. No fixed case sees it.
fn forgetful() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/runtimes/sh");
    fs::copy(base.join("manifest.yaml"), folder.path().join("manifest.yaml")).expect("a manifest");
    let mut text = fs::read_to_string(base.join("runtime.sh")).expect("a runtime");
    for (place, fault) in [
        ("        case $code in\n", "        [ -e \"$own/resumed\" ] && [ \"$code\" -gt 2 ] && code=0\n"),
        ("    [ -n \"$execution_id\" ] || { say \"error: there is nothing to resume", "    : >\"$own/resumed\"\n"),
    ] {
        assert_eq!(text.matches(place).count(), 1, "{place}");
        text = text.replace(place, &format!("{fault}{place}"));
    }
    fs::write(folder.path().join("runtime.sh"), text).expect("a runtime");
    folder
}

#[test]
fn a_fault_that_no_fixed_case_shows_is_seen_in_a_story() {
    let runtime = forgetful();
    let manifest = runtime.path().join("manifest.yaml");
    let score = |stories: &str| {
        let mut command = conform(&["score"]);
        command.arg(&manifest).args(["--only", "EXIT-013", "--seed", "12", "--stories", stories]);
        command.arg("--out").arg(runtime.path().join("out"));
        command.assert()
    };
    score("0").code(0).stdout(contains("cases: 4 pass"));
    let again = format!("next: loa-conform explore {} --seed 12 --story 1", manifest.display());
    score("1").code(1).stdout(contains("exit-013-in-every-story")).stdout(contains(again));
}

#[test]
fn explore_shrinks_what_it_finds_to_a_case_that_can_be_committed() {
    let runtime = forgetful();
    let cases = runtime.path().join("cases");
    let explore = |more: &[&str]| {
        let mut command = conform(&["explore"]);
        command.arg(runtime.path().join("manifest.yaml")).args(["--seed", "12", "--story"]).args(more);
        command.arg("--out").arg(&cases);
        command.assert()
    };
    let said = explore(&["1", "--jobs", "8"]).code(1).stderr(contains("unknown-halts is broken"));
    said.stdout(contains("verdict: does not conform"));
    let case = fs::read_to_string(cases.join("exit-013-unknown-halts-in-a-story.yaml")).expect("a case");
    let steps: Vec<&str> = case.lines().skip_while(|it| *it != "steps:").collect();
    assert!(steps.len() <= 9, "{case}");
    assert!(steps.contains(&"- lawful: unknown-halts"), "{case}");
    let file = cases.join("exit-013-unknown-halts-in-a-story.yaml");
    let repro = || {
        let mut command = conform(&["repro"]);
        command.arg(&file).arg(runtime.path().join("manifest.yaml"));
        command.assert()
    };
    let script = String::from_utf8(repro().code(0).get_output().stdout.clone()).expect("UTF-8");
    fs::write(runtime.path().join("red.sh"), script).expect("written");
    let shown = Command::new("sh").arg(runtime.path().join("red.sh")).arg(runtime.path().join("lab")).output();
    let shown = String::from_utf8(shown.expect("it runs").stdout).expect("UTF-8");
    assert!(shown.contains("attempt 1, ends with"), "{shown}");
    fs::write(&file, case.replace("clause: EXIT-013", "clause: EXIT-999")).expect("written");
    repro().code(78).stderr(contains("there is no clause EXIT-999"));
}

#[test]
fn mutants_get_the_same_verdict_in_memory_and_as_processes() {
    let mut command =
        conform(&["mutants", "--seed", "5", "--stories", "80", "--sample", "60", "--processes", "6", "--json"]);
    let said = command.assert().code(0).get_output().stdout.clone();
    let told: serde_json::Value = serde_json::from_slice(&said).expect("JSON");
    let ran = told["mutation"]["ran"].as_array().expect("a list");
    assert_eq!((ran.len(), &told["holds"]), (6, &serde_json::json!(true)), "{told:#}");
    assert!(ran.iter().any(|it| !it["as_processes"].is_null()), "{ran:?}");
    let clauses = told["mutation"]["clauses"].as_array().expect("a list");
    assert!(clauses.len() > 20 && clauses.iter().all(|it| it["control"] == true && it["compound"] == true), "{told:#}");
}
