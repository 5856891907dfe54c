//! Watches the context of a running stage: reads its signals, answers with events, keeps the state on disk
//! (Context Signals Interface; Context Editing Signals).

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use tokio::task::JoinHandle;

use super::files::SignalReader;
use crate::contract::{CompactionLevel, ContextState, ContextWarning, Phase, Signal};
use crate::events::{CompactionMeans, Event, Observation};
use crate::policy::{ContextTracker, percent_of_hard};
use crate::runner::{Bounds, Capabilities, RunError};
use crate::store::{Layout, write_context_state};
use crate::system::files::{self, Appender, Privacy};
use crate::system::process::{Captured, Command, capture};

/// How long a compaction may take.
const COMPACTION_TIME: Duration = Duration::from_mins(1);

/// The context of one attempt.
#[derive(Debug)]
pub(super) struct ContextWatch {
    phase: Phase,
    bounds: Bounds,
    layout: Layout,
    tracker: ContextTracker,
    signals: SignalReader,
    events: Appender,
    compactor: Compactor,
    wanted: VecDeque<CompactionLevel>,
    job: Option<(CompactionLevel, JoinHandle<Captured>)>,
    tokens: u64,
    overflow: bool,
    /// An emergency compaction has to be asked of the agent.
    due: bool,
    /// What the stage last asked to be cleared and to be kept.
    asked: Option<(Vec<String>, Vec<String>)>,
    /// The stage said itself, in this attempt, how full the context is.
    stage_speaks: bool,
    /// What was seen and not passed on yet.
    seen: Vec<Seen>,
}

/// Something that the watch has seen.
#[derive(Debug)]
pub(super) enum Seen {
    /// It is journaled.
    Event(Event),
    /// It is not.
    Observation(Observation),
}

/// Who compacts the context of a stage.
#[derive(Debug)]
pub(super) enum Compactor {
    /// Nobody: the need is recorded.
    Nobody,
    /// A command, with the stage's environment.
    Command(Box<Command>),
    /// The stage's agent: by itself, or on request too.
    Agent { itself: bool, on_request: bool },
}

impl Compactor {
    /// The agents of a backend that can do this.
    pub(super) fn of_agents(capabilities: Capabilities) -> Self {
        Self::Agent { itself: capabilities.compacts_itself, on_request: capabilities.compacts_on_request }
    }

    fn means(&self, level: CompactionLevel) -> CompactionMeans {
        match self {
            Self::Command(_) => CompactionMeans::Command,
            Self::Agent { on_request: true, .. } if level == CompactionLevel::Emergency => CompactionMeans::Request,
            Self::Agent { itself: true, .. } => CompactionMeans::Agent,
            Self::Agent { .. } | Self::Nobody => CompactionMeans::Nobody,
        }
    }
}

/// What a compaction command may print: one JSON object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Compacted {
    tokens_freed: u64,
    items_cleared: u64,
}

impl ContextWatch {
    pub(super) fn new(
        phase: Phase,
        bounds: &Bounds,
        layout: &Layout,
        paths: &super::files::StageFiles,
        compactor: Compactor,
    ) -> Result<Self, RunError> {
        Ok(Self {
            phase,
            tracker: ContextTracker::new(bounds.context, bounds.editing.as_ref()),
            bounds: bounds.clone(),
            layout: layout.clone(),
            signals: SignalReader::new(paths.signals.clone()),
            events: Appender::open(&paths.events, Privacy::Private)?,
            compactor,
            wanted: VecDeque::new(),
            job: None,
            tokens: 0,
            overflow: false,
            asked: None,
            due: false,
            stage_speaks: false,
            seen: Vec::new(),
        })
    }

    /// What was seen since the last call.
    pub(super) fn seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    /// Tokens in the context, as far as anybody said.
    pub(super) fn tokens(&self) -> Option<u64> {
        (self.tokens > 0).then_some(self.tokens)
    }

    /// Whether the context stayed at its hard limit after an emergency compaction.
    pub(super) fn overflowed(&self) -> bool {
        self.overflow
    }

    /// An agent's context cannot be brought below its limit.
    pub(super) fn give_up(&mut self) {
        self.overflow = true;
    }

    /// Whether an emergency compaction has to be asked of the agent.
    pub(super) fn compaction_due(&self) -> bool {
        self.due
    }

