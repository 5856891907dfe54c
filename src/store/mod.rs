//! What survives on disk (Checkpoint Operations: `CheckpointManager`).
//!
//! Level 2 of the house. `layout` names every path, `format` every version and how documents are read and written; the
//! rest is one file a document: `checkpoint`, `context_state`, `escalation`, `record` (ours, of the run). It decides
//! nothing: what a checkpoint means is for `policy`, when one is written is for `runner`.

mod archive;
mod checkpoint;
mod context_state;
mod escalation;
mod format;
mod layout;
mod markdown;
mod record;

pub use archive::{put_away, succeed};
pub use checkpoint::{read_checkpoint, read_checkpoints, write_checkpoint};
pub use context_state::{read_context_state, write_context_state};
pub use escalation::{ReportPaths, read_report, write_report};
pub use format::{StoreError, to_yaml};
pub use layout::Layout;
pub use record::{
    Active, ApprovalState, CycleMark, OriginKind, PendingEscalation, RECORD_VERSION, RecordedResolution, RunOrigin,
    RunRecord, RunStatus, read_record, write_record,
};
