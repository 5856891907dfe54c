//! Recognises an agent that does nothing any more but try to reach its provider. From the first word that says so its time is
//! nobody's, as in an outage that is waited for.

use std::time::Duration;

use super::port::AgentEvent;
use crate::system::clock::Moment;

/// How long an agent may say nothing but that it does not reach its provider before its invocation is ended. A short
/// interruption, such as a router that starts again, it gets over by itself and keeps its turn; some agents try for ever,
/// and all that time would be charged as work.
const PATIENCE: Duration = Duration::from_mins(2);

/// The longest pause between two such words that are about the same interruption: a model may think for long between two
/// interruptions, without a word in its stream.
const TOGETHER: Duration = Duration::from_mins(5);

/// Since when an agent has said nothing else, and when it said so last.
#[derive(Debug, Default)]
pub(in crate::runner) struct Unreached {
    said: Option<(Moment, Moment)>,
}

/// What an agent's words come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runner) enum Sign {
    /// From now on it only tries to reach its provider.
    Begins,
    /// It has tried for too long.
    InVain,
    /// It does something else again, or nobody can tell any more.
    Over,
}

impl Unreached {
    /// Takes note of what an agent did. Nobody waits for longer than `patience`.
    pub(in crate::runner) fn heard(&mut self, event: &AgentEvent, now: Moment, patience: Duration) -> Option<Sign> {
        match event {
            AgentEvent::Unreached => {
                let together = self.said.filter(|(_, last)| now.since(*last) <= TOGETHER);
                let first = together.map_or(now, |(first, _)| first);
                self.said = Some((first, now));
                let is_in_vain = now.since(first) >= PATIENCE.min(patience);
                if is_in_vain { Some(Sign::InVain) } else { together.is_none().then_some(Sign::Begins) }
            }
            AgentEvent::Output(_) | AgentEvent::Session(_) | AgentEvent::Retrying { status: None, .. } => None,
            _ => self.over(),
        }
    }

    /// Takes note that time passed.
    pub(in crate::runner) fn looked_at(&mut self, now: Moment) -> Option<Sign> {
        let is_past = self.said.is_some_and(|(_, last)| now.since(last) > TOGETHER);
        if is_past { self.over() } else { None }
    }

    /// What was said counts no more.
    pub(in crate::runner) fn over(&mut self) -> Option<Sign> {
        self.said.take().map(|_| Sign::Over)
    }
}

/// What its end is read from when it was ended for that.
pub(in crate::runner) const EVIDENCE: &str =
    "it said again and again that it does not reach its provider, and was ended";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::clock;

    #[test]
    fn only_words_in_vain_without_anything_between_them_are_too_many() {
        let unreached = || AgentEvent::Unreached;
        let retrying = |status| AgentEvent::Retrying { status, wait: None };
        let long = Duration::from_hours(2);
        for (what, patience, events, expected) in [
            ("a first word", long, vec![(0, unreached())], Some(Sign::Begins)),
            (
                "two minutes of it",
                long,
                vec![(0, unreached()), (30, unreached()), (120, unreached())],
                Some(Sign::InVain),
            ),
            ("not so long", long, vec![(0, unreached()), (119, unreached())], None),
            ("less patience", Duration::from_mins(1), vec![(0, unreached()), (60, unreached())], Some(Sign::InVain)),
            ("retries", long, vec![(0, unreached()), (9, retrying(None)), (120, unreached())], Some(Sign::InVain)),
            ("an answer, if an error", long, vec![(0, unreached()), (9, retrying(Some(503)))], Some(Sign::Over)),
            ("it works", long, vec![(0, unreached()), (9, AgentEvent::Working)], Some(Sign::Over)),
            ("and works on", long, vec![(0, unreached()), (9, AgentEvent::Working), (10, AgentEvent::Turn)], None),
            ("again", long, vec![(0, unreached()), (9, AgentEvent::Turn), (120, unreached())], Some(Sign::Begins)),
            ("another interruption", long, vec![(0, unreached()), (400, unreached())], Some(Sign::Begins)),
            ("which lasts", long, vec![(0, unreached()), (400, unreached()), (520, unreached())], Some(Sign::InVain)),
        ] {
            let (mut state, began) = (Unreached::default(), clock::now());
            let heard: Vec<Option<Sign>> = events
                .iter()
                .map(|(second, event)| state.heard(event, began.later(Duration::from_secs(*second)), patience))
                .collect();
            assert_eq!(heard.last(), Some(&expected), "{what}: {heard:?}");
        }
        let (mut state, began) = (Unreached::default(), clock::now());
        let at = |second| began.later(Duration::from_secs(second));
        let _ = state.heard(&unreached(), at(0), long);
        let looks = [300, 301, 302].map(|second| state.looked_at(at(second)));
        assert_eq!(looks, [None, Some(Sign::Over), None], "it may think for longer than nobody knows what it does");
    }
}
