//! The report as one page: no network, no script; every word of others is escaped.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::fold::MOST_LOGS;
use super::timeline::{attempt_anchor, between, call_anchor, timeline};
use super::value::{AttemptOutcome, AttemptReport, Call, Notice, PhaseReport, RunReport};
use crate::contract::{Artifact, Checkpoint, Decision, Finding, PhaseError, PhaseProgress};
use crate::draw::{STYLE, span};
use crate::events::BoundaryDrawn;
use crate::text::Untrusted;

const PAGE: &str = include_str!("../page.css");
/// What this page has beside others: tables that are cards on a phone, and logs.
const OWN: &str = include_str!("run.css");

/// Nothing is loaded from anywhere, whatever a phase wrote into its summary.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page.
#[must_use]
pub fn html(report: &RunReport) -> String {
    let title = format!("{}: {}", report.execution_id, report.status);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(PAGE)) (PreEscaped(OWN)) }
            }
            body {
                a.skip href="#steps" { "Skip to the steps in words" }
                (head(report))
                main {
                    figure { (PreEscaped(timeline(report).svg())) (legend()) }
                    (calls(&report.calls))
                    (findings(&report.findings))
                    (notices(&report.notices))
                    h2 { "Phases" }
                    @for phase in &report.phases { (phase_details(phase)) }
                    (steps(report))
                }
                footer {
                    "Written by loa-run, as of " (when(report.last_at)) "."
                    @if let Some(head) = &report.head { br; "Head of the journal: " code { (head) } }
                }
            }
        }
    };
    page.into_string()
}

fn head(report: &RunReport) -> Markup {
    let done = report.phases.iter().filter(|phase| phase.status == PhaseProgress::Completed).count();
    let facts = [
        ("Started", when(report.started_at)),
        ("Last seen", when(report.last_at)),
        ("Work", span(report.elapsed_ms)),
        ("Phases done", format!("{done} of {}", report.phases.len())),
        ("Attempts", report.attempts.len().to_string()),
        ("Remediation loops", report.remediations.len().to_string()),
        ("Calls", report.calls.len().to_string()),
        ("Sessions", report.sessions.to_string()),
    ];
    let used = Some(("Agents used", report.spent.to_string())).filter(|(_, used)| !used.is_empty());
    markup! {
        header {
            h1 { (report.execution_id) " " span class={ "badge " (tone_of_status(report.status)) } { (report.status) } }
            p.lead { "What happened, phase by phase." }
            dl.facts {
                @for (name, value) in facts.iter().chain(&used) { div { dt { (name) } dd { (value) } } }
            }
            @if let Some(drawn) = report.boundary.as_ref().filter(|drawn| !drawn.is_whole()) {
                p { "Boundary: " (drawn.to_string()) }
            }
            @if let Some(networks) = report.boundary.as_ref().and_then(BoundaryDrawn::networks) {
                p { "Network: " (networks) }
            }
            @if let Some(unlimited) = report.boundary.as_ref().and_then(BoundaryDrawn::unlimited) {
                p { "Limits: " (unlimited) }
            }
            @if !report.changed_files.is_empty() { p { "Changed since the start: " (Untrusted::from(report.changed_files.to_string())) } }
            @if let Some(error) = &report.last_error { p { "The last session ended by an error: " (error) } }
            @if report.unreadable > 0 {
                p { (report.unreadable) " lines of the history could not be read and are missing here." }
            }
        }
    }
}

fn tone_of_status(status: &str) -> &'static str {
    match status {
        "completed" => "good",
        "escalated" | "died" | "aborted" => "bad",
        "running" => "busy",
        "interrupted" => "retry",
        _ => "",
    }
}

fn legend() -> Markup {
    let keys = [
        ("good", "exit 0"),
        ("retry", "exit 1: tried again"),
        ("bad", "exit 2, or a call (!)"),
        ("busy", "running"),
        ("wait", "pause, stopped or lost"),
        ("note", "remediation, compaction (▼)"),
    ];
    markup! {
        figcaption {
            @for (tone, words) in keys { span style={ "--key: var(--" (tone) ")" } { (words) } }
        }
    }
}

