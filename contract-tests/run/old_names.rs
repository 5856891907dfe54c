//! Names that Chief Wiggum had: read below everything of ours, with a notice, and refused where they say nonsense.

use super::Workspace;
use crate::run::workspace::{Ran, finished};

fn config(workspace: &Workspace, variables: &[(&str, &str)]) -> Ran {
    let mut command = workspace.command(&["config", "--explain"]);
    command.envs(variables.iter().copied()).env("WIGGUM_HOME", workspace.path("wiggum"));
    finished(command)
}

/// A workspace with both old files.
fn workspace() -> Workspace {
    let workspace = Workspace::only(&[]);
    workspace.config("{}\n");
    for folder in [".ralph/.ralph", "wiggum/config"] {
        std::fs::create_dir_all(workspace.path(folder)).expect("made");
    }
    workspace.write(".ralph/config.json", "{\"runtime\":\n{\"backend\": \"codex\"}}");
    workspace.write(".ralph/.ralph/config.json", "{\"runtime\": {\"backend\": \"doubled\"}}");
    let home = "{\"runtime\": {\"backend\": \"claude\", \"backends\": {\"codex\": {\"max_retries\": 1}}}}";
    workspace.write("wiggum/config/config.json", home);
    workspace
}

#[test]
fn an_old_name_is_in_force_shown_with_its_place_and_noticed() {
    let workspace = workspace();
    let ran =
        config(&workspace, &[]).exits(0).says(&[".ralph/config.json:2, an old name", "ours is `runtime.backend`"]);
    for line in [
        ("runtime.backend = \"codex\"", ".ralph/config.json:2, an old name"),
        ("runtime.backends.codex.retry.max = 1", "wiggum/config/config.json:1, an old name"),
    ] {
        assert!(
            ran.stdout.lines().any(|shown| shown.starts_with(line.0) && shown.ends_with(line.1)),
            "{line:?}:\n{}",
            ran.stdout
        );
    }
    let ran = config(&workspace, &[("WIGGUM_RUNTIME_BACKEND", "claude"), ("LOA_RUN_BACKENDS_CODEX_RETRY_MAX", "2")]);
    let shown = ran.exits(0).stdout;
    assert!(shown.contains("environment variable WIGGUM_RUNTIME_BACKEND, an old name"), "{shown}");
    assert!(shown.contains("runtime.backends.codex.retry.max = 2"), "{shown}");
    workspace.config("runtime: { backend: claude }\n");
    let ran = config(&workspace, &[("WIGGUM_RUNTIME_BACKEND", "codex")]).exits(0);
    assert!(!ran.stderr.contains("WIGGUM_RUNTIME_BACKEND"), "what is not in force is no news: {}", ran.stderr);
}

#[test]
fn nonsense_under_an_old_name_is_refused_with_its_place() {
    let workspace = workspace();
    let wrong = |variables: &[(&str, &str)], says: &[&str]| drop(config(&workspace, variables).exits(78).says(says));
    wrong(&[("WIGGUM_RUNTIME_BACKEND", "../../../etc/passwd")], &["WIGGUM_RUNTIME_BACKEND", "`../../../etc/passwd`"]);
    wrong(&[("WIGGUM_RUNTIME_BACKEND", "nonexistent-backend")], &["WIGGUM_RUNTIME_BACKEND", "`nonexistent-backend`"]);
    wrong(&[("WIGGUM_RUNTIME_MAX_RETRIES", "many")], &["WIGGUM_RUNTIME_MAX_RETRIES", "`many`"]);
    workspace.write(".ralph/config.json", "{\"runtime\": {\"backend\": \"../../../etc/passwd\"}}");
    wrong(&[], &[".ralph/config.json:1:25"]);
    workspace.write(".ralph/config.json", "{\"runtime\": {\"backends\": {\"nobody\": {\"binary\": \"x\"}}}}");
    wrong(&[], &[".ralph/config.json:1", "`nobody`"]);
}
