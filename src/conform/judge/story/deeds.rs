//! What a mutant may do after each cause, and what says otherwise: rules of the model, and clauses whose cases look at every
//! document.

use super::words::{Cause, Deed, Field};
use crate::conform::spec::Rule;

/// Something that a mutant may do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) cause: Cause,
    pub(super) deed: Deed,
    pub(super) field: Option<Field>,
    pub(super) rules: &'static [Rule],
    pub(super) clauses: &'static [&'static str],
}

/// All of them.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    let starts =
        STARTS.iter().map(|(cause, deed, rules)| Row { cause: *cause, deed: *deed, field: None, rules, clauses: &[] });
    let told = TOLD.iter().flat_map(|(causes, field, deeds, rules)| {
        let pairs = causes.iter().flat_map(move |cause| deeds.iter().map(move |deed| (*cause, *deed)));
        pairs.map(move |(cause, deed)| Row { cause, deed, field: Some(*field), rules, clauses: &[] })
    });
    let calls = CALLS.iter().chain(WARNINGS).flat_map(|(deed, of)| {
        of.iter().map(|(cause, clauses)| Row { cause: *cause, deed: *deed, field: None, rules: &[], clauses })
    });
    let compacted = COMPACTIONS.iter().flat_map(|(field, deed)| {
        COMPACTED.iter().map(move |(cause, clauses)| Row {
            cause: *cause,
            deed: *deed,
            field: *field,
            rules: &[],
            clauses,
        })
    });
    let fields = FIELDS.iter().flat_map(|(field, deed, clauses)| {
        causes(*field).iter().map(|cause| Row { cause: *cause, deed: *deed, field: Some(*field), rules: &[], clauses })
    });
    starts.chain(told).chain(calls).chain(compacted).chain(fields)
}

/// After what the document is written that a field stands in.
fn causes(field: Field) -> &'static [Cause] {
    match field.document() {
        "report" => REPORTED,
        "warning" => REACHED,
        "figure" => USED,
        _ => ENDED,
    }
}

/// After these a checkpoint is written.
const ENDED: &[Cause] = &[Cause::Done, Cause::Exhausted, Cause::Blocked, Cause::Unknown, Cause::Signal];
/// After these a human is called by a report.
const REPORTED: &[Cause] = &[
    Cause::Exhausted,
    Cause::Blocked,
    Cause::Unknown,
    Cause::Signal,
    Cause::Unstartable,
    Cause::Halted,
    Cause::Overflow,
    Cause::Timeout,
];

/// After these a limit is warned of. What a warning says, and what else is told of a usage, is the same whatever limits are in
/// force; of the share it is known under the contract's own alone.
const REACHED: &[Cause] = &[Cause::UsageSoft, Cause::UsageHard];
/// After these the tokens in use are told.
const USED: &[Cause] = &[Cause::UsageBelow, Cause::UsageSoft, Cause::UsageHard, Cause::UsageStays];

