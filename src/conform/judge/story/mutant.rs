//! Mutants: what a runtime may do wrong, drawn from the model. Where something happened (the cause), in which phase, and how
//! often before, a lawful runtime does one thing and the mutant another.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::player::{Fault, Player, Reading};
use super::{Finding, findings};
use crate::conform::spec::{Case, Plot, Rule};
use crate::contract::{Phase, vocabulary};

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
        /// It ends a run in which every phase is done with 1.
        EndsWrong = "ends-wrong",
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
    }
}

impl Which {
    /// Whether this time, counted from 1, is wrong.
    pub(super) fn holds(self, time: usize) -> bool {
        match self {
            Self::Every => true,
            Self::First => time == 1,
            Self::Second => time == 2,
            Self::Later => time > 1,
        }
    }
}

/// Something that a runtime does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mutant {
    /// What it does.
    pub deed: Deed,
    /// After what.
    pub cause: Cause,
    /// In which phase; in every one when absent.
    pub phase: Option<Phase>,
    /// Which times.
    pub which: Which,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase.map_or("any phase".to_owned(), |phase| phase.to_string());
        write!(f, "{} after {} in {phase}, {} time", self.deed, self.cause, self.which)
    }
}

/// What a mutant may do after each cause, and the rules of the model that say otherwise.
const DEEDS: &[(Cause, Deed, &[Rule])] = &[
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
];

/// A story, and what comes up in it.
#[derive(Debug, Clone)]
pub struct Story {
    /// The story.
    pub case: Case,
    chances: BTreeSet<(Deed, Cause, Phase)>,
}

impl Story {
    /// The story of a plot.
    #[must_use]
    pub fn of(plot: &Plot) -> Self {
        let case = plot.case("story");
        let chances = Player::plays(&case, Reading::USUAL, None).chances;
        Self { case, chances }
    }
}

/// What became of a mutant in the stories that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "fate", content = "by")]
pub enum Fate {
    /// What it is about never came up.
    NotReached,
    /// It was found, by this rule, which is its own.
    KilledByItsOwn(Rule),
    /// It was found, by a rule that it is not about.
    KilledByAnother(Rule),
    /// It was not found, and no story could have told it from a lawful runtime: why.
    Argued(&'static str),
    /// It was not found.
    Survived,
}

impl Mutant {
    /// Every mutant: each deed after each cause that it can follow, in each phase and in all, every time and at some.
    pub fn all() -> impl Iterator<Item = Self> {
        let phases = || std::iter::once(None).chain(Phase::ALL.iter().copied().map(Some));
        let of = move |deed: Deed, cause: Cause| {
            let whichs = move |phase| Which::ALL.iter().map(move |which| Self { deed, cause, phase, which: *which });
            phases().flat_map(whichs)
        };
        DEEDS.iter().flat_map(move |(cause, deed, _)| of(*deed, *cause))
    }

    /// The rules of the model that it is about.
    #[must_use]
    pub fn rules(&self) -> &'static [Rule] {
        let own = DEEDS.iter().find(|(cause, deed, _)| (*cause, *deed) == (self.cause, self.deed));
        own.map(|(.., rules)| *rules).unwrap_or_default()
    }

    /// Whether it is one of the deeds that a rule is about.
    pub(super) fn is_of(rule: Rule, deed: Deed, cause: Cause) -> bool {
        DEEDS.iter().any(|row| (row.0, row.1) == (cause, deed) && row.2.contains(&rule))
    }

    pub(super) fn is_about(self, deed: Deed, cause: Cause, phase: Phase) -> bool {
        self.deed == deed && self.cause == cause && self.phase.is_none_or(|it| it == phase)
    }

    /// What the model says of it in a story, when it is played in memory: whether it did its deed, and the rule that it broke.
    #[must_use]
    pub fn told(&self, story: &Case) -> (bool, Option<Rule>) {
        let player = Player::plays(story, Reading::USUAL, Some(Fault::Mutant(*self)));
        let broken = findings(story, &player.seen).into_iter().find(|it| !it.kept).map(|it| it.rule);
        (player.slipped, broken)
    }

    /// Whether it may come up in a story.
    #[must_use]
    pub fn fits(&self, story: &Story) -> bool {
        story.chances.iter().any(|(deed, cause, phase)| self.is_about(*deed, *cause, *phase))
    }

    /// What becomes of it in these stories.
    #[must_use]
    pub fn fate(&self, stories: &[Story]) -> Fate {
        let mut reached = false;
        let mut other = None;
        for story in stories.iter().filter(|story| self.fits(story)) {
            match self.told(&story.case) {
                (true, Some(rule)) if self.rules().contains(&rule) => return Fate::KilledByItsOwn(rule),
                (true, Some(rule)) => other = Some(rule),
                (did, _) => reached |= did,
            }
        }
        match (other, reached) {
            (Some(rule), _) => Fate::KilledByAnother(rule),
            (None, false) => Fate::NotReached,
            (None, true) => self.argument().map_or(Fate::Survived, Fate::Argued),
        }
    }

    /// Why it is lawful, where it is.
    fn argument(self) -> Option<&'static str> {
        match (self.cause, self.deed, self.which, self.phase) {
            (Cause::Failed, Deed::Stops, Which::Second | Which::Later, _) => {
                Some("a runtime may call a human after two starts that ended with 1 (reading C-01)")
            }
            (Cause::Unstartable, Deed::FromStart, _, Some(Phase::Preflight)) => {
                Some("what it would start is what cannot be started")
            }
            _ => None,
        }
    }
}

/// The rules that a runtime without a fault kept in every one of these stories, and was asked at least once.
#[must_use]
pub fn kept(stories: &[Story]) -> BTreeSet<Rule> {
    let all: Vec<Finding> = stories.iter().flat_map(|story| played(story, None)).collect();
    let broken: BTreeSet<Rule> = all.iter().filter(|it| !it.kept).map(|it| it.rule).collect();
    all.iter().map(|it| it.rule).filter(|rule| !broken.contains(rule)).collect()
}

/// Whether two runtimes were found: one that does everything wrong that is about a rule, and one that breaks it the first
/// time that it applies.
#[must_use]
pub fn compound(rule: Rule, stories: &[Story]) -> bool {
    let is_found = |fault| stories.iter().any(|story| played(story, Some(fault)).iter().any(|it| !it.kept));
    is_found(Fault::Compound(rule)) && is_found(Fault::Slip(rule, 0))
}

fn played(story: &Story, fault: Option<Fault>) -> Vec<Finding> {
    findings(&story.case, &Player::plays(&story.case, Reading::USUAL, fault).seen)
}
