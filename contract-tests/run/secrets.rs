//! What a stage prints or reports must not carry its secrets into files that people pass on, nor fill the disk.

use super::Workspace;

/// Put together here, so that no scanner takes this file for a leak.
fn token() -> String {
    format!("gh{}_{}", 'p', "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9jK2m")
}

/// Every text that a run leaves for people and machines.
fn left_behind(workspace: &Workspace, logs: &[&str]) -> String {
    let mut texts = vec![
        workspace.read(".loa-checkpoint/design.yaml"),
        std::fs::read_to_string(workspace.journal()).expect("readable"),
    ];
    for folder in [".loa-checkpoint/escalations", ".loa-run/logs"] {
        for entry in std::fs::read_dir(workspace.path(folder)).into_iter().flatten() {
            texts.push(std::fs::read_to_string(entry.expect("listed").path()).expect("text"));
        }
    }
    texts.extend(logs.iter().map(|log| (*log).to_owned()));
    texts.join("\n")
}

#[test]
fn secrets_reach_no_log_no_checkpoint_no_report_and_no_screen() {
    let token = token();
    let half = token.len() / 2;
    let result = format!(
        r#"{{"summary":"used {token}","decisions":[{{"id":"D-1","description":"with $DOOR","reasoning":"r","timestamp":"t"}}],
        "errors":[{{"code":"E","message":"{token} refused","recoverable":false}}],
        "findings":[{{"id":"F-1","severity":"high","category":"c","description":"{token} in the code"}}]}}"#
    );
    let script = format!(
        "cat > $LOA_RESULT_FILE <<X\n{result}\nX\nprintf '%s' {}; sleep 0.05; printf '%s\\n' {}; echo \"door $DOOR\" >&2; echo 'commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12'; exit 2",
        &token[..half],
        &token[half..]
    );
    let workspace = Workspace::only(&[("design", &script)]);
    workspace.config("runtime: { redact: [DOOR], phases: { design: { env: { DOOR: open-sesame } } } }\n");
    let ran = workspace.run().exits(2);
    let all = left_behind(&workspace, &[&ran.stdout, &ran.stderr]);
    assert!(!all.contains(&token) && !all.contains("open-sesame"), "{all}");
    assert!(all.matches("[REDACTED:github-token]").count() >= 6, "{all}");
    assert!(all.matches("[REDACTED:$DOOR]").count() >= 4, "{all}");
    assert!(all.contains("commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"), "what is no secret stays");
}

