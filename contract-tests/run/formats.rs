//! Format 1 of every file that we define, as committed on its first day: read for ever.

use std::fs;
use std::path::Path;

use super::Workspace;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats/1").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A workspace with the files of format 1 in it: an execution that was called off in `design` and answered.
fn first_day() -> Workspace {
    let workspace = Workspace::only(&[("discovery", "exit 2"), ("design", "true")]);
    for folder in [".loa-run", ".loa-checkpoint"] {
        fs::create_dir(workspace.path(folder)).expect("made");
    }
    workspace.write(".loa-run/run.yaml", &fixture("run.yaml"));
    workspace.write(".loa-checkpoint/discovery.yaml", &fixture("discovery.yaml"));
    workspace.write(".loa-checkpoint/context-state.yaml", &fixture("context-state.yaml"));
    workspace
}

#[test]
fn an_execution_of_format_1_is_resumed() {
    let workspace = first_day();
    let status = workspace.loa(&["status", "--json"]).exits(2).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["execution_id"], "exec-20260131-abc123");
    assert_eq!(status["elapsed_ms"], 4200);
    assert_eq!(status["remediation_loops"], 1);
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(0);
    assert_eq!(workspace.ran(), ["design"], "discovery had ended in format 1");
    assert!(workspace.record()["counters"]["elapsed_ms"].as_u64() >= Some(4200), "elapsed time goes on");
}

#[test]
fn a_history_of_format_1_is_reported() {
    let workspace = first_day();
    workspace.write(".loa-run/history.jsonl", &fixture("history.jsonl"));
    let report = workspace.loa(&["report", "--json"]).exits(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let attempts = report["attempts"].as_array().expect("a list");
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt["outcome"].clone()).collect();
    assert_eq!(outcomes, ["retry", "success", "blocked"]);
    assert_eq!((&report["unreadable"], &report["context"][0]["level"]), (&0.into(), &"soft".into()));
}

#[test]
fn a_report_and_a_context_state_of_format_1_are_valid() {
    let workspace = first_day();
    workspace.write("report.yaml", &fixture("escalation.yaml"));
    let report = loa::store::read_report(&workspace.path("report.yaml")).expect("valid").expect("there");
    assert_eq!(report.trigger.as_str(), "same_issue");
    let layout = loa::store::Layout::new(workspace.path(""));
    let state = loa::store::read_context_state(&layout).expect("valid").expect("there");
    assert_eq!((state.current_tokens, state.soft_limit), (1500, 1000));
}

#[test]
fn what_is_taken_over_goes_on_in_a_journal_and_its_files_are_put_aside() {
    let workspace = first_day();
    workspace.write(".loa-run/history.jsonl", &fixture("history.jsonl"));
    let record = workspace.read(".loa-run/run.yaml");
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(0);
    assert_eq!(workspace.events()[0], "execution_taken_over");
    assert_eq!(workspace.record()["epoch"], 2);
    assert!(!workspace.path(".loa-run/run.yaml").exists());
    assert_eq!(workspace.read(".loa-run/archive/exec-20260131-abc123/run.yaml"), record, "nothing is deleted");
    let report = workspace.loa(&["report", "--json"]).exits(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let outcomes: Vec<_> =
        report["attempts"].as_array().expect("a list").iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["retry", "success", "blocked", "success"], "its past is told");
}

#[test]
fn a_takeover_that_died_before_its_execution_was_the_present_one_is_begun_again() {
    let workspace = first_day();
    let record = workspace.read(".loa-run/run.yaml");
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(0);
    let journal = workspace.journal();
    let text = fs::read_to_string(&journal).expect("readable");
    fs::write(&journal, &text[..=text.find('\n').expect("a line")]).expect("written");
    let folder = journal.ancestors().nth(3).expect("the folder of the workspace");
    fs::remove_file(folder.join("current")).expect("removed");
    fs::remove_file(workspace.path(".loa-checkpoint/design.yaml")).expect("removed");
    workspace.write(".loa-run/run.yaml", &record);
    workspace.loa(&["resume", "--plan", "plan.json"]).exits(0);
    assert_eq!(workspace.ran(), ["design", "design"], "it was not known to have ended");
}

#[test]
fn the_session_of_an_agent_of_format_1_is_gone_on_with() {
    let workspace = first_day();
    fs::create_dir(workspace.path(".loa-run/sessions")).expect("made");
    workspace.write(".loa-run/sessions/design.yaml", &fixture("session.yaml"));
    let layout = loa::store::Layout::new(workspace.path(""));
    let earlier = loa::store::read_format1(&layout).expect("valid").expect("there");
    let agent = &earlier.state.agents[&loa::contract::Phase::Design];
    assert_eq!(agent.session.as_deref(), Some("5f0c1a52-0a4e-4b7e-9a57-2f6f5d1f8a11"));
}

#[test]
fn a_newer_version_of_each_format_is_refused_and_left_alone() {
    let newer = |name| fixture(name).replace("version: 1", "version: 2") + "miracle: true\n";
    for (file, text) in
        [(".loa-run/run.yaml", newer("run.yaml")), (".loa-checkpoint/context-state.yaml", newer("context-state.yaml"))]
    {
        let workspace = first_day();
        workspace.write(file, &text);
        let ran = workspace.loa(&["resume", "--plan", "plan.json"]).exits(78);
        ran.says(&[file, "version 2", "left as it is"]);
        assert_eq!(workspace.read(file), text);
        assert!(workspace.ran().is_empty(), "nothing was started");
    }
    let workspace = first_day();
    fs::create_dir(workspace.path(".loa-run/sessions")).expect("made");
    workspace.write(".loa-run/sessions/design.yaml", &newer("session.yaml"));
    let layout = loa::store::Layout::new(workspace.path(""));
    let refused = loa::store::read_format1(&layout);
    assert!(matches!(refused, Err(loa::store::StoreError::Newer { found: 2, known: 1, .. })), "{refused:?}");
    assert_eq!(workspace.read(".loa-run/sessions/design.yaml"), newer("session.yaml"));
}

#[test]
fn what_is_written_today_is_read_back_equal_by_another_reader() {
    let strings = [
        "no",
        "=",
        "1:30",
        "0x10",
        "~",
        "2026-01-31",
        "a: b",
        "- x",
        "#",
        "\u{7}\u{85}\u{2028}é",
        "",
        " ",
        "a\nb\n",
        "'",
        "\"",
        "\\",
        "<<",
        "null",
        "1_000",
    ];
    for text in strings {
        let document = serde_json::json!({ "summary": text, "list": [text, { text: 1 }], "n": 1 });
        let yaml = loa::store::to_yaml(&document).expect("writable");
        let back: serde_json::Value =
            serde_yaml_archived::from_str(&yaml).unwrap_or_else(|e| panic!("{text:?}: {e}\n{yaml}"));
        assert_eq!(back, document, "{yaml}");
    }
}
