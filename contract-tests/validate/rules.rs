//! Every rule has words, and a document that breaks it and nothing else beside one that does not.

use std::collections::BTreeSet;
use std::fs;

use assert_cmd::Command;
use camino::Utf8Path;
use loa::diag::Budget;
use loa::schema::{Checker, Explanation, Reading};

use super::{files, root};

/// Every rule, each once.
fn rules() -> Vec<Explanation> {
    let mut rules = loa::schema::schema_rules();
    rules.extend(loa::cli::kinds().iter().flat_map(loa::schema::Kind::explanations));
    rules
}

/// The codes of the findings about a text.
fn codes(kind: &str, path: &str, text: &str, reading: Reading) -> Vec<&'static str> {
    let kinds = loa::cli::kinds();
    let kind = kinds.iter().find(|one| one.name() == kind).unwrap_or_else(|| panic!("there is no kind {kind}"));
    let findings = Checker::new(kind).reading(reading).check(text.as_bytes(), Utf8Path::new(path), &Budget::default());
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn every_example_breaks_its_rule_and_no_other_and_the_one_beside_it_none() {
    let reading = Reading::default();
    // What its example is about is the folder around it; `commands` shows it.
    for rule in rules().iter().filter(|rule| rule.id != "artifact-lies") {
        let Some(example) = rule.example else { continue };
        assert_eq!(codes(example.kind, example.path, example.wrong, reading), [rule.id], "{}", example.wrong);
        assert_eq!(codes(example.kind, example.path, example.right, reading), [""; 0], "{}", example.right);
    }
}

#[test]
fn every_code_that_a_document_of_ours_brings_out_is_a_rule_with_words() {
    let known: BTreeSet<&str> = rules().iter().map(|rule| rule.id).collect();
    for kind in loa::cli::kinds() {
        let checker = Checker::new(&kind);
        for file in files(&root().join("fixtures/documents").join(kind.name()).join("invalid")) {
            let bytes = fs::read(&file).expect("a readable document");
            for finding in checker.check(&bytes, &file, &Budget::default()) {
                assert!(known.contains(finding.code), "{file}: nobody explains {}", finding.code);
            }
        }
    }
}

#[test]
fn words_are_sentences() {
    for rule in rules() {
        assert!(!rule.about.ends_with('.') && rule.about.is_ascii(), "{}", rule.id);
        assert!(rule.why.ends_with('.') && rule.mend.ends_with('.'), "{}", rule.id);
    }
}

const CHECKPOINT: &str =
    "execution_id: exec-1\nphase: audit\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n";

#[test]
fn a_lenient_reading_takes_what_others_write_and_warns() {
    let lenient = Reading { lenient: true, ..Reading::default() };
    let word = "findings:\n  - {id: F-1, severity: HIGH, category: a, description: b}\n";
    for (kind, text, strict, mild) in [
        ("checkpoint", CHECKPOINT.replace("audit", "quality"), "enum", "phase-alias"),
        ("checkpoint", CHECKPOINT.replace("audit", "review"), "enum", "phase-alias"),
        ("checkpoint", CHECKPOINT.replace("audit", "deployment"), "enum", "phase-alias"),
        ("checkpoint", CHECKPOINT.replace("audit", "planning"), "enum", "phase-alias"),
        ("checkpoint", CHECKPOINT.replace("audit", "architecture"), "enum", "phase-alias"),
        ("checkpoint", CHECKPOINT.replace("audit", "coding"), "enum", "enum"),
        ("phase-result", word.to_owned(), "enum", "word-case"),
        ("checkpoint", CHECKPOINT.replace("00Z", "00"), "format", "time-without-zone"),
        ("checkpoint", CHECKPOINT.replace("2026-11-20T09:30:00Z", "yesterday"), "format", "format"),
        ("checkpoint", CHECKPOINT.replace("exit_code: 0", "exit_code: \"0\""), "type", "type"),
    ] {
        assert_eq!(codes(kind, "a.yaml", &text, Reading::default()), [strict], "{text}");
        assert_eq!(codes(kind, "a.yaml", &text, lenient), [mild], "{text}");
    }
}

#[test]
fn a_strict_reading_warns_of_every_key_that_nothing_reads() {
    let strict = Reading { strict: true, ..Reading::default() };
    let text =
        format!("{CHECKPOINT}version: 1\nartifact: []\nartifacts:\n  - {{path: a, action: created, sha256: b}}\n");
    assert_eq!(codes("checkpoint", "a.yaml", &text, Reading::default()), [""; 0]);
    assert_eq!(codes("checkpoint", "a.yaml", &text, strict), ["unknown-key"; 3]);
    assert_eq!(codes("checkpoint", "a.yaml", CHECKPOINT, strict), [""; 0]);
    // What is free to have any key stays so, and what has a finding already gets no second one.
    assert_eq!(codes("phase-result", "a.yaml", "outputs: {any: {key: 1}}\n", strict), [""; 0]);
    assert_eq!(codes("phase-result", "a.yaml", "sumary: a\n", strict), ["unknown-key"]);
    assert_eq!(codes("config", "a.yaml", "effort: {unit: points}\n", strict), ["config-advice"]);
    let message = |kind: &str, payload: &str, more: &str| {
        format!(
            "{{\"id\":\"7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b01\",\"sessionId\":\"s\",\"ts\":\"2026-11-20T09:30:00Z\",\
             \"level\":\"info\",\"seq\":2,\"type\":\"{kind}\",\"payload\":{payload}{more}}}\n"
        )
    };
    for (text, expected) in [
        (message("heartbeat", "{}", ""), 0),
        (message("heartbeat", "{}", ",\"mood\":1"), 1),
        (message("log", "{\"text\":\"a\",\"meta\":{\"any\":1}}", ""), 0),
        (message("log", "{\"text\":\"a\",\"cmd\":\"of another type\"}", ""), 1),
        (message("event", "{\"any\":1}", ""), 0),
    ] {
        assert_eq!(codes("messages", "a.jsonl", &text, strict), vec!["unknown-key"; expected], "{text}");
    }
}

#[test]
fn the_program_lists_and_explains_them() {
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("loa-validate").expect("the program is built");
        let output = command.args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let list = run(&["rules"]);
    for rule in rules() {
        assert!(list.lines().any(|line| line.starts_with(rule.id)), "{} is missing in\n{list}", rule.id);
        let page = run(&["explain", rule.id]);
        assert!(page.contains(rule.why) && page.contains(rule.mend), "{page}");
    }
    let json: serde_json::Value = serde_json::from_str(&run(&["rules", "--json"])).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(list.lines().count()));
    insta::assert_snapshot!("explain", run(&["explain", "exit-code-against-errors"]));
}
