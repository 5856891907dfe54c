//! From how a stage ended to the phase's outcome, and from there to the action (Exit Code Handling).

use std::time::Duration;

use crate::contract::{Action, PhaseError, PhaseExit};

/// How the program of a stage, or its gate, came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It returned an exit code.
    Exited(i32),
    /// A signal ended it; the signal's name, with or without `SIG`.
    Signalled(String),
    /// It could not be started; why, for people.
    SpawnFailed(String),
    /// It was stopped because it took this long, which is all it may take.
    TimedOut(Duration),
}

/// What an ending means in the words of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The exit to record in the checkpoint.
    pub exit: PhaseExit,
    /// What the contract's three codes cannot say; present only when the ending was none of them.
    pub error: Option<PhaseError>,
}

impl Outcome {
    /// Reads an ending. Anything that the contract does not define is recorded as blocked with an error that names it;
    /// only a timeout counts as temporary.
    #[must_use]
    pub fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Exited(0) => Self::plain(PhaseExit::Success),
            Ending::Exited(1) => Self::plain(PhaseExit::Retry),
            Ending::Exited(2) => Self::plain(PhaseExit::Blocked),
            Ending::Exited(code) => Self::odd(
                PhaseExit::Blocked,
                format!("UNKNOWN_EXIT_{code}"),
                format!("the phase ended with exit code {code}; the contract knows 0, 1 and 2"),
            ),
            Ending::Signalled(name) => {
                let name = name.strip_prefix("SIG").unwrap_or(name);
                Self::odd(PhaseExit::Blocked, format!("SIGNAL_{name}"), format!("the phase was ended by SIG{name}"))
            }
            Ending::SpawnFailed(why) => Self::odd(
                PhaseExit::Blocked,
                "SPAWN_FAILED".to_owned(),
                format!("the phase's command could not be started: {why}"),
            ),
            Ending::TimedOut(limit) => Self::odd(
                PhaseExit::Retry,
                "PHASE_TIMEOUT".to_owned(),
                format!("the phase was stopped after {} s, its limit", limit.as_secs_f64()),
            ),
        }
    }

    fn plain(exit: PhaseExit) -> Self {
        Self { exit, error: None }
    }

    fn odd(exit: PhaseExit, code: String, message: String) -> Self {
        Self { exit, error: Some(PhaseError { code, message, recoverable: exit == PhaseExit::Retry }) }
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
    fn an_ending_becomes_one_of_the_three_exits() {
        let signalled = |name: &str| Ending::Signalled(name.to_owned());
        for (ending, exit, code, recoverable) in [
            (Ending::Exited(0), PhaseExit::Success, None, false),
            (Ending::Exited(1), PhaseExit::Retry, None, false),
            (Ending::Exited(2), PhaseExit::Blocked, None, false),
            (Ending::Exited(3), PhaseExit::Blocked, Some("UNKNOWN_EXIT_3"), false),
            (Ending::Exited(127), PhaseExit::Blocked, Some("UNKNOWN_EXIT_127"), false),
            (Ending::Exited(-1), PhaseExit::Blocked, Some("UNKNOWN_EXIT_-1"), false),
            (signalled("SIGKILL"), PhaseExit::Blocked, Some("SIGNAL_KILL"), false),
            (signalled("TERM"), PhaseExit::Blocked, Some("SIGNAL_TERM"), false),
            (Ending::SpawnFailed("no such file".to_owned()), PhaseExit::Blocked, Some("SPAWN_FAILED"), false),
            (Ending::TimedOut(Duration::from_secs(90)), PhaseExit::Retry, Some("PHASE_TIMEOUT"), true),
        ] {
            let outcome = Outcome::of(&ending);
            assert_eq!(outcome.exit, exit, "{ending:?}");
            assert_eq!(outcome.error.as_ref().map(|error| error.code.as_str()), code, "{ending:?}");
            assert_eq!(outcome.error.is_some_and(|error| error.recoverable), recoverable, "{ending:?}");
        }
    }

    #[test]
    fn three_retries_are_four_starts() {
        let failing = Outcome::of(&Ending::Exited(1));
        let mut starts = 1;
        while failing.action(starts - 1, 3) == Action::Retry {
            starts += 1;
        }
        assert_eq!(starts, 4);
        assert_eq!(failing.action(0, 0), Action::Escalate, "no retries allowed");
    }

    #[test]
    fn only_a_temporary_failure_is_retried() {
        for (ending, action) in [
            (Ending::Exited(0), Action::Proceed),
            (Ending::Exited(1), Action::Retry),
            (Ending::TimedOut(Duration::from_secs(1)), Action::Retry),
            (Ending::Exited(2), Action::Halt),
            (Ending::Exited(77), Action::Escalate),
            (Ending::Signalled("SEGV".to_owned()), Action::Escalate),
            (Ending::SpawnFailed("not executable".to_owned()), Action::Escalate),
        ] {
            assert_eq!(Outcome::of(&ending).action(0, 3), action, "{ending:?}");
        }
    }
}