fn calls(calls: &[Call]) -> Markup {
    markup! {
        @if !calls.is_empty() {
            h2 { "Calls for a human" }
            div.wide { table.cards {
                thead { tr { th { "No." } th { "When" } th { "Why" } th { "Phase" } th { "What happened" } th { "Answer" } } }
                tbody { @for call in calls { (call_row(call)) } }
            } }
        }
    }
}

fn call_row(call: &Call) -> Markup {
    markup! {
        tr id=(call_anchor(call)) {
            td.num data-label="No." { (call.number) }
            td.num data-label="When" { (when(call.at)) }
            td data-label="Why" { (call.trigger.explained()) }
            td data-label="Phase" { (call.phase) }
            td data-label="What happened" { (call.reason) br; code { (call.report.display()) } }
            td data-label="Answer" {
                @match &call.answer {
                    Some(answer) => {
                        (answer.action) " after " (span(between(call.at, answer.at)))
                        @if let Some(notes) = &answer.notes { br; (notes) }
                        @if answer.unguarded {
                            br; span.lead title="phases could reach the state of the run, and answer too" { "unguarded" }
                        }
                    }
                    None => {
                        span.badge.bad { "waits" } br;
                        code { "loa-run resolve fix_and_resume --call " (call.id) }
                    }
                }
            }
        }
    }
}

fn notices(notices: &[Notice]) -> Markup {
    markup! {
        @if !notices.is_empty() {
            h2 { "Noticed" } ul { @for notice in notices { li { (when(notice.at)) ": " (notice.text) } } }
        }
    }
}

fn findings(findings: &[Finding]) -> Markup {
    markup! {
        @if !findings.is_empty() {
            h2 { "Findings of the last audit" }
            ul { @for finding in findings {
                li { code { (finding.id) } " " (finding.severity) ", " (finding.category) ": " (finding.description) }
            } }
        }
    }
}

fn phase_details(phase: &PhaseReport) -> Markup {
    let tone = match phase.status {
        PhaseProgress::Completed => "good",
        PhaseProgress::Failed => "bad",
        PhaseProgress::InProgress => "busy",
        PhaseProgress::Pending => "",
    };
    let open = phase.status == PhaseProgress::Failed;
    markup! {
        @match &phase.checkpoint {
            Some(checkpoint) => details open[open] {
                summary {
                    span class={ "badge " (tone) } { (phase.status) } " " strong { (phase.phase) } " "
                    span.said { (checkpoint.summary) }
                }
                (checkpoint_body(checkpoint))
            }
            None => p { span class={ "badge " (tone) } { (phase.status) } " " strong { (phase.phase) } }
        }
    }
}

fn checkpoint_body(checkpoint: &Checkpoint) -> Markup {
    let metrics = checkpoint.metrics.map(|metrics| {
        let mut said = vec![format!("took {}", span(metrics.duration_ms))];
        said.extend(metrics.tokens_used.map(|tokens| format!("{tokens} tokens")));
        said.extend(metrics.api_calls.map(|calls| format!("{calls} API calls")));
        said.join(", ")
    });
    let line = [Some(format!("exit {}", checkpoint.exit_code.code())), Some(when(checkpoint.created_at)), metrics];
    markup! {
        p.lead { (line.into_iter().flatten().collect::<Vec<_>>().join(" · ")) }
        @if !checkpoint.errors.is_empty() { h3 { "Errors" } ul { @for error in &checkpoint.errors { (error_item(error)) } } }
        @if !checkpoint.decisions.is_empty() {
            h3 { "Decisions" } ul { @for decision in &checkpoint.decisions { (decision_item(decision)) } }
        }
        @if !checkpoint.artifacts.is_empty() {
            h3 { "Artifacts" } ul { @for artifact in &checkpoint.artifacts { (artifact_item(artifact)) } }
        }
    }
}

