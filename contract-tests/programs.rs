//! What the three programs have in common: how they end when nobody can hear them, and how their help reads.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

const RUN: &str = env!("CARGO_BIN_EXE_loa-run");
const VALIDATE: &str = env!("CARGO_BIN_EXE_loa-validate");
const CONFORM: &str = env!("CARGO_BIN_EXE_loa-conform");

/// A place where every write fails.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux").into()
}

#[test]
fn an_output_that_cannot_be_written_is_no_defect() {
    let nowhere = ["--workspace", "/nowhere"];
    for (program, arguments, lost, code) in [
        (RUN, &[&["status"], &nowhere[..]].concat()[..], "stderr", 66),
        (RUN, &["dance"], "stderr", 64),
        (RUN, &["--help"], "stdout", 74),
        (VALIDATE, &["checkpoint", "/nowhere"], "stderr", 66),
        (VALIDATE, &["list"], "stdout", 74),
        (CONFORM, &["explain", "NONE-001"], "stderr", 66),
        (CONFORM, &["list"], "stdout", 74),
        (CONFORM, &["ledger"], "stdout", 74),
    ] {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let command = if lost == "stdout" { command.stdout(full()) } else { command.stderr(full()) };
        let status = command.status().expect("it runs");
        assert_eq!(status.code(), Some(code), "{program} {arguments:?} without {lost}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure_and_changes_no_verdict() {
    let wrong = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/documents/checkpoint/invalid/exit_code-3.yaml");
    for (program, arguments, code) in [
        (RUN, &["--help"][..], 0),
        (RUN, &["config", "--workspace", "/"], 0),
        (VALIDATE, &["--help"], 0),
        (VALIDATE, &["rules"], 0),
        (VALIDATE, &["checkpoint", wrong], 1),
        (VALIDATE, &["checkpoint", "--format", "json", wrong], 1),
        (CONFORM, &["--help"], 0),
        (CONFORM, &["ledger"], 0),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(program).args(arguments).stdout(writer).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{program} {arguments:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("error"), "{program} {arguments:?}: {said}");
    }
}

#[test]
fn an_error_is_json_for_whoever_asks_for_json() {
    for (program, arguments, code, said) in [
        (RUN, &["status", "--json", "--workspace", "/nowhere"][..], 66, "/nowhere: No such file"),
        (RUN, &["run", "--json", "--phase", "quality"], 64, "invalid value 'quality'"),
        (RUN, &["--json", "dance"], 64, "unrecognized subcommand 'dance'"),
        (RUN, &["--json"], 64, "requires a subcommand"),
        (RUN, &["--json", "agent"], 64, "no command was given"),
        (VALIDATE, &["checkpoint", "--json", "--fix", "-"], 64, "standard input cannot be mended"),
        (VALIDATE, &["checkpoint", "--format", "json", "--jobs", "0", "x"], 64, "invalid value '0'"),
        (CONFORM, &["explain", "--json", "NONE-001"], 66, "NONE-001"),
        (CONFORM, &["score", "--json", "--nonsense"], 64, "--nonsense"),
    ] {
        let ran = |arguments: &[&str]| {
            let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("it runs");
            assert_eq!(output.status.code(), Some(code), "{program} {arguments:?}: {output:?}");
            assert!(!output.stderr.is_empty(), "people read it as well");
            output.stdout
        };
        let error: serde_json::Value = serde_json::from_slice(&ran(arguments)).expect("one JSON document");
        let error = &error["error"];
        assert_eq!(error["code"], code, "{error:#}");
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains(said) && !message.starts_with("error"), "{error:#}");
        assert!(error["hints"].as_array().is_some_and(|hints| code != 64 || !hints.is_empty()), "{error:#}");
        let plain: Vec<&str> =
            arguments.iter().filter(|word| !["--json", "--format", "json"].contains(word)).copied().collect();
        assert_eq!(ran(&plain), b"", "{plain:?}");
    }
}

#[test]
fn an_argument_that_is_no_text_is_wrong_usage() {
    for program in [RUN, VALIDATE, CONFORM] {
        let output = Command::new(program).arg(OsStr::from_bytes(b"\xff")).output().expect("it runs");
        assert_eq!(output.status.code(), Some(64), "{program}: {output:?}");
    }
}

#[test]
fn help_says_what_the_program_is_for_and_fits_a_terminal_of_eighty_columns() {
    for (program, does) in
        [(RUN, "Executes the phases"), (VALIDATE, "Checks the documents"), (CONFORM, "Drives any runtime")]
    {
        let output = Command::new(program).arg("--help").env("COLUMNS", "80").output().expect("it runs");
        let help = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(help.starts_with(does), "{program}: {}", help.lines().next().unwrap_or_default());
        let (_, end) = help.split_once("\nExamples:\n").expect("examples");
        for line in end.lines() {
            let heading = line.is_empty() || line.ends_with(':');
            assert!(heading || line.starts_with("  "), "{program}: a line was broken before `{line}`");
        }
        assert!(end.contains("\n  0    ") && end.contains("\n  143  "), "{end}");
    }
}
