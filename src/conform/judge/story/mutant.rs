//! Mutants: what a runtime may do wrong, drawn from the model. Where something happened (the cause), in which phase, and how
//! often before, a lawful runtime does one thing and the mutant another.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::deeds::{self, Row};
use super::player::{Fault, Player, Reading};
use crate::conform::observe::Observation;
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
        /// It ends with 1, where every phase is done or one is blocked.
        EndsWrong = "ends-wrong",
        /// It calls a human and tells nobody.
        TellsNobody = "tells-nobody",
        /// It tells of another exit code than the phase ended with.
        NamesAnother = "names-another",
        /// It prints what its language does when a program breaks down.
        BreaksDown = "breaks-down",
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
    }
}

impl Field {
    /// Where it stands in its document.
    pub(super) fn pointer(self) -> &'static str {
        self.as_str().trim_start_matches(|letter| letter != '/')
    }

    pub(super) fn is_of_a_report(self) -> bool {
        self.as_str().starts_with("report")
    }

    pub(super) fn is_a_phase(self) -> bool {
        matches!(self, Self::CheckpointPhase | Self::ReportPhase)
    }

    /// Whether a text that is empty is wrong there.
    pub(super) fn may_not_be_empty(self) -> bool {
        matches!(self, Self::CheckpointExecution | Self::ReportExecution | Self::Session | Self::Time)
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

/// Something that a mutant could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chance {
    pub(super) deed: Deed,
    pub(super) field: Option<Field>,
    pub(super) cause: Cause,
    pub(super) phase: Phase,
}

/// What a mutant is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Rule(Rule),
    Clause(&'static str),
}

impl About {
    /// Whether a deed is about it.
    pub(super) fn has(self, chance: Chance) -> bool {
        let Chance { deed, field, cause, .. } = chance;
        deeds::rows().any(|row| (row.deed, row.field, row.cause) == (deed, field, cause) && self.is_of(&row))
    }

    /// Whether a row is about it.
    fn is_of(self, row: &Row) -> bool {
        match self {
            Self::Rule(rule) => row.rules.contains(&rule),
            Self::Clause(clause) => row.clauses.contains(&clause),
        }
    }
}

/// Something that a runtime does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mutant {
    /// What it does.
    pub deed: Deed,
    /// To which field of a document, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
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
        let field = self.field.map_or(String::new(), |field| format!(" {field}"));
        write!(f, "{}{field} after {} in {phase}, {} time", self.deed, self.cause, self.which)
    }
}

/// A story, and what comes up in it.
#[derive(Debug, Clone)]
pub struct Story {
    /// The story.
    pub case: Case,
    chances: BTreeMap<Chance, usize>,
}

impl Story {
    /// The story of a plot.
    #[must_use]
    pub fn of(plot: &Plot) -> Self {
        let case = plot.case("story");
        let chances = Player::plays(&case, Reading::USUAL, None).chances;
        Self { case, chances }
    }

    /// How much happens in it.
    #[must_use]
    pub fn length(&self) -> usize {
        self.case.steps.len()
    }

    /// What would be seen of a lawful runtime.
    #[must_use]
    pub fn lawful(&self) -> Observation {
        Player::plays(&self.case, Reading::USUAL, None).seen
    }
}

impl Mutant {
    /// Every mutant: each deed after each cause that it can follow, in each phase and in all, every time and at some.
    pub fn all() -> impl Iterator<Item = Self> {
        let phases = || std::iter::once(None).chain(Phase::ALL.iter().copied().map(Some));
        deeds::rows().flat_map(move |Row { deed, field, cause, .. }| {
            let whichs =
                move |phase| Which::ALL.iter().map(move |which| Self { deed, field, cause, phase, which: *which });
            phases().flat_map(whichs)
        })
    }