/// What starts, what is left of it, and how a human is called: what the model itself has rules for.
const STARTS: &[(Cause, Deed, &[Rule])] = &[
    (Cause::Begun, Deed::Stops, &[Rule::GoesOn]),
    (Cause::Begun, Deed::Skips, &[Rule::GoesOn]),
    (Cause::Done, Deed::Stops, &[Rule::GoesOn]),
    (Cause::Done, Deed::Skips, &[Rule::GoesOn]),
    (Cause::Done, Deed::Again, &[Rule::DoneOnce]),
    (Cause::Failed, Deed::Stops, &[Rule::Retries]),
    (Cause::Failed, Deed::Skips, &[Rule::Retries, Rule::StopsRetrying]),
    (Cause::Exhausted, Deed::Again, &[Rule::StopsRetrying, Rule::RemediationEnds]),
    (Cause::Exhausted, Deed::GoesOn, &[Rule::StopsRetrying, Rule::RemediationEnds]),
    (Cause::Blocked, Deed::Again, &[Rule::BlockedOnce]),
    (Cause::Blocked, Deed::GoesOn, &[Rule::BlockedHalts]),
    (Cause::Unknown, Deed::Again, &[Rule::UnknownOnce]),
    (Cause::Unknown, Deed::GoesOn, &[Rule::UnknownHalts]),
    (Cause::Signal, Deed::Again, &[Rule::SignalHalts]),
    (Cause::Signal, Deed::GoesOn, &[Rule::SignalHalts]),
    (Cause::Unstartable, Deed::FromStart, &[Rule::UnstartableHalts]),
    (Cause::Unstartable, Deed::GoesOn, &[Rule::UnstartableHalts]),
    (Cause::Halted, Deed::Again, &[Rule::HaltCalls]),
    (Cause::Halted, Deed::GoesOn, &[Rule::HaltCalls]),
    (Cause::Halted, Deed::NoReport, &[Rule::HaltCalls]),
    (Cause::Halted, Deed::WrongTrigger, &[Rule::HaltCalls]),
    (Cause::Overflow, Deed::Again, &[Rule::OverflowCalls]),
    (Cause::Overflow, Deed::GoesOn, &[Rule::OverflowCalls]),
    (Cause::Overflow, Deed::NoReport, &[Rule::OverflowCalls]),
    (Cause::Overflow, Deed::WrongTrigger, &[Rule::OverflowCalls]),
    (Cause::Timeout, Deed::Again, &[Rule::TimeCalls]),
    (Cause::Timeout, Deed::GoesOn, &[Rule::TimeCalls]),
    (Cause::Timeout, Deed::NoReport, &[Rule::TimeCalls]),
    (Cause::Timeout, Deed::WrongTrigger, &[Rule::TimeCalls]),
    (Cause::Killed, Deed::Stops, &[Rule::ResumesThere]),
    (Cause::Killed, Deed::Skips, &[Rule::ResumesThere]),
    (Cause::Killed, Deed::FromStart, &[Rule::StaysDone, Rule::ResumesThere]),
    (Cause::Fixed, Deed::Stops, &[Rule::FixedFirst]),
    (Cause::Fixed, Deed::Skips, &[Rule::FixedFirst]),
    (Cause::Fixed, Deed::FromStart, &[Rule::StaysDone, Rule::FixedFirst]),
    (Cause::Skipped, Deed::Stops, &[Rule::SkippedPassed]),
    (Cause::Skipped, Deed::Skips, &[Rule::SkippedPassed]),
    (Cause::Skipped, Deed::Again, &[Rule::SkippedPassed]),
    (Cause::Skipped, Deed::FromStart, &[Rule::StaysDone, Rule::SkippedPassed]),
    (Cause::Reset, Deed::Skips, &[Rule::ResetFromStart]),
    (Cause::Aborted, Deed::Again, &[Rule::AbortFinal]),
    (Cause::Aborted, Deed::GoesOn, &[Rule::AbortFinal]),
    (Cause::Over, Deed::Again, &[Rule::StaysDone]),
    (Cause::Over, Deed::FromStart, &[Rule::StaysDone]),
    (Cause::Done, Deed::NoCheckpoint, &[Rule::EachCheckpoint, Rule::CheckpointFirst]),
    (Cause::Done, Deed::LateCheckpoint, &[Rule::CheckpointFirst, Rule::EachCheckpoint]),
    (Cause::Done, Deed::WrongCode, &[Rule::LatestCheckpoint]),
    (Cause::Done, Deed::OtherExecution, &[Rule::OneExecution]),
    (Cause::Done, Deed::LosesDecision, &[Rule::ResultKept]),
    (Cause::Done, Deed::EndsWrong, &[Rule::EndsWithZero]),
    (Cause::Exhausted, Deed::NoCheckpoint, &[Rule::ExhaustedCheckpoint]),
    (Cause::Exhausted, Deed::NoReport, &[Rule::ExhaustedCalls]),
    (Cause::NeverPasses, Deed::Again, &[Rule::RemediationEnds]),
    (Cause::NeverPasses, Deed::GoesOn, &[Rule::RemediationEnds]),
    (Cause::NeverPasses, Deed::Mends, &[Rule::RemediationEnds]),
];

