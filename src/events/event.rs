//! What can happen to an execution.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::unguarded;
use super::{
    AgentActivity, BoundaryDrawn, ChangedFiles, CycleMark, Dated, Message, Outage, PinnedFile, RecordedOverride,
    RunOrigin, StageId, State, WorkTree,
};
use crate::contract::{
    Checkpoint, CompactionLevel, EscalationReport, EscalationTrigger, ExecutionId, Finding, Phase, PhaseExit,
    Resolution, SessionId, WarningLevel,
};
use crate::draw::moment;
use crate::policy::Signature;
use crate::system::process::Interrupt;
use crate::text::Untrusted;

/// Something that happened to an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An execution began; always the first of its journal, or [`Event::ExecutionTakenOver`] is.
    ExecutionStarted {
        /// The execution.
        execution: ExecutionId,
        /// Its phases, in the order in which they run.
        phases: Vec<Phase>,
        /// Where the plan came from.
        origin: RunOrigin,
        /// What the command line said over the configuration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overrides: Vec<RecordedOverride>,
    },
    /// An execution was continued that another program began: an earlier version of this one, or one of which only the
    /// checkpoints are there and that a human adopted.
    ExecutionTakenOver {
        /// What is known of it.
        state: Box<State>,
        /// What its files tell of its past, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        history: Vec<Dated>,
        /// Where that was found.
        from: String,
    },
    /// A session began to work on it.
    SessionStarted {
        /// The session.
        session: SessionId,
        /// The process.
        pid: u32,
        /// Whether an earlier session worked on it.
        resumed: bool,
        /// Processes of that session that were still there and were ended.
        swept: usize,
        /// The phases, which a reset execution takes from its first session.
        phases: Vec<Phase>,
        /// Where the plan comes from now.
        origin: RunOrigin,
        /// What the command lines said over the configuration, this one's included.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overrides: Vec<RecordedOverride>,
    },
    /// A session begins, and this keeps its stages from the state of the run, or nothing does.
    BoundaryDrawn(BoundaryDrawn),
    /// What the settings and the plan come from was taken for this execution, which goes on with it.
    ConfigurationPinned {
        /// The files.
        files: Vec<PinnedFile>,
    },
    /// Scripts of a gate, or protected files, are not those that the execution began with, so the gate is not asked, or its
    /// answer does not count; or what the deployment runs is not. A human is asked.
    GateChanged {
        /// The phase.
        phase: Phase,
        /// They, as they are now.
        files: Vec<PinnedFile>,
    },
    /// A session ends, and files are not as the execution began with them: protected ones, those that commands and gates name, or
    /// those that settings and plan come from. Also when no file is any more.
    FilesChanged {
        /// They.
        files: ChangedFiles,
    },
    /// Somebody wants a configuration that asks for less than the one that the execution began with; the call that follows asks
    /// about it.
    WeakerAsked {
        /// What names exactly that configuration.
        code: String,
        /// What stood behind `loa-run resume` where it was asked for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        again: String,
    },
    /// That question is not waited for any more: a session goes on with what it began with, or somebody has named the code.
    WeakerWithdrawn,
    /// A session ended without saying so: its process died. Noticed by the next one.
    SessionDied {
        /// The session that died.
        session: SessionId,
    },
    /// The same, noticed by somebody else before anybody goes on: people are told. Nothing else follows from it.
    DeathNoticed {
        /// The session that died.
        session: SessionId,
    },
    /// A session ended by itself.
    SessionEnded {
        /// How.
        end: RunEnd,
    },
    /// Time passed that counts towards the limit of the run.
    TimeCharged {
        /// How much, in milliseconds.
        elapsed_ms: u64,
    },
    /// An attempt of a phase begins.
    AttemptStarted {
        /// The phase.
        phase: Phase,
        /// The stage, where it is not the phase's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<StageId>,
        /// The number of this start of the phase, from 1; no two have the same.
        attempt: u32,
        /// The number of the last start that may follow if none is lost.
        of: u32,
    },
    /// An attempt ended.
    AttemptEnded {
        /// The phase.
        phase: Phase,
        /// The stage, where it is not the phase's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<StageId>,
        /// The attempt.
        attempt: u32,
        /// How; absent when the run was stopped meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<PhaseExit>,
        /// Why it failed, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Untrusted>,
        /// Tokens in its context, as they were last known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
    },
    /// The gate of a phase begins.
    GateStarted {
        /// The phase.
        phase: Phase,
    },
    /// An attempt failed and another follows after a pause.
    BackedOff {
        /// The phase.
        phase: Phase,
        /// The stage, where it is not the phase's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<StageId>,
        /// The attempt that follows.
        attempt: u32,
        /// What the failure is recognised by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Signature>,
        /// Why it failed, in one line.
        reason: Untrusted,
        /// The pause, in milliseconds.
        delay_ms: u64,
        /// The moment before which the attempt does not begin.
        not_before: Timestamp,
    },
    /// A phase has its outcome, and no retry is left.
    StageConcluded {
        /// Its checkpoint, as it was written.
        checkpoint: Box<Checkpoint>,
        /// The stage, where it is not the phase's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<StageId>,
        /// How many attempts it took.
        attempts: u32,
        /// How long it took, in milliseconds, the waits between its attempts included.
        duration_ms: u64,
        /// What the last failure is recognised by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Signature>,
        /// The trigger to report for a failure that no counter explains; absent for a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger: Option<EscalationTrigger>,
        /// Whether its context was over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        overflow: bool,
        /// Whether the failure is one that remediation answers.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        remediable: bool,
        /// What the stage found, for an audit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// What the work looked like, for an audit that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycle: Option<CycleMark>,
        /// The id of the work tree as it was, where somebody took it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// What follows from the outcome of a phase was decided.
    NextDecided {
        /// The phase.
        phase: Phase,
        /// What follows.
        next: NextAction,
        /// Why, in one line.
        #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
        reason: Untrusted,
    },
    /// A phase was passed over.
    StageSkipped {
        /// Its checkpoint, which says who decided that and why.
        checkpoint: Box<Checkpoint>,
    },
    /// A failed audit leads back to implementation.
    Remediation {
        /// The loop, from 1.
        number: u32,
        /// How many there may be.
        of: u32,
    },
    /// A threshold of the context was crossed.
    ContextCrossed {
        /// The phase.
        phase: Phase,
        /// Where it is now.
        level: WarningLevel,
        /// Tokens in the context.
        tokens: u64,
        /// Percent of the limit in force.
        #[serde(default)]
        percent_used: f64,
        /// What to do about it.
        #[serde(default)]
        recommendation: String,
    },
    /// The context is compacted.
    Compacted {
        /// The phase.
        phase: Phase,
        /// How thoroughly.
        level: CompactionLevel,
        /// Who does it.
        #[serde(default)]
        means: CompactionMeans,
    },
    /// Something that the agent of a phase did.
    Agent {
        /// The phase.
        phase: Phase,
        /// What it did.
        agent: AgentActivity,
    },
    /// The session of a phase's agent is not gone on with.
    AgentSessionDropped {
        /// The phase.
        phase: Phase,
    },
    /// A provider's limit is reached, and the run waits.
    LimitReached {
        /// The phase.
        phase: Phase,
        /// When it goes on at the latest.
        until: Timestamp,
    },
    /// The provider of a phase's agent cannot be reached or is out of order, and the run waits before it asks again.
    OutageMet(Outage),
    /// The provider is back, or what follows is about something else.
    OutageOver {
        /// The phase.
        phase: Phase,
    },
    /// A human was called.
    Escalated {
        /// The number of the report within the execution, from 1.
        number: u32,
        /// The report.
        report: Box<EscalationReport>,
        /// What happened, in one line.
        reason: Untrusted,
        /// The call asks for the approval of a deployment.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approval: bool,
    },
    /// A human answered a call.
    Resolved {
        /// The number of the report.
        escalation: u32,
        /// The answer.
        resolution: Resolution,
        /// A phase could reach the place where it was given: nothing shows that a human gave it. So it was before this was
        /// recorded.
        #[serde(default = "unguarded")]
        unguarded: bool,
    },
    /// From here on every end of this execution is a message, see [`super::Outbox`].
    OutboxOpened {
        /// The work tree at this moment.
        #[serde(flatten)]
        began: WorkTree,
        /// Messages of the execution before, which nobody has taken yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carried: Vec<Message>,
    },
    /// People were told, or not.
    Notified {
        /// By what: the name of the receiver.
        means: String,
        /// Why they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<Untrusted>,
        /// The message; absent in journals of programs that tried once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// When it is tried again; absent where it was taken or refused for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_at: Option<Timestamp>,
    },
    /// A checkpoint of a concluded phase was not on disk as the journal has it, and was written again.
    CheckpointRestored {
        /// The phase.
        phase: Phase,
        /// What was there.
        found: Found,
    },
    /// Something lies in the place of a checkpoint of a phase that is not concluded: it does not count.
    CheckpointIgnored {
        /// The phase.
        phase: Phase,
        /// What is there.
        found: Found,
    },
    /// A human wants the checkpoint on disk to count in place of the journal's.
    CheckpointAdopted {
        /// The checkpoint.
        checkpoint: Box<Checkpoint>,
    },
    /// A human wants a concluded phase to run again.
    PhaseReopened {
        /// The phase.
        phase: Phase,
    },
    /// A file in the workspace that people and phases read was written again from the journal.
    ProjectionRestored {
        /// Which, relative to the workspace.
        path: PathBuf,
    },
    /// The workspace lies elsewhere than it did.
    WorkspaceMoved {
        /// Where it was.
        from: PathBuf,
    },
    /// Every phase is done.
    ExecutionCompleted,
    /// Something odd that does not stop the run.
    Notice {
        /// What, in one line.
        text: Untrusted,
    },
    /// An event of a newer program of the same version.
    #[serde(other)]
    Other,
}