    /// The rules of the model that it is about, and the clauses.
    #[must_use]
    pub fn is_about_these(&self) -> (&'static [Rule], &'static [&'static str]) {
        let own = deeds::rows().find(|row| (row.cause, row.deed, row.field) == (self.cause, self.deed, self.field));
        own.map(|row| (row.rules, row.clauses)).unwrap_or_default()
    }

    pub(super) fn is_about(self, chance: Chance) -> bool {
        let Chance { deed, field, cause, phase } = chance;
        (self.deed, self.field, self.cause) == (deed, field, cause) && self.phase.is_none_or(|it| it == phase)
    }

    /// How often it comes up in a story, of a runtime that does nothing wrong before.
    #[must_use]
    pub fn times(&self, story: &Story) -> usize {
        let about = story.chances.iter().filter(|(chance, _)| self.is_about(**chance));
        about.map(|(_, times)| times).sum()
    }

    /// Whether it may come up in a story.
    #[must_use]
    pub fn fits(&self, story: &Story) -> bool {
        let often = if matches!(self.which, Which::Every | Which::First) { 1 } else { 2 };
        self.times(story) >= often
    }

    /// What would be seen of it in a story, and whether it did its deed.
    #[must_use]
    pub fn played(&self, story: &Story) -> (bool, Observation) {
        let player = Player::plays(&story.case, Reading::USUAL, Some(Fault::Mutant(*self, self.times(story))));
        (player.slipped, player.seen)
    }

    /// Why it can come up in no story, where that is so.
    #[must_use]
    pub fn impossible(&self) -> Option<&'static str> {
        let again = matches!(self.which, Which::Second | Which::Later | Which::Last);
        let (cause, deed, phase) = (self.cause, self.deed, self.phase);
        let in_learning = phase == Some(Phase::Learning);
        let starts_another = matches!(deed, Deed::GoesOn | Deed::Skips | Deed::Stops);
        match cause {
            Cause::Begun if again => Some("a run begins once"),
            Cause::Begun if phase.is_some_and(|it| it != Phase::Preflight) => Some("a run begins with the first phase"),
            Cause::Over if phase.is_some() && !in_learning => {
                Some("when every phase is done, the last one was at work")
            }
            Cause::Timeout if again => Some("the time of a run is over once, and its story ends there"),
            Cause::Done if deed == Deed::EndsWrong && phase.is_some() && !in_learning => {
                Some("a run is over when the last phase is done")
            }
            Cause::Done if (in_learning || deed == Deed::EndsWrong) && again => Some("what is over is not done again"),
            Cause::Exhausted if phase == Some(Phase::Audit) && again => {
                Some("an audit that never passes is passed over, or the run given up")
            }
            Cause::Skipped if in_learning && again => Some("what is over is not done again"),
            _ if in_learning && starts_another => Some("nothing comes after the last phase"),
            Cause::Done | Cause::Skipped if deed == Deed::Skips && phase == Some(Phase::Deploy) => {
                Some("nothing comes after the last phase")
            }
            Cause::Killed | Cause::Fixed if deed == Deed::FromStart && phase == Some(Phase::Preflight) => {
                Some("it begins with the first phase as it should")
            }
            _ => None,
        }
    }

    /// Why it is lawful, where it is; the ledger says so of the first clause that it is about.
    #[must_use]
    pub fn argument(&self) -> Option<&'static str> {
        let begins_where_it_cannot =
            (self.cause, self.deed, self.phase) == (Cause::Unstartable, Deed::FromStart, Some(Phase::Preflight));
        begins_where_it_cannot.then_some("what it would start is what cannot be started")
    }
}

/// Runtimes that are wrong about something whenever they can be: one that does every deed, and one that breaks the rule the
/// first time that it applies.
pub(super) fn compounds(about: About) -> Vec<Compound> {
    let slip = if let About::Rule(rule) = about { Some(Fault::Slip(rule, 0)) } else { None };
    let has_deeds = deeds::rows().any(|row| about.is_of(&row));
    let every = has_deeds.then_some(Fault::Compound(about));
    every.into_iter().chain(slip).map(Compound).collect()
}

/// One of them.
pub(super) struct Compound(Fault);

impl Compound {
    pub(super) fn played(&self, story: &Story) -> Observation {
        Player::plays(&story.case, Reading::USUAL, Some(self.0)).seen
    }
}
