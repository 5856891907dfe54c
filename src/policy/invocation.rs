//! What follows the end of one invocation of an agent (Exit Code Handling; Retry Strategy of the backend layer).
//!
//! Agents have no exit codes of the contract: none ends with 2, and several end with 0 after a total failure. Their ends
//! are therefore told apart by class, and this rule brings the class to the contract's three exits.

use std::time::Duration;

use jiff::Timestamp;

use super::StageOutcome;
use crate::contract::{PhaseError, PhaseExit, vocabulary};

/// How one invocation of an agent ended. Exactly one of these, whatever the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// The agent says that it is done. Whether that is true is for the gate to say.
    Done,
    /// A failure that may be gone next time: overload, a server's error, a lost connection.
    Transient {
        /// How long the provider asks to wait, when it says so.
        wait: Option<Duration>,
    },
    /// The provider cannot be reached, or answers that it is out of order: nobody's request gets through.
    Outage,
    /// A quota of the account is used up.
    Limit {
        /// When it is given anew, when the provider says so.
        resets_at: Option<Timestamp>,
    },
    /// A refusal that no repetition changes: wrong key, wrong request, no credit.
    Permanent,
    /// The context does not fit the model's window any more.
    Overflow,
    /// Somebody stopped the agent.
    Cancelled,
    /// It used up what it may take: time, or turns.
    TimedOut,
    /// It ended without saying how.
    Lost,
}

vocabulary! {
    /// The class as a word, for records and people.
    pub enum ClassName ("class of an invocation's end") {
        /// [`Class::Done`].
        Done = "done",
        /// [`Class::Transient`].
        Transient = "transient",
        /// [`Class::Outage`].
        Outage = "outage",
        /// [`Class::Limit`].
        Limit = "limit",
        /// [`Class::Permanent`].
        Permanent = "permanent",
        /// [`Class::Overflow`].
        Overflow = "overflow",
        /// [`Class::Cancelled`].
        Cancelled = "cancelled",
        /// [`Class::TimedOut`].
        TimedOut = "timed_out",
        /// [`Class::Lost`].
        Lost = "lost",
    }
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    /// The gate decides; without one the phase is done, unverified.
    Gate,
    /// The attempt has this outcome; its retries are the phase's.
    Conclude(StageOutcome),
    /// Wait until the quota is given anew, then go on; no attempt is used up.
    Wait(Option<Timestamp>),
    /// Wait, and ask the provider again; no attempt is used up.
    Probe,
    /// An emergency compaction, then go on.
    Compact,
    /// The context is over: a human is called.
    Overflow,
    /// No outcome: the run stops and can be resumed.
    Stop,
}

/// Whether an invocation that belongs to no phase is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It stays as it is.
    Never,
    /// After a backoff, and not before the provider asked for.
    Later(Option<Duration>),
    /// When the quota is given anew, as far as that is known. No repetition is used up.
    Reset(Option<Timestamp>),
    /// As a probe of whether the provider is back. No repetition is used up.
    Probe,
}

/// How often an invocation was made again, and how often it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repeats {
    /// So far, waits for a quota and for the end of an outage apart.
    pub made: u32,
    /// Of those, after an end that says nothing about the next one: lost, or out of time or turns.
    pub blind: u32,
    /// At most.
    pub allowed: u32,
}

impl Repeats {
    /// One more, after an end of this class.
    #[must_use]
    pub fn and_one(self, class: &Class) -> Self {
        Self { made: self.made + 1, blind: self.blind + u32::from(class.is_blind()), ..self }
    }
}

/// When a limit is tried again that was met `before` so often. A provider whose word did not hold, because its time was past
/// or its clock is not ours, is not asked more often than one that says nothing.
#[must_use]
pub fn next_look(resets_at: Option<Timestamp>, before: u32, now: Timestamp) -> Timestamp {
    let blind = |before| now.checked_add(unknown_reset(before)).unwrap_or(Timestamp::MAX);
    match (resets_at, before.checked_sub(1)) {
        (None, _) => blind(before),
        (Some(reset), None) => reset,
        (Some(reset), Some(before)) => reset.max(blind(before)),
    }
}

