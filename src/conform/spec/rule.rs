//! What the model holds against a runtime, rule by rule: each is one clause's, by the case that says `lawful`.

use crate::contract::vocabulary;

vocabulary! {
    /// Something that a lawful runtime does in every story.
    pub enum Rule ("rule") {
        /// The run begins with the first phase, and what ended with 0 is followed by the next phase that is not done.
        GoesOn = "goes-on",
        /// A phase that ended with 0 is not started again in the same run.
        DoneOnce = "done-once",
        /// A phase that ended with 1 is started again, once at least; audit may have implementation done again first.
        Retries = "retries",
        /// A phase is started four times in a row at most, and nothing follows when its retries are used up.
        StopsRetrying = "stops-retrying",
        /// When its retries are used up and the run ends, a report says why a human is called.
        ExhaustedCalls = "exhausted-calls",
        /// A phase that ended with 1 to the end has a checkpoint, which says 1.
        ExhaustedCheckpoint = "exhausted-checkpoint",
        /// A phase that ended with 2 is not started again before a human answered.
        BlockedOnce = "blocked-once",
        /// After a phase that ended with 2 no other starts.
        BlockedHalts = "blocked-halts",
        /// A phase that ended with an unknown code is not started again before a human answered.
        UnknownOnce = "unknown-once",
        /// After a phase that ended with an unknown code no other starts.
        UnknownHalts = "unknown-halts",
        /// After a phase that died by a signal nothing starts.
        SignalHalts = "signal-halts",
        /// Where a phase cannot be started no other starts in its place, and the run does not end with 0.
        UnstartableHalts = "unstartable-halts",
        /// A runtime that is asked to halt calls a human, with the trigger `manual`, and starts no other phase.
        HaltCalls = "halt-calls",
        /// A context that stays full calls a human, with the trigger `context_overflow`, and no other phase starts.
        OverflowCalls = "overflow-calls",
        /// A run that takes longer than it may calls a human, with the trigger `timeout`, and no other phase starts.
        TimeCalls = "time-calls",
        /// After four failed audits in a row, with remediation between them or not, nothing starts.
        RemediationEnds = "remediation-ends",
        /// A run whose phases are all done ends with 0.
        EndsWithZero = "ends-with-zero",
        /// Killed in a phase, the runtime begins with that phase when it is resumed.
        ResumesThere = "resumes-there",
        /// What was done before a resume is not done again.
        StaysDone = "stays-done",
        /// Resumed before a human answered, the runtime starts nothing, or the phase that the human is needed for; it does not end
        /// with 0.
        UnansweredStays = "unanswered-stays",
        /// Asked for its state, the runtime tells the phases that are done and the one that comes next.
        StateIsTrue = "state-is-true",
        /// After `fix_and_resume` the failed phase runs first.
        FixedFirst = "fixed-first",
        /// After `skip_phase` the failed phase is passed over.
        SkippedPassed = "skipped-passed",
        /// After `reset` the first phase runs first.
        ResetFromStart = "reset-from-start",
        /// After `abort` nothing starts any more.
        AbortFinal = "abort-final",
        /// Each phase that is done has a checkpoint.
        EachCheckpoint = "each-checkpoint",
        /// Each phase that is done has its checkpoint before another starts.
        CheckpointFirst = "checkpoint-first",
        /// The checkpoint of a phase that is done says 0, whatever it ended with before.
        LatestCheckpoint = "latest-checkpoint",
        /// What the last attempt of a phase supplied stands in its checkpoint, and nothing of those before.
        ResultKept = "result-kept",
        /// All checkpoints between two resets name one execution.
        OneExecution = "one-execution",
        /// A report names the phase for which a human is called.
        ReportNamesPhase = "report-names-phase",
        /// A report names the execution of the checkpoints.
        ReportNamesExecution = "report-names-execution",
        /// A report says of all eight phases how they stand: those that are done, no others, and what never began is pending.
        ReportIsTrue = "report-is-true",
        /// A report that tells its time as the contract's documents do tells when it was made.
        ReportDated = "report-dated",
        /// The last decisions in a report were made, and the newest of the last checkpoint is among them.
        ReportDecisions = "report-tells-decisions",
        /// A report about a failed audit tells what that audit found, and nothing else.
        ReportFindings = "report-tells-findings",
        /// The checkpoint of a phase that did not end with 0 says so, by any reading.
        CodeIsTrue = "code-is-true",
        /// A runtime that calls a human ends with 2, or waits.
        CallsWithTwo = "calls-with-two",
        /// After `abort` every checkpoint is as it was.
        AbortKeeps = "abort-keeps",
    }
}
