//! The kinds of the contract's own documents.

use serde_json::{Value, json};

use super::{Kind, Marks, lint, together};
use crate::contract::{
    Checkpoint, ContextState, EscalationReport, ExecutionState, MemoryDocument, Message, OperatorRecord, PhaseResult,
    Resolution, Signal, TrajectoryLine,
};
use crate::diag::Format;

/// One phase's outcome.
pub const CHECKPOINT: Kind = Kind::of::<Checkpoint>("checkpoint", || vec![checkpoint()])
    .place(".loa-checkpoint/<phase>.yaml")
    .known_by(Marks {
        paths: &[
            ".loa-checkpoint/preflight.yaml",
            ".loa-checkpoint/discovery.yaml",
            ".loa-checkpoint/design.yaml",
            ".loa-checkpoint/implementation.yaml",
            ".loa-checkpoint/audit.yaml",
            ".loa-checkpoint/submit.yaml",
            ".loa-checkpoint/deploy.yaml",
            ".loa-checkpoint/learning.yaml",
            ".loa-checkpoint/phase-*.yaml",
        ],
        keys: &["execution_id", "phase", "exit_code"],
    })
    .rules(&[
        lint::STEM_EQUALS_PHASE,
        lint::PHASE_PREFIX,
        lint::EXIT_CODE_AGAINST_ERRORS,
        lint::SKIP_WITHOUT_DECISION,
        lint::IDS_UNIQUE,
    ])
    .traced(together::trace);

/// Everything a human needs to decide.
pub const ESCALATION_REPORT: Kind = Kind::of::<EscalationReport>("escalation-report", || vec![escalation_report()])
    .place(".loa-checkpoint/escalations/*.yaml")
    .known_by(Marks {
        paths: &[".loa-checkpoint/escalations/*.yaml", ".loa-checkpoint/escalations/*.json"],
        keys: &["trigger", "state", "context"],
    })
    .rules(&[lint::ONE_EXECUTION, lint::IDS_UNIQUE]);

/// What a human decided about an escalation. Nothing but its name tells it: `action` is a key of many documents.
pub const RESOLUTION: Kind =
    Kind::of::<Resolution>("resolution", || vec![json!({"action": "fix_and_resume", "notes": "the token is renewed"})])
        .place("what `loa-run resolve --file` reads");

/// The last known state of the context.
pub const CONTEXT_STATE: Kind = Kind::of::<ContextState>("context-state", || vec![context_state()])
    .place(".loa-checkpoint/context-state.yaml")
    .known_by(Marks { paths: &[".loa-checkpoint/context-state.yaml"], keys: &["warning_level", "current_tokens"] });

/// Who operates the run.
pub const OPERATOR_TYPE: Kind = Kind::of::<OperatorRecord>("operator-type", || vec![operator_type()])
    .place(".loa-checkpoint/operator-type.yaml")
    .known_by(Marks { paths: &[".loa-checkpoint/operator-type.yaml"], keys: &["operator_type"] });

/// Where an execution stands.
pub const EXECUTION_STATE: Kind = Kind::of::<ExecutionState>("execution-state", || vec![execution_state()])
    .place("what `loa-run state` prints")
    .known_by(Marks { paths: &[], keys: &["current_phase", "completed_phases"] })
    .rules(&[lint::ONE_EXECUTION]);

/// What a stage leaves for its checkpoint.
pub const PHASE_RESULT: Kind = Kind::of::<PhaseResult>("phase-result", || vec![phase_result()])
    .place("what a stage writes to $LOA_RESULT_FILE")
    .rules(&[lint::IDS_UNIQUE]);

/// Lines of the signal stream or of the event stream.
pub const SIGNAL: Kind = Kind::of::<Signal>("signal", signals)
    .place("lines of $LOA_SIGNAL_FILE and $LOA_EVENT_FILE")
    .known_by(Marks { paths: &["signals.jsonl", "events.jsonl"], keys: &["type"] })
    .written_in(Format::JsonLines);

/// What Loa remembers: one entry or a list.
pub const MEMORY: Kind = Kind::of::<MemoryDocument>("memory", memories)
    .place("grimoires/loa/memory/*.yaml")
    .known_by(Marks { paths: &["grimoires/*/memory/*.yaml"], keys: &["id", "category", "content", "source"] })
    .rules(&[lint::MEMORY_CONFIDENCE, lint::MEMORY_FILE, lint::MEMORY_DATE, lint::MEMORY_LIFETIME, lint::IDS_UNIQUE]);

/// What Loa's agents did, one line each.
pub const TRAJECTORY: Kind = Kind::of::<TrajectoryLine>("trajectory", trajectories)
    .place("grimoires/loa/a2a/trajectory/*.jsonl")
    .known_by(Marks { paths: &["trajectory/*.jsonl"], keys: &["ts", "agent", "action"] })
    .in_sequence(&[lint::TIME_ORDER])
    .written_in(Format::JsonLines);

/// The messages of a session, one line each.
pub const MESSAGES: Kind = Kind::of::<Message>("messages", messages)
    .place("sessions/<id>/messages.json")
    .known_by(Marks { paths: &["messages.json", "messages-*.json"], keys: &["sessionId", "seq", "type"] })
    .rules(&[lint::PARTIAL_RANGE])
    .in_sequence(&[lint::MESSAGE_ORDER])
    .written_in(Format::JsonLines);

/// Every kind of the contract's own documents.
#[must_use]
pub fn contract_kinds() -> Vec<Kind> {
    vec![
        CHECKPOINT,
        ESCALATION_REPORT,
        RESOLUTION,
        CONTEXT_STATE,
        OPERATOR_TYPE,
        EXECUTION_STATE,
        PHASE_RESULT,
        SIGNAL,
        MEMORY,
        TRAJECTORY,
        MESSAGES,
    ]
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

fn memories() -> Vec<Value> {
    let entry = json!({
        "id": "MEM-20261120-001",
        "category": "decision",
        "content": "Sessions live in the database",
        "confidence": 0.95,
        "source": {"session_id": "session-1", "timestamp": "2026-11-20T09:21:00Z", "phase": "design"},
        "ttl": "permanent",
        "tags": ["sessions"]
    });
    vec![entry.clone(), json!([entry])]
}

fn trajectories() -> Vec<Value> {
    vec![json!({
        "ts": "2026-11-20T09:30:00Z",
        "agent": "implementing-tasks",
        "action": "Wrote the session store",
        "phase": "implementation",
        "outcome": {"status": "success"}
    })]
}

fn messages() -> Vec<Value> {
    let message = |seq: u32, kind: &str, payload: Value| {
        json!({
            "id": format!("7f1b7f0a-3d0c-4f52-9d3c-0f8f6a1c2b{seq:02}"),
            "sessionId": "session-1",
            "ts": "2026-11-20T09:30:00Z",
            "type": kind,
            "level": "info",
            "seq": seq,
            "payload": payload
        })
    };
    vec![
        message(
            1,
            "init",
            json!({"runnerVersion": "1.2.3", "adapter": "claude", "repo": "org/tally", "branch": "main"}),
        ),
        message(2, "command_end", json!({"cmd": "make test", "exitCode": 0, "durationMs": 812})),
    ]
}
