use std::fmt::Write as _;

use serde_json::Value;

use super::*;
use crate::runner::notify::Difference;
use crate::runner::notify::morning::Asked;
use crate::store::ReportPaths;

/// A call after a night.
fn call() -> Morning {
    let run = "loa-run --workspace /home/me/project";
    Morning {
        id: "exec-20260131-abc123-42".to_owned(),
        event: "escalated",
        execution: "exec-20260131-abc123".to_owned(),
        workspace: "/home/me/project".to_owned(),
        title: "loa-run: a human is needed: manual in audit: audit failed: exit 2: <no key> & no café".to_owned(),
        call: Some(Asked {
            id: "exec-20260131-abc123-2".to_owned(),
            trigger: "manual".to_owned(),
            phase: Phase::Audit,
            reason: "audit failed: exit 2: <no key> & no café".to_owned(),
            report: ReportPaths {
                markdown: "/home/me/project/report.md".into(),
                yaml: "/home/me/project/report.yaml".into(),
            },
            loops: 3,
            findings: vec!["high F-1: <the token> is in the log & in the report".to_owned()],
        }),
        notes: vec!["Unguarded: a phase ran that could reach the state of the run, and answer too".to_owned()],
        phases: vec!["design: done, 1 attempt: It is designed.".to_owned(), "audit: failed, 4 attempts".to_owned()],
        took: "3 h 12 min since it began, 2 h 50 min of work, 120000 tokens".to_owned(),
        error: None,
        files: "tests/one".to_owned(),
        differences: vec![Difference {
            file: "check.sh".to_owned(),
            lines: ["@@ -1 +1 @@", "-make test", "+exit 0 # `<&>`"].map(str::to_owned).to_vec(),
            more: 0,
        }],
        changed_since: "since it began".to_owned(),
        changed: vec!["src/a.rs | 3 ++-".to_owned(), "1 file changed, 2 insertions(+), 1 deletion(-)".to_owned()],
        log_of: Some((Phase::Audit, 4)),
        log: (1..=30).map(|number| format!("line {number} of the log")).collect(),
        answers: vec![
            (
                "Go on, when the cause is mended",
                format!("{run} resolve fix_and_resume --call exec-20260131-abc123-2 && {run} resume"),
            ),
            ("End it, and keep what is there", format!("{run} resolve abort --call exec-20260131-abc123-2")),
        ],
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// A message in which every part is as long as it may be.
fn long() -> Morning {
    let mut long = call();
    long.title = "<".repeat(200);
    long.phases = vec!["é".repeat(160); 8];
    long.changed = vec!["&".repeat(120); 14];
    long.log = vec!["<`".repeat(150); 30];
    if let Some(call) = &mut long.call {
        call.reason = "&".repeat(1000);
        call.findings = vec!["é".repeat(300); 9];
    }
    long
}

#[test]
fn as_plain_text() {
    insta::assert_snapshot!(plain(&call()));
}

#[test]
fn every_shape() {
    let mut shapes = String::new();
    let morning = call();
    for (name, text) in [("webhook", webhook(&morning)), ("slack", slack(&morning)), ("discord", discord(&morning))] {
        let pretty = serde_json::to_string_pretty(&parsed(&text)).expect("plain data");
        writeln!(shapes, "--- {name}\n{pretty}").expect("written");
    }
    writeln!(shapes, "--- ntfy\n{:#?}", ntfy(&morning).0).expect("written");
    let mail = email(&morning, ("run@example.org", "me@example.org"), "2026-01-31T10:00:00Z".parse().expect("a time"));
    writeln!(shapes, "--- email\n{}", mail.split("\n\n").next().expect("headers")).expect("written");
    insta::assert_snapshot!(shapes);
}

#[test]
fn a_reason_that_the_title_cuts_is_told_in_full() {
    let error = format!("{} at the end", "a path / ".repeat(40));
    let title = format!("loa-run: project was stopped by an error: {}…", &error[..100]);
    let morning = Morning { event: "failed", title, call: None, error: Some(error.clone()), ..call() };
    for text in [plain(&morning), slack(&morning), ntfy(&morning).1] {
        assert!(text.contains(&error), "{text}");
    }
    assert_eq!(plain(&call()).matches("<no key>").count(), 1, "what the title says is not said again");
}

#[test]
fn a_mail_is_the_plain_text_in_lines_that_every_server_takes() {
    let mail = email(&call(), ("a@example.org", "b@example.org"), Timestamp::UNIX_EPOCH);
    let (_, body) = mail.split_once("\n\n").expect("a body");
    assert!(mail.lines().all(|line| line.len() < 200), "{mail}");
    let bytes = STANDARD.decode(body.replace('\n', "")).expect("base64");
    assert_eq!(String::from_utf8(bytes).expect("UTF-8"), plain(&call()));
}

#[test]
fn no_service_is_given_more_than_it_takes() {
    for morning in [call(), long()] {
        let slack = parsed(&slack(&morning));
        let blocks = slack["blocks"].as_array().expect("blocks");
        assert!(blocks.len() <= 50);
        for block in blocks {
            let text = block["text"]["text"].as_str().expect("a text");
            let most = if block["type"] == "header" { 150 } else { 3000 };
            assert!(text.chars().count() <= most, "{}: {text}", text.len());
        }
        let discord = parsed(&discord(&morning));
        let length = |value: &Value| value.as_str().expect("a text").chars().count();
        assert!(length(&discord["content"]) <= 2000, "{discord}");
        assert!(length(&discord["embeds"][0]["description"]) <= 4096, "{discord}");
        assert!(ntfy(&morning).1.len() <= 4096);
        assert!(text(&morning, 300).len() <= 300, "in bytes");
    }
}

#[test]
fn what_is_asked_stays_whatever_else_is_left_out() {
    for text in [ntfy(&long()).1, plain(&long())] {
        assert!(text.contains("resolve fix_and_resume --call exec-20260131-abc123-2 && loa-run"), "{text}");
    }
    let newest = text(&call(), plain(&call()).len() - 100);
    assert!(newest.contains("line 30 of") && !newest.contains("line 1 of"), "the oldest lines go first: {newest}");
}

#[test]
fn a_long_difference_leaves_room_for_the_log_and_says_what_it_leaves_out() {
    let lines = (1..=60).map(|number| format!("+a line of a gate's script that was changed, {number}")).collect();
    let file = "check.sh".to_owned();
    let morning = Morning { differences: vec![Difference { file, lines, more: 40 }], ..call() };
    let description = |morning| parsed(&discord(morning))["embeds"][0]["description"].as_str().map(str::to_owned);
    for text in [ntfy(&morning).1, description(&morning).expect("a text")] {
        assert!(text.contains("line 1 of the log") && text.contains("line 30 of the log"), "{text}");
        assert!(
            text.contains("script that was changed, 9") && text.contains("more lines: look into the file"),
            "{text}"
        );
        assert!(text.contains("resolve abort") || text.starts_with("3 remediation"), "{text}");
        let [log, difference] = ["ends with:", "What changed in"].map(|part| text.find(part).expect("told"));
        assert!(log < difference, "{text}");
    }
    let lines = (1..=30).map(|number| format!("{number} {}", "of a log with long lines".repeat(9))).collect();
    let text = ntfy(&Morning { log: lines, ..morning }).1;
    assert!(text.contains("more lines: loa-run logs audit\n") && text.contains("more lines: look into"), "{text}");
    assert!(plain(&call()).lines().all(|line| !line.contains("more line")), "where there is room, nothing is left out");
}

#[test]
fn nobody_is_mentioned_and_no_fence_is_ended() {
    let mut morning = call();
    morning.log = vec!["```".to_owned(), "<!channel> @everyone".to_owned()];
    let slack = parsed(&slack(&morning));
    let text = slack["blocks"].to_string();
    assert!(!text.contains("<!channel>") && text.contains("&lt;!channel&gt;"), "{text}");
    let discord = parsed(&discord(&morning));
    assert_eq!(discord["allowed_mentions"]["parse"], serde_json::json!([]));
    let description = discord["embeds"][0]["description"].as_str().expect("a text");
    assert_eq!(description.matches("```").count() % 2, 0, "{description}");
    assert!(description.contains("'''"));
}

#[test]
fn a_header_holds_ascii_in_words_of_at_most_75_characters() {
    assert_eq!(encoded("plain text"), "plain text");
    let text = encoded(&"naïve café 字".repeat(9));
    assert!(text.split(' ').all(|word| word.len() <= 75 && word.is_ascii()), "{text}");
}
