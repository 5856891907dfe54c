//! Flags over environment over the workspace's file over the user's own over defaults, each value with its origin.

use serde_json::Value;

use super::Workspace;
use crate::run::workspace::finished;

fn user_file(workspace: &Workspace, text: &str) {
    std::fs::create_dir_all(workspace.path(".config/loa-run")).expect("made");
    workspace.write(".config/loa-run/config.yaml", text);
}

#[test]
fn each_value_in_force_is_shown_with_its_origin() {
    let workspace = Workspace::only(&[]);
    workspace.config("runtime:\n  retry: { max: 1, initial_ms: 7 }\n");
    user_file(&workspace, "runtime:\n  retry: { max: 2, max_ms: 70 }\n");
    let mut command = workspace.command(&["config", "--explain", "--json", "--set", "runtime.phases.audit.skip=true"]);
    command.env("LOA_RUN_RETRY_INITIAL_MS", "9").env("LOA_RUN_PHASES_DEPLOY_SKIP", "true");
    let values: Vec<Value> = serde_json::from_str(&finished(command).exits(0).stdout).expect("JSON");
    for (key, value, origin) in [
        ("runtime.retry.max", Value::from(1), ".loa.config.yaml:2"),
        ("runtime.retry.initial_ms", 9.into(), "environment variable LOA_RUN_RETRY_INITIAL_MS"),
        ("runtime.retry.max_ms", 70.into(), ".config/loa-run/config.yaml:2"),
        ("runtime.retry.multiplier", 2.0.into(), "default"),
        ("runtime.phases.audit.skip", true.into(), "--set runtime.phases.audit.skip=true"),
        ("runtime.phases.deploy.skip", true.into(), "environment variable LOA_RUN_PHASES_DEPLOY_SKIP"),
    ] {
        let one = values.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key}: {values:#?}"));
        assert_eq!(one["value"], value, "{key}");
        assert!(one["origin"].as_str().expect("a text").ends_with(origin), "{one}");
    }
    let text = workspace.loa(&["config", "--explain"]).exits(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("runtime.retry.max = 1 ") && line.contains("  # ")), "{text}");
    let plain = workspace.loa(&["config"]).exits(0).stdout;
    assert!(plain.contains("runtime.retry.max = 1\n") && !plain.contains('#'), "{plain}");
}

#[test]
fn a_variable_that_looks_like_ours_and_is_none_is_refused_with_the_right_one() {
    let workspace = Workspace::only(&[("design", "true")]);
    let mut command = workspace.command(&["run", "--plan", "plan.json"]);
    command.env("LOA_RUN_RETRY_MAX_MSEC", "9");
    let ran =
        finished(command).exits(78).says(&["LOA_RUN_RETRY_MAX_MSEC", "LOA_RUN_RETRY_MAX_MS`", "runtime.retry.max_ms"]);
    assert!(workspace.ran().is_empty(), "{}", ran.stderr);
}

#[test]
fn the_users_own_file_is_in_force_and_is_named_when_it_is_wrong() {
    let workspace = Workspace::only(&[("design", "exit 1")]);
    user_file(&workspace, "runtime: { retry: { max: 0 } }\n");
    workspace.run().exits(2);
    assert_eq!(workspace.starts("design"), 1, "no retry");
    user_file(&workspace, "runtime: { retry: { max: none } }\n");
    workspace.loa(&["config"]).exits(78).says(&["loa-run/config.yaml:1:", "max"]);
}

