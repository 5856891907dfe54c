//! What `loa-conform` does for those who write runtimes, cases and clauses.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{GOOD, conform, suite};

#[test]
fn the_ledger_knows_which_sentences_changed() {
    let suite = suite(&[GOOD]);
    let text = suite.path().join("contract.md");
    let ledger = || {
        let mut command = conform(&["ledger", "--against"]);
        command.arg(&text).arg("--suite").arg(suite.path());
        command
    };
    fs::write(&text, "before\n  hello \t world\nafter\n").expect("a file");
    ledger().assert().code(0).stdout(contains("1 of 1 clauses"));
    fs::write(&text, "hello new world\n").expect("a file");
    ledger().assert().code(1).stdout(contains("X-001 rests on a line"));
    fs::remove_file(&text).expect("it is there");
    ledger().assert().code(66);
}

#[test]
fn explain_and_list() {
    let suite = suite(&[GOOD]);
    let shown = |arguments: &[&str]| conform(arguments).arg("--suite").arg(suite.path()).assert();
    shown(&["explain", "x-001"]).code(0).stdout(contains("All phases run.")).stdout(contains("case x-001-a"));
    shown(&["explain", "X-002"]).code(66).stderr(contains("did you mean X-001?"));
    for verb in [&["explain", "X-001", "--json"][..], &["list", "--json"], &["ledger", "--json"], &["lint", "--json"]] {
        let printed = shown(verb).code(0).get_output().stdout.clone();
        let document: serde_json::Value = serde_json::from_slice(&printed).expect("one JSON document");
        assert!(document.is_object() && (document.to_string().contains("-001") || verb[0] == "lint"), "{document}");
    }
    shown(&["list"]).code(0).stdout(contains("runtime loop")).stdout(contains("case x-001-a"));
}

/// What `new` writes is not done, and `lint` says so until it is; nothing is overwritten.
#[test]
fn a_scaffold_is_found_unfinished_and_never_overwrites() {
    let suite = suite(&[GOOD]);
    fs::create_dir(suite.path().join("faulty")).expect("a folder");
    fs::create_dir(suite.path().join("cases/exit-codes")).expect("a folder");
    fs::rename(suite.path().join("ledger/x.yaml"), suite.path().join("ledger/exit-codes.yaml")).expect("renamed");
    let new = |arguments: &[&str]| {
        let mut command = conform(&["new"]);
        command.args(arguments).args(["--base", "loop", "--suite"]).arg(suite.path());
        command.assert()
    };
    let lint = || conform(&["lint", "--suite"]).arg(suite.path()).assert();
    lint().code(0).stdout(contains("nothing wrong"));
    new(&["X-004"]).code(66).stderr(contains("the next free number is X-002"));
    new(&["X-002", "--name", "No Dashes"]).code(64);
    new(&["X-002", "--name", "twice"]).code(0).stdout(contains("x-002-twice.yaml").and(contains("faulty/twice.yaml")));
    let case = suite.path().join("cases/exit-codes/x-002-twice.yaml");
    let written = fs::read_to_string(&case).expect("a case");
    lint().code(78).stderr(contains("FILL IN").and(contains("occurs 0 times")).and(contains("x-002-twice.yaml")));
    new(&["X-002", "--name", "twice"]).code(74).stderr(contains("is there already"));
    assert_eq!(fs::read_to_string(&case).expect("a case"), written);
    let ledger = fs::read_to_string(suite.path().join("ledger/exit-codes.yaml")).expect("a ledger");
    assert_eq!(ledger.matches("- id: X-002").count(), 1, "{ledger}");
    for path in ["cases/exit-codes/x-002-twice.yaml", "faulty/twice.yaml", "ledger/exit-codes.yaml"] {
        let path = suite.path().join(path);
        let text = fs::read_to_string(&path)
            .expect("it was written")
            .replace("FILL IN: what stands in the file exactly once", "while read");
        let text = text.replace("runtime.sh", "loop.sh").replace("FILL IN", "Filled");
        fs::write(path, text).expect("a file");
    }
    lint().code(0).stdout(contains("2 clauses, 2 cases"));
    let explained = conform(&["explain", "X-002", "--suite"]).arg(suite.path()).assert().code(0);
    explained.stdout(contains("dies of it: loop+twice (started-too-often)").and(contains("limit: `starts`")));
    conform(&["new", "X-001", "--profile", "agent"]).assert().code(64);
}