/// A field of a document that the model has a rule for: what may be wrong in it.
type Told = (&'static [Cause], Field, &'static [Deed], &'static [Rule]);

/// What the model has rules for in a document besides.
const TOLD: &[Told] = &[
    (
        &[Cause::Exhausted, Cause::Blocked],
        Field::Findings,
        &[Deed::LosesLast, Deed::Invents, Deed::Stale],
        &[Rule::ReportFindings],
    ),
    (
        &[Cause::Asked],
        Field::Completed,
        &[Deed::Lacks, Deed::OtherType, Deed::LosesLast, Deed::Invents],
        &[Rule::StateIsTrue],
    ),
    (&[Cause::Asked], Field::Current, &[Deed::Lacks, Deed::OtherType, Deed::OfAnother], &[Rule::StateIsTrue]),
    (&[Cause::Asked], Field::StateExecution, &[Deed::Lacks, Deed::OtherType, Deed::OfAnother], &[Rule::StateIsTrue]),
    (&[Cause::Asked], Field::StateCheckpoint, &[Deed::Lacks, Deed::OtherType, Deed::OfAnother], &[Rule::StateIsTrue]),
];

/// Clauses by the cause after which a deed breaks them.
type Clauses = &'static [(Cause, &'static [&'static str])];

/// How a human is called, where cases look at it wherever it comes up.
const CALLS: &[(Deed, Clauses)] = &[
    (Deed::NoReport, &[(Cause::Blocked, &["EXIT-010"]), (Cause::Unknown, &["EXIT-014"])]),
    (Deed::EndsWrong, &[(Cause::Blocked, &["EXIT-019"])]),
    (Deed::NamesAnother, &[(Cause::Unknown, &["EXIT-015"])]),
    (Deed::BreaksDown, &[(Cause::Unknown, &["EXIT-013"])]),
    (
        Deed::TellsNobody,
        &[
            (Cause::Exhausted, &["ESC-020"]),
            (Cause::Blocked, &["EXIT-012", "ESC-020"]),
            (Cause::Unknown, &["ESC-020"]),
            (Cause::Signal, &["ESC-020"]),
            (Cause::Unstartable, &["ESC-020"]),
            (Cause::Halted, &["ESC-020"]),
            (Cause::Overflow, &["ESC-020"]),
            (Cause::Timeout, &["ESC-020"]),
        ],
    ),
];

/// Which clause answers for the warning of a limit: its own where the configuration repeats the contract's limits, that of the
/// configuration where it has others, and that of the default where it has none.
const OF_BOTH_LIMITS: Clauses = &[
    (Cause::UsageSoft, &["CTX-007"]),
    (Cause::UsageSoftConfigured, &["CTX-001"]),
    (Cause::UsageSoftDefault, &["CTX-003"]),
    (Cause::UsageHard, &["CTX-008"]),
    (Cause::UsageHardConfigured, &["CTX-002"]),
    (Cause::UsageHardDefault, &["CTX-004"]),
];

/// What is warned of, and when.
const WARNINGS: &[(Deed, Clauses)] = &[
    (Deed::Silent, OF_BOTH_LIMITS),
    (Deed::LateWarning, OF_BOTH_LIMITS),
    (Deed::OffByOne, OF_BOTH_LIMITS),
    (
        // Whoever warns of the hard limit where the soft one is reached is wrong about the hard one.
        Deed::OtherLevel,
        &[
            (Cause::UsageSoft, &["CTX-008"]),
            (Cause::UsageSoftConfigured, &["CTX-002"]),
            (Cause::UsageSoftDefault, &["CTX-004"]),
            (Cause::UsageHard, &["CTX-008"]),
            (Cause::UsageHardConfigured, &["CTX-002"]),
            (Cause::UsageHardDefault, &["CTX-004"]),
            (Cause::UsageStays, &["CTX-008"]),
            (Cause::UsageStaysConfigured, &["CTX-002"]),
            (Cause::UsageStaysDefault, &["CTX-004"]),
        ],
    ),
    (
        Deed::OtherLimits,
        &[
            (Cause::UsageBelowConfigured, &["CTX-001"]),
            (Cause::UsageSoftConfigured, &["CTX-001"]),
            (Cause::UsageHardConfigured, &["CTX-002"]),
            (Cause::UsageStaysConfigured, &["CTX-002"]),
            (Cause::UsageSoftDefault, &["CTX-003"]),
            (Cause::UsageHardDefault, &["CTX-004"]),
        ],
    ),
    (
        Deed::Warns,
        &[
            (Cause::UsageBelow, &["CTX-006"]),
            (Cause::UsageBelowConfigured, &["CTX-001"]),
            (Cause::UsageBelowDefault, &["CTX-003"]),
            (Cause::UsageStays, &["CTX-014"]),
        ],
    ),
    (Deed::WarnsTwice, &[(Cause::UsageSoft, &["CTX-014"]), (Cause::UsageHard, &["CTX-014"])]),
];

/// Which clause answers for a compaction.
const COMPACTED: Clauses = &[(Cause::UsageSoft, &["CTX-015"]), (Cause::UsageHard, &["CTX-016"])];

/// What may be wrong with one.
const COMPACTIONS: &[(Option<Field>, Deed)] = &[
    (None, Deed::NoCompaction),
    (None, Deed::LateCompaction),
    (Some(Field::Compaction), Deed::Lacks),
    (Some(Field::Compaction), Deed::OtherType),
    (Some(Field::Compaction), Deed::WrongValue),
    (Some(Field::Compaction), Deed::OfAnother),
];

/// What may be wrong in a field of a document, and the clauses that say otherwise.
const FIELDS: &[(Field, Deed, &[&str])] = &[
    (Field::CheckpointExecution, Deed::Lacks, &["CKPT-006"]),
    (Field::CheckpointExecution, Deed::OtherType, &["CKPT-006"]),
    (Field::CheckpointExecution, Deed::WrongValue, &["CKPT-006"]),
    (Field::CheckpointExecution, Deed::OfAnother, &["CKPT-032"]),
    (Field::CheckpointPhase, Deed::Lacks, &["CKPT-008"]),
    (Field::CheckpointPhase, Deed::OtherType, &["CKPT-008"]),
    (Field::CheckpointPhase, Deed::OfAnother, &["CKPT-008"]),
    (Field::CreatedAt, Deed::Lacks, &["CKPT-009"]),
    (Field::CreatedAt, Deed::OtherType, &["CKPT-009"]),
    (Field::CreatedAt, Deed::WrongValue, &["CKPT-009"]),
    (Field::ExitCode, Deed::Lacks, &["CKPT-011"]),
    (Field::ExitCode, Deed::OtherType, &["CKPT-011"]),
    (Field::ExitCode, Deed::WrongValue, &["CKPT-011"]),
    (Field::ExitCode, Deed::OfAnother, &["CKPT-012", "CKPT-027", "CKPT-005"]),
    (Field::Summary, Deed::Lacks, &["CKPT-013"]),
    (Field::Summary, Deed::OtherType, &["CKPT-013"]),
    (Field::ReportExecution, Deed::Lacks, &["ESC-009"]),
    (Field::ReportExecution, Deed::OtherType, &["ESC-009"]),
    (Field::ReportExecution, Deed::WrongValue, &["ESC-009"]),
    (Field::ReportExecution, Deed::OfAnother, &["ESC-012"]),
    (Field::Session, Deed::Lacks, &["ESC-009"]),
    (Field::Session, Deed::OtherType, &["ESC-009"]),
    (Field::Session, Deed::WrongValue, &["ESC-009"]),
    (Field::Trigger, Deed::Lacks, &["ESC-010"]),
    (Field::Trigger, Deed::OtherType, &["ESC-010"]),
    (Field::Trigger, Deed::WrongValue, &["ESC-010"]),
    (Field::ReportPhase, Deed::Lacks, &["ESC-011"]),
    (Field::ReportPhase, Deed::OtherType, &["ESC-011"]),
    (Field::ReportPhase, Deed::OfAnother, &["ESC-011"]),
    (Field::Time, Deed::Lacks, &["ESC-013"]),
    (Field::Time, Deed::OtherType, &["ESC-013"]),
    (Field::Time, Deed::WrongValue, &["ESC-013"]),
    (Field::State, Deed::Lacks, &["ESC-009"]),
    (Field::State, Deed::OtherType, &["ESC-009"]),
    (Field::Phases, Deed::Lacks, &["ESC-014"]),
    (Field::Phases, Deed::OtherType, &["ESC-014"]),
    (Field::Phases, Deed::WrongValue, &["ESC-014"]),
    (Field::Phases, Deed::OfAnother, &["ESC-015"]),
    (Field::LastCheckpoint, Deed::Lacks, &["ESC-016"]),
    (Field::LastCheckpoint, Deed::OtherType, &["ESC-016"]),
    (Field::LastCheckpoint, Deed::OfAnother, &["ESC-016"]),
    (Field::LastCheckpoint, Deed::Stale, &["ESC-016"]),
    (Field::Findings, Deed::Lacks, &["ESC-009"]),
    (Field::Findings, Deed::OtherType, &["ESC-009"]),
    (Field::Context, Deed::Lacks, &["ESC-009"]),
    (Field::Context, Deed::OtherType, &["ESC-009"]),
    (Field::Decisions, Deed::Lacks, &["ESC-018"]),
    (Field::Decisions, Deed::OtherType, &["ESC-018"]),
    (Field::Attempts, Deed::Lacks, &["ESC-018"]),
    (Field::Attempts, Deed::OtherType, &["ESC-018"]),
    (Field::Attempts, Deed::WrongValue, &["ESC-018"]),
    (Field::Actions, Deed::Lacks, &["ESC-018"]),
    (Field::Actions, Deed::OtherType, &["ESC-018"]),
    (Field::Figure, Deed::Lacks, &["CTX-005"]),
    (Field::Figure, Deed::OtherType, &["CTX-005"]),
    (Field::Figure, Deed::WrongValue, &["CTX-005"]),
    (Field::Figure, Deed::Stale, &["CTX-005"]),
    // A warning without a level is none, where nothing else of its kind tells one.
    (Field::Level, Deed::Lacks, &["CTX-010", "CTX-007", "CTX-008"]),
    (Field::Level, Deed::OtherType, &["CTX-010", "CTX-007", "CTX-008"]),
    (Field::Level, Deed::WrongValue, &["CTX-009"]),
    (Field::Tokens, Deed::Lacks, &["CTX-010"]),
    (Field::Tokens, Deed::OtherType, &["CTX-010"]),
    (Field::Tokens, Deed::WrongValue, &["CTX-010"]),
    (Field::Share, Deed::Lacks, &["CTX-010"]),
    (Field::Share, Deed::OtherType, &["CTX-010"]),
    (Field::Share, Deed::WrongValue, &["CTX-011"]),
    (Field::Share, Deed::OfAnother, &["CTX-011"]),
    (Field::Recommendation, Deed::Lacks, &["CTX-012"]),
    (Field::Recommendation, Deed::OtherType, &["CTX-012"]),
    (Field::Recommendation, Deed::WrongValue, &["CTX-012"]),
];
