//! The message that somebody reads in the morning, as one value: all that it takes to decide, and the words to answer with.

use std::path::Path;

use crate::contract::{Phase, PhaseExit};
use crate::draw;
use crate::events::{Message, News, Pause, State};
use crate::store::{Layout, ReportPaths, clean, report_paths};

/// How long the line may be that a telephone shows of it.
const TITLE: usize = 200;
/// How long a summary may be.
const SUMMARY: usize = 160;

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
    /// Each phase in a line.
    pub phases: Vec<String>,
    /// How long it took, and what it used.
    pub took: String,
    /// What changed in the work tree since it began; empty where nobody knows.
    pub changed: Vec<String>,
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
    /// Why.
    pub trigger: String,
    /// Where.
    pub phase: Phase,
    /// What happened.
    pub reason: String,
    /// The report.
    pub report: ReportPaths,
}

/// What is seen of the world around a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// What changed in the work tree.
    pub(super) changed: Vec<String>,
    /// The end of the log.
    pub(super) log: Vec<String>,
}

impl Morning {
    /// The message about an end of an execution, with what is known of that execution.
    pub(super) fn of(message: &Message, state: &State, layout: &Layout, observed: Observed) -> Self {
        let log_of = log_of(&message.news, state);
        Self {
            id: message.id.clone(),
            event: message.news.word(),
            execution: state.execution_id.to_string(),
            workspace: layout.workspace().display().to_string(),
            title: clean(&title(&message.news, state.phases.len(), layout.workspace()), TITLE),
            call: asked(&message.news, state, layout),
            phases: state.phases.iter().map(|phase| phase_line(*phase, state)).collect(),
            took: took(message, state),
            changed: observed.changed,
            log_of: log_of.filter(|_| !observed.log.is_empty()),
            log: observed.log,
            answers: answers(&message.news, layout.workspace(), state.asks_about_weaker()),
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
    pub(super) fn unrecorded(id: String, news: &News, workspace: &Path) -> Self {
        let title = clean(&title(news, 0, workspace), TITLE);
        let took = "not known: this end could not be recorded";
        let answers = answers(news, workspace, false);
        Self { answers, ..Self::of_nothing(id, news.word(), workspace, title, took) }
    }

    fn of_nothing(id: String, event: &'static str, workspace: &Path, title: String, took: &str) -> Self {
        Self {
            id,
            event,
            execution: String::new(),
            workspace: workspace.display().to_string(),
            title,
            call: None,
            phases: Vec::new(),
            took: took.to_owned(),
            changed: Vec::new(),
            log_of: None,
            log: Vec::new(),
            answers: Vec::new(),
        }
    }
}

/// The attempt whose log matters most.
pub(super) fn log_of(news: &News, state: &State) -> Option<(Phase, u32)> {
    let started = |phase: Phase| Some((phase, *state.starts.get(&phase)?));
    let named = match news {
        News::Escalated { phase, .. } => started(*phase),
        _ => state.phase_at_work().and_then(started),
    };
    named.or_else(|| state.phases.iter().rev().copied().find_map(started))
}

fn title(news: &News, phases: usize, workspace: &Path) -> String {
    let name = workspace.file_name().unwrap_or(workspace.as_os_str()).to_string_lossy();
    match news {
        News::Completed => format!("loa-run: {name} is done, {phases} phases"),
        News::Paused { pause: Pause::Limit { until: Some(until) } } => {
            format!("loa-run: {name} is paused: a limit of the provider is lifted at {until}")
        }
        News::Paused { pause: Pause::Limit { until: None } } => {
            format!("loa-run: {name} is paused: a limit of the provider is reached")
        }
        News::Paused { pause: Pause::Outage { since } } => {
            format!("loa-run: {name} is paused: the provider cannot be reached or is out of order since {since}")
        }
        News::Paused { pause: Pause::AgentCancelled } => {
            format!("loa-run: {name} is paused: somebody stopped the agent")
        }
        News::Failed { error } => format!("loa-run: {name} was stopped by an error: {error}"),
        News::Escalated { trigger, phase, reason, .. } => {
            format!("loa-run: a human is needed: {trigger} in {phase}: {reason}")
        }
    }
}

fn asked(news: &News, state: &State, layout: &Layout) -> Option<Asked> {
    let News::Escalated { number, trigger, phase, reason, .. } = news else { return None };
    let report = report_paths(layout, &state.execution_id, *number);
    Some(Asked { trigger: trigger.to_string(), phase: *phase, reason: clean(reason, 1000), report })
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
    let summary = checkpoint.map(|checkpoint| format!(": {}", clean(&checkpoint.summary, SUMMARY))).unwrap_or_default();
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

/// What can be done, each as one line that can be pasted into any shell of the machine.
fn answers(news: &News, workspace: &Path, about_weaker: bool) -> Vec<(&'static str, String)> {
    let place = shell_word(&workspace.display().to_string());
    let line = |verb: &str| format!("loa-run --workspace {place} {verb}");
    let answer = |action: &str| format!("{} && {}", line(&format!("resolve {action}")), line("resume"));
    match news {
        News::Completed => vec![("See what happened", line("report"))],
        News::Paused { .. } => vec![("Go on", line("resume"))],
        News::Failed { .. } => vec![("Go on, when the cause is mended", line("resume"))],
        News::Escalated { .. } if about_weaker => {
            let agree = format!("{} && {}", line("resolve fix_and_resume"), line("resume --config new"));
            vec![
                ("Agree to the new configuration", agree),
                ("Go on with the one that it began with", line("resume")),
                ("End it, and keep what is there", line("resolve abort")),
            ]
        }
        News::Escalated { approval, .. } => {
            let first = if *approval { "Agree to the deployment" } else { "Go on, when the cause is mended" };
            vec![
                (first, answer("fix_and_resume")),
                ("Go on without this phase", answer("skip_phase")),
                ("End it, and keep what is there", line("resolve abort")),
            ]
        }
    }
}

/// A word that a shell takes as it is.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