/// Runs a script of the shell on a folder and says what it printed.
fn sh(script: &Path, folder: &Path) -> String {
    let output = Command::new("sh").arg(script).arg(folder).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_red_is_shown_by_a_script_alone() {
    let place = tempfile::tempdir().expect("a folder");
    let path = |name: &str| place.path().join(name).to_str().expect("UTF-8").to_owned();
    let (case, out) = ("exit-009-blocked-is-not-retried", path("out"));
    conform(&["score", "careless", "--only", "exit-009-*", "--seed", "11", "--out", &out]).assert().code(1);
    let report = format!("{out}/report.json");
    let script = path("red.sh");
    conform(&["repro", case, "careless", "--report", &report, "--out", &script]).assert().code(0);
    // Whatever the folder is called that somebody has for it.
    let said = sh(Path::new(&script), &place.path().join("it's a lab"));
    assert!(
        said.contains("implementation, attempt 1, ends with 2") && said.contains("implementation starts, attempt 2"),
        "{said}"
    );
    assert!(
        said.contains("expected: implementation to start once")
            && said.contains("observed by the judge: it started twice")
    );
    let bare = conform(&["repro", case, "sh", "--seed", "11"]).assert().code(0);
    bare.stdout(contains("#!/bin/sh").and(contains("{\"starts\":")).and(contains("runtime.sh")));
    conform(&["repro", "exit-009-blocked-is-not-retryed", "sh"])
        .assert()
        .code(66)
        .stderr(contains(format!("did you mean {case}?")));
    // A case that looks at what others did is shown by the one in which it was red.
    let everywhere = ["repro", "exit-009-every-blocked-phase", "careless"];
    conform(&everywhere).assert().code(66).stderr(contains("--report"));
    conform(&[&everywhere[..], &["--report", &report]].concat())
        .assert()
        .code(0)
        .stderr(contains("looks at what all cases showed, and was red in"));
    conform(&["repro", case, "sh", "--report", &report]).assert().code(78).stderr(contains("it has careless"));
    conform(&["repro", case, "nobody"]).assert().code(66);
}

#[test]
fn the_doctor_blames_the_adapter_with_a_remedy() {
    let place = tempfile::tempdir().expect("a folder");
    let manifest = |text: &str| {
        let path = place.path().join("manifest.yaml");
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    conform(&["doctor", "sh"]).assert().code(0).stdout(contains("it can be scored"));
    for (text, said) in [
        (
            "{runtime: x, version: ['true'], run: [sh, -c, 'echo nothing to do', '{plan}']}",
            "its last words: nothing to do",
        ),
        ("{runtime: x, version: ['true'], run: [no-such-program, '{plan}']}", "install it, name it by its path"),
        ("{runtime: x, version: ['false'], run: ['true', '{plan}']}", "make `version` print one line"),
        ("{runtime: x, version: ['true'], run: ['true', '{plan}', '{folder}']}", "which nobody fills in"),
        (
            "{runtime: x, version: ['true'], run: [sh, -c, 'exec sleep 60', '{plan}'], budget_seconds: 1}",
            "raise `budget_seconds`",
        ),
    ] {
        conform(&["doctor", &manifest(text)]).assert().code(1).stdout(contains(said));
    }
    let json = conform(&["doctor", &manifest("{runtime: x, version: ['true'], run: ['true']}"), "--json"]).assert();
    json.code(1).stdout(contains("\"what\": \"plan\"").and(contains("\"exit_code\": 1")));
    conform(&["doctor", &manifest("{runtime: x}")]).assert().code(78);
    for (pattern, said) in [
        ("report: '[[['", "is no pattern here"),
        ("report: /etc/*", "is no path from the workspace on"),
        ("report: ../*", "no path that is found has the part `..`"),
        ("surface: '('", "it is no regular expression"),
        ("surface: '{phase}{trigger}|.'", "matches every line"),
        ("warn: {output: soft}", "has no group `level`"),
    ] {
        let text = format!("runtime: x\nversion: ['true']\nrun: ['true', '{{plan}}']\n{pattern}\n");
        for verb in ["doctor", "score"] {
            let refused = conform(&[verb, &manifest(&text)]).assert().code(78);
            refused.stderr(contains(said).and(contains("manifest.yaml:4")));
        }
    }
}

#[test]
fn a_new_runtime_scores_at_once_and_the_doctor_is_content() {
    let place = tempfile::tempdir().expect("a folder");
    for lang in ["sh", "python"] {
        let folder = place.path().join(format!("my-{lang}"));
        let folder = folder.to_str().expect("UTF-8");
        let new = || conform(&["new-runtime", "--lang", lang, folder]).assert();
        new().code(0).stdout(contains("loa-conform doctor"));
        new().code(64).stderr(contains("is not empty"));
        let manifest = format!("{folder}/manifest.yaml");
        conform(&["doctor", &manifest]).assert().code(0).stdout(contains("`initial_backoff` is heard"));
        let out = format!("{folder}/out");
        // Not everything is green in it, and that is the point: what it lacks, the report says.
        let wish = ["score", &manifest, "--only", "EXIT", "--level", "must", "--seed", "7", "--out", &out];
        conform(&wish).assert().code(1);
        let report = fs::read_to_string(format!("{out}/report.json")).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let green = report["runtimes"][0]["cells"]["exit-codes"]["green"].as_u64().expect("a cell");
        assert!(green >= 9, "{lang}: {green}");
    }
    let bad = place.path().join("Bad Name");
    conform(&["new-runtime", "--lang", "sh", bad.to_str().expect("UTF-8")]).assert().code(64);
}

/// Whoever writes a runtime copies these, so they must be what they are called.
#[test]
fn the_documents_that_authors_are_shown_are_valid() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract-tests/PLUGGING-IN.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, documents) = page.split_once("## The documents, whole").expect("the section");
    let (documents, _) = documents.split_once("\n## ").expect("the next one");
    let blocks: Vec<&str> = documents.split("```").skip(1).step_by(2).collect();
    let kinds = ["checkpoint", "escalation-report", "context-state"];
    assert_eq!(blocks.len(), kinds.len());
    for (block, kind) in blocks.iter().zip(kinds) {
        let mut validate = assert_cmd::Command::new(env!("CARGO_BIN_EXE_loa-validate"));
        validate.args([kind, "-", "--strict", "--deny-warnings"]);
        validate.write_stdin(block.strip_prefix("yaml\n").expect("YAML")).assert().code(0);
        assert!(documents.contains(&format!("schema {kind}`")), "the command that prints the schema of {kind}");
    }
}