/// What follows from the outcome of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum NextAction {
    /// The next phase.
    Proceed,
    /// Implementation again, then audit again.
    Remediate,
    /// A human.
    Escalate {
        /// Why.
        trigger: EscalationTrigger,
    },
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum RunEnd {
    /// Every phase is done.
    Completed,
    /// A human is needed.
    Escalated,
    /// A signal came; the execution can be resumed.
    Interrupted {
        /// Which.
        by: Interrupt,
    },
    /// It cannot go on now and can be resumed later.
    Paused {
        /// Why.
        pause: Pause,
    },
    /// Something could not be read or written; the execution can be resumed.
    Failed {
        /// What, in one line.
        error: Untrusted,
    },
    /// How a session ended that is known from the history of an earlier program.
    #[serde(other)]
    Other,
}

impl RunEnd {
    /// In one word, for machines.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Escalated => "escalated",
            Self::Interrupted { .. } => "interrupted",
            Self::Paused { .. } => "paused",
            Self::Failed { .. } => "failed",
            Self::Other => "ended",
        }
    }
}

/// Why an execution cannot go on now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Pause {
    /// A provider's limit is reached, and it is lifted later than the run may wait.
    Limit {
        /// When, as far as it is known.
        until: Option<Timestamp>,
    },
    /// The provider cannot be reached or is out of order, for longer than the run may wait.
    Outage {
        /// Since when.
        since: Timestamp,
    },
    /// Somebody stopped the agent.
    AgentCancelled,
}

