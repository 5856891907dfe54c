//! What is judged: the clauses of the contract, the cases that ask for them, how a runtime or an agent is plugged in, and
//! the drawn stories. Names only the scripted model.

pub(super) mod adapter;
pub(super) mod agent;
mod case;
mod claims;
mod clause;
mod context_rule;
mod defect;
mod documents;
pub(super) mod draw;
mod expectation;
mod feature;
mod manifest;
mod matcher;
pub mod names;
mod patterns;
pub(super) mod plot;
mod profile;
pub(super) mod reason;
mod rule;
mod runtime;
mod setting;
mod situation;

pub use adapter::{AdapterAnswer, AdapterAsk, Verb};
pub use agent::{
    AgentCase, AgentExpectation, AgentKnob, AgentKnobWay, AgentManifest, AgentProfile, AgentStep, Disturbance, EndLike,
    EndSign, Errand, FailureClass, FailureSign, KnobValue, Occasion, QuotaLogin, Setting, SideRequest, Sign, SizeSign,
    Spoilt, StreamSigns, Trouble, UsageScope, UsageSign, WhichFolder, WhichSession,
};
pub use case::{Act, Case, Draw, Drive, Knob, Limits, Step, TimeMethod, WayIn};
pub use claims::{ChecklistItem, Claim, ClaimWord, Claims};
pub use clause::{Clause, Column, Condition, Level, ProfileName, Reading, Source};
pub use context_rule::ContextRule;
pub use defect::{Defect, unmatched};
pub use documents::{ADAPTER_ANSWER, ADAPTER_ASK, AGENT_CASE, AGENT_MANIFEST, CONTRACT_CASE, RUNTIME_MANIFEST};
pub use draw::{DrawError, draw};
pub use expectation::{AcceptedCount, Expectation, Moment};
pub use feature::{CompactorWay, Feature};
pub use manifest::{Argv, Attestation, CellWord, KnobWay, Manifest, Sight, UsageWay};
pub use matcher::{AcceptedValue, Matcher, ValueType};
pub use plot::Plot;
pub use profile::{CaseDocument, Head, ManifestDocument, Profile};
pub use reason::Reason;
pub use rule::Rule;
pub use runtime::RuntimeProfile;
pub use setting::SettingReport;
pub use situation::Situation;
