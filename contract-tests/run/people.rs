//! What people look at: the report, the calls, the logs, the doctor.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{Workspace, until};

fn json(workspace: &Workspace, arguments: &[&str]) -> Value {
    let text = workspace.loa(arguments).exits(0).stdout;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn outcomes(report: &Value) -> Vec<(String, String)> {
    let attempts = report["attempts"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    attempts.iter().map(|attempt| (text(&attempt["phase"]), text(&attempt["outcome"]))).collect()
}

#[track_caller]
fn went(report: &Value, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(phase, outcome)| ((*phase).into(), (*outcome).into())).collect();
    assert_eq!(outcomes(report), expected, "{report:#}");
}

const AUDIT: &str = "test $(grep -c audit ran) -ge 2";
const SUMMARY: &str = r#"echo '{"summary":"<script>alert(1)</script> & done"}' > $LOA_RESULT_FILE"#;

#[test]
fn a_report_shows_the_whole_way_of_an_execution() {
    let workspace = Workspace::only(&[
        ("design", "test -f once || { touch once; echo 'no route' >&2; exit 1; }"),
        ("implementation", SUMMARY),
        ("audit", AUDIT),
        ("submit", "test -f fixed || exit 2"),
    ]);
    workspace.run().exits(2);
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume", "--notes", "mended"]).exits(0);
    workspace.resume().exits(0);
    let report = json(&workspace, &["report", "--json"]);
    went(
        &report,
        &[
            ("design", "retry"),
            ("design", "success"),
            ("implementation", "success"),
            ("audit", "retry"),
            ("implementation", "success"),
            ("audit", "success"),
            ("submit", "blocked"),
            ("submit", "success"),
        ],
    );
    assert_eq!((&report["status"], &report["sessions"]), (&"completed".into(), &2.into()));
    assert_eq!(report["attempts"][0]["reason"], "exit 1: no route");
    assert_eq!((&report["waits"][0]["phase"], &report["remediations"][0]["number"]), (&"design".into(), &1.into()));
    assert_eq!(
        (&report["gaps"][0]["cause"], &report["calls"][0]["answer"]["notes"]),
        (&"human".into(), &"mended".into())
    );
    let said = workspace.loa(&["report"]).exits(0).stdout;
    let path = workspace.path(".loa-run/report.html");
    assert!(said.contains(&path.display().to_string()), "{said}");
    let page = workspace.read(".loa-run/report.html");
    for words in ["<svg", "implementation, attempt 1: exit 0", "remediation loop 1", "waited for a human", "mended"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; done") && !page.contains("<script"), "harmless");
    assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    workspace.loa(&["report", "--output", "out.html"]).exits(0);
    assert_eq!(workspace.read("out.html"), page);
    workspace.loa(&["report", "--output", "none/out.html"]).exits(74).says(&["none/out.html"]);
}

#[test]
fn a_report_of_a_run_that_was_killed_says_what_was_lost_and_a_half_line_does_no_harm() {
    let workspace = Workspace::only(&[("discovery", "true"), ("design", "test -f fixed || { touch up; sleep 60; }")]);
    let mut run = workspace.start();
    until("design is up", || workspace.path("up").exists());
    went(&json(&workspace, &["report", "--json"]), &[("discovery", "success"), ("design", "running")]);
    run.kill().expect("killed");
    run.wait().expect("gone");
    let dead = json(&workspace, &["report", "--json"]);
    went(&dead, &[("discovery", "success"), ("design", "lost")]);
    assert_eq!(dead["status"], "died");
    let journal = std::fs::read(workspace.journal()).expect("readable");
    std::fs::write(workspace.journal(), &journal[..journal.len() - 20]).expect("torn");
    workspace.write("fixed", "");
    workspace.resume().exits(0);
    let report = json(&workspace, &["report", "--json"]);
    assert_eq!(report["gaps"][0]["cause"], "died");
    assert!(workspace.events().contains(&"session_died".to_owned()));
    workspace.loa(&["report"]).exits(0);
}

#[test]
fn executions_that_were_put_aside_are_reported_too() {
    let workspace = Workspace::only(&[("design", "test -f fixed || exit 2")]);
    workspace.loa(&["report"]).exits(66).says(&["no execution"]);
    workspace.run().exits(2);
    let first = workspace.checkpoint("design")["execution_id"].as_str().expect("a text").to_owned();
    workspace.write("fixed", "");
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
    went(&json(&workspace, &["report", "--json"]), &[("design", "success")]);
    let earlier = json(&workspace, &["report", "--json", "--execution", &first]);
    went(&earlier, &[("design", "blocked")]);
    assert_eq!((&earlier["execution_id"], &earlier["calls"][0]["number"]), (&first.as_str().into(), &1.into()));
    workspace.loa(&["report", "--execution", &first]).exits(0);
    assert!(workspace.path(&format!(".loa-run/archive/{first}/report.html")).exists());
    for verb in ["report", "journal", "escalations"] {
        workspace.loa(&[verb, "--execution", "exec-none"]).exits(66).says(&["exec-none", &first]);
    }
    let calls = workspace.loa(&["escalations", "--execution", &first]).exits(0).stdout;
    assert!(calls.contains("was not answered") && !calls.contains("waits for an answer"), "{calls}");
}

#[test]
fn a_journal_for_machines_is_a_document_a_line_as_its_help_says() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    let help = workspace.loa(&["journal", "--help"]).exits(0).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("with --json one JSON document a line") && !help.contains("Print one JSON"), "{help}");
    let lines = workspace.loa(&["journal", "--json"]).exits(0).stdout;
    let seqs: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(seqs.len() > 3 && seqs.iter().zip(1..).all(|(event, seq)| event["seq"] == seq), "{lines}");
}

