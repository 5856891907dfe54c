//! A message in the shape of each service, within what the service takes. `room` shares that between the parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::difference::Difference;
use super::morning::Morning;
use super::room::{End, Part, shared};
use crate::contract::Phase;

/// What Slack takes in one block, its fences and a margin taken off.
const SLACK_BLOCK: usize = 2900;
/// What Slack takes in a header.
const SLACK_HEADER: usize = 150;
/// What Discord takes as the text of a message, and of an embed.
const DISCORD: (usize, usize) = (1990, 3900);
/// What ntfy takes, in bytes.
const NTFY: usize = 4000;
/// What anybody else is given, in bytes.
const PLAIN: usize = 64 * 1024;

/// Where the rest of a message is that a receiver has no room for.
const STATUS: &str = "loa-run status";

/// The message as plain text of at most so many bytes: what is asked and how to answer first. The other parts share the room
/// that is left, and say what they leave out.
pub(super) fn text(morning: &Morning, most: usize) -> String {
    let asked = asked(morning, most / 3);
    let room = most.saturating_sub(asked.len() + 1);
    let parts = shared(&parts(morning), room, headed);
    let whole = std::iter::once(asked).chain(parts).collect::<Vec<_>>().join("\n\n") + "\n";
    cut(&whole, most)
}

/// The message as plain text, as much of it as anybody wants to read.
pub(super) fn plain(morning: &Morning) -> String {
    text(morning, PLAIN)
}

/// A part as plain text.
fn headed(part: &Part, body: &str) -> String {
    if part.head.is_empty() { body.to_owned() } else { format!("{}:\n{body}", part.head) }
}

/// What is asked, and the words to answer with. The reason is cut to so many bytes.
fn asked(morning: &Morning, reason: usize) -> String {
    let mut lines = vec![morning.title.clone()];
    // Of the title, only as much is left as a telephone shows.
    lines.extend(why(morning).filter(|why| !morning.title.contains(*why)).map(|why| cut(why, reason)));
    if let Some(call) = &morning.call {
        lines.push(format!("Report: {}", call.report.markdown.display()));
    }
    lines.extend(morning.notes.iter().cloned());
    for (what, line) in &morning.answers {
        lines.push(format!("\n{what}:\n  {line}"));
    }
    lines.join("\n")
}

/// Why somebody is told, all of it.
fn why(morning: &Morning) -> Option<&str> {
    morning.call.as_ref().map(|call| &call.reason).or(morning.error.as_ref()).map(String::as_str)
}

/// Everything else, what helps most to decide first.
fn parts(morning: &Morning) -> Vec<Part> {
    let mut parts: Vec<Part> = found(morning).into_iter().chain(log(morning)).collect();
    parts.extend(morning.differences.iter().map(difference));
    parts.push(facts(morning));
    parts.extend(changed(morning));
    parts
}

/// What an audit found that somebody is called about, and how often it was tried to mend that.
fn found(morning: &Morning) -> Option<Part> {
    let call = morning.call.as_ref()?;
    let loops = match call.loops {
        0 if call.phase == Phase::Audit => Some("No remediation loop was made.".to_owned()),
        0 => None,
        1 => Some("1 remediation loop was made.".to_owned()),
        loops => Some(format!("{loops} remediation loops were made.")),
    };
    let head = (!call.findings.is_empty()).then(|| "Findings that remain:".to_owned());
    let lines: Vec<String> =
        loops.into_iter().chain(head).chain(call.findings.iter().map(|line| format!("  {line}"))).collect();
    (!lines.is_empty()).then(|| Part { rest: "loa-run escalations".to_owned(), ..first(String::new(), lines) })
}

fn facts(morning: &Morning) -> Part {
    let mut lines = vec![format!("Where: {}", morning.workspace), format!("Time: {}", morning.took)];
    if !morning.files.is_empty() {
        lines.push(format!("Changed since the start: {}", morning.files));
    }
    if !morning.phases.is_empty() {
        lines.push("Phases:".to_owned());
    }
    lines.extend(morning.phases.iter().map(|line| format!("  {line}")));
    first(String::new(), lines)
}

/// What changed in a file that somebody is asked about.
fn difference(difference: &Difference) -> Part {
    let Difference { file, lines, more } = difference;
    let part = first(format!("What changed in {file}"), lines.clone());
    Part { more: *more, rest: "look into the file".to_owned(), ..part }
}

fn changed(morning: &Morning) -> Option<Part> {
    let part = first(format!("Changed {}", morning.changed_since), morning.changed.clone());
    (!morning.changed.is_empty()).then(|| Part { rest: "git status".to_owned(), ..part })
}

/// What the log is of, and its last lines.
fn log(morning: &Morning) -> Option<Part> {
    let (phase, attempt) = morning.log_of.filter(|_| !morning.log.is_empty())?;
    // Each line begins as none of ours does: what a phase prints is no answer that could be pasted.
    let lines = morning.log.iter().map(|line| format!("| {line}")).collect();
    let part = first(format!("The log of {phase}, attempt {attempt}, ends with"), lines);
    Some(Part { keeps: End::Last, rest: format!("loa-run logs {phase}"), ..part })
}

/// A part of which the first lines matter most.
fn first(head: String, lines: Vec<String>) -> Part {
    Part { head, lines, more: 0, keeps: End::First, rest: STATUS.to_owned() }
}

