//! What a mutant may do after each cause, and what says otherwise: rules of the model, and clauses whose cases look at every
//! document.

use super::mutant::{Cause, Deed, Field};
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
    let calls = CALLS.iter().flat_map(|(deed, of)| {
        of.iter().map(|(cause, clauses)| Row { cause: *cause, deed: *deed, field: None, rules: &[], clauses })
    });
    let fields = FIELDS.iter().flat_map(|(field, deed, clauses)| {
        let causes = if field.is_of_a_report() { REPORTED } else { ENDED };
        causes.iter().map(|cause| Row { cause: *cause, deed: *deed, field: Some(*field), rules: &[], clauses })
    });
    starts.chain(calls).chain(fields)
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
];