#[test]
fn a_resume_goes_on_with_the_flags_of_the_run_until_it_is_told_otherwise() {
    let workspace = Workspace::only(&[("design", "exit 1"), ("audit", "true"), ("submit", "test -f go || exit 2")]);
    let flags = ["run", "--plan", "plan.json", "--skip", "audit", "--set", "runtime.phases.design.skip=true"];
    workspace.loa(&[&flags[..], &["--set", "runtime.notify.webhook=http://127.0.0.1:1/secret"]].concat()).exits(2);
    let status = workspace.loa(&["status"]).exits(2).stdout;
    let said = "started with --skip audit --set runtime.phases.design.skip --set runtime.notify.webhook\n";
    assert!(status.contains(said), "{status}");
    let explained = workspace.loa(&["config", "--explain"]).exits(0).stdout;
    assert!(explained.contains("--skip audit, which this execution was started with"), "{explained}");
    workspace.loa(&["resolve", "reset"]).exits(0);
    workspace.resume().exits(2).says(&["going on with --skip audit --set runtime.phases.design.skip"]);
    assert_eq!(workspace.ran(), ["submit", "submit"], "audit and design are passed over again");
    workspace.loa(&["resolve", "reset"]).exits(0);
    workspace.loa(&["resume", "--set", "runtime.phases.audit.skip=false"]).exits(2);
    workspace.write("go", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.ran()[2..], ["audit", "submit", "submit"], "the last word counts");
    let text = [workspace.loa(&["status"]).stdout, workspace.loa(&["config", "--explain"]).stdout].concat();
    assert!(!text.contains("secret"), "{text}");
    workspace.config("runtime: { retry: { max: 0 } }\n");
    workspace.run().exits(2);
    assert_eq!(workspace.starts("design"), 1, "a new execution begins without them");
}

#[test]
fn only_the_phases_that_run_have_to_be_configured() {
    let workspace = Workspace::only(&[]);
    let command = "echo implementation >> ran; test -f go || exit 2";
    workspace.config(&format!("runtime: {{ phases: {{ implementation: {{ command: '{command}' }} }} }}\n"));
    let all = "no command and no prompt: preflight, discovery, design, audit, submit, deploy, learning";
    workspace.loa(&["run"]).exits(78).says(&[all, "--phase PHASE"]);
    let only = ["run", "--phase", "implementation"];
    let plan = workspace.loa(&[&only[..], &["--dry-run"]].concat()).exits(0).stdout;
    assert_eq!(plan.lines().count(), 1, "{plan}");
    workspace.loa(&only).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(2);
    workspace.loa(&["resolve", "reset"]).exits(0);
    workspace.write("go", "");
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["implementation"; 3]);
    workspace.loa(&["run", "--from", "implementation", "--until", "audit"]).exits(78).says(&["phase `audit` has no"]);
}

#[test]
fn more_retries_than_the_contract_allows_are_refused_for_a_phase_and_said_of_an_agent() {
    let workspace = Workspace::only(&[("design", "exit 1")]);
    let run = |arguments: &[&str]| workspace.loa(&[&["run", "--plan", "plan.json"], arguments].concat());
    for key in ["runtime.retry.max", "runtime.phases.design.retry.max"] {
        run(&["--set", &format!("{key}=4")]).exits(78).says(&[key, "3"]);
    }
    assert!(workspace.ran().is_empty());
    workspace.config("runtime:\n  backends: { codex: { retry: { max: 9 } } }\n");
    workspace.loa(&["config"]).exits(0).says(&[".loa.config.yaml:2:38", "a phase is tried again 3 times at most"]);
}

#[test]
fn a_value_of_a_wrong_form_is_told_its_place_what_is_right_and_what_helps() {
    let workspace = Workspace::only(&[("design", "true")]);
    let receiver = |of: &str| format!("runtime: {{ notify: {{ receivers: [{{ {of} }}] }} }}\n");
    for (text, said) in [
        (receiver("kind: webhook, url: 'ftp://x'"), &["no address that begins with http:// or https://", "help:"][..]),
        (receiver("kind: slack"), &["needs `url`", "add `url: https://…`"]),
        (receiver("kind: slack, url: { env: A, file: B }"), &["too many keys", "one key: `env` or `file`", "keep one"]),
        (receiver("kind: email, to: me"), &["such as `me@example.org`"]),
        ("runtime: { protects: ['['] }\n".to_owned(), &["`runtime.protects[0]` is no glob", "help:"]),
        ("runtime: { protects: ['../x'] }\n".to_owned(), &["such as `tests/**` or `Makefile`", "help:"]),
        ("runtime: { outage_patience: 120 }\n".to_owned(), &["such as `2h` or `90m`", "help:"]),
        ("runtime: { outage_patience: 2days }\n".to_owned(), &["such as `2h` or `90m`", "help:"]),
    ] {
        workspace.config(&text);
        let ran = workspace.run().exits(78).says(&[".loa.config.yaml:1:"]).says(said);
        assert!(!ran.stderr.contains("[^"), "{text}: {}", ran.stderr);
    }
    assert!(workspace.ran().is_empty());
}
