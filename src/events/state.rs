//! What is known of an execution: the fold of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    BoundaryDrawn, ChangedFiles, Envelope, Outage, Outbox, PinnedFile, Spending, Spent, StageId, WeakerQuestion,
};
use crate::contract::{
    Checkpoint, EscalationReport, EscalationTrigger, ExecutionId, ExecutionState, Finding, Phase, PhaseExit,
    PhaseStatus, Resolution, SessionId,
};
use crate::policy::{Execution, Signature, TriggerCounters};
use crate::text::Untrusted;

/// One execution: who works on it, what it has concluded, how far its counters are, and what it waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The execution; the same in its checkpoints.
    pub execution_id: ExecutionId,
    /// Every process lifetime that worked on it, newest last.
    pub sessions: Vec<SessionId>,
    /// The epoch of the newest event: whoever holds a lower one is no longer the owner.
    pub epoch: u64,
    /// The number of the newest event.
    pub seq: u64,
    /// Where the plan came from.
    pub origin: RunOrigin,
    /// What the command line said over the configuration, newest last: a resume goes on with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<RecordedOverride>,
    /// What its settings and its plan come from, as it was taken; empty where an earlier program began it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<PinnedFile>,
    /// The phases of this execution, in the order in which they run.
    pub phases: Vec<Phase>,
    /// Where it stands.
    pub status: RunStatus,
    /// A session works on it, or died while it did: its end is not recorded.
    #[serde(default)]
    pub is_at_work: bool,
    /// What keeps stages from this state; absent before the first session, and where an earlier program began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryDrawn>,
    /// A stage was started that nothing kept from this state.
    #[serde(default = "unguarded")]
    pub was_in_reach: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// When the newest event happened, or the time that the newest document carries, whichever is later.
    pub updated_at: Timestamp,
    /// The counters behind the triggers, elapsed time among them.
    pub counters: TriggerCounters,
    /// The newest checkpoint of each phase that has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<Phase, Checkpoint>,
    /// Those that newer ones have replaced, oldest first: a power cut may bring a part of one back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Checkpoint>,
    /// Phases that run again although their checkpoint says 0.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reopened: BTreeSet<Phase>,
    /// The stages that are being worked on, or were when their session ended.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "BTreeMap::is_empty")]
    pub active: BTreeMap<StageId, Active>,
    /// How often each phase was started: every start has a number of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub starts: BTreeMap<Phase, u32>,
    /// How many sessions died since an attempt had an outcome, or a human answered.
    #[serde(default)]
    pub deaths: u32,
    /// The failure of which nobody has decided yet what follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// What was decided and has not happened yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Due>,
    /// What the last audit found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the work looked like when the audit failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<CycleMark>,
    /// Whether a human agreed to the deployment.
    pub deploy: ApprovalState,
    /// How many reports were written.
    pub escalations: u32,
    /// The reports, by their number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<u32, EscalationReport>,
    /// The report that waits for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingEscalation>,
    /// The answers that were given, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<RecordedResolution>,
    /// The sessions of agents, by their phase.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<Phase, AgentState>,
    /// What agents used, by their phase.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spending: BTreeMap<Phase, Spending>,
    /// Scripts of gates, protected files, and what the deployment runs, that changed since the start, as they were found last, by the
    /// phase whose gate was not asked, or that waits for its approval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_gates: BTreeMap<Phase, Vec<PinnedFile>>,
    /// What was not as the execution began with it when a session ended last.
    #[serde(default, skip_serializing_if = "ChangedFiles::is_empty")]
    pub changed_files: ChangedFiles,
    /// A weaker configuration that somebody is asked about, or has agreed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weaker: Option<WeakerQuestion>,
    /// The outage that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Tokens in the context, as they were last known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Why the last session could not go on, when it ended by an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Untrusted>,
    /// What people are to be told; absent where an earlier program began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbox: Option<Outbox>,
}

impl State {
    /// A new execution, before its first session.
    #[must_use]
    pub fn new(execution_id: ExecutionId, phases: Vec<Phase>, origin: RunOrigin, now: Timestamp) -> Self {
        Self {
            execution_id,
            sessions: Vec::new(),
            epoch: 0,
            seq: 0,
            origin,
            overrides: Vec::new(),
            pinned: Vec::new(),
            phases,
            status: RunStatus::Ready,
            is_at_work: false,
            boundary: None,
            was_in_reach: false,
            started_at: now,
            updated_at: now,
            counters: TriggerCounters::default(),
            checkpoints: BTreeMap::new(),
            replaced: Vec::new(),
            reopened: BTreeSet::new(),
            active: BTreeMap::new(),
            starts: BTreeMap::new(),
            deaths: 0,
            undecided: None,
            due: None,
            findings: Vec::new(),
            cycle: None,
            deploy: ApprovalState::NotAsked,
            escalations: 0,
            reports: BTreeMap::new(),
            pending: None,
            resolutions: Vec::new(),
            agents: BTreeMap::new(),
            spending: BTreeMap::new(),
            changed_gates: BTreeMap::new(),
            changed_files: ChangedFiles::default(),
            weaker: None,
            outage: None,
            context_tokens: None,
            last_error: None,
            outbox: None,
        }
    }

