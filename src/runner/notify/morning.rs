//! The message that somebody reads in the morning, as one value: all that it takes to decide, and the words to answer with.

use std::path::Path;

use super::difference::Difference;
use crate::contract::{Finding, Phase, PhaseExit};
use crate::draw;
use crate::events::{Message, News, State};
use crate::runner::decide::{IN_DOUBT, SKIPPED};
use crate::store::{Layout, ReportPaths, report_paths};
use crate::text::{cut, line};

/// How long the line may be that a telephone shows of it.
const TITLE: usize = 200;
/// How long a reason, and what it names, may be.
const REASON: usize = 1000;
/// How long a summary may be, and the description of a finding.
const SUMMARY: usize = 160;
/// How many findings are told.
const FINDINGS: usize = 8;

/// What somebody is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Morning {
    /// The message, the same over all tries.
    pub id: String,
    /// What happened, in one word.
    pub event: &'static str,
    /// The execution.
    pub execution: String,
    /// Where it worked.
    pub workspace: String,
    /// All of it in one line.
    pub title: String,
    /// What somebody has to decide, where that is so.
    pub call: Option<Asked>,
    /// What whoever answers has to know besides, a sentence each.
    pub notes: Vec<String>,
    /// Each phase in a line.
    pub phases: Vec<String>,
    /// How long it took, and what it used.
    pub took: String,
    /// Why it failed, all of it, where that is what happened.
    pub error: Option<String>,
    /// What is not as the execution began with it, of what decides it; empty where nothing is.
    pub files: String,
    /// What changed in the files that somebody is asked about.
    pub differences: Vec<Difference>,
    /// What changed in the work tree; empty where nobody knows.
    pub changed: Vec<String>,
    /// Since when.
    pub changed_since: String,
    /// Whose log the end is of.
    pub log_of: Option<(Phase, u32)>,
    /// The end of that log.
    pub log: Vec<String>,
    /// What can be done, and the command line that does it; the first is what most people want.
    pub answers: Vec<(&'static str, String)>,
}

/// What somebody has to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What names the call, so that an answer is taken for no other.
    pub id: String,
    /// Why.
    pub trigger: String,
    /// Where.
    pub phase: Phase,
    /// What happened.
    pub reason: String,
    /// The report.
    pub report: ReportPaths,
    /// How many remediation loops there were.
    pub loops: u32,
    /// What the audit found and nobody mended, a line each.
    pub findings: Vec<String>,
}

/// What is seen of the world around a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// What changed in the files that somebody is asked about.
    pub(super) differences: Vec<Difference>,
    /// What changed in the work tree.
    pub(super) changed: Vec<String>,
    /// Whose log the end is of.
    pub(super) log_of: Option<(Phase, u32)>,
    /// The end of the log.
    pub(super) log: Vec<String>,
}

/// How a person's shell reaches the execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// What a command line begins with: a program and where it looks.
    pub program: String,
    /// The command that goes on.
    pub goes_on: &'static str,
    /// A process waits for the answer and goes on by itself: nobody else could meanwhile.
    pub is_awaited: bool,
}

impl Answering {
    fn line(&self, verb: &str) -> String {
        format!("{} {verb}", self.program)
    }
}

impl Morning {
    /// The message about an end of an execution, with what is known of that execution.
    pub(super) fn of(
        message: &Message,
        state: &State,
        layout: &Layout,
        answering: &Answering,
        observed: Observed,
    ) -> Self {
        Self {
            id: message.id.clone(),
            event: message.news.word(),
            execution: state.execution_id.to_string(),
            workspace: layout.workspace().display().to_string(),
            title: cut(line(&title(&message.news, state.phases.len(), layout.workspace())), TITLE),
            call: asked(&message.news, state, layout),
            notes: notes(&message.news, state, answering),
            phases: phase_lines(state),
            took: took(message, state),
            error: error(&message.news),
            files: cut(line(&state.changed_files.to_string()), REASON),
            differences: observed.differences,
            changed: observed.changed,
            changed_since: changed_since(state),
            log_of: observed.log_of,
            log: observed.log,
            answers: answers(&message.news, state, answering),
        }
    }

    /// A message to see whether a receiver can be reached.
    #[must_use]
    pub fn test(id: String, workspace: &Path) -> Self {
        let title = format!("loa-run: a test message from {}", workspace.display());
        let took = "nothing ran; whoever reads this will be told how runs end";
        Self::of_nothing(id, "test", workspace, title, took)
    }

    /// A message about an end that no journal holds: what is known is the end alone.
    pub(super) fn unrecorded(id: String, news: &News, workspace: &Path, answering: &Answering) -> Self {
        let title = cut(line(&title(news, 0, workspace)), TITLE);
        let took = "not known: this end could not be recorded";
        let answers = vec![("Go on, when the cause is mended", answering.line(answering.goes_on))];
        let error = error(news);
        Self { error, answers, ..Self::of_nothing(id, news.word(), workspace, title, took) }
    }

