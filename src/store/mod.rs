//! What survives on disk (Checkpoint Operations: `CheckpointManager`).
//!
//! Level 2 of the house. `layout` names every path, `format` every version and how documents are read and written; the
//! rest is one file a document: `checkpoint`, `context_state`, `escalation`, `record`, `history` and `session` (ours, of
//! the run and of its agents); `past` reads all about one execution. It decides
//! nothing: what a checkpoint means is for `policy`, when one is written is for `runner`.

mod archive;
mod checkpoint;
mod context_state;
mod escalation;
mod format;
mod history;
mod layout;
mod markdown;
mod operator;
mod past;
mod record;
mod session;

pub use archive::{put_away, succeed};
pub use checkpoint::{read_checkpoint, read_checkpoints, write_checkpoint};
pub use context_state::{read_context_state, write_context_state};
pub use escalation::{ReportPaths, read_report, write_report};
pub use format::{StoreError, to_yaml};
pub use history::{HISTORY_VERSION, History, HistoryEvent, HistoryLine};
pub use layout::Layout;
pub use operator::write_operator;
pub use past::{FiledReport, Past, archived_names, read_past, read_reports};
pub use record::{
    Active, ApprovalState, CycleMark, OriginKind, PendingEscalation, RECORD_VERSION, RecordedOverride,
    RecordedResolution, RunOrigin, RunRecord, RunStatus, note_record, read_record, write_record,
};
pub use session::{AgentRecord, InvocationRecord, SESSION_VERSION, read_agent_record, write_agent_record};