#[test]
fn no_key_of_an_agent_is_written_down_or_shown() {
    let workspace = Workspace::only(&[]);
    workspace.write("plan.json", r#"{"phases":[{"id":"design","prompt":"Design it."}]}"#);
    workspace.config(
        "runtime:\n  backend: mine\n  backends:\n    mine:\n      \
         run: [sh, -c, 'echo \"$DOOR $MY_KEY $GEMINI_API_KEY $BACK\"; exit 2', it, '{prompt}']\n      \
         env: { DOOR: open-sesame }\n      credentials: [MY_KEY]\n",
    );
    let keyed = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        super::workspace::finished({
            command.env("MY_KEY", "dummy-of-mine").env("GEMINI_API_KEY", "dummy-of-another");
            command
        })
    };
    let back = ["--set", "runtime.backends.mine.env.BACK=dummy-back-door"];
    let ran = keyed(&[&["run", "--plan", "plan.json"][..], &back].concat()).exits(2);
    assert!(ran.stderr.contains("runtime.backends.mine.env.BACK is not written down"), "{}", ran.stderr);
    let asked = keyed(&[&["agent", "run", "x"][..], &back].concat()).exits(2);
    let mut said = vec![ran.stdout, ran.stderr, asked.stdout, asked.stderr];
    for shown in [&["config"][..], &["config", "--explain"], &["config", "--json"], &["status"]] {
        let (more, code) = if shown == ["status"] { (&[][..], 2) } else { (&back[..], 0) };
        let shown = keyed(&[shown, more].concat()).exits(code);
        said.push(shown.stdout);
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let all = left_behind(&workspace, &said);
    for secret in ["open-sesame", "dummy-of-mine", "dummy-of-another", "dummy-back-door"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    for name in ["DOOR", "MY_KEY", "GEMINI_API_KEY", "BACK"] {
        assert!(all.matches(&format!("[REDACTED:${name}]")).count() >= 2, "{name}: {all}");
    }
    assert!(all.matches("(set, and not shown)").count() >= 6, "{all}");
}

#[test]
fn a_stage_that_never_stops_printing_is_stopped_on_time_and_its_log_ends() {
    let workspace = Workspace::only(&[("design", "echo first; exec yes this line comes again and again and again")]);
    workspace.config("runtime: { log_limit_mb: 1, retry: { max: 0 }, phases: { design: { timeout_ms: 1500 } } }\n");
    let mut command = workspace.command(&["run", "--plan", "plan.json"]);
    command.stdout(std::process::Stdio::null());
    super::workspace::finished(command).exits(2).says(&["stopped after 1.5 s"]);
    let log = workspace.read(".loa-run/logs/design-1.log");
    assert!(log.starts_with("first\nthis line") && log.ends_with("again\n"));
    assert!(log.contains("bytes are left out here: the log is at its limit]"), "{}", log.len());
    assert!(((1 << 20) - 200..=1 << 20).contains(&log.len()), "{}", log.len());
}

#[test]
fn the_limit_of_a_log_holds_for_the_file() {
    let more = (1 << 20) + 300_000;
    for (what, script) in [
        ("lines", format!("yes 'a line of some words' | head -c {more}; echo; echo last")),
        ("one line without an end", format!("head -c {more} /dev/zero | tr '\\0' x; printf last")),
        ("partial lines", format!("for i in 1 2 3; do printf half; yes all | head -c {more}; done; echo last")),
    ] {
        let workspace = Workspace::only(&[(
            "design",
            &*format!("test -f again || {{ touch again; {script}; exit 1; }}; {script}"),
        )]);
        workspace.config("runtime: { log_limit_mb: 1, retry: { initial_ms: 1 } }\n");
        let mut command = workspace.command(&["run", "--plan", "plan.json"]);
        command.stdout(std::process::Stdio::null());
        super::workspace::finished(command).exits(0);
        for attempt in [1, 2] {
            let log = workspace.read(&format!(".loa-run/logs/design-{attempt}.log"));
            assert!(((1 << 20) - 200..=1 << 20).contains(&log.len()), "{what}, {attempt}: {}", log.len());
            assert!(log.contains("the log is at its limit]") && log.trim_end().ends_with("last"), "{what}, {attempt}");
            let kept = workspace.loa(&["logs", "design", "--attempt", &attempt.to_string()]).exits(0).stdout;
            assert!(kept == log, "{what}, {attempt}: the log itself has {} bytes", kept.len());
        }
    }
}

#[test]
fn what_a_human_answers_is_written_down_without_its_secrets() {
    let (token, workspace) = (token(), Workspace::only(&[("design", "exit 2")]));
    workspace.config("runtime: { redact: [DOOR] }\n");
    workspace.run().exits(2);
    let mut answer = workspace.command(&["resolve", "skip_phase", "--notes", &format!("{token} and open-sesame")]);
    answer.env("DOOR", "open-sesame");
    super::workspace::finished(answer).exits(0);
    workspace.resume().exits(0);
    workspace.loa(&["report"]).exits(0);
    let all = left_behind(&workspace, &[&workspace.read(".loa-run/report.html")]);
    assert!(!all.contains(&token) && !all.contains("open-sesame"), "{all}");
    let summary = workspace.checkpoint("design")["summary"].clone();
    assert_eq!(summary, "SKIPPED: [REDACTED:github-token] and [REDACTED:$DOOR]");
}

#[test]
fn what_receivers_are_reached_by_is_written_down_by_nobody_wherever_it_stands() {
    let script = "cat hook; echo INLINE-SECRET-77; echo $TOKEN; exit 2";
    let workspace = Workspace::only(&[("design", script)]);
    workspace.write("hook", "http://127.0.0.1:1/FILE-SECRET-123\n");
    workspace.config(
        "runtime:\n  notify:\n    patience_ms: 0\n    receivers:\n      - { kind: webhook, url: { file: hook }, token: { env: TOKEN } }\n      \
         - { kind: slack, url: 'http://127.0.0.1:1/services/INLINE-SECRET-77' }\n      - { kind: command, command: 'cat > message' }\n",
    );
    let mut run = workspace.command(&["run", "--plan", "plan.json"]);
    run.env("TOKEN", "TOKEN-SECRET-9");
    let ran = super::workspace::finished(run).exits(2);
    let log = workspace.loa(&["logs", "design"]).exits(0).stdout;
    let all = left_behind(&workspace, &[&ran.stdout, &ran.stderr, &workspace.read("message"), &log]);
    for secret in ["FILE-SECRET", "INLINE-SECRET", "TOKEN-SECRET"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(log.matches("[REDACTED:$runtime.notify]").count() == 2 && log.contains("[REDACTED:$TOKEN]"), "{log}");
}

#[test]
fn an_address_that_a_flag_said_is_shown_by_no_command() {
    let workspace = Workspace::only(&[("design", "exit 2")]);
    let set = "runtime.notify.webhook=http://127.0.0.1:1/secret-address";
    workspace.loa(&["run", "--plan", "plan.json", "--set", set]).exits(2);
    for command in [&["journal"][..], &["journal", "--json"], &["status", "--json"], &["report", "--json"]] {
        let shown = workspace.loa(command).stdout;
        assert!(!shown.contains("secret-address"), "{command:?}: {shown}");
    }
    let journal = workspace.loa(&["journal"]).stdout;
    assert!(journal.contains("--set runtime.notify.webhook") && journal.contains("(set, and not shown)"), "{journal}");
}
