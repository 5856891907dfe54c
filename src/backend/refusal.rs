//! When an agent has refused the session that it was to go on with: it does not know it, and a new one may begin.
//!
//! Most ends before a session is announced say nothing about the session: a container that is not there or does not run, a
//! program that is not found, killed, not logged in, or given an argument that it does not know. The session is kept then.
//! What counts is how each program was seen to end when it did not know a session:
//!
//! | program | what it does |
//! |---|---|
//! | `claude` | a `result` that says `error_during_execution`, and nothing before it |
//! | `codex`, `opencode`, `qwen` | it prints nothing and ends with 1 |
//! | `gemini` | it prints nothing and ends with 42 |
//! | `pi` | it prints nothing and ends with 1, or with 0 when the session is of another folder |
//! | `acp` | it answers so to the request to go on with it |
//! | `command` | it cannot be told |

use crate::runner::Surroundings;
use crate::system::process::ProcessExit;

/// What the client of a container ends with when it cannot start anything there; so does many a program.
const NO_CONTAINER: i32 = 1;

/// An invocation that may be to go on with a session, by a program that refuses one without a word.
#[derive(Debug, Default)]
pub(super) struct Resumption {
    goes_on: bool,
    contained: bool,
    spoke: bool,
}

impl Resumption {
    /// To go on with `earlier`, there.
    pub(super) fn of(earlier: Option<&str>, surroundings: &Surroundings) -> Self {
        Self { goes_on: earlier.is_some(), contained: surroundings.container.is_some(), spoke: false }
    }

    /// The program printed a line.
    pub(super) fn heard(&mut self, line: &str) {
        self.spoke |= !line.trim().is_empty();
    }

    /// Whether the program refused the session, which it does with one of these codes.
    pub(super) fn refused(&self, exit: &ProcessExit, codes: &[i32]) -> bool {
        let ProcessExit::Exited(code) = exit else { return false };
        let own = !self.contained || *code != NO_CONTAINER;
        self.goes_on && !self.spoke && own && codes.contains(code)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::backend::container::contained;

    #[test]
    fn a_session_is_refused_by_silence_and_a_code_of_the_programs_own() {
        let here = Surroundings::default();
        let inside = contained(Path::new("/w"), "/w");
        let earlier = Some("s-1");
        let exited = ProcessExit::Exited;
        for (earlier, surroundings, printed, exit, codes, refused) in [
            (earlier, &here, "", exited(1), &[1][..], true),
            (earlier, &here, " ", exited(42), &[42], true),
            (earlier, &here, "", exited(0), &[0, 1], true),
            (None, &here, "", exited(1), &[1], false),
            (earlier, &here, "{}", exited(1), &[1], false),
            (earlier, &here, "", exited(2), &[1], false),
            (earlier, &here, "", exited(41), &[42], false),
            (earlier, &here, "", exited(126), &[1], false),
            (earlier, &here, "", exited(127), &[1], false),
            (earlier, &here, "", exited(137), &[1], false),
            (earlier, &here, "", ProcessExit::Signalled(9), &[1], false),
            // The container does not run.
            (earlier, &inside, "", exited(1), &[1], false),
            (earlier, &inside, "", exited(42), &[42], true),
        ] {
            let mut resumption = Resumption::of(earlier, surroundings);
            resumption.heard(printed);
            assert_eq!(resumption.refused(&exit, codes), refused, "{earlier:?} {printed:?} {exit} {codes:?}");
        }
    }
}
