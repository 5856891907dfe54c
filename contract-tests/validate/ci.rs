//! What CI systems are given: the action and the pre-commit hook do what they say, without the systems.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::CommandCargoExt as _;
use serde_json::Value;

use super::root;

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

/// A shell that finds the program that was built first.
fn bash(script: &str, folder: &Path) -> Command {
    let program = Command::cargo_bin("loa-validate").expect("the program is built");
    let built = Path::new(program.get_program()).parent().expect("a folder").to_owned();
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("bash");
    // As the runner of GitHub starts it.
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder);
    command.env("PATH", format!("{}:{path}", built.display()));
    command
}

/// The second step of the action, with its inputs as the runner would set them.
fn action(folder: &Path, inputs: &[(&str, &str)]) -> (Output, String) {
    let action = yaml("action.yml");
    let step = &action["runs"]["steps"][1];
    let mut command = bash(step["run"].as_str().expect("a script"), folder);
    for (variable, expression) in step["env"].as_object().expect("inputs") {
        let name = expression.as_str().and_then(|text| text.strip_prefix("${{ inputs.")?.strip_suffix(" }}"));
        let name = name.expect("an input");
        let default = action["inputs"][name]["default"].as_str().expect("every input has a default");
        let given = inputs.iter().find(|(input, _)| *input == name).map(|(_, value)| *value);
        command.env(variable, given.unwrap_or(default));
    }
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
