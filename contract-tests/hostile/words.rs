//! What a phase says is shown as what it says: it is no line of ours, acts on no terminal, and is no page's tag.

use serde_json::json;
use std::fs;

use super::{Stand, attacks, command, run};
use crate::run::workspace::{Workspace, finished, program};

attacks! {
    a_text_of_several_lines:
        "A text of several lines prints an answer of its own above the real one", Some(true), Some(true), lines;
    a_text_that_acts_on_a_terminal:
        "A text writes to the clipboard, sets the title, or turns the order of reading on a terminal", Some(true), Some(true), acts;
    a_text_with_tags_and_links:
        "A tag or a link stands in a text that a page or a call shows", Some(true), Some(true), tags;
    programs_that_git_would_start:
        "A phase configures a file watcher, filters and hooks, which the git of the run would start", Some(true), Some(true), git;
    a_secret_in_another_form:
        "A phase prints a secret in base 64 and in hexadecimal", Some(true), Some(true), encoded;
}

/// How each text of the phase begins; what follows it is to be taken for ours.
const BEGUN: &str = "As it says";

/// A workspace whose only phase leaves this text wherever it can, and is blocked.
fn saying(stand: Stand, text: &str) -> Workspace {
    let told = "  notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > message; printf %s \"$LOA_ESCALATION_REASON\" > reason' }] }\n";
    let workspace = stand.with(told, &[("design", "cp said $LOA_RESULT_FILE; cat printed >&2; exit 2")], "{}");
    workspace.write("printed", "");
    let result = json!({
        "summary": text,
        "decisions": [{ "id": text, "description": text, "reasoning": text, "timestamp": text }],
        "artifacts": [{ "path": text, "action": "created" }],
        "errors": [{ "code": text, "message": text, "recoverable": false }],
        "findings": [{ "id": text, "severity": "high", "category": text, "description": text }],
    });
    workspace.write("said", &result.to_string());
    workspace
}

/// Everything that people read of a run: the name of each, and its text.
fn shown(workspace: &Workspace) -> Vec<(String, String)> {
    let ran = workspace.run().exits(2);
    let mut shown = vec![("the run".to_owned(), ran.stderr)];
    for arguments in [
        &["status"][..],
        &["escalations"],
        &["resume"],
        &["run", "--plan", "plan.json"],
        &["report", "--output", "report.html"],
    ] {
        let ran = workspace.loa(arguments);
        shown.push((arguments.join(" "), format!("{}\n{}", ran.stdout, ran.stderr)));
    }
    shown.push(("the page".to_owned(), workspace.read("report.html")));
    shown.push(("the message".to_owned(), workspace.read("message")));
    shown.push(("the reason".to_owned(), workspace.read("reason")));
    let reports = fs::read_dir(workspace.path(".loa-checkpoint/escalations")).expect("a report").flatten();
    let pages = reports.map(|file| file.path()).filter(|path| path.extension().is_some_and(|it| it == "md"));
    shown.extend(pages.map(|path| ("the call".to_owned(), fs::read_to_string(path).expect("text"))));
    assert!(shown.iter().filter(|(_, text)| text.contains(BEGUN)).count() > 4, "{shown:#?}");
    shown
}

fn lines(stand: Stand) -> bool {
    let text = format!(
        "{BEGUN}\n  answer: loa-run resolve skip_phase --call FORGED\r\n\n## FORGED\r- FORGED\u{85}FORGED\u{2028}FORGED\u{b}FORGED\n```\nFORGED\n"
    );
    let workspace = saying(stand, &text);
    for (what, text) in shown(&workspace) {
        for line in text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{b}']).filter(|line| line.contains("FORGED")) {
            assert!(line.contains(BEGUN), "{what}: {line:?} in {text}");
        }
    }
    workspace.read_report().contains("loa-run resolve fix_and_resume")
}

fn acts(stand: Stand) -> bool {
    let text = format!(
        "{BEGUN} \u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;title\u{1b}\\\u{1b}[2J\u{9b}31m\u{9d}0;title\u{9c}\u{202e}dcba\u{2066}\u{200b}\u{feff}\u{e0041}\u{8}"
    );
    // With a control character in it no result is taken; what is printed last explains the failure.
    let workspace = saying(stand, &text);
    workspace.write("printed", &text);
    for (what, text) in shown(&workspace) {
        // Into a pipe the output of a phase goes as it is.
        let ours: Vec<&str> = text.lines().filter(|line| !line.starts_with("design | ")).collect();
        let text = ours.join("\n");
        let acts = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0041}')
        };
        assert_eq!(text.chars().find(|c| acts(*c)), None, "{what}: {text:?}");
        assert!(!text.contains("]52;") && !text.contains("ZXZpbA"), "{what}: {text:?}");
    }
    true
}

fn tags(stand: Stand) -> bool {
    let text =
        format!("{BEGUN} <script>alert(1)</script> <img src=x onerror=alert(1)> [go on](http://evil.example) | a");
    for (what, text) in shown(&saying(stand, &text)) {
        let is_page = what == "the page" || what == "the call";
        assert!(!is_page || !text.contains("<script>alert") && !text.contains("<img src=x"), "{what}: {text}");
        assert!(what != "the call" || !text.contains(" [go on]("), "{what}: {text}");
    }
    true
}

fn git(stand: Stand) -> bool {
    let trap = "printf '#!/bin/sh\\nenv >> ../seen\\ncat\\n' > trap; chmod +x trap; \
        for key in filter.evil.clean filter.evil.process core.fsmonitor diff.external diff.evil.textconv core.pager; do \
        git config $key \"$PWD/trap\"; done; git config filter.evil.required true; \
        printf '* filter=evil diff=evil\\n' > .gitattributes; echo two > known; touch sub/dirty";
    let told = "  notify: { patience_ms: 0, command: 'true' }\n";
    let workspace = stand.with(told, &[("implementation", trap), ("audit", "exit 1")], "{}");
    let git = |folder: &str, arguments: &[&str]| {
        let mut git = program("git".as_ref(), &workspace.path(folder), arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        finished(git).exits(0);
    };
    workspace.write("known", "one\n");
    git("", &["init", "-q"]);
    git("", &["init", "-q", "sub"]);
    let commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "--allow-empty", "-qm", "first"];
    git("sub", &commit);
    git("", &["add", "known", "sub"]);
    git("", &commit);
    // A repository within has a configuration of its own.
    git("sub", &["config", "core.fsmonitor", &workspace.path("trap").display().to_string()]);
    run(&workspace).exits(2);
    workspace.loa(&["status"]);
    !workspace.path("../seen").exists()
}

/// A secret that the run knows, told in other forms.
fn encoded(stand: Stand) -> bool {
    let print =
        "printf %s \"$MY_KEY\" | base64; printf %s \"$MY_KEY\" | od -An -v -tx1 | tr -d ' \\n'; echo; echo done";
    let workspace = stand.with("  redact: [MY_KEY]\n", &[("design", print)], "{}");
    let mut run = command(&workspace, &["run", "--plan", "plan.json"]);
    run.env("MY_KEY", "correct-horse-battery");
    let shown = finished(run).exits(0).stderr;
    let log = workspace.loa(&["logs", "design"]).stdout;
    let forms = ["Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "636f72726563742d686f727365"];
    [shown, log].iter().all(|text| text.contains("done") && forms.iter().all(|form| !text.contains(form)))
}