    /// The state after these events; `None` when there are none, or the first does not begin an execution.
    #[must_use]
    pub fn fold<'a>(envelopes: impl IntoIterator<Item = &'a Envelope>) -> Option<Self> {
        let mut envelopes = envelopes.into_iter();
        let mut state = Self::begin(envelopes.next()?)?;
        for envelope in envelopes {
            state.apply(envelope);
        }
        Some(state)
    }

    /// A time for the next document: now, and later than every earlier one of this execution.
    #[must_use]
    pub fn stamp(&self, now: Timestamp) -> Timestamp {
        now.max(self.updated_at + SignedDuration::from_millis(1))
    }

    /// The phase's checkpoint, unless the phase was reopened since.
    #[must_use]
    pub fn checkpoint(&self, phase: Phase) -> Option<&Checkpoint> {
        self.checkpoints.get(&phase).filter(|_| !self.reopened.contains(&phase))
    }

    /// Whether the phase is done.
    #[must_use]
    pub fn is_completed(&self, phase: Phase) -> bool {
        self.checkpoint(phase).is_some_and(|checkpoint| checkpoint.exit_code == PhaseExit::Success)
    }

    /// Whether an agent works on a phase, so that its logs are an agent's.
    #[must_use]
    pub fn is_by_agent(&self, phase: Phase) -> bool {
        self.agents.contains_key(&phase)
    }

    /// What the agents of a phase used, or what it says itself.
    #[must_use]
    pub fn spent(&self, phase: Phase) -> Spent {
        let told = self.spending.get(&phase).map(Spending::total).unwrap_or_default();
        let reported = || self.checkpoints.get(&phase)?.metrics.as_ref()?.tokens_used;
        Spent { tokens: told.tokens.or_else(reported), ..told }
    }

    /// The same over all phases.
    #[must_use]
    pub fn spent_in_all(&self) -> Spent {
        self.phases.iter().map(|phase| self.spent(*phase)).fold(Spent::default(), Spent::and)
    }

    /// The stage of a phase that is being worked on, the first by its name.
    #[must_use]
    pub fn active_in(&self, phase: Phase) -> Option<&Active> {
        self.active.values().find(|active| active.phase == phase)
    }

    /// The phase at work: the first, in the order in which they run.
    #[must_use]
    pub fn phase_at_work(&self) -> Option<Phase> {
        self.phases.iter().copied().find(|phase| self.active_in(*phase).is_some())
    }

    /// Whether the call that waits for its answer asks about a weaker configuration. Nobody needs that answer to go on with the
    /// one that the execution began with.
    #[must_use]
    pub fn asks_about_weaker(&self) -> bool {
        self.pending.is_some() && self.weaker.as_ref().is_some_and(|question| !question.agreed)
    }

    /// The session that works on it by what is recorded, and of whose death nobody was told. Where no process works, it died.
    #[must_use]
    pub fn untold_death(&self) -> Option<&SessionId> {
        let last = self.sessions.last().filter(|_| self.is_at_work && self.status == RunStatus::Running)?;
        (self.outbox.as_ref()?.death.as_ref() != Some(last)).then_some(last)
    }

    /// The outage that keeps a phase waiting.
    #[must_use]
    pub fn outage_of(&self, phase: Phase) -> Option<&Outage> {
        self.outage.as_ref().filter(|outage| outage.phase == phase && outage.answered.is_none())
    }

    /// The number of the next start of a phase.
    #[must_use]
    pub fn next_attempt(&self, phase: Phase) -> u32 {
        self.starts.get(&phase).map_or(1, |last| last + 1)
    }

    /// The phase to run next; `None` when all are done.
    #[must_use]
    pub fn next_phase(&self) -> Option<Phase> {
        self.phases.iter().copied().find(|phase| !self.is_completed(*phase))
    }

    /// The contract's `ExecutionState`.
    #[must_use]
    pub fn execution_state(&self) -> ExecutionState {
        self.with_checkpoints(|execution| execution.state())
    }

    /// Where each of the eight phases stands; `active` is the phase at work.
    #[must_use]
    pub fn phase_statuses(&self, active: Option<Phase>) -> Vec<PhaseStatus> {
        self.with_checkpoints(|execution| execution.phase_statuses(active))
    }

    /// The newest checkpoint.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<Checkpoint> {
        self.with_checkpoints(|execution| execution.last_checkpoint().cloned())
    }

    fn with_checkpoints<T>(&self, ask: impl FnOnce(Execution<'_>) -> T) -> T {
        let checkpoints: Vec<Checkpoint> = self.checkpoints.values().cloned().collect();
        let (id, order) = (&self.execution_id, &self.phases[..]);
        ask(Execution { id, order, checkpoints: &checkpoints, reopened: &self.reopened })
    }
}

