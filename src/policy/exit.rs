//! From how a stage ended to the phase's outcome, and from there to the action (Exit Code Handling).

use std::time::Duration;

use super::Exceeded;
use crate::contract::{Action, PhaseError, PhaseExit};

/// What the end of an attempt of a stage means in the words of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageOutcome {
    /// The exit to record in the checkpoint.
    pub exit: PhaseExit,
    /// What the contract's three codes cannot say; present only when the end was none of them.
    pub error: Option<PhaseError>,
}

impl StageOutcome {
    /// Its program, or its gate, returned an exit code. One that the contract does not define is recorded as blocked with an
    /// error that names it.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        match code {
            0 => Self::plain(PhaseExit::Success),
            1 => Self::plain(PhaseExit::Retry),
            2 => Self::plain(PhaseExit::Blocked),
            code => Self::odd(
                PhaseExit::Blocked,
                format!("UNKNOWN_EXIT_{code}"),
                format!("the phase ended with exit code {code}; the contract knows 0, 1 and 2"),
            ),
        }
    }

    /// A signal ended it; `name` with or without `SIG`.
    #[must_use]
    pub fn signalled(name: &str) -> Self {
        let name = name.strip_prefix("SIG").unwrap_or(name);
        Self::odd(PhaseExit::Blocked, format!("SIGNAL_{name}"), format!("the phase was ended by SIG{name}"))
    }

    /// A program of the phase, its command, agent or gate, could not be started; which and why, for people.
    #[must_use]
    pub fn spawn_failed(why: &str) -> Self {
        let message = format!("a program of the phase could not be started: {why}");
        Self::odd(PhaseExit::Blocked, "SPAWN_FAILED".to_owned(), message)
    }

    /// It was stopped because it took this long, which is all it may take. Counts as temporary.
    #[must_use]
    pub fn timed_out(limit: Duration) -> Self {
        let message = format!("the phase was stopped after {} s, its limit", limit.as_secs_f64());
        Self::odd(PhaseExit::Retry, "PHASE_TIMEOUT".to_owned(), message)
    }

    /// It was stopped because it said nothing for so long. Counts as temporary.
    #[must_use]
    pub fn silent(limit: Duration) -> Self {
        let message = format!("the phase was stopped: it said nothing for {} s, its limit", limit.as_secs_f64());
        Self::odd(PhaseExit::Retry, "PHASE_TIMEOUT".to_owned(), message)
    }

    /// It was stopped because its context was over.
    #[must_use]
    pub fn overflowed() -> Self {
        let message = "the stage was ended: its context was still at the hard limit after an emergency compaction";
        Self::odd(PhaseExit::Blocked, "CONTEXT_OVERFLOW".to_owned(), message.to_owned())
    }

    /// It was stopped because it took more of the host than it may.
    #[must_use]
    pub fn exceeded(exceeded: &Exceeded) -> Self {
        let message = format!("the phase was stopped: {exceeded}");
        Self::odd(PhaseExit::Blocked, "LIMIT_EXCEEDED".to_owned(), message)
    }

    /// Whether the stage itself asks for another try: its own exit 1.
    #[must_use]
    pub fn is_own_retry(&self) -> bool {
        self.exit == PhaseExit::Retry && self.error.is_none()
    }

    fn plain(exit: PhaseExit) -> Self {
        Self { exit, error: None }
    }

    fn odd(exit: PhaseExit, code: String, message: String) -> Self {
        Self {
            exit,
            error: Some(PhaseError {
                code: code.into(),
                message: message.into(),
                recoverable: exit == PhaseExit::Retry,
            }),
        }
    }

    /// What to do, given how many retries of this phase were used and how many are allowed.
    ///
    /// Three allowed retries make four starts: the contract's own code compares the number of retries with 3.
    #[must_use]
    pub fn action(&self, retries_used: u32, retries_allowed: u32) -> Action {
        match self.exit {
            PhaseExit::Success => Action::Proceed,
            PhaseExit::Retry if retries_used < retries_allowed => Action::Retry,
            // The contract halts on the code 2 itself; exhausted retries and endings that it does not know escalate.
            PhaseExit::Blocked if self.error.is_none() => Action::Halt,
            PhaseExit::Retry | PhaseExit::Blocked => Action::Escalate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_becomes_one_of_the_three_exits() {
        let minute = Duration::from_secs(90);
        let exceeded = Exceeded { resource: crate::policy::Resource::Processes, taken: 2, limit: 1 };
        for (outcome, exit, code, recoverable) in [
            (StageOutcome::exited(0), PhaseExit::Success, None, false),
            (StageOutcome::exited(1), PhaseExit::Retry, None, false),
            (StageOutcome::exited(2), PhaseExit::Blocked, None, false),
            (StageOutcome::exited(3), PhaseExit::Blocked, Some("UNKNOWN_EXIT_3"), false),
            (StageOutcome::exited(127), PhaseExit::Blocked, Some("UNKNOWN_EXIT_127"), false),
            (StageOutcome::exited(-1), PhaseExit::Blocked, Some("UNKNOWN_EXIT_-1"), false),
            (StageOutcome::signalled("SIGKILL"), PhaseExit::Blocked, Some("SIGNAL_KILL"), false),
            (StageOutcome::signalled("TERM"), PhaseExit::Blocked, Some("SIGNAL_TERM"), false),
            (StageOutcome::spawn_failed("no such file"), PhaseExit::Blocked, Some("SPAWN_FAILED"), false),
            (StageOutcome::timed_out(minute), PhaseExit::Retry, Some("PHASE_TIMEOUT"), true),
            (StageOutcome::silent(minute), PhaseExit::Retry, Some("PHASE_TIMEOUT"), true),
            (StageOutcome::overflowed(), PhaseExit::Blocked, Some("CONTEXT_OVERFLOW"), false),
            (StageOutcome::exceeded(&exceeded), PhaseExit::Blocked, Some("LIMIT_EXCEEDED"), false),
        ] {
            assert_eq!(outcome.exit, exit, "{outcome:?}");
            assert_eq!(outcome.error.as_ref().map(|error| error.code.raw()), code, "{outcome:?}");
            assert_eq!(outcome.error.is_some_and(|error| error.recoverable), recoverable);
        }
    }

    #[test]
    fn three_retries_are_four_starts() {
        let failing = StageOutcome::exited(1);
        let mut starts = 1;
        while failing.action(starts - 1, 3) == Action::Retry {
            starts += 1;
        }
        assert_eq!(starts, 4);
        assert_eq!(failing.action(0, 0), Action::Escalate, "no retries allowed");
    }

    #[test]
    fn only_a_temporary_failure_is_retried() {
        for (outcome, action) in [
            (StageOutcome::exited(0), Action::Proceed),
            (StageOutcome::exited(1), Action::Retry),
            (StageOutcome::timed_out(Duration::from_secs(1)), Action::Retry),
            (StageOutcome::exited(2), Action::Halt),
            (StageOutcome::exited(77), Action::Escalate),
            (StageOutcome::signalled("SEGV"), Action::Escalate),
            (StageOutcome::spawn_failed("not executable"), Action::Escalate),
        ] {
            assert_eq!(outcome.action(0, 3), action, "{outcome:?}");
        }
    }
}
