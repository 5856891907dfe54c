//! An escalation report for people, in Markdown.

use std::fmt::Write;

use crate::contract::{EscalationReport, PhaseStatus};
use crate::draw::moment;
use crate::text::{Untrusted, line};

/// The report as a page: what happened, what to do, and the facts behind it.
pub(super) fn markdown(report: &EscalationReport) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut page, report);
    page
}

fn write_page(page: &mut String, report: &EscalationReport) -> std::fmt::Result {
    writeln!(page, "# A human is needed: {} in {}\n", report.trigger, report.phase)?;
    for (name, value) in [
        ("Execution", report.execution_id.to_string()),
        ("Session", report.session_id.to_string()),
        ("Phase", report.phase.to_string()),
        ("Trigger", report.trigger.to_string()),
        ("Time", moment(report.timestamp)),
        ("Remediation loops", report.context.remediation_attempts.to_string()),
    ] {
        writeln!(page, "- {name}: `{}`", line(&value).replace('`', "'"))?;
    }
    section(page, "What to try", report.context.suggested_actions.iter().map(Untrusted::markdown))?;
    writeln!(page, "\n## Phases\n\n| phase | status | exit |\n|---|---|---|")?;
    for PhaseStatus { phase, status, exit_code } in &report.state.phases {
        let exit = exit_code.map_or_else(String::new, |exit| exit.code().to_string());
        writeln!(page, "| {phase} | {status} | {exit} |")?;
    }
    let findings = &report.state.remaining_findings;
    section(
        page,
        "Findings that remain",
        findings.iter().map(|it| {
            let [id, category, description] = [&it.id, &it.category, &it.description].map(Untrusted::markdown);
            format!("{id} ({}, {category}): {description}", it.severity)
        }),
    )?;
    let decisions = &report.context.last_decisions;
    section(
        page,
        "Last decisions",
        decisions.iter().map(|it| {
            let [id, description, reasoning] = [&it.id, &it.description, &it.reasoning].map(Untrusted::markdown);
            format!("{id}: {description} Because: {reasoning}")
        }),
    )?;
    if let Some(checkpoint) = &report.state.last_checkpoint {
        writeln!(page, "\n## Last checkpoint\n")?;
        let (phase, exit) = (checkpoint.phase, checkpoint.exit_code.code());
        writeln!(page, "`{phase}`, exit {exit}, {}: {}", moment(checkpoint.created_at), checkpoint.summary.markdown())?;
        for error in &checkpoint.errors {
            writeln!(page, "- {}: {}", error.code.markdown(), error.message.markdown())?;
        }
    }
    Ok(())
}

fn section(page: &mut String, title: &str, items: impl ExactSizeIterator<Item = String>) -> std::fmt::Result {
    if items.len() == 0 {
        return Ok(());
    }
    writeln!(page, "\n## {title}\n")?;
    items.into_iter().try_for_each(|item| writeln!(page, "- {item}"))
}
