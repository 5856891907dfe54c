//! Keeps the history of an execution on disk, as a listener before the one that shows the run to people.

use super::{Call, End, Listener, Progress};
use crate::store::{History, HistoryEvent, Layout};
use crate::system::clock;
use crate::system::files::FileError;

/// Writes what happens into the history and passes it on.
pub struct Recorder<'a> {
    layout: Layout,
    history: Option<History>,
    next: &'a mut dyn Listener,
}

impl<'a> Recorder<'a> {
    /// Opens nothing before the session has begun: only its lock makes the file ours.
    pub fn new(layout: &Layout, next: &'a mut dyn Listener) -> Self {
        Self { layout: layout.clone(), history: None, next }
    }

    fn record(&mut self, progress: &Progress<'_>) -> Result<(), FileError> {
        if matches!(progress, Progress::SessionStarted { .. }) {
            self.history = Some(History::open(&self.layout)?);
        }
        let Some(history) = &mut self.history else { return Ok(()) };
        if let Progress::SessionEnded { end: End::Escalated(call) } = progress {
            history.append(clock::now().wall(), escalated(call))?;
        }
        event(progress).map_or(Ok(()), |event| history.append(clock::now().wall(), event))
    }
}

impl Listener for Recorder<'_> {
    fn on(&mut self, progress: &Progress<'_>) {
        if let Err(error) = self.record(progress) {
            // The execution stands in its checkpoints: it goes on, and people hear once what they will miss.
            self.history = None;
            let text = format!("the history is not kept any more: {error}: {}", error.source);
            self.next.on(&Progress::Notice { text: &text });
        }
        self.next.on(progress);
    }
}

pub(super) fn escalated(call: &Call) -> HistoryEvent {
    HistoryEvent::Escalated { trigger: call.trigger, phase: call.phase, reason: call.reason.clone() }
}

/// What of it belongs into the history.
fn event(progress: &Progress<'_>) -> Option<HistoryEvent> {
    Some(match *progress {
        Progress::SessionStarted { execution, session, resumed, .. } => {
            HistoryEvent::SessionStarted { execution: execution.clone(), session: session.clone(), resumed }
        }
        Progress::SessionEnded { end } => HistoryEvent::SessionEnded { end: end.word().to_owned() },
        Progress::PhaseSkipped { phase } => HistoryEvent::PhaseSkipped { phase },
        Progress::AttemptStarted { phase, attempt, .. } => HistoryEvent::AttemptStarted { phase, attempt },
        Progress::AttemptEnded { phase, attempt, exit, reason } => {
            HistoryEvent::AttemptEnded { phase, attempt, exit, reason: reason.map(str::to_owned) }
        }
        Progress::Notified { means, failed } => {
            HistoryEvent::Notified { means: means.to_owned(), failed: failed.map(str::to_owned) }
        }
        Progress::GateStarted { phase } => HistoryEvent::GateStarted { phase },
        Progress::Retry { phase, delay, .. } => {
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            HistoryEvent::BackedOff { phase, delay_ms }
        }
        Progress::Remediation { number, .. } => HistoryEvent::Remediation { number },
        Progress::ContextWarning { phase, warning } => {
            HistoryEvent::ContextCrossed { phase, level: warning.level, tokens: warning.current_tokens }
        }
        Progress::Compaction { phase, level, .. } => HistoryEvent::Compacted { phase, level },
        Progress::PhaseEnded { phase, exit, .. } => HistoryEvent::PhaseEnded { phase, exit },
        Progress::AgentCompacted { phase, before, after } => HistoryEvent::AgentCompacted { phase, before, after },
        Progress::LimitReached { phase, until } => HistoryEvent::LimitReached { phase, until },
        Progress::AgentEnded { phase, end, turns } => {
            HistoryEvent::AgentEnded { phase, class: end.class.name().to_string(), turns }
        }
        Progress::AgentStarted { .. }
        | Progress::AgentTurn { .. }
        | Progress::AgentRetrying { .. }
        | Progress::Output { .. }
        | Progress::Notice { .. } => return None,
    })
}
