//! The one vocabulary of what happens to an execution, and the state that follows from it.
//!
//! Level 3 of the house, and pure. An [`Event`] is what happened: owned, serialisable, with the time at which it happened.
//! In its [`Envelope`] it has a number without gaps within its execution and the epoch of its writer. [`State`] is a fold
//! over envelopes: whoever has read the same events knows the same. An [`Observation`] (a chunk of output, a reading of
//! the context) is not journaled; what was decided from it is in the event that results.
//!
//! Terminal, history, report, notification and `status` read events and nothing else.

mod agent;
mod apply;
mod boundary;
mod envelope;
mod event;
mod observation;
mod outage;
mod outbox;
mod pinned;
mod spending;
mod stage;
mod state;

pub use agent::{AGENT_EVENT, AgentActivity, Begins};
pub use boundary::BoundaryDrawn;
pub use envelope::{Dated, EVENT_VERSION, Envelope};
pub use event::{CompactionMeans, Event, Found, NextAction, Pause, RunEnd};
pub use observation::Observation;
pub use outage::Outage;
pub use outbox::{Delivery, Message, News, Outbox, Settled, WorkTree};
pub use pinned::{ChangedFiles, PinnedFile, PinnedRole, WeakerQuestion};
pub use spending::{Spending, Spent};
pub use stage::StageId;
pub use state::{
    Active, AgentState, ApprovalState, CycleMark, Due, FailedAttempt, OriginKind, PendingEscalation, RecordedOverride,
    RecordedResolution, RunOrigin, RunStatus, State, Undecided, Waiting,
};
