//! The program itself: arguments, output, exit codes.

use assert_cmd::Command;
use predicates::prelude::*;

use super::root;

/// `loa-validate`, run in the folder of documents.
fn validate(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("loa-validate").expect("the program is built");
    command.current_dir(root().join("fixtures/documents")).args(arguments).env_remove("CLICOLOR_FORCE");
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = validate(arguments).output().expect("it runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn valid_documents_end_with_0_and_one_line_on_stderr() {
    validate(&["checkpoint", "checkpoint/valid/everything.yaml", "checkpoint/valid/in-json.json"])
        .assert()
        .code(0)
        .stdout("")
        .stderr("2 files, no findings\n");
}

#[test]
fn findings_end_with_1_and_are_shown_with_their_line() {
    let files =
        ["exit_code-in-quotes.yaml", "phase-upper-case.yaml", "duplicate-key.yaml", "metrics-without-duration.yaml"];
    let mut arguments = vec!["checkpoint".to_owned()];
    arguments.extend(files.map(|file| format!("checkpoint/invalid/{file}")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    validate(&arguments).assert().code(1).stderr("4 files, 4 findings\n");
    insta::assert_snapshot!("full", stdout(&arguments));
}

#[test]
fn machines_get_one_json_document_with_a_version() {
    let arguments =
        ["checkpoint", "--json", "checkpoint/invalid/exit_code-3.yaml", "checkpoint/valid/flow.yaml", "nowhere"];
    validate(&arguments).assert().code(66);
    let output = stdout(&arguments);
    serde_json::from_str::<serde_json::Value>(&output).expect("one JSON document");
    insta::assert_snapshot!("json", output);
}

#[test]
fn standard_input_is_a_file_named_dash() {
    let line = "{\"type\": \"USAGE\"}\n";
    validate(&["signal", "-"]).write_stdin(line).assert().code(1).stdout(predicate::str::contains("<stdin>:1:1"));
}

#[test]
fn colours_are_for_terminals() {
    let coloured = predicate::str::contains("\u{1b}[");
    let arguments = ["checkpoint", "checkpoint/invalid/exit_code-3.yaml"];
    validate(&arguments).assert().stdout(coloured.clone().not());
    validate(&arguments).env("CLICOLOR_FORCE", "1").assert().stdout(coloured.clone());
    validate(&arguments).env("NO_COLOR", "1").assert().stdout(coloured.not());
}

#[test]
fn help_names_every_kind_and_every_exit_code() {
    let output = stdout(&["--help"]);
    for kind in loa::cli::kinds() {
        assert!(output.contains(kind.name()), "{} is missing in\n{output}", kind.name());
    }
    for code in ["  0    ", "  1    ", "  64   ", "  66   ", "  70   ", "  74   "] {
        assert!(output.contains(code), "{code:?} is missing in\n{output}");
    }
    assert!(output.contains("Examples:"));
}

#[test]
fn list_and_schema_show_what_there_is() {
    let list = stdout(&["list"]);
    for kind in loa::cli::kinds() {
        assert!(list.contains(kind.name()));
        assert_eq!(stdout(&["schema", kind.name()]), kind.schema_file());
    }
}

#[test]
fn a_wrong_command_line_ends_with_64_and_says_what_was_meant() {
    for (arguments, said) in [
        (&[][..], "Usage:"),
        (&["checkpoint"], "<FILE>"),
        (&["chekpoint", "a.yaml"], "checkpoint"),
        (&["schema", "nothing"], "checkpoint"),
        (&["checkpoint", "--limit", "width=3", "a.yaml"], "depth"),
        (&["checkpoint", "--limit", "depth=100000", "a.yaml"], "512"),
        (&["checkpoint", "--jsn", "a.yaml"], "--json"),
    ] {
        validate(arguments).assert().code(64).stderr(predicate::str::contains(said));
    }
}
