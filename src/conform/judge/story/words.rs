//! The words in which a mutant is described: after what, what it does, to which field, and which times.

use crate::contract::vocabulary;

vocabulary! {
    /// What happened, so that something must follow.
    pub enum Cause ("cause") {
        /// The run was begun.
        Begun = "begun",
        /// A phase ended with 0.
        Done = "done",
        /// A phase ended with 1, and may be started again.
        Failed = "failed",
        /// A phase ended with 1, and its retries are used up.
        Exhausted = "exhausted",
        /// A phase ended with 2.
        Blocked = "blocked",
        /// A phase ended with a code that the contract does not know.
        Unknown = "unknown",
        /// A phase died by a signal.
        Signal = "signal",
        /// A phase could not be started.
        Unstartable = "unstartable",
        /// The runtime was asked to halt.
        Halted = "halted",
        /// The context stays full.
        Overflow = "overflow",
        /// The run took longer than it may.
        Timeout = "timeout",
        /// The runtime was killed, and is resumed.
        Killed = "killed",
        /// A human answered `fix_and_resume`.
        Fixed = "fixed",
        /// A human answered `skip_phase`.
        Skipped = "skipped",
        /// A human answered `reset`.
        Reset = "reset",
        /// A human answered `abort`.
        Aborted = "aborted",
        /// Every phase is done, and the run is resumed.
        Over = "over",
        /// An audit failed again, and was remediated as often as it may be.
        NeverPasses = "never-passes",
        /// The runtime stands still, and is asked for its state.
        Asked = "asked",
        /// A usage below the limits that the contract has and the configuration repeats.
        UsageBelow = "usage-below",
        /// A usage below limits that are configured.
        UsageBelowConfigured = "usage-below-configured",
        /// A usage below the limits that the contract has, where none are configured.
        UsageBelowDefault = "usage-below-default",
        /// A usage reached the soft limit that the contract has and the configuration repeats.
        UsageSoft = "usage-soft",
        /// A usage reached a soft limit that is configured.
        UsageSoftConfigured = "usage-soft-configured",
        /// A usage reached the soft limit that the contract has, where none is configured.
        UsageSoftDefault = "usage-soft-default",
        /// A usage reached the hard limit that the contract has and the configuration repeats.
        UsageHard = "usage-hard",
        /// A usage reached a hard limit that is configured.
        UsageHardConfigured = "usage-hard-configured",
        /// A usage reached the hard limit that the contract has, where none is configured.
        UsageHardDefault = "usage-hard-default",
        /// A usage stays above a limit that the contract has and the configuration repeats.
        UsageStays = "usage-stays",
        /// A usage stays above a limit that is configured.
        UsageStaysConfigured = "usage-stays-configured",
        /// A usage stays above a limit that the contract has, where none is configured.
        UsageStaysDefault = "usage-stays-default",
    }
}

vocabulary! {
    /// What a mutant does there instead.
    pub enum Deed ("deed") {
        /// It stops where a phase should start.
        Stops = "stops",
        /// It starts the phase after the one that should start.
        Skips = "skips",
        /// It starts the phase again that this is about.
        Again = "again",
        /// It begins with the first phase.
        FromStart = "from-start",
        /// It starts the next phase where nothing should start.
        GoesOn = "goes-on",
        /// It writes no checkpoint.
        NoCheckpoint = "no-checkpoint",
        /// It writes the checkpoint when the next phase has ended.
        LateCheckpoint = "late-checkpoint",
        /// It writes another exit code into the checkpoint.
        WrongCode = "wrong-code",
        /// It names another execution in the checkpoint.
        OtherExecution = "other-execution",
        /// It leaves the last decision out that the phase supplied.
        LosesDecision = "loses-decision",
        /// It calls a human without a report.
        NoReport = "no-report",
        /// It calls a human with another trigger.
        WrongTrigger = "wrong-trigger",
        /// It ends with 1, where every phase is done or one is blocked.
        EndsWrong = "ends-wrong",
        /// It calls a human and tells nobody.
        TellsNobody = "tells-nobody",
        /// It tells of another exit code than the phase ended with.
        NamesAnother = "names-another",
        /// It prints what its language does when a program breaks down.
        BreaksDown = "breaks-down",
        /// It has the implementation done again.
        Mends = "mends",
        /// It does not warn of the limit.
        Silent = "silent",
        /// It warns of the limit when the next usage is reported.
        LateWarning = "late-warning",
        /// It warns of the limit twice.
        WarnsTwice = "warns-twice",
        /// It warns of the other limit.
        OtherLevel = "other-level",
        /// It warns where no limit is reached.
        Warns = "warns",
        /// It holds that a limit is reached above it alone.
        OffByOne = "off-by-one",
        /// It goes by other limits: the contract's where some are configured, else higher ones.
        OtherLimits = "other-limits",
        /// It sets off no compaction.
        NoCompaction = "no-compaction",
        /// It sets off the compaction when the next usage is reported.
        LateCompaction = "late-compaction",
        /// The document lacks the field.
        Lacks = "lacks",
        /// The field holds something of another type.
        OtherType = "other-type",
        /// The field holds what would be right of another phase or execution.
        OfAnother = "of-another",
        /// The field holds something of the right type that is wrong.
        WrongValue = "wrong-value",
        /// The field holds what would have been right before.
        Stale = "stale",
        /// The list lacks its last entry.
        LosesLast = "loses-last",
        /// The list has an entry that nobody made.
        Invents = "invents",
    }
}