/// The stages that are being worked on; of earlier programs there was at most one, which had no name.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<StageId, Active>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(Active),
        Many(BTreeMap<StageId, Active>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(active) => BTreeMap::from([(active.phase.into(), active)]),
        OneOrMany::Many(active) => active,
    })
}

/// Where a plan came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOrigin {
    /// A configuration's `runtime.phases`, or a plan of its own.
    pub kind: OriginKind,
    /// The plan's file, absolute; absent for a configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

impl RunOrigin {
    /// The configuration.
    #[must_use]
    pub fn config() -> Self {
        Self { kind: OriginKind::Config, path: None }
    }
}

/// A value that the command line put over the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedOverride {
    /// The key with dots.
    pub key: String,
    /// The value, as it was written.
    pub value: String,
    /// The flag that said it.
    pub flag: String,
}

impl RecordedOverride {
    /// The flag without its value, which may be a secret.
    #[must_use]
    pub fn flag_alone(&self) -> &str {
        self.flag.split_once('=').map_or(self.flag.as_str(), |(flag, _)| flag)
    }
}

/// What kind of file a plan came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// `.loa.config.yaml`.
    Config,
    /// `--plan`.
    Plan,
}

/// Where an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Nothing ran yet: it was reset.
    Ready,
    /// A session works on it, or died while it did.
    Running,
    /// A signal or an error ended the session; it can be resumed.
    Interrupted,
    /// A human is needed.
    Escalated,
    /// A human answered; it can be resumed.
    Resolved,
    /// Every phase is done.
    Completed,
    /// A human ended it.
    Aborted,
}

impl RunStatus {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Escalated => "escalated",
            Self::Resolved => "resolved",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
        }
    }
}

/// A stage that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Active {
    /// Its phase.
    pub phase: Phase,
    /// The number of the start that runs, or that follows a pause. Every start of a phase has its own.
    pub attempt: u32,
    /// What its earlier attempts are recognised by; as many as had an outcome.
    pub failures: Vec<Option<Signature>>,
    /// When its first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// It was started, and its end is not recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_running: bool,
    /// An attempt ended without an outcome, so that nobody knows how far it came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// The pause before the attempt, while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Waiting>,
    /// How its attempts before failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
}

/// An attempt that failed, and was followed by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    /// The number of its start.
    pub attempt: u32,
    /// Why it failed, in one line.
    pub reason: Untrusted,
}

impl fmt::Display for FailedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {}: {}", self.attempt, self.reason.line())
    }
}

impl Active {
    /// A stage before its first attempt.
    #[must_use]
    pub fn new(phase: Phase, attempt: u32) -> Self {
        Self {
            phase,
            attempt,
            failures: Vec::new(),
            began: None,
            is_running: false,
            in_doubt: false,
            pause: None,
            failed: Vec::new(),
        }
    }
}

/// A pause before an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// The moment before which the attempt does not begin.
    pub not_before: Timestamp,
    /// How long the pause is, in milliseconds: no clock that was set back makes it longer.
    pub delay_ms: u64,
}

/// The failure of a phase of which nobody has decided yet what follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undecided {
    /// The phase.
    pub phase: Phase,
    /// Whether remediation answers it.
    pub remediable: bool,
    /// The trigger to report when no counter explains the failure.
    pub trigger: EscalationTrigger,
    /// Why, in one line.
    pub reason: Untrusted,
}

/// What was decided after a phase and has not happened yet, because the session died in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Due {
    /// The phase.
    pub phase: Phase,
    /// What follows.
    pub next: super::NextAction,
    /// Why, in one line.
    pub reason: Untrusted,
}

/// What the work looked like at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleMark {
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// A digest of the work tree; absent outside a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Signature>,
}

/// Whether a human agreed to the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Not asked yet.
    NotAsked,
    /// Asked; the pending report is about it.
    Asked,
    /// Given.
    Given,
}

/// A report that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingEscalation {
    /// Its number within the execution, from 1.
    pub number: u32,
    /// Why.
    pub trigger: EscalationTrigger,
    /// The phase.
    pub phase: Phase,
    /// What happened, in one line.
    #[serde(default)]
    pub reason: Untrusted,
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResolution {
    /// The number of the report that it answers.
    pub escalation: u32,
    /// When.
    pub at: Timestamp,
    /// The answer.
    pub resolution: Resolution,
    /// Phases could reach the place where it was given.
    #[serde(default = "unguarded")]
    pub unguarded: bool,
}

/// What answers are that were recorded before anybody asked.
pub(super) fn unguarded() -> bool {
    true
}

/// What is known of the agent that works on a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentState {
    /// The backend that the session belongs to.
    pub backend: String,
    /// The session to go on with; absent before the agent has named it, and when there is none to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}