/// In words, for people: what comes behind `is paused: `.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { until: Some(until) } => write!(f, "a limit of the provider is lifted at {}", moment(*until)),
            Self::Limit { until: None } => f.write_str("a limit of the provider is reached"),
            Self::Outage { since } => {
                write!(f, "the provider cannot be reached or is out of order since {}", moment(*since))
            }
            Self::AgentCancelled => f.write_str("somebody stopped the agent"),
        }
    }
}

/// Who compacts a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionMeans {
    /// The configured command.
    Command,
    /// The agent, by itself: it was given the limit.
    Agent,
    /// The agent, when it is asked to.
    Request,
    /// Nobody: the need is recorded.
    #[default]
    Nobody,
}

/// What was found in the place of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Nothing.
    Missing,
    /// The beginning of what was written, or an empty file: what a power cut leaves.
    Torn,
    /// A checkpoint of this execution with another content.
    Different,
    /// A checkpoint of another execution.
    Foreign,
    /// Something that is no checkpoint of the phase.
    NotACheckpoint,
}

impl Found {
    /// In words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Missing => "it was missing",
            Self::Torn => "only its beginning was there",
            Self::Different => "its content was changed",
            Self::Foreign => "it belongs to another execution",
            Self::NotACheckpoint => "it is no checkpoint",
        }
    }
}