vocabulary! {
    /// A field of a document that a mutant spoils.
    pub enum Field ("field") {
        /// The execution in a checkpoint.
        CheckpointExecution = "checkpoint/execution_id",
        /// The phase in a checkpoint.
        CheckpointPhase = "checkpoint/phase",
        /// When a checkpoint was made.
        CreatedAt = "checkpoint/created_at",
        /// How the phase of a checkpoint ended.
        ExitCode = "checkpoint/exit_code",
        /// What a checkpoint says in words.
        Summary = "checkpoint/summary",
        /// The execution in a report.
        ReportExecution = "report/execution_id",
        /// The session in a report.
        Session = "report/session_id",
        /// Why a human is called.
        Trigger = "report/trigger",
        /// The phase in a report.
        ReportPhase = "report/phase",
        /// When a report was made.
        Time = "report/timestamp",
        /// Where the run stands.
        State = "report/state",
        /// Where each phase stands.
        Phases = "report/state/phases",
        /// The newest checkpoint.
        LastCheckpoint = "report/state/last_checkpoint",
        /// What an audit found.
        Findings = "report/state/remaining_findings",
        /// What a human should know.
        Context = "report/context",
        /// What was decided.
        Decisions = "report/context/last_decisions",
        /// How often it was mended.
        Attempts = "report/context/remediation_attempts",
        /// What a human may do.
        Actions = "report/context/suggested_actions",
        /// The execution in a state.
        StateExecution = "state/execution_id",
        /// The phase that comes next.
        Current = "state/current_phase",
        /// The phases that are done.
        Completed = "state/completed_phases",
        /// The newest checkpoint in a state.
        StateCheckpoint = "state/last_checkpoint",
        /// The tokens in use.
        Figure = "figure/current_tokens",
        /// The level of a warning.
        Level = "warning/level",
        /// The tokens in use, in a warning.
        Tokens = "warning/current_tokens",
        /// The share of the limit.
        Share = "warning/percent_used",
        /// What a warning recommends.
        Recommendation = "warning/recommendation",
        /// The kind of a compaction.
        Compaction = "compaction/level",
    }
}

impl Field {
    /// Where it stands in its document.
    pub(super) fn pointer(self) -> &'static str {
        self.as_str().trim_start_matches(|letter| letter != '/')
    }

    /// The document that it stands in.
    pub(super) fn document(self) -> &'static str {
        self.as_str().split('/').next().unwrap_or_default()
    }

    pub(super) fn is_a_phase(self) -> bool {
        matches!(self, Self::CheckpointPhase | Self::ReportPhase | Self::Current)
    }

    /// Whether a text that is empty is wrong there.
    pub(super) fn may_not_be_empty(self) -> bool {
        let texts = [Self::CheckpointExecution, Self::ReportExecution, Self::Session, Self::Time, Self::Recommendation];
        texts.contains(&self)
    }
}

vocabulary! {
    /// Which of the times that it comes up are wrong.
    pub enum Which ("which") {
        /// Each.
        Every = "every",
        /// Only the first.
        First = "first",
        /// Only the second.
        Second = "second",
        /// Each but the first.
        Later = "later",
        /// Only the last of several.
        Last = "last",
    }
}

impl Which {
    /// Whether this time, counted from 1, is wrong, when it comes up so often.
    pub(super) fn holds(self, time: usize, times: usize) -> bool {
        match self {
            Self::Last => times > 1 && time == times,
            Self::Every => true,
            Self::First => time == 1,
            Self::Second => time == 2,
            Self::Later => time > 1,
        }
    }
}
