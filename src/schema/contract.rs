//! The kinds of the contract's own documents.

use serde_json::{Value, json};

use super::{Kind, lint};
use crate::contract::{
    Checkpoint, ContextState, EscalationReport, ExecutionState, OperatorRecord, PhaseResult, Signal,
};
use crate::diag::Format;

/// One phase's outcome.
pub const CHECKPOINT: Kind = Kind::of::<Checkpoint>("checkpoint", || vec![checkpoint()])
    .place(".loa-checkpoint/<phase>.yaml")
    .rules(&[lint::STEM_EQUALS_PHASE]);

/// Everything a human needs to decide.
pub const ESCALATION_REPORT: Kind = Kind::of::<EscalationReport>("escalation-report", || vec![escalation_report()])
    .place(".loa-checkpoint/escalations/*.yaml");

/// The last known state of the context.
pub const CONTEXT_STATE: Kind =
    Kind::of::<ContextState>("context-state", || vec![context_state()]).place(".loa-checkpoint/context-state.yaml");

/// Who operates the run.
pub const OPERATOR_TYPE: Kind =
    Kind::of::<OperatorRecord>("operator-type", || vec![operator_type()]).place(".loa-checkpoint/operator-type.yaml");

/// Where an execution stands.
pub const EXECUTION_STATE: Kind =
    Kind::of::<ExecutionState>("execution-state", || vec![execution_state()]).place("what `loa-run state` prints");

/// What a stage leaves for its checkpoint.
pub const PHASE_RESULT: Kind =
    Kind::of::<PhaseResult>("phase-result", || vec![phase_result()]).place("what a stage writes to $LOA_RESULT_FILE");

/// Lines of the signal stream or of the event stream.
pub const SIGNAL: Kind = Kind::of::<Signal>("signal", signals)
    .place("lines of $LOA_SIGNAL_FILE and $LOA_EVENT_FILE")
    .written_in(Format::JsonLines);

/// Every kind of the contract's own documents.
#[must_use]
pub fn contract_kinds() -> Vec<Kind> {
    vec![CHECKPOINT, ESCALATION_REPORT, CONTEXT_STATE, OPERATOR_TYPE, EXECUTION_STATE, PHASE_RESULT, SIGNAL]
}

fn checkpoint() -> Value {
    json!({
        "execution_id": "exec-20261120-4f9c21",
        "phase": "design",
        "created_at": "2026-11-20T09:30:00Z",
        "exit_code": 0,
        "summary": "Three components, one database, no queue",
        "decisions": [decision()],
        "artifacts": [{"path": "docs/design.md", "action": "created", "size_bytes": 8192}],
        "metrics": {"duration_ms": 61000, "tokens_used": 12400}
    })
}

fn decision() -> Value {
    json!({
        "id": "D-001",
        "description": "Keep sessions in the database",
        "reasoning": "One store to back up; the load is small",
        "timestamp": "2026-11-20T09:21:00Z"
    })
}

fn escalation_report() -> Value {
    json!({
        "execution_id": "exec-20261120-4f9c21",
        "session_id": "session-1",
        "trigger": "max_loops",
        "phase": "audit",
        "timestamp": "2026-11-20T11:02:00Z",
        "state": {
            "phases": [
                {"phase": "design", "status": "completed", "exit_code": 0},
                {"phase": "audit", "status": "failed", "exit_code": 1},
                {"phase": "submit", "status": "pending"}
            ],
            "last_checkpoint": checkpoint(),
            "remaining_findings": [finding()]
        },
        "context": {
            "last_decisions": [decision()],
            "remediation_attempts": 3,
            "suggested_actions": ["Mend finding F-7 by hand, then `loa-run resolve fix_and_resume`"]
        }
    })
}

fn finding() -> Value {
    json!({
        "id": "F-7",
        "severity": "high",
        "category": "security",
        "description": "The session cookie is sent without Secure"
    })
}

fn context_state() -> Value {
    json!({
        "version": 1,
        "soft_limit": 80000,
        "hard_limit": 150_000,
        "current_tokens": 60000,
        "warning_level": "none",
        "percent_used": 75.0,
        "percent_of_hard": 40.0,
        "recommendation": "Context healthy",
        "updated_at": "2026-11-20T09:30:00Z"
    })
}

fn operator_type() -> Value {
    json!({
        "operator_type": "AI_OPERATOR",
        "detected_at": "2026-11-20T09:00:00Z",
        "detection_method": "env_var",
        "confidence": "high"
    })
}

fn execution_state() -> Value {
    json!({
        "execution_id": "exec-20261120-4f9c21",
        "current_phase": "implementation",
        "completed_phases": ["preflight", "discovery", "design"],
        "last_checkpoint": checkpoint()
    })
}

fn phase_result() -> Value {
    json!({
        "summary": "Audit found one thing",
        "findings": [finding()],
        "errors": [{"code": "AUDIT_FAILED", "message": "1 finding of severity high", "recoverable": true}],
        "metrics": {"tokens_used": 5100, "api_calls": 12},
        "outputs": {"report": "audit.md"}
    })
}

fn signals() -> Vec<Value> {
    vec![
        json!({"type": "USAGE", "context_tokens": 81000}),
        json!({
            "type": "CONTEXT_WARNING",
            "level": "soft",
            "current_tokens": 81000,
            "percent_used": 101.25,
            "recommendation": "Consider running checkpoint and compaction"
        }),
        json!({"type": "COMPACTION_REQUEST", "clear_targets": ["stale_tool_results"], "preserve": ["decision_records"]}),
    ]
}
