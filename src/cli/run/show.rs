//! Prints where an execution stands, what would run, and what came of a command.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::terminal::{span, waits_for};
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::draw::moment;
use crate::events::{BoundaryDrawn, PinnedFile, RunStatus};
use crate::runner::{Doing, Plan, Standing, Status, Undelivered, Work, WorkAtHand};
use crate::system::process::Interrupt;
use crate::text::{Untrusted, line, sanitized, shell_word};

/// Writes a value to standard output as one JSON document.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    print(&format!("{text}\n"))
}

/// A status for people.
pub(super) fn status_text(status: &Status) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_status(&mut text, status);
    sanitized(text)
}

/// The same in few lines, what matters first: what is done and what is asked, and the phases in one line.
pub(super) fn status_brief(status: &Status) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_head(&mut text, status)
        .and_then(|()| write_work(&mut text, status))
        .and_then(|()| write_pending(&mut text, status))
        .and_then(|()| write_phases_summed_up(&mut text, status))
        .and_then(|()| write_troubles(&mut text, status));
    sanitized(text)
}

fn write_status(text: &mut String, status: &Status) -> std::fmt::Result {
    write_head(text, status)?;
    write_account(text, status)?;
    for phase in &status.phases {
        writeln!(
            text,
            "  {:<15} {:<12} {}",
            phase.phase,
            phase.status,
            phase.summary.as_ref().map(Untrusted::line).unwrap_or_default()
        )?;
    }
    write_troubles(text, status)?;
    write_work(text, status)?;
    write_past(text, status)?;
    write_pending(text, status)
}

/// Where it stands, and who works on it.
fn write_head(text: &mut String, status: &Status) -> std::fmt::Result {
    let dead = status.process.is_none() && status.status == RunStatus::Running;
    let next = status.next.as_ref().map(|next| format!("; {next}")).unwrap_or_default();
    let (word, note) = match (&status.process, dead) {
        (Some(holder), _) => (status.status.as_str(), format!(", {}", holder.words())),
        (None, true) => ("died", format!(", its process is gone{next}")),
        (None, false) if status.only_checkpoints => {
            (status.status.as_str(), format!(", by its checkpoints alone{next}"))
        }
        (None, false) => {
            let by = status.interrupted_by.map(who).unwrap_or_default();
            (status.status.as_str(), format!("{by}{next}"))
        }
    };
    writeln!(text, "{}: {word}{note}", status.execution_id)
}

/// Who sent a signal, as far as anybody can know.
fn who(interrupt: Interrupt) -> &'static str {
    match interrupt {
        Interrupt::Interrupt => " by SIGINT: somebody pressed Ctrl-C, or sent it",
        Interrupt::Terminate => " by SIGTERM: somebody, a service manager or the system asked it to stop",
    }
}

/// What it took so far.
fn write_account(text: &mut String, status: &Status) -> std::fmt::Result {
    let elapsed = span(Duration::from_millis(status.elapsed_ms));
    writeln!(
        text,
        "started {}, {elapsed} of work{}, {} remediation loops{}\n",
        moment(status.started_at),
        status.limit_ms.map(|limit| format!(" of {} at most", span(Duration::from_millis(limit)))).unwrap_or_default(),
        status.remediation_loops,
        status.context_tokens.map(|tokens| format!(", {tokens} tokens in the context")).unwrap_or_default(),
    )?;
    let spent = status.spent.to_string();
    if !spent.is_empty() {
        writeln!(text, "  agents used {spent}\n")?;
    }
    if !status.flags.is_empty() {
        writeln!(text, "  started with {}\n", status.flags.join(" "))?;
    }
    if let Some(drawn) = status.boundary.as_ref().filter(|drawn| !drawn.is_whole()) {
        writeln!(text, "  boundary: {drawn}\n")?;
    }
    if let Some(networks) = status.boundary.as_ref().and_then(BoundaryDrawn::networks) {
        writeln!(text, "  network: {networks}\n")?;
    }
    if let Some(unlimited) = status.boundary.as_ref().and_then(BoundaryDrawn::unlimited) {
        writeln!(text, "  limits: {unlimited}\n")?;
    }
    Ok(())
}