/// The beginning of a text, in whole characters; where something is missing it says so, and where that is.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let rest = format!("… (the rest: {STATUS})");
    let end = (0..=most.saturating_sub(rest.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{rest}", &text[..end])
}

/// Text between fences: none in it ends them.
fn fenced(text: &str) -> String {
    format!("```\n{}\n```", without_fences(text))
}

/// Text in which no fence begins.
fn without_fences(text: &str) -> String {
    text.replace("```", "'''")
}

/// The document for a program: the keys of a call as they were, and the message beside them.
pub(super) fn webhook(morning: &Morning) -> String {
    let mut document = json!({
        "event": if morning.call.is_some() { "escalation" } else { morning.event },
        "id": morning.id,
        "text": morning.title,
        "execution_id": morning.execution,
        "workspace": morning.workspace,
        "message": plain(morning),
        "phases": morning.phases,
        "notes": morning.notes,
        "answers": morning.answers.iter().map(|(what, line)| json!({ "what": what, "run": line })).collect::<Vec<_>>(),
        "changed_files": morning.files,
        "differences": morning.differences.iter().map(shown).collect::<Vec<_>>(),
        "changed": morning.changed,
        "log": morning.log,
    });
    if let Some(call) = &morning.call {
        document["call"] = json!(call.id);
        document["phase"] = json!(call.phase);
        document["trigger"] = json!(call.trigger);
        document["reason"] = json!(call.reason);
        document["report"] = json!(call.report.markdown);
        document["remediation_loops"] = json!(call.loops);
        document["findings"] = json!(call.findings);
    }
    document.to_string()
}

/// A difference for a program, in the lines that people read.
fn shown(it: &Difference) -> Value {
    json!({ "file": it.file, "lines": difference(it).whole().lines().collect::<Vec<_>>() })
}

/// Slack's blocks. Nothing in a text is a mention or a link there.
pub(super) fn slack(morning: &Morning) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let section = |text: &str| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } });
    let code = |head: &str, text: &str| section(&format!("*{head}*\n{}", fenced(&cut(text, SLACK_BLOCK - head.len()))));
    // Escaping makes it longer.
    let part = |part: &Part| {
        let body = escaped(&part.within(|body| escaped(body).len() <= SLACK_BLOCK - part.head.len()));
        if part.head.is_empty() { section(&cut(&body, SLACK_BLOCK)) } else { code(&part.head, &body) }
    };
    let header = json!({ "type": "plain_text", "text": head(&morning.title, SLACK_HEADER), "emoji": false });
    let mut blocks = vec![json!({ "type": "header", "text": header })];
    let why = why(morning).into_iter().chain(morning.notes.iter().map(String::as_str));
    blocks.extend(why.map(|why| section(&cut(&escaped(why), SLACK_BLOCK))));
    blocks.extend(morning.answers.iter().map(|(what, line)| code(what, &escaped(line))));
    blocks.extend(parts(morning).iter().map(part));
    json!({ "text": escaped(&morning.title), "blocks": blocks }).to_string()
}

/// Discord's message with an embed. Nobody is mentioned.
pub(super) fn discord(morning: &Morning) -> String {
    let answers = morning.answers.iter().map(|(what, line)| format!("{what}:\n{}", fenced(line)));
    let notes = morning.notes.iter().map(|note| without_fences(note));
    let title = format!("**{}**", without_fences(&morning.title).replace('*', "∗"));
    let content = std::iter::once(title).chain(notes).chain(answers);
    let parts = shared(&parts(morning), DISCORD.1, |part, body| {
        if part.head.is_empty() { without_fences(body) } else { format!("{}:\n{}", part.head, fenced(body)) }
    });
    json!({
        "content": cut(&content.collect::<Vec<_>>().join("\n"), DISCORD.0),
        "embeds": [{ "description": cut(&parts.join("\n\n"), DISCORD.1 + 190) }],
        "allowed_mentions": { "parse": [] },
    })
    .to_string()
}

/// The headers and the text for an ntfy topic.
pub(super) fn ntfy(morning: &Morning) -> (Vec<(&'static str, String)>, String) {
    let (priority, tag) = match morning.event {
        "completed" => ("default", "white_check_mark"),
        "escalated" => ("high", "raising_hand"),
        "failed" => ("high", "x"),
        _ => ("default", "hourglass"),
    };
    let title = encoded(&morning.title);
    (vec![("title", title), ("priority", priority.to_owned()), ("tags", tag.to_owned())], text(morning, NTFY))
}

/// The beginning of a text, by characters.
fn head(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A mail: its id is the message's, so that a repeat can be told.
pub(super) fn email(morning: &Morning, (from, to): (&str, &str), now: Timestamp) -> String {
    let date = jiff::fmt::rfc2822::to_string(&now.to_zoned(jiff::tz::TimeZone::UTC)).unwrap_or_default();
    let id: String =
        morning.id.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect();
    let body = STANDARD.encode(plain(morning));
    let lines: Vec<&str> =
        body.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
    let headers = [
        format!("From: {from}"),
        format!("To: {to}"),
        format!("Subject: {}", encoded(&head(&morning.title, 120))),
        format!("Date: {date}"),
        format!("Message-ID: <{id}@loa-run.invalid>"),
        "Auto-Submitted: auto-generated".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Content-Transfer-Encoding: base64".to_owned(),
    ];
    format!("{}\n\n{}\n", headers.join("\n"), lines.join("\n"))
}

/// A text for a header: as it is, or in words of RFC 2047, none of which is longer than that allows.
fn encoded(text: &str) -> String {
    if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        let last = words.last_mut().expect("there is always one");
        if last.len() + c.len_utf8() > 42 {
            words.push(c.to_string());
        } else {
            last.push(c);
        }
    }
    words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
