//! What CI systems are given: the action and the pre-commit hook do what they say, without the systems.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::root;
use crate::action::{bash, second_step};

fn yaml(file: &str) -> Value {
    serde_yaml::from_str(&fs::read_to_string(root().join(file)).expect("a readable file")).expect("YAML")
}

const GOOD: &str = "execution_id: e-1\nphase: design\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: ok\n";

/// A workspace with a good checkpoint and a bad one.
fn workspace() -> tempfile::TempDir {
    let workspace = tempfile::tempdir().expect("a folder");
    let folder = workspace.path().join(".loa-checkpoint");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("design.yaml"), GOOD).expect("a file");
    fs::write(folder.join("audit.yaml"), GOOD.replace("design", "audit").replace("code: 0", "code: 7"))
        .expect("a file");
    workspace
}

/// The action, with these inputs: what it printed, and its outputs.
fn action(folder: &Path, inputs: &[(&str, &str)]) -> (Output, String) {
    let mut command = second_step(&yaml("action.yml"), folder, inputs);
    let outputs = folder.join("outputs");
    fs::write(&outputs, "").expect("a file");
    let output = command.env("GITHUB_OUTPUT", &outputs).output().expect("bash");
    (output, fs::read_to_string(outputs).expect("outputs"))
}

#[test]
fn the_action_annotates_the_line_and_sets_every_output() {
    let workspace = workspace();
    let (output, outputs) = action(workspace.path(), &[("sarif", "found.sarif")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("::error file=.loa-checkpoint/audit.yaml,line=4,col=12,endColumn=13,"), "{text}");
    assert_eq!(outputs, "files=2\ninvalid=1\nfindings=1\nsarif=found.sarif\n");
    let sarif = fs::read_to_string(workspace.path().join("found.sarif")).expect("it was written");
    assert!(sarif.contains("\"startLine\": 4"), "{sarif}");
}

#[test]
fn the_action_takes_files_a_line_each_and_no_code() {
    let workspace = workspace();
    fs::write(workspace.path().join("a b;touch owned.yaml"), GOOD).expect("a file");
    let files = "a b;touch owned.yaml\n\n.loa-checkpoint/design.yaml\n$(touch owned)";
    let (output, outputs) = action(workspace.path(), &[("kind", "checkpoint"), ("files", files)]);
    assert_eq!(output.status.code(), Some(66), "the last is not there");
    assert!(outputs.starts_with("files=2\ninvalid=0\nfindings=0\n"), "{outputs}");
    assert!(!workspace.path().join("owned").exists());
    let (output, outputs) = action(workspace.path(), &[("mode", "warn"), ("arguments", "--lenient\n")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(outputs.contains("invalid=1"), "{outputs}");
}

#[test]
fn a_file_whose_name_begins_like_an_option_is_a_file_to_action_and_hook() {
    let workspace = workspace();
    let before = fs::read_to_string(workspace.path().join(".loa-checkpoint/audit.yaml")).expect("a file");
    let files = "--output=owned\n--fix\n.loa-checkpoint/audit.yaml";
    let (output, _) = action(workspace.path(), &[("files", files)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("--output=owned") && said.contains("--fix"),
        "each is named as a file that is not there: {said}"
    );
    let hooks = yaml(".pre-commit-hooks.yaml");
    let words = std::iter::once(&hooks[0]["entry"]).chain(hooks[0]["args"].as_array().expect("arguments"));
    let hook: Vec<&str> = words.map(|word| word.as_str().expect("a word")).collect();
    let output = bash(&format!("{} --output=owned", hook.join(" ")), workspace.path()).output().expect("bash");
    assert_eq!(output.status.code(), Some(66), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!workspace.path().join("owned").exists());
    assert_eq!(fs::read_to_string(workspace.path().join(".loa-checkpoint/audit.yaml")).expect("a file"), before);
}

#[test]
fn the_actions_outputs_come_from_its_step() {
    let action = yaml("action.yml");
    for (name, output) in action["outputs"].as_object().expect("outputs") {
        assert_eq!(output["value"], format!("${{{{ steps.check.outputs.{name} }}}}"));
    }
    assert_eq!(action["runs"]["steps"][1]["id"], "check");
}

#[test]
fn the_hook_checks_what_it_is_given_and_is_given_what_it_can_check() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    let wanted = regex::Regex::new(hook["files"].as_str().expect("a pattern")).expect("a regular expression");
    for (path, given) in [
        (".loa-checkpoint/design.yaml", true),
        ("tools/x/.loa-checkpoint/escalations/e-1.yaml", true),
        (".loa.config.yaml", true),
        ("a/.loa.config.yaml", true),
        ("my.loa.config.yaml", false),
        ("design.yaml", false),
        (".loa-checkpoint/notes.md", false),
    ] {
        assert_eq!(wanted.is_match(path), given, "{path}");
    }
    let workspace = workspace();
    let entry = hook["entry"].as_str().expect("a command");
    for (file, code) in [("design.yaml", 0), ("audit.yaml", 1)] {
        let script = format!("{entry} .loa-checkpoint/{file}");
        let output = bash(&script, workspace.path()).output().expect("bash");
        assert_eq!(output.status.code(), Some(code), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
