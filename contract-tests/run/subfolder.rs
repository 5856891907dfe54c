//! Which workspace is meant in a folder below one.

use std::fs;
use std::path::Path;

use super::Workspace;
use super::workspace::{Ran, finished, program, state_home};

/// `loa-run` in a folder of the workspace.
fn below(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Ran {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_loa-run")), &workspace.path(folder), arguments);
    command.env("XDG_STATE_HOME", state_home(&workspace.path("")));
    finished(command)
}

const SAYS: &str = "the workspace is ";

#[test]
fn a_folder_below_a_workspace_means_that_workspace_and_says_so() {
    let workspace = Workspace::only(&[("design", "pwd > where")]);
    fs::create_dir_all(workspace.path("sub/deep")).expect("made");
    let top = workspace.path("").canonicalize().expect("there").display().to_string();
    below(&workspace, "sub/deep", &["run", "--plan", "../../plan.json"]).exits(0).says(&[SAYS, &top]);
    assert_eq!(workspace.read("where").trim(), top);
    let status = below(&workspace, "sub", &["status", "--json"]).exits(0).says(&[SAYS]).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["status"], "completed");
    let said = workspace.loa(&["status"]).exits(0).stderr;
    assert!(!said.contains(SAYS), "nobody doubts the current folder: {said}");
    below(&workspace, "sub", &["status", "--workspace", ".."]).exits(0);
    let named = below(&workspace, "sub", &["status", "--workspace", "."]).exits(66);
    assert!(!named.stderr.contains(SAYS), "{}", named.stderr);
    below(&workspace, "sub", &["init"]).exits(74).says(&[SAYS, "never overwritten", "--workspace ."]);
}

#[test]
fn without_a_workspace_above_the_folder_itself_is_meant() {
    let workspace = Workspace::only(&[]);
    fs::remove_file(workspace.path(".loa.config.yaml")).expect("removed");
    fs::create_dir_all(workspace.path("repository/sub")).expect("made");
    let plan = r#"{"phases":[{"id":"design","command":"touch here"}]}"#;
    workspace.write("repository/sub/plan.json", plan);
    let ran = below(&workspace, "repository/sub", &["run", "--plan", "plan.json"]).exits(0);
    assert!(!ran.stderr.contains(SAYS), "{}", ran.stderr);
    assert!(workspace.path("repository/sub/here").exists());
    // What stands beyond the top of a repository is another's.
    fs::create_dir(workspace.path("repository/.git")).expect("made");
    fs::create_dir(workspace.path("repository/other")).expect("made");
    workspace.config("{}\n");
    below(&workspace, "repository/other", &["init"]).exits(0);
    assert!(workspace.path("repository/other/.loa.config.yaml").exists());
}
