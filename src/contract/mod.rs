//! The words of the runtime contract: its types, enumerations, phase order and the invariants of one document.
//!
//! Level 1 of the house: no I/O, no clock, no environment, no waiting. Every layer above may use these words; the judge
//! shares them with the runner and shares nothing else. Each file cites the section of the contract that it spells.

mod alias;
mod checkpoint;
mod context;
mod escalation;
mod execution;
mod exit;
mod feature;
mod id;
mod memory;
mod message;
mod operator;
mod phase;
mod signal;
mod trajectory;
mod word;

pub use checkpoint::{Artifact, ArtifactAction, Checkpoint, Decision, Metrics, PhaseError};
pub use context::{CompactionLevel, ContextLimits, ContextState, ContextWarning, WarningLevel};
pub use escalation::{
    EscalationContext, EscalationReport, EscalationState, EscalationTrigger, Finding, PhaseProgress, PhaseStatus,
    Resolution, ResolutionAction, Severity,
};
pub use execution::{ExecutionState, PhaseResult, ReportedMetrics};
pub use exit::{Action, PhaseExit, UnknownExit};
pub use feature::{BudgetRange, BudgetRanges, ContextEditingConfig, EffortConfig, EffortLevel};
pub use id::{EmptyId, ExecutionId, SessionId};
pub use memory::{ArchiveReason, MemoryCategory, MemoryDocument, MemoryEffectiveness, MemoryEntry, MemorySource};
pub use message::{
    FileChangeKind, GitAction, Message, MessageBody, MessageLevel, MessageOrigin, OutputStream, PrAction, SessionPhase,
    ToolAction,
};
pub use operator::{Confidence, DetectionMethod, OperatorRecord, OperatorType};
pub use phase::Phase;
pub use signal::Signal;
pub use trajectory::{
    TrajectoryEntry, TrajectoryEvent, TrajectoryLine, TrajectoryOutcome, TrajectoryPhase, TrajectoryPhaseName,
    TrajectoryResult, TrajectoryStatus,
};
pub use word::UnknownWord;
pub(crate) use word::{meaning, vocabulary};
