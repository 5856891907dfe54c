//! The judge: drives any runtime as a black box and scores it, clause by clause.
//!
//! Level 5 of the house, but it may name only `contract`, `diag`, `draw`, `schema` and `system`: it shares the contract's
//! words with the runner, never its rules, its configuration, its store or its code.

mod adapter;
mod agent;
mod baseline;
mod bundle;
mod case;
mod cell;
mod census;
mod checkup;
mod claims;
mod clause;
mod command;
mod comparison;
mod conformance;
mod defect;
mod documents;
mod draw;
mod driver;
mod edit;
mod expect;
mod expectation;
mod feature;
mod journal;
mod judged;
mod kinds;
mod lane;
mod manifest;
mod matcher;
pub mod model;
pub mod names;
mod observation;
mod occurrence;
mod plot;
mod probe;
mod profile;
mod proof;
mod proving;
mod reason;
mod reproducer;
mod rig;
mod rule;
mod runtime;
mod seen;
mod selection;
mod setting;
mod sighting;
mod situation;
mod story;
mod suite;
mod survey;
mod timeline;
mod transcript;
mod variant;
mod verdict;
mod watched;
mod workspace;

pub(crate) use crate::system::clock::Millis;
pub use adapter::{AdapterAnswer, AdapterAsk, Verb};
pub use agent::{
    AgentCase, AgentEnd, AgentExpectation, AgentKnob, AgentKnobWay, AgentManifest, AgentObservation, AgentProfile,
    AgentStep, AgentStepSeen, Disturbance, EndLike, EndSign, Errand, FailureClass, FailureSign, KnobValue, Occasion,
    QuotaLogin, Setting, SideRequest, Sign, SignalSent, SizeSign, Spoilt, StreamSigns, Trouble, UsageScope, UsageSign,
    WhichFolder, WhichSession,
};
pub use baseline::{Baseline, Complaint, KnownRed, Staleness};
pub use bundle::{Bundle, BundleError, Discrepancy, Exhibit, Flaw, Recorder, Verification, verify};
pub use case::{Act, Case, Draw, Drive, Knob, Limits, Step, TimeMethod, WayIn};
pub use cell::Cell;
pub use checkup::{Health, Symptom, checkup, trials};
pub use claims::{ChecklistItem, Claim, ClaimWord, Claims};
pub use clause::{Clause, Column, Condition, Level, ProfileName, Reading, Source};
pub use command::CommandReport;
pub use comparison::{CellChange, ClauseChange, Comparison, Direction, UnionError};
pub use conformance::{CaseReport, ClauseReport, ConformanceReport, Host, RuntimeReport};
pub use defect::{Defect, unmatched};
pub use documents::{ADAPTER_ANSWER, ADAPTER_ASK, AGENT_CASE, AGENT_MANIFEST, CONTRACT_CASE, RUNTIME_MANIFEST};
pub use draw::{DrawError, draw};
pub use driver::{
    AgentRun, CHAMBER, Call, Chamber, ChamberError, Happening, Identity, Interruption, Isolation, RigOptions, Spec,
    environment, keep,
};
pub use expect::{Evidence, everywhere, judge, unobservable};
pub use expectation::{AcceptedCount, Expectation, Moment};
pub use feature::{CompactorWay, Feature};
pub use judged::Judged;
pub use kinds::{BASELINE, CONFORMANCE_REPORT, conform_kinds};
pub use manifest::{Argv, Attestation, CellWord, KnobWay, Manifest, Sight, UsageWay};
pub use matcher::{AcceptedValue, Matcher, ValueType};
pub use observation::{
    AttemptSeen, CompactorSeen, EditSeen, EventSeen, FileSeen, Observation, OutputLine, ProcessEnd, ProcessSeen,
    ReportSeen, StepSeen, UsageSeen,
};
pub use plot::Plot;
pub use probe::{PHASE, probe};
pub use profile::{CaseDocument, Head, ManifestDocument, Profile};
pub use proof::{RedCase, Row, differences, shortcomings, table};
pub use proving::{Proof, ProofOptions, ProvingError, Tried, prove};
pub use reason::Reason;
pub use reproducer::{Dir, Reproducer};
pub use rig::{AgentRig, identify, observe, withdraw};
pub use rule::Rule;
pub use runtime::RuntimeProfile;
pub use seen::Seen;
pub use selection::Selection;
pub use setting::SettingReport;
pub use situation::Situation;
pub use story::{Broken, Guide, shrunk};
pub use suite::{
    CONTRACT_CLAIMS, CONTRACT_DEFECTS, CONTRACT_LEDGER, Candidate, CandidateError, Defects, FILL_IN, Files, Finding,
    Suite, SuiteReadError, line_hash, variant_folder,
};
pub use survey::{Listener, Progress, Rig, SurveyOptions, survey};
pub use timeline::{MarkKind, TimelineMark};
pub use variant::{Change, Kill, Variant, VariantError};
pub use verdict::{Check, Outcome, Place};
pub use watched::{Watch, Watched};
