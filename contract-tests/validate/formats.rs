//! Every format that findings are written in: as people see it, and as the program that reads it would.

use std::fs;

use assert_cmd::Command;
use jsonschema::Validator;
use predicates::prelude::*;
use predicates::str::contains;
use quick_junit::{Report, TestCase, TestCaseStatus};
use serde_json::Value;

use super::root;

/// A folder with a valid file, one with two findings, one without a place, one whose name is hard, one that a hostile hand
/// wrote, and a run of the program over all of them and one that is not there.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let good = "execution_id: e-1\nphase: design\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: ok\n";
    for (name, text) in [
        ("good.yaml", good.to_owned()),
        ("two.yaml", good.replace("exit_code: 0", "exit_code: \"0\"").replace("design", "desing")),
        ("100%, a: b.yaml", good.replace("summary", "sumary")),
        ("hostile.yaml", "\"a\\n::error::\\e[31mred\\u202e%\": 1\n\"a\\n::error::\\e[31mred\\u202e%\": 2\n".to_owned()),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::write(folder.path().join("binary.yaml"), b"\x7fELF\0\xff").expect("a file");
    folder
}

const FILES: [&str; 6] = ["good.yaml", "two.yaml", "100%, a: b.yaml", "hostile.yaml", "binary.yaml", "./nowhere.yaml"];

fn validate(folder: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("loa-validate").expect("the program is built");
    command.current_dir(folder.path()).env_remove("CLICOLOR_FORCE").arg("checkpoint").args(arguments);
    command
}

fn written(shape: &str) -> String {
    let output = validate(&folder(), &["--format", shape]).args(FILES).assert().code(66).get_output().clone();
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The findings as the format `json` has them, which the others must agree with.
fn findings() -> Vec<Value> {
    let document: Value = serde_json::from_str(&written("json")).expect("one JSON document");
    assert_eq!(document["version"], 1);
    assert_eq!((&document["files"], &document["invalid"]), (&5.into(), &4.into()));
    assert_eq!(document["unreadable"][0]["file"], "./nowhere.yaml");
    document["findings"].as_array().expect("findings").clone()
}

#[test]
fn each_format_looks_as_it_should() {
    let version = |text: String| text.replace(env!("CARGO_PKG_VERSION"), "[version]");
    for shape in ["full", "concise", "json", "json-lines", "github", "sarif", "junit"] {
        insta::assert_snapshot!(format!("format-{shape}"), version(written(shape)));
    }
}

#[test]
fn a_document_can_say_nothing_to_a_terminal_or_a_log() {
    for shape in ["full", "concise", "json", "json-lines", "github", "sarif", "junit"] {
        let text = written(shape);
        assert!(!text.contains('\u{1b}'), "{shape}");
        assert!(!text.lines().any(|line| line.starts_with("::error::")), "{shape}");
        assert!(!text.contains('\u{202e}') || shape == "json" || shape == "json-lines", "{shape}");
    }
}

#[test]
fn json_lines_are_the_findings_of_json_and_a_summary() {
    let lines: Vec<Value> =
        written("json-lines").lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let (last, lines) = lines.split_last().expect("a summary");
    assert_eq!((&last["type"], &last["files"], &last["findings"]), (&"summary".into(), &5.into(), &lines.len().into()));
    let findings: Vec<Value> = findings()
        .into_iter()
        .map(|mut finding| {
            finding["type"] = "finding".into();
            finding
        })
        .collect();
    assert_eq!(lines, findings);
}

#[test]
fn concise_lines_begin_with_file_line_and_column() {
    let lines: Vec<String> = written("concise").lines().map(str::to_owned).collect();
    let expected = findings().into_iter().map(|finding| {
        let part = |key: &str| finding[key].as_u64().map_or(String::new(), |number| format!(":{number}"));
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        format!("{}{}{}: {}[{}] ", text("file"), part("line"), part("column"), text("severity"), text("code"))
    });
    let expected: Vec<String> = expected.collect();
    assert_eq!(lines.len(), expected.len());
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&expected), "{line:?} does not begin with {expected:?}");
    }
}

/// What GitHub makes of a workflow command: the properties and the message.
fn as_github_reads(line: &str) -> (Vec<(String, String)>, String) {
    let unescape = |text: &str| {
        let text = text.replace("%3A", ":").replace("%2C", ",");
        text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    };
    let (head, message) = line.strip_prefix("::").and_then(|rest| rest.split_once("::")).expect("a command");
    let (_, properties) = head.split_once(' ').expect("properties");
    let pairs = properties.split(',').map(|pair| pair.split_once('=').expect("key=value"));
    (pairs.map(|(key, value)| (key.to_owned(), unescape(value))).collect(), unescape(message))
}

