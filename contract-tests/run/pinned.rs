//! What an execution was begun with counts to its end, whatever phases write meanwhile: configuration, plan, and where the
//! state lies.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::Workspace;
use super::workspace::{Ran, finished};

/// All phases configured; `implementation` does what `evil` says the first time, and calls a human.
fn configured(evil: &str) -> Workspace {
    let workspace = Workspace::new(&[]);
    workspace.write("../evil", evil);
    workspace.config(
        "runtime:
  phases:
    preflight: { skip: true }
    discovery: { skip: true }
    design: { command: 'echo design >> ran' }
    implementation: { command: 'echo implementation >> ran; test -e ../second || { touch ../second; sh ../evil; exit 2; }' }
    audit: { command: 'echo audit >> ran', verify: 'echo gate >> ran' }
    submit: { skip: true }
    deploy: { command: 'echo deploy >> ran' }
    learning: { skip: true }
",
    );
    workspace
}

/// The run up to the call, its answer, and the session behind it.
fn interrupted(workspace: &Workspace) -> Ran {
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume()
}

#[test]
fn what_a_phase_writes_into_the_configuration_loosens_nothing_after_an_interruption() {
    for (evil, keys) in [
        (
            "echo 'autonomous_agent: { require_human_deploy_approval: false }' >> .loa.config.yaml",
            "autonomous_agent.require_human_deploy_approval",
        ),
        ("sed -i 's/ audit: .*/ audit: { skip: true }/' .loa.config.yaml", "runtime.phases.audit.skip"),
        ("sed -i 's/, verify.*/ }/' .loa.config.yaml", "runtime.phases.audit.verify"),
        ("echo '{' > .loa.config.yaml", "not valid"),
        ("rm .loa.config.yaml", ".loa.config.yaml is not there any more"),
        (
            "mkdir -p .config/loa-run; echo 'runtime: { retry: { max: 0 } }' > .config/loa-run/config.yaml",
            "runtime.retry.max",
        ),
        (r#"mkdir .ralph; echo '{"runtime": {"backend": "codex"}}' > .ralph/config.json"#, "runtime.backend"),
    ] {
        let workspace = configured(evil);
        interrupted(&workspace).exits(2).says(&["it goes on with what it began with", keys]);
        assert_eq!(workspace.ran(), ["design", "implementation", "implementation", "audit", "gate"], "{evil}");
        assert!(workspace.reports()[1]["trigger"] == "manual", "deploy waits for an approval: {evil}");
        let doctor = workspace.loa(&["doctor"]).stdout;
        assert!(doctor.contains("it goes on with what it began with"), "{evil}: {doctor}");
        let told = workspace.loa(&["journal"]).exits(0).stdout;
        assert!(told.contains("configuration_pinned") && told.contains("began with"), "{evil}: {told}");
        assert!(!told.contains("echo gate"), "what stands in a configuration is not shown: {told}");
    }
}

#[test]
fn what_a_phase_writes_into_the_plan_changes_nothing_and_another_plan_is_compared() {
    let workspace = Workspace::only(&[
        ("design", "test -f ../second || { touch ../second; cp ../evil plan.json; exit 2; }"),
        ("audit", "true"),
    ]);
    let evil = |id: &str| serde_json::json!({ "id": id, "command": "echo evil >> ran" });
    workspace.write("../evil", &serde_json::json!({ "phases": [evil("design"), evil("audit")] }).to_string());
    workspace.run().exits(2);
    assert!(workspace.read("plan.json").contains("evil"), "{}", workspace.read("plan.json"));
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    // A copy elsewhere is another plan, and its audit another one.
    std::fs::copy(workspace.path("plan.json"), workspace.path("copy.json")).expect("copied");
    workspace.loa(&["resume", "--plan", "copy.json"]).exits(2).says(&["audit does something else", "--weaker"]);
    workspace
        .loa(&["resume", "--plan", "plan.json"])
        .exits(0)
        .says(&["plan.json is not what this execution began with"]);
    assert_eq!(workspace.ran(), ["design", "design", "audit"]);
}

#[test]
fn a_new_configuration_is_taken_when_somebody_wants_it_and_a_weaker_one_when_exactly_that_is_named() {
    let workspace = configured("true");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let text = workspace.read(".loa.config.yaml");
    workspace.config(&text.replace("echo gate >> ran", "echo other-gate >> ran"));
    let refused = workspace.loa(&["resume", "--config", "new"]).exits(2);
    let refused = refused.says(&["the gate of audit is `sh -c echo other-gate >> ran`", "--config new --weaker "]);
    let code = refused.stderr.split("--weaker ").nth(1).expect("a code").get(..8).expect("eight digits").to_owned();
    workspace.loa(&["resume", "--config", "new", "--weaker", "00000000"]).exits(2);
    // It names this configuration and no other.
    let weaker = text.replace("echo gate >> ran", "true");
    workspace.config(&weaker);
    workspace.loa(&["resume", "--config", "new", "--weaker", &code]).exits(2);
    workspace.config(&text.replace("echo gate >> ran", "echo other-gate >> ran"));
    workspace.loa(&["resume", "--config", "new", "--weaker", &code]).exits(2).says(&["somebody agreed to this"]);
    assert_eq!(workspace.ran(), ["design", "implementation", "implementation", "audit", "other-gate"]);
    // From now on that one is pinned; what asks for no less needs no code.
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.config(
        &workspace
            .read(".loa.config.yaml")
            .replace("learning: { skip: true }", "learning: { command: 'echo learnt >> ran' }"),
    );
    workspace.loa(&["resume", "--config", "new"]).exits(0).says(&["no gate, approval or bound got weaker"]);
    assert_eq!(workspace.ran()[5..], ["deploy", "learnt"]);
}

#[test]
fn an_execution_is_found_whatever_a_phase_writes_about_where_its_state_lies() {
    for (before, evil) in [
        ("{}", "echo 'runtime: { state: ../evil }' > .loa.config.yaml"),
        ("runtime: { state: ../mine }\n", "rm .loa.config.yaml"),
        ("runtime: { state: ../mine }\n", "sed -i s/mine/evil/ .loa.config.yaml"),
    ] {
        let script = format!("test -e ../second && exit 0; touch ../second; {evil}; exit 2");
        let workspace = Workspace::only(&[("design", &script), ("audit", "true")]);
        workspace.config(before);
        workspace.run().exits(2);
        let shown = workspace.loa(&["status"]).exits(2).says(&["the state of this execution is in"]);
        assert!(shown.stdout.contains("escalated"), "{}", shown.stdout);
        workspace.run().exits(2).says(&["is not finished"]);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert!(workspace.loa(&["status"]).exits(0).stdout.contains("completed"), "{evil}");
        assert_eq!(workspace.ran(), ["design", "design", "audit"]);
        assert!(!workspace.path("../evil").exists(), "{evil}");
        // The next one begins where the configuration says.
        workspace.loa(&["run", "--plan", "plan.json", "--fresh"]).exits(0);
        assert_eq!(workspace.loa(&["runs"]).exits(0).stdout.lines().count(), 1, "{evil}");
    }
}

#[test]
fn what_a_death_left_half_written_beside_the_pinned_files_is_cleared_away_and_a_damaged_one_is_not_believed() {
    let workspace = Workspace::only(&[("design", "exit 2"), ("submit", "true")]);
    workspace.run().exits(2);
    let kept =
        workspace.store().place().run(&workspace.recorded().expect("recorded").state.execution_id).join("pinned");
    let half = kept.join(".0fcd.Z4ITYK.unfinished");
    fs::write(&half, "half").expect("written");
    workspace.loa(&["resolve", "skip_phase"]).exits(0);
    workspace.resume().exits(0);
    assert!(!half.exists(), "{}", half.display());

    let workspace = Workspace::only(&[("design", "exit 2"), ("submit", "true")]);
    workspace.run().exits(2);
    let kept =
        workspace.store().place().run(&workspace.recorded().expect("recorded").state.execution_id).join("pinned");
    for file in fs::read_dir(&kept).expect("there") {
        fs::write(file.expect("listed").path(), "something else").expect("written");
    }
    workspace.loa(&["resolve", "skip_phase"]).exits(0);
    let plan = workspace.read("plan.json");
    workspace.write("plan.json", &plan.replace("exit 2", "exit 0"));
    let refused = workspace.resume();
    refused.exits(78).says(&["is gone from its state", "--config new"]);
    let shown = workspace.loa(&["resume", "--config", "new"]);
    let code = shown.stderr.split("--weaker ").nth(1).expect("a code").split('`').next().expect("a code").to_owned();
    shown.exits(2);
    workspace.loa(&["resume", "--config", "new", "--weaker", &code]).exits(0);
}

#[test]
fn what_is_gone_from_the_state_and_lies_unchanged_in_its_place_is_gone_on_with_and_what_is_gone_for_good_is_told() {
    let notify = "  notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > ../told' }] }\n";
    for (also, code) in [("", 0), ("plan", 78)] {
        let workspace = gated("exit 2", notify);
        workspace.loa(&["run"]).exits(2);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        let execution = workspace.recorded().expect("recorded").state.execution_id;
        let kept = workspace.store().place().run(&execution).join("pinned");
        fs::remove_dir_all(&kept).expect("removed");
        fs::remove_file(workspace.path("../told")).expect("the call was told");
        let mut service = workspace.command(&["service", "run"]);
        if also == "plan" {
            // What the environment said is gone, and it says something else now.
            service.env("CONTEXT_SOFT_LIMIT", "1000");
        }
        finished(service).exits(code);
        let told = workspace.read("../told");
        assert_eq!(told.contains("is gone from its state"), code == 78, "{told}");
        assert_eq!(told.contains(" is done, "), code == 0, "{told}");
    }
}

/// `design` writes what `evil` says, and `audit` is asked behind it; each has a gate that is a script.
pub(super) fn gated(evil: &str, more: &str) -> Workspace {
    let workspace = Workspace::new(&[]);
    workspace.write("gate.sh", "echo gate >> ran\n");
    workspace.write("ran", "");
    fs::create_dir_all(workspace.path("tests")).expect("made");
    workspace.write("tests/one", "one\n");
    workspace.write("tests/two", "two\n");
    workspace.write("../evil", evil);
    workspace.config(&format!(
        "autonomous_agent: {{ require_human_deploy_approval: false }}
runtime:
{more}  phases:
    preflight: {{ skip: true }}
    discovery: {{ skip: true }}
    design: {{ command: 'test -e ../second || {{ touch ../second; sh ../evil; }}', verify: 'sh ./gate.sh' }}
    implementation: {{ skip: true }}
    audit: {{ command: 'true' }}
    submit: {{ skip: true }}
    deploy: {{ skip: true }}
    learning: {{ skip: true }}
"
    ));
    workspace
}

#[test]
fn a_gate_whose_script_a_phase_changed_is_not_asked_and_a_human_is() {
    for (evil, gates) in [("echo exit 0 > gate.sh", 0), ("rm gate.sh", 0), ("true", 1), ("ln -sf /bin/true gate.sh", 0)]
    {
        let workspace = gated(evil, "");
        let ran = workspace.loa(&["run"]);
        assert_eq!(workspace.ran().len(), gates, "{evil}");
        if gates == 1 {
            ran.exits(0);
            continue;
        }
        ran.exits(2).says(&["design: gate script changed since the start: gate.sh", "fix_and_resume"]);
        let status = workspace.loa(&["status"]).stdout;
        assert!(status.contains("design: gate script changed since the start: gate.sh"), "{status}");
        assert!(workspace.checkpoint("design").is_null(), "{evil}: no outcome");
        // Whoever agrees agrees to what is there now, and to nothing else.
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.write("gate2.sh", "echo other >> ran\n");
        std::fs::rename(workspace.path("gate2.sh"), workspace.path("gate.sh")).expect("renamed");
        workspace.resume().exits(2).says(&["the gate script gate.sh changed", "gate script changed since the start"]);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert_eq!(workspace.ran(), ["other"], "{evil}");
    }
}

#[test]
fn what_is_protected_is_kept_with_its_contents_and_named_where_it_differs() {
    let evil = "echo changed > tests/one; rm tests/two; echo new > tests/three; exit 2";
    let workspace = gated(evil, "  protects: [tests/**, Makefile]\n");
    workspace.loa(&["run"]).exits(2);
    let find =
        std::process::Command::new("grep").args(["-rl", "^two$"]).arg(workspace.path("..")).output().expect("ran");
    let kept = String::from_utf8(find.stdout).expect("UTF-8");
    let kept: Vec<&str> = kept.lines().filter(|path| path.contains("/pinned/")).collect();
    assert_eq!(kept.len(), 1, "what a phase removed can be brought back: {kept:?}");
    let mode = std::fs::metadata(kept[0]).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let differ = [
        "the protected file tests/one changed",
        "the protected file tests/two is gone",
        "the protected file tests/three is new",
    ];
    let refused = workspace.loa(&["resume", "--config", "new"]).exits(2).says(&differ[..2]);
    assert!(!refused.stderr.contains("tests/three"), "what is new asks for no less: {}", refused.stderr);
    let code = refused.stderr.split("--weaker ").nth(1).expect("a code").get(..8).expect("eight digits").to_owned();
    let agreed = ["resume", "--config", "new", "--weaker", &code];
    workspace.write("tests/one", "changed again\n");
    workspace.loa(&agreed).exits(2).says(&["--weaker"]);
    workspace.write("tests/one", "changed\n");
    workspace.loa(&agreed).exits(0).says(&["somebody agreed to this", "the protected file tests/one changed"]);
}

#[test]
fn an_execution_that_goes_on_names_the_files_that_differ() {
    let workspace = gated("echo changed > tests/one; exit 2", "  protects: [tests/**]\n");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let asked = "design: protected files changed since the start: tests/one";
    workspace.resume().exits(2).says(&["the protected file tests/one changed", "since this execution began", asked]);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(workspace.ran(), ["gate"]);
}

#[test]
fn a_gate_is_not_asked_where_a_protected_file_is_not_as_it_was() {
    for (evil, names) in [
        ("echo changed > tests/one", "tests/one"),
        ("rm tests/two", "tests/two (gone)"),
        ("echo new > tests/three", "tests/three"),
        ("ln -s /etc/hostname tests/three", "tests/three"),
        ("ln -sf two tests/one", "tests/one"),
        ("mv tests ../elsewhere; ln -s ../elsewhere tests", "tests/one (gone), tests/two (gone)"),
        ("echo 'test: ; true' > Makefile", "Makefile"),
    ] {
        let workspace = gated(evil, "  protects: [tests/**, Makefile]\n");
        workspace.write("Makefile", "test: ; false\n");
        let asked = format!("design: protected files changed since the start: {names}; the gate was not asked");
        workspace.loa(&["run"]).exits(2).says(&[&asked, &format!("loa-run: changed since the start: {names}")]);
        assert_eq!(workspace.ran(), Vec::<String>::new(), "{evil}");
        let status = workspace.loa(&["status"]).stdout;
        assert!(status.contains(&format!("\nchanged since the start: {names}\n")), "{evil}: {status}");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        // Whoever agrees agrees to what was there, and to nothing else.
        workspace.write("Makefile", "test: ; echo something else\n");
        workspace.resume().exits(2).says(&["protected files changed since the start: Makefile; the gate"]);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert_eq!(workspace.ran(), ["gate"], "{evil}");
    }
}

#[test]
fn what_changed_is_named_at_the_end_where_no_gate_is_asked_any_more() {
    let notify = "  protects: [tests/**]\n  notify: { patience_ms: 5000, receivers: [{ kind: command, command: 'cat > ../told' }] }\n";
    let workspace = gated("true", notify);
    let text = workspace.read(".loa.config.yaml");
    let evil = "echo changed > tests/one; rm submit.sh; echo '# mine' >> .loa.config.yaml";
    workspace.write("submit.sh", evil);
    workspace.config(&text.replace("submit: { skip: true }", "submit: { command: [sh, submit.sh] }"));
    let line = "changed since the start: tests/one, .loa.config.yaml, submit.sh (gone)";
    workspace.loa(&["run"]).exits(0).says(&[line]);
    assert!(workspace.loa(&["status"]).stdout.contains(line), "{}", workspace.loa(&["status"]).stdout);
    let told = workspace.read("../told");
    assert!(told.contains("Changed since the start: tests/one, .loa.config.yaml, submit.sh (gone)"), "{told}");
    let report = workspace.loa(&["report", "--json"]).stdout;
    assert!(report.contains("submit.sh (gone)"), "{report}");
    // Nothing is said where nothing changed.
    let quiet = gated("true", "  protects: [tests/**]\n").loa(&["run"]).exits(0).stderr;
    assert!(!quiet.contains("changed since"), "{quiet}");
}

#[test]
fn a_script_of_a_gate_is_known_behind_ordinary_wrappers_and_a_data_file_is_none() {
    for (verify, is_asked) in [
        ("[timeout, '60', ./gate.sh]", false),
        ("[timeout, '10', sh, gate.sh]", false),
        ("[bash, -eu, -o, pipefail, gate.sh]", false),
        ("[make, -f, gate.sh]", false),
        ("'sh <gate.sh'", false),
        ("[sh, -c, '$PWD/gate.sh']", false),
        ("[grep, -q, exit, data.txt]", true),
        ("[test, -f, data.txt]", true),
    ] {
        let workspace = gated("echo 'exit 0' | tee gate.sh > data.txt", "");
        let text = workspace.read(".loa.config.yaml");
        workspace.write("data.txt", "nothing\n");
        fs::set_permissions(workspace.path("gate.sh"), fs::Permissions::from_mode(0o755)).expect("made executable");
        workspace.config(&text.replace("'sh ./gate.sh'", verify));
        let ran = workspace.loa(&["run"]);
        if is_asked {
            ran.exits(0).says(&["changed since the start: data.txt"]);
        } else {
            ran.exits(2).says(&["design: gate script changed since the start: gate.sh"]);
        }
    }
}

#[test]
fn what_the_environment_said_at_the_start_goes_on_with_the_run_and_other_variables_change_nothing() {
    const VERIFY: (&str, &str) = ("LOA_RUN_PHASES_DESIGN_VERIFY", "[\"sh\", \"-c\", \"echo mine >> ran\"]");
    let with = |workspace: &Workspace, arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.env(VERIFY.0, VERIFY.1);
        finished(command)
    };
    // Begun with a variable, gone on with without it.
    let workspace = gated("exit 2", "");
    with(&workspace, &["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0).says(&["LOA_RUN_PHASES_DESIGN_VERIFY in the environment is not what"]);
    assert_eq!(workspace.ran(), ["mine"]);
    // Begun without it, gone on with under it: nothing is another, and with a new configuration a person is asked.
    let workspace = gated("exit 2", "");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let weaker = ["the gate of design is", "--config new --weaker "];
    with(&workspace, &["resume", "--config", "new"]).exits(2).says(&weaker);
    let named = ["LOA_RUN_PHASES_DESIGN_VERIFY in the environment is not what"];
    with(&workspace, &["resume"]).exits(0).says(&named);
    assert_eq!(workspace.ran(), ["gate"]);
}

#[test]
fn a_flag_that_asks_for_less_is_a_question_too() {
    let workspace = gated("exit 2", "");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let set = ["resume", "--set", "runtime.phases.audit.skip=true"];
    let again = "`loa-run resume --set runtime.phases.audit.skip=true --weaker ";
    let refused = workspace.loa(&set).exits(2).says(&["audit is passed over", again]);
    let code = refused.stderr.split("--weaker ").nth(1).expect("a code").get(..8).expect("eight digits").to_owned();
    // It names this flag and no other.
    let other = ["resume", "--set", "runtime.phases.design.skip=true", "--weaker", &code];
    workspace.loa(&other).exits(2).says(&["design is passed over"]);
    let stricter = ["resume", "--set", "runtime.phases.design.retry.max=0"];
    let agreed = [&set[..], &["--weaker", &code]].concat();
    workspace.loa(&agreed).exits(0).says(&["somebody agreed to this: audit is passed over"]);
    let workspace = gated("exit 2", "");
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.loa(&stricter).exits(0);
}

#[test]
fn a_phase_that_a_plan_has_no_longer_is_a_question() {
    let workspace =
        Workspace::only(&[("design", "test -e ../second || { touch ../second; exit 2; }"), ("audit", "true")]);
    workspace.run().exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.write("plan.json", r#"{ "phases": [{ "id": "design", "command": "true" }] }"#);
    let refused = workspace.loa(&["resume", "--config", "new"]).exits(2).says(&["audit is passed over"]);
    let code = refused.stderr.split("--weaker ").nth(1).expect("a code").get(..8).expect("eight digits").to_owned();
    workspace.loa(&["resume", "--config", "new", "--weaker", &code]).exits(0).says(&["audit: skipped"]);
}

#[test]
fn what_cannot_be_protected_keeps_a_run_from_starting() {
    for (protects, reason) in [
        ("../x", "runtime.protects"),
        ("/etc/*", "runtime.protects"),
        ("a/../b", "runtime.protects"),
        ("'a['", "is no glob"),
        ("big", "longer than the 8388608 bytes"),
    ] {
        let workspace = gated("true", &format!("  protects: [{protects}]\n"));
        let big = std::fs::File::create(workspace.path("big")).expect("made");
        big.set_len(9 << 20).expect("sparse");
        workspace.loa(&["run"]).exits(78).says(&[reason, "protects"]);
        assert!(!workspace.path(".loa-checkpoint/design.yaml").exists(), "{protects}");
        assert_eq!(workspace.ran(), Vec::<String>::new(), "{protects}");
    }
}

#[test]
fn a_weaker_configuration_is_a_call_that_waits_for_its_answer_and_keeps_nobody_from_going_on() {
    let weaker = |workspace: &Workspace| {
        workspace.loa(&["run"]).exits(2);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        let text = workspace.read(".loa.config.yaml");
        workspace.config(&text.replace("sh ./gate.sh", "true"));
        let new = ["resume", "--config", "new"];
        workspace.loa(&new).exits(2).says(&["the gate of design is `sh -c true`", "resolve fix_and_resume"]);
        workspace.loa(&new).exits(2);
        assert_eq!(workspace.reports().len(), 2, "the same is asked once");
        let status = workspace.loa(&["status", "--json"]).stdout;
        assert!(status.contains("escalated") && status.contains("\"pending\""), "{status}");
        let status = workspace.loa(&["status"]).exits(2).stdout;
        let head = status.lines().next().expect("a line");
        assert!(head.contains("; `loa-run resolve fix_and_resume --call "), "{status}");
        assert!(head.contains("agrees to the new configuration, and `loa-run resume --config new` then"), "{status}");
        assert!(status.contains("a new configuration asks for less than the one"), "{status}");
        assert!(status.contains("go on:  loa-run resume --config new\n") && !status.contains("skip_phase"), "{status}");
    };
    // Answered, it is taken.
    let workspace = gated("exit 2", "");
    weaker(&workspace);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.loa(&["status"]).exits(2).prints("; `loa-run resume --config new` goes on\n");
    workspace.loa(&["resume", "--config", "new"]).exits(0).says(&["somebody agreed to this"]);
    assert_eq!(workspace.ran(), Vec::<String>::new(), "the new gate was asked");
    // An answer is about exactly what was asked.
    let workspace = gated("exit 2", "");
    weaker(&workspace);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let text = workspace.read(".loa.config.yaml");
    workspace.config(&text.replace("verify: 'true'", "verify: 'exit 0'"));
    workspace.loa(&["resume", "--config", "new"]).exits(2).says(&["`sh -c exit 0`"]);
    // Whoever goes on with what it began with needs no answer.
    workspace.resume().exits(0).says(&["is not what this execution began with"]);
    assert_eq!(workspace.ran(), ["gate"]);
}

#[test]
fn the_question_about_a_weaker_configuration_is_told_with_the_words_that_answer_it_until_it_is_withdrawn() {
    let notify = "  notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat >> ../told' }] }\n";
    let workspace = gated("exit 2", notify);
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    let text = workspace.read(".loa.config.yaml");
    workspace.config(&text.replace("sh ./gate.sh", "true"));
    let calls = |workspace: &Workspace| {
        let outbox = workspace.recorded().expect("a journal").state.outbox.expect("opened");
        outbox.messages.iter().filter(|message| message.news.word() == "escalated").count()
    };
    workspace.loa(&["resume", "--config", "new"]).exits(2);
    let told = workspace.read("../told");
    assert!(told.contains("resolve fix_and_resume --call "), "{told}");
    assert!(
        told.trim_end().contains("resume --config new") && told.contains("Go on with the one that it began with"),
        "{told}"
    );
    workspace.loa(&["resolve", "skip_phase"]).exits(64).says(&["skip_phase is none"]);
    assert_eq!(calls(&workspace), 1);
    workspace.resume().exits(0);
    assert_eq!(calls(&workspace), 0, "nobody is told of a question that was withdrawn");
}

#[test]
fn programs_are_found_as_at_the_start_whoever_goes_on_from_whatever_shell() {
    let usual = std::env::var("PATH").expect("set");
    let tool = |workspace: &Workspace, folder: &str, says: &str| {
        fs::create_dir_all(workspace.path(folder)).expect("made");
        let path = workspace.path(&format!("{folder}/loa-gate-tool"));
        fs::write(&path, format!("#!/bin/sh\necho {says} >> ran\n")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    };
    let begun = || {
        let workspace = gated("exit 2", "");
        let config = workspace.read(".loa.config.yaml").replace("sh ./gate.sh", "loa-gate-tool");
        workspace.config(&config);
        tool(&workspace, "../evening", "evening");
        tool(&workspace, "../morning", "morning");
        by(&workspace, &["run"], &format!("{}:/gone:{usual}", workspace.path("../evening").display())).exits(2);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace
    };
    let workspace = begun();
    // A shell that does not know the tool at all.
    by(&workspace, &["resume"], &usual).exits(0).says(&["PATH in the environment is not what"]);
    assert_eq!(workspace.ran(), ["evening"]);
    // One that knows another.
    let workspace = begun();
    let morning = morning_of(&workspace, &usual);
    let another = "the gates of design, audit find their programs by another PATH";
    by(&workspace, &["resume", "--config", "new"], &morning).exits(2).says(&[another]);
    by(&workspace, &["resume"], &morning).exits(0);
    assert_eq!(workspace.ran(), ["evening"]);
    // Where somebody agrees to that one.
    let workspace = begun();
    by(&workspace, &["resume", "--config", "new"], &morning_of(&workspace, &usual)).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    by(&workspace, &["resume", "--config", "new"], &morning_of(&workspace, &usual)).exits(0);
    assert_eq!(workspace.ran(), ["morning"]);
}

fn morning_of(workspace: &Workspace, usual: &str) -> String {
    format!("{}:{usual}", workspace.path("../morning").display())
}

/// The same from a shell with this `PATH`.
fn by(workspace: &Workspace, arguments: &[&str], path: &str) -> Ran {
    let mut command = workspace.command(arguments);
    command.env("PATH", path);
    finished(command)
}

#[test]
fn a_reset_begins_anew_with_what_the_execution_began_with() {
    let evil = "echo 'autonomous_agent: { require_human_deploy_approval: false }' >> .loa.config.yaml; \
                sed -i 's/, verify.*/ }/' .loa.config.yaml";
    let workspace = configured(evil);
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "reset"]).exits(0);
    let named = ["it goes on with what it began with", "require_human_deploy_approval", "phases.audit.verify"];
    workspace.resume().exits(2).says(&named).says(&["deploy"]);
    assert_eq!(workspace.ran(), ["design", "implementation", "design", "implementation", "audit", "gate"]);
    // The same behind the question about a weaker configuration.
    let workspace = configured(evil);
    workspace.loa(&["run"]).exits(2);
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.loa(&["resume", "--config", "new"]).exits(2).says(&["--weaker"]);
    workspace.loa(&["resolve", "reset"]).exits(0);
    workspace.resume().exits(2).says(&named);
    assert!(!workspace.ran().contains(&"deploy".to_owned()), "{:?}", workspace.ran());
}

#[test]
fn a_file_that_stands_around_what_an_agent_is_told_is_recorded_too() {
    let workspace = Workspace::new(&[]);
    workspace.config(
        "runtime:
  backends: { mine: { kind: command, run: [sh, -c, 'echo asked >> told', '{prompt}'], prompts: { pre_user: '@brief.md' } } }
  phases:
    preflight: { skip: true }
    discovery: { skip: true }
    design: { command: 'test -e go || exit 2' }
    implementation: { skip: true }
    audit: { prompt: look, backend: mine }
    submit: { skip: true }
    deploy: { skip: true }
    learning: { skip: true }
",
    );
    workspace.write("brief.md", "STRICT\n");
    workspace.loa(&["run"]).exits(2);
    workspace.write("brief.md", "LAX\n");
    workspace.write("go", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.loa(&["resume", "--config", "new"]).exits(2).says(&["the prompt brief.md changed", "--weaker"]);
    workspace.resume().exits(0).says(&["the prompt brief.md changed, since this execution began"]);
}

#[test]
fn a_secret_of_the_environment_that_is_gone_is_said() {
    let workspace = Workspace::only(&[("design", "test -f go || exit 2")]);
    let mut command = workspace.command(&["run", "--plan", "plan.json"]);
    command.env("LOA_RUN_NOTIFY_WEBHOOK", "http://127.0.0.1:1/secret-address");
    finished(command).exits(2);
    let journal = workspace.loa(&["journal", "--json"]).stdout;
    assert!(!journal.contains("secret-address"), "{journal}");
    workspace.write("go", "");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0).says(&["LOA_RUN_NOTIFY_WEBHOOK was set when this execution began, and is not set now"]);
}
