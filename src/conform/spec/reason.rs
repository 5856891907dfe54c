//! Why a check came out as it did: a closed set of stable codes, so that a faulty runtime can be required to die of the
//! right cause and not only in the right place.

use crate::contract::vocabulary;

vocabulary! {
    /// Why a check came out as it did.
    pub enum Reason ("reason") {
        /// It holds by the clause's own words.
        AsExpected = "as-expected",
        /// It holds by another legal reading.
        AnotherReading = "another-reading",
        /// No case judges the clause.
        NoCase = "no-case",
        /// The clause binds only those who claim the feature.
        NotClaimed = "not-claimed",
        /// The clause binds only those who emit the thing.
        NotEmitted = "not-emitted",
        /// A clause that is presupposed is not green.
        NeedsRed = "needs-red",
        /// The program could not be started.
        NotStarted = "not-started",
        /// The manifest's adapter was at fault, so nothing is known of the runtime.
        AdapterFailed = "adapter-failed",
        /// The judge was stopped before it came to this.
        Stopped = "stopped",
        /// The judge's own rig failed.
        RigFailed = "rig-failed",
        /// The manifest lacks a verb that the case needs.
        NoVerb = "no-verb",
        /// The manifest names no way to tell the runtime how full the context is.
        NoUsageWay = "no-usage-way",
        /// The runtime does not read the signal stream.
        NoSignalStream = "no-signal-stream",
        /// The manifest lacks a knob without which the case would take hours.
        NoKnob = "no-knob",
        /// The manifest names no way to plug in the judge's own compactor.
        NoCompactor = "no-compactor",
        /// This machine has no clock that runs faster.
        NoFastClock = "no-fast-clock",
        /// In none of the cases that were run did the situation come up that it is about.
        NoOccasion = "no-occasion",
        /// The machine was too slow for what an accelerated clock is to show.
        TooSlow = "too-slow",
        /// The runtime gives its phases no file for their results.
        NoResultFile = "no-result-file",
        /// The manifest names no place to see it, and nothing was seen.
        NoSight = "no-sight",
        /// The runtime started no phase at all in the whole case.
        NothingStarted = "nothing-started",
        /// Something else than the judge's own program said that a phase had started.
        Forged = "forged",
        /// The phase never started.
        NeverStarted = "never-started",
        /// The phase started, but never ended.
        NeverEnded = "never-ended",
        /// The judge's model of the contract allows something else there.
        Unlawful = "unlawful",
        /// More starts than allowed.
        StartedTooOften = "started-too-often",
        /// Fewer starts than allowed.
        StartedTooRarely = "started-too-rarely",
        /// The phases did not start in the expected order.
        OrderDiffers = "order-differs",
        /// A phase started before the one before had ended.
        Overlapping = "overlapping",
        /// Something started that should not.
        WentOn = "went-on",
        /// There was no retry.
        NoRetry = "no-retry",
        /// There is nothing to compare with: no phase succeeded before, or a plain run says nothing of it.
        NoBaseline = "no-baseline",
        /// The wait before a retry was too short.
        RetriedTooSoon = "retried-too-soon",
        /// There were not enough retries to see growth.
        TooFewGaps = "too-few-gaps",
        /// The waits did not grow.
        DidNotGrow = "did-not-grow",
        /// The runtime did not end by itself.
        DidNotEnd = "did-not-end",
        /// The runtime died by a signal.
        EndedBySignal = "ended-by-signal",
        /// The runtime ended with another code.
        WrongExitCode = "wrong-exit-code",
        /// The runtime broke down.
        BrokeDown = "broke-down",
        /// The runtime stopped, and nothing shows that it decided to.
        NoDecision = "no-decision",
        /// No checkpoint where there must be one.
        NoCheckpoint = "no-checkpoint",
        /// A checkpoint where there must be none.
        UnexpectedCheckpoint = "unexpected-checkpoint",
        /// The moment at which it was to be looked at never came.
        NoSuchMoment = "no-such-moment",
        /// The file is not one YAML document.
        Unreadable = "unreadable",
        /// A field is missing.
        FieldMissing = "field-missing",
        /// A field is there that must not.
        FieldPresent = "field-present",
        /// A value of the wrong type.
        WrongType = "wrong-type",
        /// A value of the right type that is not the expected one.
        WrongValue = "wrong-value",
        /// A list with too few items.
        TooFewItems = "too-few-items",
        /// A time without a zone.
        NoZone = "no-zone",
        /// There are not enough documents to compare.
        TooFewDocuments = "too-few-documents",
        /// Times fall from one phase to the next.
        TimeFalls = "time-falls",
        /// A time far from when the file was written.
        TimeOff = "time-off",
        /// Documents of one run carry different ids.
        IdDiffers = "id-differs",
        /// Two runs carry the same id.
        IdReused = "id-reused",
        /// No escalation report where there must be one.
        NoReport = "no-report",
        /// A report where there must be none.
        UnexpectedReport = "unexpected-report",
        /// A report that names a phase appears in a run in which nothing goes wrong, too.
        CriesWolf = "cries-wolf",
        /// Reports of one step name different phases.
        AccusesSeveral = "accuses-several",
        /// The manifest's pattern does not count: it also matches a run in which nothing goes wrong, or there was none.
        PatternRefused = "pattern-refused",
        /// The human was not told.
        NotSurfaced = "not-surfaced",
        /// The output does not say it.
        NotSaid = "not-said",
        /// The output said it before there was a cause.
        SaidWithoutCause = "said-without-cause",
        /// Processes were left behind.
        LeftProcesses = "left-processes",
        /// The usage was never reported, because the phase never came so far.
        NoUsage = "no-usage",
        /// No context state.
        NoContextState = "no-context-state",
        /// No warning where there must be one.
        NoWarning = "no-warning",
        /// A warning where there must be silence.
        UnwarrantedWarning = "unwarranted-warning",
        /// No compaction where there must be one.
        NoCompaction = "no-compaction",
        /// A compaction where there must be none.
        UnwarrantedCompaction = "unwarranted-compaction",
        /// Of the wrong level.
        WrongLevel = "wrong-level",
        /// Silence proves nothing, because the thing was never seen at all.
        NothingSighted = "nothing-sighted",
        /// Too few events.
        NoEvent = "no-event",
        /// A signal where there must be none.
        UnwarrantedSignal = "unwarranted-signal",
        /// No effort was handed to the phase.
        NoEffort = "no-effort",
        /// An effort was handed that nobody configured.
        UnwarrantedEffort = "unwarranted-effort",
        /// No memories were handed to the phase.
        NoMemories = "no-memories",
        /// Memories were handed on that must not be.
        UnwarrantedMemories = "unwarranted-memories",
        /// The runtime never started its compactor.
        NeverCompacted = "never-compacted",
        /// The compactor was not told, or told otherwise.
        CompactorMisled = "compactor-misled",
        /// The verb failed.
        VerbFailed = "verb-failed",
        /// The answer is not JSON.
        NotJson = "not-json",
        /// What must be accepted was refused.
        NotAccepted = "not-accepted",
        /// What must be refused was accepted.
        NotRefused = "not-refused",
        /// A red phase was neither started again nor was the demand refused.
        NotReopened = "not-reopened",
        /// The runtime's own figure differs from what was reported.
        NotTracked = "not-tracked",
        /// A file is no longer as it was.
        FileChanged = "file-changed",
        /// A file is gone.
        FileGone = "file-gone",
        /// A file holds other bytes than it should.
        WrongBytes = "wrong-bytes",
        /// The agent asked the model nothing in the whole case.
        NoRequest = "no-request",
        /// Fewer requests than there must be.
        TooFewRequests = "too-few-requests",
        /// More requests than there may be.
        TooManyRequests = "too-many-requests",
        /// The judge ended it, having seen enough of something else, before this could be seen.
        SeenEnough = "seen-enough",
        /// It ended with 0, although nothing was achieved.
        LooksLikeSuccess = "looks-like-success",
        /// No field that a machine reads says it.
        NotTold = "not-told",
        /// A field says something else.
        ToldOtherwise = "told-otherwise",
        /// The first event does not name the session; a later one may.
        NotAtFirst = "not-at-first",
        /// The session goes by another name than before.
        OtherSession = "other-session",
        /// What was said earlier in the session did not reach the model.
        HistoryLost = "history-lost",
        /// The result of the model's tool call never reached it.
        NoToolResult = "no-tool-result",
        /// The result of the model's tool call does not say how the command ended.
        CodeLost = "code-lost",
        /// An event ends the stream, but others follow it.
        NotAtLast = "not-at-last",
        /// What only one of two sessions knew reached the model from the other, or both go by one name.
        SessionsMixed = "sessions-mixed",
        /// The requests do not say how hard the model is to think.
        EffortLost = "effort-lost",
        /// What the memory file says did not reach the model.
        MemoryUnread = "memory-unread",
        /// What was not allowed was done.
        NotPrevented = "not-prevented",
        /// This machine does not let the judge see it.
        NoIsolation = "no-isolation",
    }
}

impl Reason {
    /// Whether it is this machine that kept the judge from seeing it.
    #[must_use]
    pub fn is_the_machines(self) -> bool {
        matches!(self, Self::NoIsolation | Self::NoFastClock | Self::TooSlow)
    }

    /// Whether a document or event is missing that a clause with `when: emitted` merely describes.
    #[must_use]
    pub fn is_absence(self) -> bool {
        matches!(
            self,
            Self::NoCheckpoint
                | Self::NoReport
                | Self::NoContextState
                | Self::NoEvent
                | Self::NoWarning
                | Self::NoCompaction
        )
    }
}