#[test]
fn github_reads_the_file_the_line_and_the_message() {
    let commands: Vec<_> = written("github").lines().map(as_github_reads).collect();
    let findings = findings();
    assert_eq!(commands.len(), findings.len() + 1, "one a finding, and one for the file that was not read");
    for ((properties, message), finding) in commands.iter().zip(&findings) {
        let get = |key: &str| properties.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        assert_eq!(get("file").as_deref(), finding["file"].as_str());
        assert_eq!(get("line"), finding["line"].as_u64().map(|line| line.to_string()));
        assert!(get("title").is_some_and(|title| title.contains(finding["code"].as_str().expect("a code"))));
        for (key, name) in [("expected", "expected: "), ("help", "help: ")] {
            assert_eq!(finding[key].is_string(), message.contains(name), "{message}");
        }
    }
}

fn sarif_schema() -> Validator {
    let text = fs::read_to_string(root().join("fixtures/standards/sarif-2.1.0.schema.json")).expect("the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    // As published these have a `]` too many, which makes them no regular expressions of ECMA-262.
    for definition in ["run", "toolComponent"] {
        schema["definitions"][definition]["properties"]["language"]["pattern"] = "^[a-zA-Z]{2}".into();
    }
    jsonschema::options().should_validate_formats(true).build(&schema).expect("it compiles")
}

#[test]
fn sarif_is_what_the_standard_says() {
    let mut document: Value = serde_json::from_str(&written("sarif")).expect("JSON");
    let schema = sarif_schema();
    let errors: Vec<String> = schema.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    let results = document["runs"][0]["results"].as_array().expect("results");
    let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    assert_eq!(results.len(), findings().len());
    for (result, finding) in results.iter().zip(findings()) {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!((&result["ruleId"], &rules[index]["id"]), (&finding["code"], &finding["code"]));
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region.get("startLine"), finding.get("line"));
        assert_eq!(region.get("endColumn"), finding.get("end_column"));
    }
    assert_eq!(
        results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "100%25%2C%20a%3A%20b.yaml",
        "a path is a reference without a scheme"
    );
    document["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(!schema.is_valid(&document), "the schema is one that can refuse");
}

#[test]
fn junit_is_read_back_with_a_failure_a_file() {
    let report = Report::deserialize_from_str(&written("junit")).expect("JUnit");
    let cases: Vec<_> = report.test_suites.iter().flat_map(|suite| &suite.test_cases).collect();
    let is_bad = |case: &TestCase| matches!(case.status, TestCaseStatus::NonSuccess { .. });
    let names =
        |bad| cases.iter().filter(|case| is_bad(case) == bad).map(|case| case.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(false), ["good.yaml"]);
    assert_eq!(names(true), FILES[1..]);
    assert_eq!((report.tests, report.failures, report.errors), (6, 4, 1));
}

#[test]
fn a_file_takes_the_output_as_a_whole_and_only_a_file_does() {
    let folder = folder();
    let path = folder.path().join("out.sarif");
    fs::write(&path, "old").expect("a file");
    validate(&folder, &["--format", "full", "--output", "out.sarif", "two.yaml"])
        .env("CLICOLOR_FORCE", "1")
        .assert()
        .code(1)
        .stdout("")
        .stderr("1 file, 2 findings\n");
    let text = fs::read_to_string(&path).expect("written");
    assert!(text.contains("two.yaml:2:8") && !text.contains('\u{1b}'), "{text}");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 6, "nothing unfinished is left beside it");
    validate(&folder, &["--output", "/dev/null", "two.yaml"]).assert().code(74).stderr(contains("no file"));
    validate(&folder, &["--output", "no/where.txt", "two.yaml"]).assert().code(74).stderr(contains("no/where.txt"));
}

#[test]
fn json_is_short_for_the_format_and_does_not_go_with_another() {
    let folder = folder();
    let json = |arguments: &[&str]| validate(&folder, arguments).arg("two.yaml").output().expect("it runs").stdout;
    assert_eq!(json(&["--json"]), json(&["--format", "json"]));
    validate(&folder, &["--json", "--format", "sarif", "two.yaml"]).assert().code(64);
    validate(&folder, &["--format", "srif", "two.yaml"]).assert().code(64).stderr(contains("sarif"));
    validate(&folder, &["--help"]).assert().code(0).stdout(contains("--output").and(contains("junit")));
}
