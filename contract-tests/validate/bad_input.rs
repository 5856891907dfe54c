//! Files that nobody should have given: a clear answer each, the exit code of the table, and soon.

use std::fs::{self, File};

use assert_cmd::Command;
use camino::Utf8Path;
use predicates::prelude::*;
use predicates::str::contains;

/// A folder with one file, and the program run in it.
struct Given {
    folder: tempfile::TempDir,
}

impl Given {
    fn file(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.yaml"), content).expect("a file");
        Self { folder }
    }

    fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).expect("UTF-8")
    }

    /// Far more than any of these may take, so that a program that hangs is a failure and not a wait.
    fn run(&self, arguments: &[&str]) -> assert_cmd::assert::Assert {
        let mut command = Command::cargo_bin("loa-validate").expect("the program is built");
        command.current_dir(self.path()).timeout(std::time::Duration::from_secs(30)).args(arguments).assert()
    }
}

#[test]
fn a_missing_file_ends_with_66_after_the_others_were_checked() {
    Given::file("- a list\n")
        .run(&["checkpoint", "nowhere.yaml", "a.yaml"])
        .code(66)
        .stdout(contains("a.yaml:1:1"))
        .stderr(contains("1 file, 1 finding").and(contains("`nowhere.yaml`")).and(contains("No such file")));
}

#[test]
fn a_folder_ends_with_66_and_a_hint() {
    Given::file("").run(&["checkpoint", "."]).code(66).stderr(contains("`.` is a folder").and(contains("hint:")));
}

#[test]
fn hostile_files_are_findings_that_say_why() {
    let laughs = (1..10).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    });
    for (name, content, said) in [
        ("empty", Vec::new(), "the file holds no document"),
        ("binary", b"\x7fELF\x02\x01\x01\0\0\xff\xfe\0".to_vec(), "this is a binary file"),
        ("NUL", b"phase: de\0sign\n".to_vec(), "U+0000"),
        ("brackets", "[".repeat(200_000).into_bytes(), "the budget `depth`"),
        ("dashes", "- ".repeat(200_000).into_bytes(), "the budget `depth`"),
        ("laughs", laughs.into_bytes(), "the budget `aliases`"),
        ("one long line", format!("phase: {}\n", "x".repeat(5_000_000)).into_bytes(), "cut after 60 characters"),
        ("wrong all over", "- 1\n".repeat(200_000).into_bytes(), "the document has the wrong type"),
    ] {
        let output =
            Given::file(content).run(&["checkpoint", "a.yaml"]).code(1).stdout(contains(said)).get_output().clone();
        assert!(output.stdout.len() < 20_000, "{name}: {} bytes of output", output.stdout.len());
    }
}

#[test]
fn fifty_megabytes_meet_the_budget_of_bytes() {
    let given = Given::file("");
    let long = |bytes| {
        let file = File::options().write(true).open(given.path().join("a.yaml"));
        file.and_then(|file| file.set_len(bytes)).expect("sparse");
    };
    long(50 << 20);
    given
        .run(&["checkpoint", "a.yaml"])
        .code(1)
        .stdout(contains("the budget `bytes`").and(contains("--limit bytes=N")));
    long(17 << 20);
    given.run(&["checkpoint", "a.yaml", "--limit", "bytes=18000000"]).code(1).stdout(contains("U+0000"));
}

#[test]
fn a_budget_can_be_raised() {
    let deep = format!("{}x{}", "[".repeat(100), "]".repeat(100));
    let given = Given::file(format!(
        "execution_id: e\nphase: audit\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: s\nextra: {deep}\n"
    ));
    given.run(&["checkpoint", "a.yaml"]).code(1).stdout(contains("at most 64 levels"));
    given.run(&["checkpoint", "a.yaml", "--limit", "depth=200"]).code(0);
}

#[test]
fn a_document_wrong_in_a_thousand_places_is_cut_short_for_people_only() {
    let given = Given::file(format!(
        "execution_id: e\nphase: audit\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: s\nartifacts:\n{}",
        "  - {path: a, action: renamed}\n".repeat(20_000)
    ));
    given
        .run(&["checkpoint", "a.yaml"])
        .code(1)
        .stdout(contains("951 more findings"))
        .stderr(contains("1001 findings"));
    let output = given.run(&["checkpoint", "--json", "a.yaml"]).code(1).get_output().clone();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = json["findings"].as_array().expect("a list");
    assert_eq!((findings.len(), findings[1_000]["code"].as_str()), (1_001, Some("too-many")));
    assert_eq!(findings[999]["line"], 1_006, "in the order of the file");
}

#[test]
fn very_many_unknown_keys_cost_no_more_than_their_number() {
    let keys: Vec<String> = (0..60_000).map(|number| format!("k{number}: 1")).collect();
    let given = Given::file(keys.join("\n"));
    given.run(&["phase-result", "a.yaml"]).code(1).stdout(contains("k49: 1").and(contains("951 more findings")));
}

#[test]
fn a_full_disk_behind_stdout_ends_with_74() {
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let program = assert_cmd::cargo::cargo_bin("loa-validate");
    let status =
        std::process::Command::new(program).arg("list").stdout(full).stderr(std::process::Stdio::null()).status();
    assert_eq!(status.expect("it runs").code(), Some(74));
}