    fn of_nothing(id: String, event: &'static str, workspace: &Path, title: String, took: &str) -> Self {
        Self {
            id,
            event,
            execution: String::new(),
            workspace: workspace.display().to_string(),
            title,
            call: None,
            notes: Vec::new(),
            phases: Vec::new(),
            took: took.to_owned(),
            error: None,
            files: String::new(),
            differences: Vec::new(),
            changed: Vec::new(),
            changed_since: String::new(),
            log_of: None,
            log: Vec::new(),
            answers: Vec::new(),
        }
    }
}

/// The attempts whose logs matter, the one that matters most first: some phases say nothing.
pub(super) fn logs_of(news: &News, state: &State) -> Vec<(Phase, u32)> {
    let named = match news {
        News::Escalated { phase, .. } => Some(*phase),
        _ => state.phase_at_work(),
    };
    let others = state.phases.iter().rev().copied().filter(|phase| Some(*phase) != named);
    named.into_iter().chain(others).filter_map(|phase| Some((phase, *state.starts.get(&phase)?))).collect()
}

fn error(news: &News) -> Option<String> {
    if let News::Failed { error } = news { Some(error.cut(REASON)) } else { None }
}

/// What the work tree is compared with.
fn changed_since(state: &State) -> String {
    let began = state.outbox.as_ref().map(|outbox| &outbox.began);
    let commit: String = began.and_then(|tree| tree.base.as_deref()).unwrap_or_default().chars().take(10).collect();
    if began.is_some_and(|tree| tree.was_changed) {
        return format!("since commit {commit}, what was not committed when the run began among it");
    }
    "since it began".to_owned()
}

fn title(news: &News, phases: usize, workspace: &Path) -> String {
    let name = workspace.file_name().unwrap_or(workspace.as_os_str()).to_string_lossy();
    match news {
        News::Completed => format!("loa-run: {name} is done, {phases} phases"),
        News::Paused { pause } => format!("loa-run: {name} is paused: {pause}"),
        News::Terminated => format!("loa-run: {name} is paused: it was asked to stop (TERM)"),
        News::Failed { error } => format!("loa-run: {name} was stopped by an error: {}", error.line()),
        News::Escalated { trigger, phase, reason, .. } => {
            format!("loa-run: a human is needed: {} in {phase}: {}", trigger.explained(), reason.line())
        }
    }
}

fn asked(news: &News, state: &State, layout: &Layout) -> Option<Asked> {
    let News::Escalated { number, trigger, phase, reason, .. } = news else { return None };
    let report = report_paths(layout, &state.execution_id, *number);
    let told = state.reports.get(number);
    Some(Asked {
        id: state.execution_id.call(*number),
        trigger: trigger.to_string(),
        phase: *phase,
        reason: reason.cut(REASON),
        report,
        loops: told.map_or(0, |report| report.context.remediation_attempts),
        findings: findings(told.map_or(&[][..], |report| &report.state.remaining_findings)),
    })
}

/// What whoever is called has to know besides: that a phase could have reached the state, and answer too, and who goes on.
fn notes(news: &News, state: &State, answering: &Answering) -> Vec<String> {
    if !matches!(news, News::Escalated { .. }) {
        return Vec::new();
    }
    let drawn = state.boundary.as_ref().filter(|drawn| !drawn.is_whole()).map(|drawn| format!("Boundary: {drawn}"));
    let in_reach = "Unguarded: a phase ran that could reach the state of the run, and answer too".to_owned();
    let awaits = "A process waits for the answer, and goes on by itself".to_owned();
    let notes = [drawn, state.was_in_reach.then_some(in_reach), answering.is_awaited.then_some(awaits)];
    notes.into_iter().flatten().map(|note| cut(line(&note), REASON)).collect()
}

/// The first of what an audit found, a line each.
fn findings(all: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let Finding { id, severity, description, .. } = finding;
        format!("{severity} {}: {}", id.cut(SUMMARY), description.cut(SUMMARY))
    };
    let more = all.len().saturating_sub(FINDINGS);
    let more = (more > 0).then(|| format!("and {more} more, which the report names"));
    all.iter().take(FINDINGS).map(line).chain(more).collect()
}

