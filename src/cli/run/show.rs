//! Prints where an execution stands, what would run, and what came of a command.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::terminal::{span, waits_for};
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::events::RunStatus;
use crate::runner::{Plan, Status, Work};

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
    text
}

fn write_status(text: &mut String, status: &Status) -> std::fmt::Result {
    let dead = status.process.is_none() && status.status == RunStatus::Running;
    let (word, note) = match (&status.process, dead) {
        (Some(holder), _) => (status.status.as_str(), format!(", {}", holder.words())),
        (None, true) => ("died", ", its process is gone; `loa-run resume` goes on".to_owned()),
        (None, false) if goes_on(status.status) => (status.status.as_str(), "; `loa-run resume` goes on".to_owned()),
        (None, false) if status.status == RunStatus::Aborted => {
            (status.status.as_str(), "; `loa-run run --fresh` begins another".to_owned())
        }
        (None, false) => (status.status.as_str(), String::new()),
    };
    writeln!(text, "{}: {word}{note}", status.execution_id)?;
    let elapsed = span(Duration::from_millis(status.elapsed_ms));
    writeln!(
        text,
        "started {}, {elapsed} of work, {} remediation loops{}\n",
        status.started_at,
        status.remediation_loops,
        status.context_tokens.map(|tokens| format!(", {tokens} tokens in the context")).unwrap_or_default(),
    )?;
    if !status.flags.is_empty() {
        writeln!(text, "  started with {}\n", status.flags.join(" "))?;
    }
    for line in &status.phases {
        writeln!(text, "  {:<15} {:<12} {}", line.phase, line.status, line.summary.as_deref().unwrap_or(""))?;
    }
    if let Some(outage) = &status.outage {
        writeln!(text, "\n{}: {}", outage.phase, waits_for(outage))?;
    }
    if let Some(error) = &status.last_error {
        writeln!(text, "\nthe last session ended by an error: {error}")?;
    }
    if let Some(pending) = &status.pending {
        writeln!(text, "\nwaits for an answer: {} in {}", pending.trigger, pending.phase)?;
        writeln!(text, "  report: {}", pending.report.display())?;
        writeln!(text, "  answer: loa-run resolve fix_and_resume    (or skip_phase, reset, abort)")?;
    }
    Ok(())
}

/// Whether nothing but a resume is missing.
fn goes_on(status: RunStatus) -> bool {
    matches!(status, RunStatus::Interrupted | RunStatus::Resolved | RunStatus::Ready)
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
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let word = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}