    /// Takes note of what the agent's backend read about the size of its context. Once the stage has said it itself, by a
    /// signal, its word alone counts until the attempt is over: the contract's interface is spoken to on purpose, a
    /// backend's figure is inferred, and two of them in turn would take a full context for one that had been emptied.
    pub(super) fn reported(&mut self, tokens: u64, now: Timestamp) -> Result<(), RunError> {
        if self.stage_speaks {
            return Ok(());
        }
        let warning = self.usage(tokens)?;
        Ok(write_context_state(&self.layout, &context_state(&self.bounds, warning, now))?)
    }

    /// Takes note that the agent freed this many tokens, by itself or on request.
    pub(super) fn agent_compacted(&mut self, freed: u64) -> Result<(), RunError> {
        self.complete(freed, 0)
    }

    /// The compaction is being asked of the agent.
    pub(super) fn request_taken(&mut self) {
        self.due = false;
    }

    /// The compaction that was asked of the agent is over, whether it helped or not.
    pub(super) fn request_ended(&mut self) {
        self.tracker.compaction_ended(CompactionLevel::Emergency);
    }

    /// Reads what the stage signalled since the last look and answers it.
    pub(super) async fn look(&mut self, now: Timestamp) -> Result<(), RunError> {
        self.advance_compaction().await?;
        let mut last = None;
        for signal in self.signals.read() {
            match signal {
                Ok(Signal::Usage { context_tokens }) => {
                    self.stage_speaks = true;
                    last = Some(self.usage(context_tokens)?);
                }
                Ok(Signal::CompactionRequest { clear_targets, preserve }) if self.bounds.editing.is_some() => {
                    self.asked = Some((clear_targets, preserve));
                    self.compact(CompactionLevel::Standard)?;
                }
                Ok(other) => self.notice(format!("{}: signal not acted on: {other:?}", self.phase)),
                Err(reason) => self.notice(format!("{}: signal not understood: {reason}", self.phase)),
            }
        }
        if let Some(warning) = last {
            write_context_state(&self.layout, &context_state(&self.bounds, warning, now))?;
        }
        self.advance_compaction().await
    }

    /// The stage has ended: reads to the end. A compaction that still runs has lost its object and is given up.
    pub(super) async fn finish(&mut self, now: Timestamp) -> Result<(), RunError> {
        self.look(now).await?;
        self.wanted.clear();
        if let Some((_, job)) = self.job.take() {
            job.abort();
        }
        Ok(())
    }

    fn usage(&mut self, tokens: u64) -> Result<ContextWarning, RunError> {
        self.tokens = tokens;
        self.seen.push(Seen::Observation(Observation::Usage { phase: self.phase, tokens }));
        let observed = self.tracker.observe(tokens);
        self.emit(&Signal::ContextCurrent { current_tokens: tokens })?;
        if observed.crossed {
            let warning = observed.warning.clone();
            self.emit(&Signal::ContextWarning {
                level: warning.level,
                current_tokens: tokens,
                percent_used: warning.percent_used,
                recommendation: warning.recommendation.clone(),
            })?;
            self.seen.push(Seen::Event(Event::ContextCrossed {
                phase: self.phase,
                level: warning.level,
                tokens,
                percent_used: warning.percent_used,
                recommendation: warning.recommendation,
            }));
        }
        if let Some(near) = observed.near_limit {
            self.emit(&Signal::ContextNearLimit {
                current_tokens: near.current_tokens,
                limit_tokens: near.limit_tokens,
                percent_used: near.percent_used,
            })?;
        }
        self.overflow |= observed.overflow;
        if let Some(level) = observed.compaction {
            self.compact(level)?;
        }
        Ok(observed.warning)
    }

    fn compact(&mut self, level: CompactionLevel) -> Result<(), RunError> {
        let means = self.compactor.means(level);
        self.emit(&Signal::Compaction { level })?;
        self.seen.push(Seen::Event(Event::Compacted { phase: self.phase, level, means }));
        match means {
            CompactionMeans::Command => self.wanted.push_back(level),
            CompactionMeans::Request => self.due = true,
            // It says so itself when it has done it.
            CompactionMeans::Agent => self.tracker.compaction_ended(level),
            CompactionMeans::Nobody => return self.compacted(level, None),
        }
        Ok(())
    }