/// Each phase in a line; those that were passed over for one reason share theirs.
fn phase_lines(state: &State) -> Vec<String> {
    let mut skipped: Vec<(String, Vec<&str>)> = Vec::new();
    let mut lines = Vec::new();
    for phase in &state.phases {
        let summary = state.checkpoint(*phase).map(|checkpoint| checkpoint.summary.line());
        let Some(because) = summary.and_then(|summary| Some(summary.strip_prefix(SKIPPED)?.to_owned())) else {
            lines.push(phase_line(*phase, state));
            continue;
        };
        match skipped.iter_mut().find(|(known, _)| *known == because) {
            Some((_, phases)) => phases.push(phase.as_str()),
            None => skipped.push((because, vec![phase.as_str()])),
        }
    }
    let skipped = skipped
        .iter()
        .map(|(because, phases)| format!("skipped: {}: {}", phases.join(", "), cut(because.clone(), SUMMARY)));
    lines.extend(skipped);
    lines
}

fn phase_line(phase: Phase, state: &State) -> String {
    let attempts = match state.starts.get(&phase) {
        None => String::new(),
        Some(1) => ", 1 attempt".to_owned(),
        Some(number) => format!(", {number} attempts"),
    };
    let checkpoint = state.checkpoint(phase);
    let word = match checkpoint {
        Some(checkpoint) if checkpoint.exit_code == PhaseExit::Success => "done",
        Some(_) => "failed",
        None if state.active_in(phase).is_some() => "begun",
        None if attempts.is_empty() => "not begun",
        None => "to run again",
    };
    let summary = checkpoint.map(|checkpoint| format!(": {}", checkpoint.summary.cut(SUMMARY))).unwrap_or_default();
    format!("{phase}: {word}{attempts}{summary}")
}

fn took(message: &Message, state: &State) -> String {
    let millis = |duration: std::time::Duration| draw::span(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    let whole = std::time::Duration::try_from(message.at.duration_since(state.started_at)).unwrap_or_default();
    let used = match state.spent_in_all().to_string() {
        nothing if nothing.is_empty() => nothing,
        used => format!(", {used}"),
    };
    format!("{} since it began, {} of work{used}", millis(whole), millis(state.counters.elapsed()))
}

/// What stands behind the `resume` that asked for a weaker configuration, while that waits for its answer.
fn about_weaker(state: &State) -> Option<&str> {
    let again = state.weaker.as_ref().filter(|_| state.asks_about_weaker())?.again.as_str();
    // An earlier program asked for nothing else.
    Some(if again.is_empty() { "--config new" } else { again })
}

/// Whether the call is about a phase that was cut off, so that nobody knows whether it acted.
fn is_in_doubt(state: &State) -> bool {
    let Some(pending) = &state.pending else { return false };
    let is_active = state.active_in(pending.phase).is_some_and(|active| active.in_doubt);
    let errors = state.checkpoint(pending.phase).map_or(&[][..], |checkpoint| &checkpoint.errors);
    is_active || errors.iter().any(|error| error.code == IN_DOUBT)
}

/// What can be done, each as one line that can be pasted into any shell of the machine. An answer names its call: the same line
/// answers no later one.
fn answers(news: &News, state: &State, answering: &Answering) -> Vec<(&'static str, String)> {
    let line = |verb: &str| answering.line(verb);
    let goes_on = line(answering.goes_on);
    let call = if let News::Escalated { number, .. } = news { state.execution_id.call(*number) } else { String::new() };
    let resolve = |action: &str| line(&format!("resolve {action} --call {call}"));
    let answer = |action: &str| {
        let resolve = resolve(action);
        if answering.is_awaited { resolve } else { format!("{resolve} && {goes_on}") }
    };
    match (news, about_weaker(state)) {
        (News::Completed, _) => vec![("See what happened", line("report"))],
        (News::Paused { .. } | News::Terminated, _) => vec![("Go on", goes_on)],
        (News::Failed { .. }, _) => vec![("Go on, when the cause is mended", goes_on)],
        (News::Escalated { .. }, Some(again)) => {
            let agree = format!("{} && {}", resolve("fix_and_resume"), line(&format!("resume {again}")));
            vec![
                ("Agree to the new configuration", agree),
                ("Go on with the one that it began with", goes_on),
                ("End it, and keep what is there", resolve("abort")),
            ]
        }
        (News::Escalated { approval, .. }, None) => {
            let asks_about_files =
                state.pending.as_ref().is_some_and(|pending| state.changed_gates.contains_key(&pending.phase));
            let first = match (*approval, asks_about_files) {
                (true, _) => "Agree to the deployment",
                (_, true) => "Agree to the changed files, as they are now",
                _ if is_in_doubt(state) => "Run it again, where it did not act",
                _ => "Go on, when the cause is mended",
            };
            let second = if is_in_doubt(state) {
                "Go on where it did act: it counts as done"
            } else {
                "Go on without this phase"
            };
            vec![
                (first, answer("fix_and_resume")),
                (second, answer("skip_phase")),
                ("End it, and keep what is there", resolve("abort")),
            ]
        }
    }
}