/// How many phases stand where, in the order in which they run.
fn write_phases_summed_up(text: &mut String, status: &Status) -> std::fmt::Result {
    let mut sums: Vec<(String, usize)> = Vec::new();
    for word in status.phases.iter().map(|line| line.status.to_string()) {
        match sums.iter_mut().find(|(known, _)| *known == word) {
            Some((_, number)) => *number += 1,
            None => sums.push((word, 1)),
        }
    }
    let words: Vec<String> = sums.into_iter().map(|(word, number)| format!("{number} {word}")).collect();
    writeln!(text, "\nphases: {}", words.join(", "))
}

/// What is not as it should be, beside the work.
fn write_troubles(text: &mut String, status: &Status) -> std::fmt::Result {
    for (phase, files) in &status.changed_gates {
        writeln!(text, "\n{phase}: {}", line(&PinnedFile::why_not_asked(files)))?;
    }
    if !status.changed_files.is_empty() {
        writeln!(text, "\nchanged since the start: {}", line(&status.changed_files.to_string()))?;
    }
    if let Some(outage) = &status.outage {
        writeln!(text, "\n{}: {}", outage.phase, waits_for(outage))?;
    }
    if let Some(pause) = status.paused {
        writeln!(text, "\npaused: {pause}")?;
    }
    Ok(())
}

/// What the sessions before left.
fn write_past(text: &mut String, status: &Status) -> std::fmt::Result {
    if let Some(error) = &status.last_error {
        writeln!(text, "\nthe last session ended by an error: {}", error.line())?;
    }
    for (index, left) in status.undelivered.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        writeln!(text, "{gap}{}", undelivered_line(left))?;
    }
    for (index, answer) in status.answers.iter().enumerate() {
        let mark = if answer.unguarded { UNGUARDED } else { "" };
        let gap = if index == 0 { "\n" } else { "" };
        writeln!(text, "{gap}call {} was answered {}: {}{mark}", answer.escalation, moment(answer.at), answer.action)?;
    }
    Ok(())
}

/// What waits for an answer.
fn write_pending(text: &mut String, status: &Status) -> std::fmt::Result {
    if let Some(pending) = &status.pending {
        writeln!(text, "\nwaits for an answer: {} in {}", pending.trigger.explained(), pending.phase)?;
        if !pending.reason.is_empty() {
            writeln!(text, "  reason: {}", pending.reason.line())?;
        }
        writeln!(text, "  report: {}", pending.report.display())?;
        let first = pending.answers.first().map(String::as_str).unwrap_or_default();
        let words = pending.answers.iter().filter_map(|line| line.split(' ').nth(2)).skip(1);
        writeln!(text, "  answer: {first}    (or {})", words.collect::<Vec<_>>().join(", "))?;
        writeln!(text, "  go on:  {}", pending.goes_on)?;
    }
    Ok(())
}

/// Who delivers besides `loa-run notify`.
const ALSO: &str = "and so do run, resume, resolve, halt and a service; commands that only read do not";

pub(super) fn undelivered_line(left: &Undelivered) -> String {
    let Undelivered { receiver, event, .. } = left;
    let next = match (left.refused, left.again_at) {
        (true, _) => {
            "it is not tried again; when that is mended, `loa-run notify --retry` tries the address that the run began \
                      with, and `loa-run notify --retry --config new` the one that the configuration says now"
                .to_owned()
        }
        (false, Some(at)) => format!("`loa-run notify` tries again from {} on, {ALSO}", moment(at)),
        (false, None) => format!("`loa-run notify` tries, {ALSO}"),
    };
    let reason = left.reason.as_ref().map_or_else(|| "nobody has tried".to_owned(), Untrusted::line);
    let tries = match left.tries {
        0 | 1 => String::new(),
        tries => format!(", tried {tries} times"),
    };
    format!("nobody was told by the {receiver}: {reason} (`{event}`{tries}); {next}")
}

/// What is said of an answer of which nobody can tell who gave it.
pub(super) const UNGUARDED: &str = " (unguarded: phases could reach the state, and answer too)";

