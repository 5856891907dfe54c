//! What may go wrong in a phase of a story, and what its attempts do then.

use std::fmt;
use std::ops::RangeInclusive;

use fastrand::Rng;
use serde_json::json;

use crate::conform::spec::Act;
use crate::contract::{Phase, ResolutionAction};

/// Starts that end with 1 after which every reading of the contract calls a human.
const USED_UP: u32 = 4;
/// Audits of one that never passes that are told apart.
const AUDITS: u32 = 8;
/// What a phase says of a context that is full and stays so, in tokens.
const FULL: [u64; 4] = [150_000, 150_000, 151_000, 152_000];
/// Codes that the contract does not know.
const UNKNOWN: RangeInclusive<i64> = 3..=255;
/// Those that a program written in Rust does not catch, and that a shell does not keep from what it starts behind itself.
const SIGNALS: [&str; 7] = ["KILL", "TERM", "HUP", "ABRT", "USR1", "USR2", "ALRM"];
/// How long a phase takes in which the time of its run is over, in milliseconds.
const TOO_LONG: u64 = 4_000;

/// One thing that goes wrong, and what a human answers where one is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Incident {
    pub(super) phase: Phase,
    pub(super) kind: Kind,
    pub(super) answer: ResolutionAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It ends with 1, so many times.
    Fails(u32),
    /// It ends with 1 whenever it runs.
    NeverPasses,
    /// It ends with 2.
    Blocked,
    Unknown(i64),
    Dies(&'static str),
    /// The runtime is killed while it runs.
    Killed,
    /// A person asks the runtime to halt while it runs.
    Halted,
    /// Its command cannot be started.
    Unstartable,
    /// Its context is full, and stays so.
    Overflows,
    /// It takes longer than the run may. Whether the time begins anew is another matter: nothing else goes wrong after it.
    OutOfTime,
}

/// What may go wrong, whatever is drawn beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    Failed,
    Exhausted,
    Blocked,
    Unknown,
    Signal,
    Killed,
    Unstartable,
    Halted,
    Overflow,
    OutOfTime,
}

impl Cause {
    pub(super) const ALL: [Self; 10] = [
        Self::Failed,
        Self::Exhausted,
        Self::Blocked,
        Self::Unknown,
        Self::Signal,
        Self::Killed,
        Self::Unstartable,
        Self::Halted,
        Self::Overflow,
        Self::OutOfTime,
    ];

    /// Whether a manifest may lack the way to bring it about: of a runtime without one such a story is not observed.
    pub(super) fn wants_a_way(self) -> bool {
        matches!(self, Self::Halted | Self::Overflow | Self::OutOfTime)
    }

    /// Whether a human is called for it.
    pub(super) fn calls_a_human(self) -> bool {
        !matches!(self, Self::Failed | Self::Killed)
    }

    pub(super) fn kind(self, phase: Phase, rng: &mut Rng) -> Kind {
        match self {
            Self::Failed => Kind::Fails(rng.u32(1..=2)),
            // After its first failures it may be another phase that runs: how often in all is a matter of remediation.
            Self::Exhausted if phase == Phase::Audit => Kind::NeverPasses,
            Self::Exhausted => Kind::Fails(USED_UP),
            Self::Blocked => Kind::Blocked,
            Self::Unknown => Kind::Unknown(rng.i64(UNKNOWN)),
            Self::Signal => Kind::Dies(SIGNALS[rng.usize(0..SIGNALS.len())]),
            Self::Killed => Kind::Killed,
            Self::Unstartable => Kind::Unstartable,
            Self::Halted => Kind::Halted,
            Self::Overflow => Kind::Overflows,
            Self::OutOfTime => Kind::OutOfTime,
        }
    }
}

impl Incident {
    /// Whether it is an audit that fails by what it finds.
    pub(super) fn finds(&self) -> bool {
        let fails = matches!(self.kind, Kind::Fails(_) | Kind::NeverPasses | Kind::Blocked);
        self.phase == Phase::Audit && fails
    }
}

impl Kind {
    #[cfg(test)]
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Fails(USED_UP..) | Self::NeverPasses => Cause::Exhausted,
            Self::Fails(_) => Cause::Failed,
            Self::Blocked => Cause::Blocked,
            Self::Unknown(_) => Cause::Unknown,
            Self::Dies(_) => Cause::Signal,
            Self::Killed => Cause::Killed,
            Self::Unstartable => Cause::Unstartable,
            Self::Halted => Cause::Halted,
            Self::Overflows => Cause::Overflow,
            Self::OutOfTime => Cause::OutOfTime,
        }
    }

    pub(super) fn calls_a_human(self) -> bool {
        !matches!(self, Self::Fails(1..USED_UP) | Self::Killed)
    }

    pub(super) fn ends_the_step(self) -> bool {
        self.calls_a_human() || self == Self::Killed
    }

    pub(super) fn wants_a_way(self) -> bool {
        self.leaves_it_open() || self == Self::OutOfTime
    }

    /// Whether the phase may be done or not when it is over.
    pub(super) fn leaves_it_open(self) -> bool {
        matches!(self, Self::Halted | Self::Overflows)
    }

    /// What an attempt does at its end, and how many attempts do.
    pub(super) fn acts(self) -> (Vec<Act>, u32) {
        let exit = |code: i64| Act::Exit(json!(code));
        match self {
            Self::Fails(times) => (vec![exit(1)], times),
            // Each audit finds something else: the same three times in a row would call a human sooner.
            Self::NeverPasses => (vec![exit(1)], AUDITS),
            Self::Blocked => (vec![exit(2)], 1),
            Self::Unknown(code) => (vec![exit(code)], 1),
            Self::Dies(signal) => (vec![Act::Die(signal.to_owned())], 1),
            Self::Killed => (vec![Act::Hang], 1),
            Self::Halted => (vec![Act::UntilHalted, exit(0)], 1),
            Self::Unstartable => (Vec::new(), 0),
            Self::Overflows => (FULL.map(Act::Usage).into_iter().chain([exit(0)]).collect(), 1),
            Self::OutOfTime => (vec![Act::Sleep(TOO_LONG), exit(0)], 1),
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase;
        match self.kind {
            Kind::Fails(times) => write!(f, "{phase} fails {times} times")?,
            Kind::Blocked => write!(f, "{phase} is blocked")?,
            Kind::Unknown(code) => write!(f, "{phase} ends with {code}")?,
            Kind::Dies(signal) => write!(f, "{phase} dies by {signal}")?,
            Kind::Killed => write!(f, "the runtime is killed in {phase}")?,
            Kind::NeverPasses => write!(f, "{phase} never passes")?,
            Kind::Halted => write!(f, "a person halts the run in {phase}")?,
            Kind::Unstartable => write!(f, "{phase} cannot be started")?,
            Kind::Overflows => write!(f, "the context stays full in {phase}")?,
            Kind::OutOfTime => write!(f, "{phase} takes longer than the run may")?,
        }
        if self.kind.calls_a_human() { write!(f, ", answered by {}", self.answer) } else { Ok(()) }
    }
}