    /// Takes note of a compaction that ended, and starts the next that is wanted.
    async fn advance_compaction(&mut self) -> Result<(), RunError> {
        if self.job.as_ref().is_some_and(|(_, job)| job.is_finished())
            && let Some((level, job)) = self.job.take()
        {
            let captured = job.await.ok();
            self.compacted(level, captured.as_ref())?;
        }
        if self.job.is_none()
            && let (Compactor::Command(compactor), Some(level)) = (&self.compactor, self.wanted.pop_front())
        {
            let command = self.told(compactor.as_ref().clone(), level);
            let job = tokio::spawn(async move { capture(&command, 64 * 1024, COMPACTION_TIME).await });
            self.job = Some((level, job));
        }
        Ok(())
    }

    /// A compaction command is told what may go and what must stay.
    fn told(&self, command: Command, level: CompactionLevel) -> Command {
        let command = command.env("LOA_COMPACTION_LEVEL", level.as_str());
        let Some(editing) = &self.bounds.editing else { return command };
        let list = |words: &[String]| serde_json::json!(words).to_string();
        let (clear, keep) = match &self.asked {
            Some((clear, keep)) => (clear, &keep[..]),
            None => (&editing.clear_targets, &[][..]),
        };
        // What the configuration wants kept is kept, whatever is asked for.
        let mut preserve = editing.preserve_artifacts.clone();
        preserve.extend(keep.iter().filter(|word| !editing.preserve_artifacts.contains(word)).cloned());
        command
            .env("LOA_COMPACTION_CLEAR_TARGETS", list(clear))
            .env("LOA_COMPACTION_PRESERVE", list(&preserve))
            .env("LOA_COMPACTION_RECENT_TURNS", editing.preserve_recent_turns.to_string())
    }

    fn compacted(&mut self, level: CompactionLevel, captured: Option<&Captured>) -> Result<(), RunError> {
        self.tracker.compaction_ended(level);
        if let Some(captured) = captured
            && !matches!(captured.exit, crate::system::process::ProcessExit::Exited(0))
        {
            self.notice(format!("{}: the compaction command failed: {}", self.phase, captured.exit));
        }
        let result: Compacted =
            captured.and_then(|captured| serde_json::from_slice(&captured.stdout).ok()).unwrap_or_default();
        self.complete(result.tokens_freed, result.items_cleared)
    }

    fn complete(&mut self, tokens_freed: u64, items_cleared: u64) -> Result<(), RunError> {
        if self.bounds.editing.is_none() {
            return Ok(());
        }
        let new_percent = percent_of_hard(self.bounds.context, self.tokens.saturating_sub(tokens_freed));
        self.emit(&Signal::CompactionComplete { tokens_freed, items_cleared, new_percent })
    }

    fn notice(&mut self, text: String) {
        self.seen.push(Seen::Event(Event::Notice { text: text.into() }));
    }

    fn emit(&mut self, signal: &Signal) -> Result<(), RunError> {
        let mut line = serde_json::to_string(signal).expect("a signal is plain data");
        line.push('\n');
        if self.events.length_of_name()?.is_none() {
            // Somebody took it away; whoever reads it looks for it by its name.
            let path = self.events.path().to_path_buf();
            let folder = files::ensure_folder(path.parent().unwrap_or(&path));
            match folder.and_then(|()| Appender::anew(&path, Privacy::Private)) {
                Ok(events) => self.events = events,
                Err(error) => {
                    self.notice(format!("{}: an event is not told: {error}: {}", self.phase, error.source));
                    return Ok(());
                }
            }
        }
        Ok(self.events.append(line.as_bytes())?)
    }
}

/// The document for `context-state.yaml`.
pub(in crate::runner) fn context_state(bounds: &Bounds, warning: ContextWarning, now: Timestamp) -> ContextState {
    ContextState {
        version: 1,
        soft_limit: bounds.context.soft,
        hard_limit: bounds.context.hard,
        current_tokens: warning.current_tokens,
        warning_level: warning.level,
        percent_used: warning.percent_used,
        percent_of_hard: percent_of_hard(bounds.context, warning.current_tokens),
        recommendation: warning.recommendation,
        updated_at: now,
    }
}