#[test]
fn an_execution_without_a_history_is_reported_from_its_checkpoints() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    let state = workspace.store().place().base().to_path_buf();
    std::fs::remove_dir_all(state).expect("removed");
    let report = json(&workspace, &["report", "--json"]);
    went(&report, &[("design", "success")]);
    assert_eq!(report["status"], "found");
}

#[test]
fn a_journal_of_a_newer_program_is_refused_and_left_alone() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    let journal = workspace.journal();
    let newer = std::fs::read_to_string(&journal).expect("readable") + "{\"version\":3,\"when\":7}\n";
    std::fs::write(&journal, &newer).expect("written");
    for arguments in [&["report"][..], &["status"], &["resume"], &["journal"], &["run", "--plan", "plan.json"]] {
        workspace.loa(arguments).exits(78).says(&["journal.jsonl", "version 3", "knows 2", "left as it is"]);
    }
    assert_eq!(std::fs::read_to_string(&journal).expect("readable"), newer);
}

#[test]
fn an_edited_journal_is_refused_with_its_line_and_a_head_tells_of_an_edit() {
    let workspace = Workspace::only(&[("design", "exit 2")]);
    workspace.run().exits(2);
    let report = json(&workspace, &["report", "--json"]);
    let head = report["head"].as_str().expect("a head").to_owned();
    workspace.loa(&["journal", "--head", &head]).exits(0);
    workspace.loa(&["resolve", "abort"]).exits(0);
    let answer = json(&workspace, &["journal", "--head", &head, "--json"]);
    assert_eq!((&answer["held"], &answer["since"]), (&true.into(), &1.into()));
    let journal = workspace.journal();
    let text = std::fs::read_to_string(&journal).expect("readable");
    std::fs::write(&journal, text.replacen("\"design\"", "\"audit\"", 1)).expect("edited");
    workspace.loa(&["status"]).exits(78).says(&["journal.jsonl:1", "edited", "--fresh"]);
    workspace.write("plan.json", r#"{"phases":[{"id":"design","command":"true"}]}"#);
    workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
    workspace.loa(&["journal", "--head", &head]).exits(2).says(&["does not hold"]);
}

#[test]
fn calls_are_listed_with_what_was_answered() {
    let workspace = Workspace::only(&[("design", "exit 2")]);
    workspace.run().exits(2);
    let waiting = workspace.loa(&["escalations"]).exits(0).stdout;
    assert!(
        waiting.contains("manual (it needs a person's decision) in design")
            && waiting.contains("fix_and_resume --call "),
        "{waiting}"
    );
    workspace.loa(&["resolve", "skip_phase", "--notes", "not today"]).exits(0);
    let answered = json(&workspace, &["escalations", "--json"]);
    assert_eq!(answered["escalations"][0]["answer"]["action"], "skip_phase");
    let text = workspace.loa(&["escalations"]).exits(0).stdout;
    assert!(text.contains("skip_phase: not today") && !text.contains("waits"), "{text}");
    let quiet = Workspace::only(&[("design", "true")]);
    quiet.run().exits(0);
    assert!(quiet.loa(&["escalations"]).exits(0).stdout.contains("no human was called"));
}

#[test]
fn the_log_of_a_phase_is_printed_and_followed_to_its_end() {
    let workspace = Workspace::only(&[(
        "design",
        "test -f once || { touch once; echo first; exit 1; }; echo up; until test -f go; do sleep 0.01; done; echo last",
    )]);
    workspace.loa(&["logs", "design"]).exits(66).says(&["design has no log"]);
    let run = workspace.start();
    let log = || {
        let id = workspace.recorded().map(|recorded| recorded.state.execution_id);
        let path = id.map(|id| workspace.store().place().log(&id, loa::contract::Phase::Design, 2));
        path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    };
    until("the second attempt is up", || log().contains("up"));
    let mut following = workspace.command(&["logs", "design", "--follow"]).spawn().expect("it starts");
    assert_eq!(workspace.loa(&["logs", "design", "--attempt", "1"]).exits(0).stdout, "first\n");
    assert!(following.try_wait().expect("asked").is_none(), "it goes on while the run works");
    workspace.write("go", "");
    crate::run::workspace::collected(run).exits(0);
    let followed = crate::run::workspace::collected(following).exits(0).stdout;
    assert_eq!(followed, "up\nlast\n");
    assert_eq!(json(&workspace, &["logs", "design", "--json"])["attempt"], 2);
    workspace.loa(&["logs", "design", "--attempt", "7"]).exits(66).says(&["attempt 7", "loa-run report"]);
    let silent = Workspace::only(&[("design", "test -f again || { touch again; echo loud; exit 1; }")]);
    silent.run().exits(0);
    assert_eq!(silent.loa(&["logs", "design"]).exits(0).stdout, "", "the second attempt said nothing");
    assert_eq!(silent.loa(&["logs", "design", "--attempt", "1"]).exits(0).stdout, "loud\n");
}

#[test]
fn the_doctor_says_what_would_stand_in_the_way() {
    let workspace = Workspace::only(&[("design", "sleep 60")]);
    let run = |what: &str| {
        json(&workspace, &["doctor", "--json"])["checks"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|check| check["name"] == what)
            .cloned()
    };
    workspace.config("runtime: { phases: { preflight: { command: [no-such-program-here] } } }\n");
    let bad = workspace.loa(&["doctor", "--json"]).exits(2).stdout;
    assert!(bad.contains("no command and no prompt: discovery, design"), "{bad}");
    let skip = |phase: &str| format!("    {phase}: {{ skip: true }}\n");
    let others: String = ["discovery", "implementation", "audit", "submit", "deploy", "learning"].map(skip).concat();
    let phases = |preflight: &str| {
        format!(
            "runtime:\n  phases:\n    preflight: {{ command: [{preflight}] }}\n    design: {{ command: sleep 60 }}\n{others}"
        )
    };
    workspace.config(&phases("no-such-program-here"));
    let text = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(text.contains("BAD   preflight: `no-such-program-here` is not found"), "{text}");
    workspace.config(&phases("sh, -c, 'true'"));
    assert!(run("preflight").expect("looked at")["found"].as_str().expect("a path").ends_with("/true"));
    assert_eq!(run("lock").expect("looked at")["found"], "nobody works here");
    let before = run("state").expect("looked at")["found"].to_string();
    assert!(before.contains("nothing of this workspace yet"), "{before}");
    assert_eq!(run("state").expect("looked at")["found"].to_string(), before, "no id that is drawn anew");
    let mut working = workspace.command(&["run"]).spawn().expect("it starts");
    until("the run works", || workspace.recorded().is_some());
    assert_ne!(run("lock").expect("looked at")["found"], "nobody works here");
    workspace.loa(&["halt"]).exits(0);
    working.wait().expect("it ends");
    let found = run("journal").expect("looked at")["found"].to_string();
    assert!(found.contains("the execution is escalated"), "{found}");
    let state = run("state").expect("looked at")["found"].to_string();
    assert!(state.contains("work.state/loa-run/") && state.contains("KiB"), "{state}");
}

#[test]
fn init_offers_what_is_no_work_for_gitignore_and_leaves_the_rest_alone() {
    let workspace = Workspace::only(&[]);
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(workspace.path("")).status();
    assert!(git.expect("git is present").success());
    std::fs::remove_file(workspace.path(".loa.config.yaml")).expect("removed");
    workspace.loa(&["init"]).exits(0).says(&[".loa-checkpoint/ and .loa-run/", "loa-run init --ignore"]);
    assert!(!workspace.path(".gitignore").exists(), "offered, not forced");
    workspace.write(".gitignore", "target");
    workspace.loa(&["init", "--ignore"]).exits(0);
    assert_eq!(workspace.read(".gitignore"), "target\n.loa-checkpoint/\n.loa-run/\n");
    workspace.loa(&["init", "--ignore"]).exits(0);
    assert_eq!(workspace.read(".gitignore"), "target\n.loa-checkpoint/\n.loa-run/\n", "once is enough");
}

#[test]
fn whoever_interrupts_a_run_is_told_how_it_goes_on_and_status_says_it_too() {
    let workspace = Workspace::only(&[("design", "test -f go && exit 0; touch up; sleep 60")]);
    let run = workspace.start();
    until("the phase is up", || workspace.path("up").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(run.id()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    super::workspace::collected(run).exits(130).says(&["interrupted; nothing is lost, `loa-run resume` goes on"]);
    let status = workspace.loa(&["status"]).exits(2).stdout;
    assert!(status.contains("interrupted by SIGINT") && status.contains("; `loa-run resume` goes on"), "{status}");
    workspace.write("go", "");
    workspace.resume().exits(0);
    assert!(!workspace.loa(&["status"]).stdout.contains("resume"));
}

#[test]
fn tokens_are_shown_where_they_are_known() {
    let says = r#"echo '{"type":"USAGE","context_tokens":4711}' >> $LOA_SIGNAL_FILE
        echo '{"metrics":{"tokens_used":8500}}' > $LOA_RESULT_FILE"#;
    let workspace = Workspace::only(&[("design", says)]);
    workspace.run().exits(0).says(&["design: done in ", " with 8500 tokens: "]);
    let status = workspace.loa(&["status"]).exits(0).stdout;
    assert!(status.contains(", 4711 tokens in the context\n"), "{status}");
}

#[test]
fn without_an_execution_a_resume_says_so_whatever_the_configuration_lacks() {
    let workspace = Workspace::only(&[]);
    workspace.resume().exits(66).says(&["there is no execution", "`loa-run run` begins one"]);
}

#[test]
fn doctor_looks_at_the_plan_that_it_is_given() {
    let workspace = Workspace::only(&[]);
    workspace.write("plan.json", r#"{"phases":[{"id":"design","command":["no-such-program-here"]}]}"#);
    let found = workspace.loa(&["doctor", "--plan", "plan.json"]).exits(2).stdout;
    assert!(found.contains("BAD   design: `no-such-program-here` is not found"), "{found}");
    assert!(!found.contains("preflight"), "{found}");
}

#[test]
fn doctor_looks_at_the_next_run_where_an_execution_is_over_and_has_no_colours_for_machines() {
    let workspace = Workspace::only(&[("design", "true")]);
    workspace.run().exits(0);
    workspace.config("runtime: { phases: { implementation: { command: ./implement.sh } } }");
    let told = workspace.loa(&["doctor", "--json"]).exits(2).stdout;
    assert!(told.contains("configuration") && !told.contains("\\u001b"), "{told}");
    workspace.config("runtime: { retry: { max: 5 } }");
    let told = workspace.loa(&["doctor", "--json"]).exits(2).stdout;
    assert!(told.contains("error[range]") && !told.contains("\\u001b"), "{told}");
}

#[test]
fn a_selection_of_which_all_is_skipped_is_refused() {
    let workspace = Workspace::only(&[("design", "true"), ("audit", "true")]);
    for arguments in [&["--phase", "design", "--skip", "design"][..], &["--skip", "design", "--skip", "audit"]] {
        let refused = workspace.loa(&[&["run", "--plan", "plan.json"], arguments].concat());
        refused.exits(64).says(&["nothing runs", "design", "--skip"]);
    }
    assert!(workspace.recorded().is_none() && workspace.ran().is_empty());
    workspace.loa(&["run", "--plan", "plan.json", "--skip", "design"]).exits(0);
    assert_eq!(workspace.ran(), ["audit"]);
    let summary = workspace.read(".loa-checkpoint/design.yaml");
    assert!(summary.contains("--skip"), "{summary}");
}

/// Whoever follows a report to a log must find the attempt that it names.
#[test]
fn attempts_keep_their_numbers_over_an_answer() {
    let workspace = Workspace::only(&[("design", "echo words$LOA_ATTEMPT >&2; exit 1")]);
    workspace.config("runtime: { retry: { max: 1, initial_ms: 1 } }");
    workspace.run().exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(2);
    let errors = workspace.read(".loa-checkpoint/design.yaml");
    for number in [3, 4] {
        let log = workspace.loa(&["logs", "design", "--attempt", &number.to_string()]).exits(0).stdout;
        assert!(log.contains(&format!("words{number}")), "{log}");
        assert!(errors.contains(&format!("attempt {number}: exit 1: words{number}")), "{errors}");
    }
}

#[test]
fn a_report_carries_the_end_of_the_log_of_what_failed_and_says_that_nobody_guards_an_answer() {
    let key = "sk-abcdefghijklmnop1234567890";
    let script = format!("test -f fixed && exit 0; seq 50; printf '\\033[31mthe key is {key}\\033[0m <b>\\n'; exit 2");
    let workspace = Workspace::only(&[("design", &script)]);
    workspace.without_boundary();
    workspace.run().exits(2);
    workspace.write("fixed", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    let report = json(&workspace, &["report", "--json"]);
    let end: Vec<&str> =
        report["attempts"][0]["log_end"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!((end.len(), end[0], end[28]), (30, "22", "50"), "{end:?}");
    assert_eq!(end[29], "the key is [REDACTED:api-key] <b>");
    let log = report["attempts"][0]["log"].as_str().expect("a path").to_owned();
    assert!(std::path::Path::new(&log).is_file());
    assert!(report["attempts"][1].get("log_end").is_none(), "what went well has no end to look at: {report}");
    assert_eq!(report["calls"][0]["answer"]["unguarded"], true);
    workspace.loa(&["report"]).exits(0);
    let page = workspace.read(".loa-run/report.html");
    for words in ["The end of its log: 30 lines", "[REDACTED:api-key] &lt;b&gt;", "All of it: ", &log, ">unguarded<"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains(key) && !page.contains('\u{1b}'));
    assert_eq!(json(&workspace, &["status", "--json"])["answers"][0]["unguarded"], true);
    for shown in [&["status"][..], &["escalations"]] {
        let text = workspace.loa(shown).exits(0).stdout;
        assert!(text.contains("fix_and_resume (unguarded: phases could reach the state"), "{text}");
    }
}