/// What the phase at work does, why it failed last, and what it said last.
fn write_work(text: &mut String, status: &Status) -> std::fmt::Result {
    if status.standing == Standing::Finished || status.work.is_none() && status.last_failure.is_none() {
        return Ok(());
    }
    writeln!(text)?;
    if let Some(work) = &status.work {
        writeln!(text, "{}, attempt {}: {}", work.phase, work.attempt, doing(work, status))?;
    }
    if let Some(failure) = &status.last_failure {
        writeln!(text, "  last failure: {}, attempt {}: {}", failure.phase, failure.attempt, failure.reason.line())?;
    }
    if let Some(output) = status.work.as_ref().and_then(|work| work.last_output.as_ref()) {
        // To the second: what is shown changes as often.
        let ago = span(Duration::from_secs(output.ago_ms / 1000));
        writeln!(text, "  last output, {ago} ago: {}", output.line.line())?;
    }
    Ok(())
}

fn doing(work: &WorkAtHand, status: &Status) -> String {
    let next = work.next_try.map(|next| {
        let left = u64::try_from(next.duration_since(status.as_of).as_secs()).unwrap_or(0);
        format!("{}, in {}", moment(next), span(Duration::from_secs(left)))
    });
    match (work.doing, next) {
        (Doing::Running, _) => "runs".to_owned(),
        (Doing::BackingOff, Some(next)) => format!("waits, and is tried again at {next}"),
        (Doing::WaitingForProvider, Some(next)) => format!("waits for its provider until {next}"),
        (Doing::BackingOff | Doing::WaitingForProvider, None) => "waits".to_owned(),
        (Doing::Stopped, _) => "nobody works on it".to_owned(),
    }
}

/// A status in one line, without what changes by time alone.
pub(super) fn status_line(status: &Status) -> String {
    let died = status.process.is_none() && status.status == RunStatus::Running;
    let mut said = vec![format!("{}: {}", status.execution_id, if died { "died" } else { status.status.as_str() })];
    if let Some(work) = status.work.as_ref().filter(|_| status.standing != Standing::Finished) {
        let doing = match work.doing {
            Doing::Running => "runs",
            Doing::BackingOff => "waits, and is tried again",
            Doing::WaitingForProvider => "waits for its provider",
            Doing::Stopped => "nobody works on it",
        };
        let next = work.next_try.filter(|_| work.doing != Doing::Stopped);
        let when = if work.doing == Doing::BackingOff { "at" } else { "until" };
        let next = next.map(|next| format!(" {when} {}", moment(next))).unwrap_or_default();
        said.push(format!("{}, attempt {}: {doing}{next}", work.phase, work.attempt));
    }
    if let Some(failure) = &status.last_failure {
        said.push(format!("failed last: {}, attempt {}: {}", failure.phase, failure.attempt, failure.reason.line()));
    }
    if let Some(pending) = &status.pending {
        let (trigger, phase, id) = (pending.trigger.explained(), pending.phase, &pending.id);
        said.push(format!("waits for an answer: {trigger} in {phase}: loa-run resolve fix_and_resume --call {id}"));
    } else {
        said.extend(status.next.clone());
    }
    sanitized(said.join("; "))
}

/// What would run, for people.
pub(super) fn plan_text(plan: &Plan) -> String {
    let line = |stage: &crate::runner::Stage| {
        let what =
            if stage.skip { "skipped".to_owned() } else { stage.work.as_ref().map(work_text).unwrap_or_default() };
        let gate =
            stage.verify.as_deref().map(|gate| format!("\n  {:<15} then {}", "", quoted(gate))).unwrap_or_default();
        format!("  {:<15} {what}{gate}\n", stage.phase)
    };
    plan.stages().iter().map(line).collect()
}

/// What would run, for machines.
pub(super) fn plan_json(plan: &Plan) -> serde_json::Value {
    let phases = plan.stages().iter().map(|stage| {
        let command = stage.work.as_ref().and_then(|work| match work {
            Work::Command(argv) => Some(argv),
            Work::Agent(_) => None,
        });
        serde_json::json!({
            "id": stage.phase,
            "command": command,
            "prompt": stage.agent().map(|agent| &agent.prompt),
            "backend": stage.agent().map(|agent| &agent.backend),
            "verify": stage.verify,
            "retries": stage.retries,
            "skip": stage.skip,
        })
    });
    serde_json::json!({ "phases": phases.collect::<Vec<_>>() })
}

fn work_text(work: &Work) -> String {
    match work {
        Work::Command(argv) => quoted(argv),
        Work::Agent(agent) => {
            let line = agent.prompt.lines().next().unwrap_or_default();
            format!("{} is told: {line}", agent.backend)
        }
    }
}

fn quoted(argv: &[String]) -> String {
    argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}