fn error_item(error: &PhaseError) -> Markup {
    let hope = if error.recoverable { "" } else { " (trying again does not help)" };
    markup! { li { code { (error.code) } " " (error.message) (hope) } }
}

fn decision_item(decision: &Decision) -> Markup {
    markup! { li { code { (decision.id) } " " (decision.description) ". Because: " (decision.reasoning) } }
}

fn artifact_item(artifact: &Artifact) -> Markup {
    markup! {
        li {
            code { (artifact.path) } " " (artifact.action)
            @if let Some(size) = artifact.size_bytes { ", " (size) " bytes" }
        }
    }
}

fn steps(report: &RunReport) -> Markup {
    // What is still open is what somebody looks for.
    let last_failed = report.attempts.iter().rposition(|attempt| attempt.outcome.is_failure());
    let last_failed = last_failed.filter(|_| report.status != "completed");
    markup! {
        h2 #steps { "Step by step" }
        @if report.attempts.iter().filter(|attempt| attempt.outcome.is_failure()).count() > MOST_LOGS {
            p.lead { "The ends of logs are those of the newest " (MOST_LOGS) " failed attempts." }
        }
        div.wide { table.cards {
            thead { tr { th { "Began" } th { "Phase" } th { "Attempt" } th { "Took" } th { "Ended" } th { "Log" } } }
            tbody {
                @for (index, attempt) in report.attempts.iter().enumerate() {
                    @for gap in gaps_before(report, index) { (gap) }
                    (attempt_row(index, attempt))
                    (log_row(attempt, last_failed == Some(index)))
                }
            }
        } }
    }
}

/// Rows for the stretches without work that end where this attempt begins.
fn gaps_before(report: &RunReport, index: usize) -> Vec<Markup> {
    let attempt = &report.attempts[index];
    let after = index.checked_sub(1).map_or(Timestamp::MIN, |before| report.attempts[before].started_at);
    let here = report.gaps.iter().filter(|gap| gap.to > after && gap.to <= attempt.started_at);
    here.map(|gap| {
        markup! {
            tr {
                td.num data-label="Began" { (when(gap.from)) }
                td colspan="2" data-label="Why" { (gap.cause.words()) }
                td.num data-label="Took" { (span(between(gap.from, gap.to))) }
                td {} td {}
            }
        }
    })
    .collect()
}

fn attempt_row(index: usize, attempt: &AttemptReport) -> Markup {
    let tone = match attempt.outcome {
        AttemptOutcome::Success => "good",
        AttemptOutcome::Retry => "retry",
        AttemptOutcome::Blocked => "bad",
        AttemptOutcome::Running => "busy",
        AttemptOutcome::Stopped | AttemptOutcome::Lost => "",
    };
    let reason = attempt.reason.as_ref().filter(|reason| **reason != attempt.outcome.words());
    markup! {
        tr id=(attempt_anchor(index)) {
            td.num data-label="Began" { (when(attempt.started_at)) }
            td data-label="Phase" { (attempt.phase) }
            td.num data-label="Attempt" { @match attempt.attempt { Some(number) => (number), None => "all" } }
            td.num data-label="Took" { (span(between(attempt.started_at, attempt.ended_at))) }
            td data-label="Ended" {
                span class={ "badge " (tone) } { (attempt.outcome.words()) }
                @if let Some(reason) = reason { " " (reason) }
            }
            td data-label="Log" {
                @if let Some(log) = &attempt.log { code { (log.file_name().unwrap_or_default().to_string_lossy()) } }
            }
        }
    }
}

/// The end of what a failed attempt wrote, and where the rest is.
fn log_row(attempt: &AttemptReport, open: bool) -> Markup {
    markup! {
        @if !attempt.log_end.is_empty() {
            tr.log { td colspan="6" {
                details open[open] {
                    summary { "The end of its log: " (attempt.log_end.len()) " lines" }
                    pre { @for line in &attempt.log_end { (line) "\n" } }
                    @if let Some(log) = &attempt.log { p.lead { "All of it: " code { (log.display()) } } }
                }
            } }
        }
    }
}

/// A moment for people, in UTC.
fn when(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