/// How long to wait before a limit whose reset nobody knows is tried again, when it was met `before` so often.
fn unknown_reset(before: u32) -> Duration {
    FIRST_LOOK.saturating_mul(2_u32.saturating_pow(before)).min(LAST_LOOK)
}

/// The first of those waits: what many a provider says of a used up quota, it also says of too many requests at a time.
const FIRST_LOOK: Duration = Duration::from_secs(15);
/// The longest of them.
const LAST_LOOK: Duration = Duration::from_mins(30);

impl Class {
    /// The class where nobody wants to wait for the end of an outage: a failure that may be gone next time.
    #[must_use]
    pub fn without_outages(self) -> Self {
        if self == Self::Outage { Self::Transient { wait: None } } else { self }
    }

    /// Whether it says nothing about why it ended so, and how the same would end next time.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Lost)
    }

    /// Whether the same invocation is made again where no phase and no gate decide.
    #[must_use]
    pub fn repeat(&self, repeats: Repeats) -> Repeat {
        let left = repeats.made < repeats.allowed;
        match self {
            Self::Transient { wait } if left => Repeat::Later(*wait),
            Self::Limit { resets_at } => Repeat::Reset(*resets_at),
            Self::Outage => Repeat::Probe,
            _ if self.is_blind() && left && repeats.blind == 0 => Repeat::Later(None),
            _ => Repeat::Never,
        }
    }

    /// The class as a word.
    #[must_use]
    pub fn name(&self) -> ClassName {
        match self {
            Self::Done => ClassName::Done,
            Self::Transient { .. } => ClassName::Transient,
            Self::Outage => ClassName::Outage,
            Self::Limit { .. } => ClassName::Limit,
            Self::Permanent => ClassName::Permanent,
            Self::Overflow => ClassName::Overflow,
            Self::Cancelled => ClassName::Cancelled,
            Self::TimedOut => ClassName::TimedOut,
            Self::Lost => ClassName::Lost,
        }
    }

    /// What follows. `may_compact` says whether a compaction can be asked for and none was made in this attempt yet;
    /// `evidence` is what the agent said about its end.
    #[must_use]
    pub fn consequence(&self, may_compact: bool, evidence: &str) -> Consequence {
        let failed = |exit: PhaseExit, code: &str, what: &str| {
            let message = if evidence.is_empty() { what.to_owned() } else { format!("{what}: {evidence}") };
            let error =
                PhaseError { code: code.into(), message: message.into(), recoverable: exit == PhaseExit::Retry };
            Consequence::Conclude(StageOutcome { exit, error: Some(error) })
        };
        match self {
            Self::Done => Consequence::Gate,
            Self::Transient { .. } => failed(PhaseExit::Retry, "AGENT_TRANSIENT", "the agent failed for the moment"),
            Self::Limit { resets_at } => Consequence::Wait(*resets_at),
            Self::Outage => Consequence::Probe,
            Self::Permanent => failed(PhaseExit::Blocked, "AGENT_PERMANENT", "the agent was refused"),
            Self::Overflow if may_compact => Consequence::Compact,
            Self::Overflow => Consequence::Overflow,
            Self::Cancelled => Consequence::Stop,
            Self::TimedOut => failed(PhaseExit::Retry, "AGENT_TIMED_OUT", "the agent used up what it may take"),
            Self::Lost => failed(PhaseExit::Retry, "AGENT_LOST", "the agent ended without saying how"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_consequence() {
        let reset = Some(Timestamp::from_second(1_800_000_000).expect("in range"));
        let wait = Some(Duration::from_secs(7));
        let (retry, blocked) = (PhaseExit::Retry, PhaseExit::Blocked);
        let rows = [
            (Class::Transient { wait }, retry, "AGENT_TRANSIENT"),
            (Class::Transient { wait: None }, retry, "AGENT_TRANSIENT"),
            (Class::TimedOut, retry, "AGENT_TIMED_OUT"),
            (Class::Lost, retry, "AGENT_LOST"),
            (Class::Permanent, blocked, "AGENT_PERMANENT"),
        ];
        for (class, exit, code) in rows {
            for may_compact in [true, false] {
                let Consequence::Conclude(outcome) = class.consequence(may_compact, "why") else {
                    panic!("{class:?} concludes the attempt");
                };
                let error = outcome.error.expect("an end that is none of the contract's codes is named");
                assert_eq!((outcome.exit, error.code.raw()), (exit, code), "{class:?}");
                assert_eq!(error.recoverable, exit == retry, "{class:?}");
                assert!(error.message.raw().ends_with(": why"), "{:?}", error.message);
            }
        }
        let others = [
            (Class::Done, true, Consequence::Gate),
            (Class::Done, false, Consequence::Gate),
            (Class::Limit { resets_at: reset }, true, Consequence::Wait(reset)),
            (Class::Limit { resets_at: None }, false, Consequence::Wait(None)),
            (Class::Outage, true, Consequence::Probe),
            (Class::Outage, false, Consequence::Probe),
            (Class::Overflow, true, Consequence::Compact),
            (Class::Overflow, false, Consequence::Overflow),
            (Class::Cancelled, true, Consequence::Stop),
        ];
        for (class, may_compact, consequence) in others {
            assert_eq!(class.consequence(may_compact, "why"), consequence, "{class:?} {may_compact}");
        }
    }

    #[test]
    fn outside_of_a_phase_only_what_may_pass_is_repeated() {
        let wait = Some(Duration::from_secs(7));
        let reset = Some(Timestamp::from_second(1_800_000_000).expect("in range"));
        let repeats = |made, blind, allowed| Repeats { made, blind, allowed };
        for (class, so_far, repeat) in [
            (Class::Done, repeats(0, 0, 3), Repeat::Never),
            (Class::Transient { wait }, repeats(0, 0, 3), Repeat::Later(wait)),
            (Class::Transient { wait: None }, repeats(2, 1, 3), Repeat::Later(None)),
            (Class::Transient { wait }, repeats(3, 0, 3), Repeat::Never),
            (Class::Transient { wait }, repeats(0, 0, 0), Repeat::Never),
            (Class::Limit { resets_at: reset }, repeats(9, 9, 0), Repeat::Reset(reset)),
            (Class::Outage, repeats(9, 9, 0), Repeat::Probe),
            (Class::Permanent, repeats(0, 0, 3), Repeat::Never),
            (Class::Overflow, repeats(0, 0, 3), Repeat::Never),
            (Class::Cancelled, repeats(0, 0, 3), Repeat::Never),
            (Class::Lost, repeats(0, 0, 3), Repeat::Later(None)),
            (Class::TimedOut, repeats(2, 0, 3), Repeat::Later(None)),
            (Class::Lost, repeats(1, 1, 3), Repeat::Never),
            (Class::Lost, repeats(0, 0, 0), Repeat::Never),
        ] {
            assert_eq!(class.repeat(so_far), repeat, "{class:?} {so_far:?}");
        }
        let after = repeats(1, 0, 3).and_one(&Class::Lost).and_one(&Class::Transient { wait });
        assert_eq!(after, repeats(3, 1, 3));
    }

    #[test]
    fn what_a_provider_says_of_its_reset_is_believed_at_once_only_the_first_time() {
        let at = |second| Timestamp::from_second(second).expect("in range");
        let now = at(1_800_000_000);
        let after = |minutes: i64| at(1_800_000_000 + 60 * minutes);
        for (resets_at, before, look) in [
            (None, 0, at(1_800_000_015)),
            (None, 5, after(8)),
            (Some(after(-9)), 0, after(-9)),
            (Some(after(-9)), 1, at(1_800_000_015)),
            (Some(after(-9)), 3, after(1)),
            (Some(now), 9, after(30)),
            (Some(after(300)), 0, after(300)),
            (Some(after(300)), u32::MAX, after(300)),
        ] {
            assert_eq!(next_look(resets_at, before, now), look, "{resets_at:?} {before}");
        }
        assert_eq!(next_look(None, 0, Timestamp::MAX), Timestamp::MAX);
    }

    #[test]
    fn a_limit_whose_reset_nobody_knows_is_looked_at_less_and_less_often() {
        let seconds: Vec<u64> = (0..9).map(|before| unknown_reset(before).as_secs()).collect();
        assert_eq!(seconds, [15, 30, 60, 120, 240, 480, 960, 1800, 1800]);
        assert_eq!(unknown_reset(u32::MAX), Duration::from_mins(30));
    }
}
